"""Properties and items, read by the rules of Logic Apps: case aside, and strict about types.

`?` forgives a missing property, an index out of range and null; it does not forgive a property of a
text or number, nor an array indexed by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.faults import EvaluationError
from whorl.language.functions.logic.arguments import find_key, type_name
from whorl.language.values import UNDEFINED

if TYPE_CHECKING:
    from whorl.language.values import Value

_SHOWN_MAX = 20


def strict_item(value: Value, key: Value) -> Value:
    """Return `value[key]`, or say what there is instead."""
    if isinstance(value, dict) and isinstance(key, str):
        found = find_key(value, key)
        if found is not None:
            return value[found]
        names = list(value)
        shown = ", ".join(names[:_SHOWN_MAX]) + ", ..." * (len(names) > _SHOWN_MAX)
        raise EvaluationError(
            f"property {key!r} doesn't exist, available properties are {shown!r}",
            help=f"write ?[{key!r}] where it may be missing",
        )
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        if 0 <= key < len(value):
            return value[key]
        raise EvaluationError(
            f"the array index '{key}' is outside bounds (0, {len(value) - 1}) of array"
        )
    if value is None or value is UNDEFINED:
        raise EvaluationError(
            f"property {_written(key)!r} cannot be selected of null",
            help="write ? before the property where the value may be null",
        )
    raise _unsupported(value, key)


def forgiving_item(value: Value, key: Value) -> Value:
    """Return `value?[key]`: null where it is missing."""
    if isinstance(value, dict) and isinstance(key, str):
        found = find_key(value, key)
        return None if found is None else value[found]
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        return value[key] if 0 <= key < len(value) else None
    if value is None or value is UNDEFINED:
        return None
    raise _unsupported(value, key)


def _unsupported(value: Value, key: Value) -> EvaluationError:
    if isinstance(value, list):
        return EvaluationError(
            f"array elements can only be selected using an integer index, "
            f"and {_written(key)!r} is of type {type_name(key)!r}"
        )
    if isinstance(value, dict):
        return EvaluationError(
            "object properties can only be selected using a string, "
            f"and the key is of type {type_name(key)!r}"
        )
    return EvaluationError(
        f"Property selection is not supported on values of type {type_name(value)!r}"
    )


def _written(key: Value) -> str:
    return key if isinstance(key, str) else str(key)[:40]
