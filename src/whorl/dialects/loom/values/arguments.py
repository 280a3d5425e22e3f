"""What functions check about their arguments, in the words of Logic Apps, and their tables."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from whorl.language import entry
from whorl.language.faults import EvaluationError
from whorl.language.values import INTEGER_MAX, UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value

    Collected: TypeAlias = Callable[[Run, list[Value]], Value]


Number: TypeAlias = int | float | Decimal
Kind = TypeVar("Kind")

ORDINALS = ("first", "second", "third", "fourth")


def type_name(value: Value) -> str:
    """Name the type of a value as Logic Apps does."""
    if value is None:
        return "Null"
    if isinstance(value, bool):
        return "Boolean"
    if isinstance(value, int):
        return "Integer"
    if isinstance(value, float | Decimal):
        return "Float"
    if isinstance(value, str):
        return "String"
    return "Array" if isinstance(value, list) else "Object"


def wrong(function: str, place: int | None, wanted: str, value: Value) -> EvaluationError:
    """Say that the argument at a place (None if it is the only one) is not what it has to be."""
    which = "parameter" if place is None else f"{ORDINALS[min(place, 3)]} parameter"
    return EvaluationError(
        f"The template language function {function!r} expects its {which} to {wanted}. "
        f"The provided value is of type {type_name(value)!r}"
    )


def not_valid(function: str, reason: str) -> EvaluationError:
    """Say that the arguments have the right types and wrong values."""
    return EvaluationError(f"The template language function {function!r} failed: {reason}")


def is_number(value: Value) -> bool:
    """Tell whether a value is a number; a boolean is none."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _checker(kind: type[Kind], name: str) -> Callable[[str, int | None, Value], Kind]:
    """Return the check that an argument (of a function, at a place) is of a type."""

    def check(function: str, place: int | None, value: Value) -> Kind:
        if isinstance(value, kind):
            return value
        raise wrong(function, place, f"be of type {name}", value)

    return check


text = _checker(str, "string")
boolean = _checker(bool, "boolean")
array: Callable[[str, int | None, Value], list[Value]] = _checker(list, "array")
mapping: Callable[[str, int | None, Value], dict[str, Value]] = _checker(dict, "object")


def whole(function: str, place: int | None, value: Value) -> int:
    """Return an integer."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float | Decimal) and value == value // 1:
        return int(value)
    raise wrong(function, place, "be an integer", value)


def number(function: str, place: int | None, value: Value) -> Number:
    """Return a number."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return value
    raise wrong(function, place, "be a number", value)


def within_integers(function: str, result: int) -> int:
    """Return an integer of 64 bits; refuse one that does not fit."""
    if -INTEGER_MAX <= result < INTEGER_MAX:
        return result
    raise not_valid(function, "the result is an integer beyond 64 bits")


def find_key(properties: Mapping[str, Value], name: str) -> str | None:
    """Return the key that a name means: itself, or the first that differs in case only."""
    if name in properties:
        return name
    folded = name.lower()
    return next((key for key in properties if key.lower() == folded), None)


class Family(entry.Family):
    """Makes the entries of one family of functions."""

    def __init__(self, name: str) -> None:
        super().__init__("function", name)

    def named(
        self,
        signature: str,
        call: Callable[..., Value],
        doc: str,
        *bound: object,
        reads: str = "",
        borrows: bool = False,
    ) -> FunctionEntry:
        """Make an entry whose call is given its own name first, then what is bound."""
        own = partial(call, signature.partition("(")[0], *bound)
        return self(signature, own, doc, reads=reads, borrows=borrows)

    def collecting(self, signature: str, call: Collected, doc: str) -> FunctionEntry:
        """Make an entry that takes its parameters and any number after them as one list."""

        def collect(run: Run, *given: Value) -> Value:
            # After the parameters come a tuple of further arguments and a dict of named ones.
            *values, further, _named = given
            assert isinstance(further, tuple)
            return call(run, [*values, *further])

        return self(signature, collect, doc, extra="...")


_SHOWN_MAX = 20


def strict_item(value: Value, key: Value) -> Value:
    """Return `value[key]`, or say what there is instead."""
    if isinstance(value, dict) and isinstance(key, str):
        own = find_key(value, key)
        if own is not None:
            return value[own]
        shown = ", ".join(list(value)[:_SHOWN_MAX]) + ", ..." * (len(value) > _SHOWN_MAX)
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
        own = find_key(value, key)
        return None if own is None else value[own]
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        return value[key] if 0 <= key < len(value) else None
    if value is None or value is UNDEFINED:
        return None
    raise _unsupported(value, key)


def _unsupported(value: Value, key: Value) -> EvaluationError:
    if isinstance(value, list):
        reason = (
            f"array elements can only be selected using an integer index, "
            f"and {_written(key)!r} is of type {type_name(key)!r}"
        )
    elif isinstance(value, dict):
        reason = "object properties can only be selected using a string, and the key "
        reason += f"is of type {type_name(key)!r}"
    else:
        reason = f"Property selection is not supported on values of type {type_name(value)!r}"
    return EvaluationError(reason)


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
