"""Properties and items, read by the rules of Logic Apps, and when two values are the same.

`?` forgives a missing property, an index out of range and null; it does not forgive a property of a
text or number, nor an array indexed by name. Equality is by content: numbers by value, a boolean
never equal to a number.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from whorl.dialects.loom.values.arguments import find_key, type_name
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Hashable

    from whorl.language.run import Run
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


def same(run: Run, left: Value, right: Value) -> bool:
    """Tell whether two values are equal; the text `true` equals true, as in JSON."""
    if isinstance(left, str) and isinstance(right, str):
        run.spend(min(len(left), len(right)) >> 8)
        return left == right
    if isinstance(left, bool) or isinstance(right, bool):
        return _as_boolean(left) == _as_boolean(right)
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        run.weigh(left)
        run.weigh(right)
    return identity(left) == identity(right)


def _as_boolean(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def identity(value: Value) -> Hashable:
    """Return what two values have in common if they are equal; the value has been measured."""
    if value is None or value is UNDEFINED:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int | float | Decimal):
        return ("number", value)
    if isinstance(value, list):
        return ("array", tuple([identity(item) for item in value]))
    assert isinstance(value, dict)
    return ("object", frozenset([(key, identity(item)) for key, item in value.items()]))
