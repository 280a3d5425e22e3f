"""What functions check about their arguments, in the words of Logic Apps, and their tables."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from whorl.language import signatures
from whorl.language.faults import EvaluationError
from whorl.language.values import INTEGER_MAX, UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from types import UnionType

    from whorl.language.calls import Run
    from whorl.language.signatures import FunctionEntry
    from whorl.language.values import Value


Number: TypeAlias = int | float | Decimal
Call = TypeVar("Call", bound="Callable[..., Value]")
Check: TypeAlias = "Callable[[str, int | None, Value], Any]"

_ORDINALS = ("first", "second", "third", "fourth")
# From the narrowest type: a boolean is an integer to Python.
_TYPE_NAMES: tuple[tuple[type | UnionType, str], ...] = (
    (type(None), "Null"),
    (bool, "Boolean"),
    (int, "Integer"),
    (float | Decimal, "Float"),
    (str, "String"),
    (list, "Array"),
)


def type_name(value: Value) -> str:
    """Name the type of a value as Logic Apps does."""
    return next((name for kind, name in _TYPE_NAMES if isinstance(value, kind)), "Object")


def wrong(function: str, place: int | None, wanted: str, value: Value) -> EvaluationError:
    """Say that the argument at a place (None if it is the only one) is not what it has to be."""
    which = "parameter" if place is None else f"{_ORDINALS[min(place, 3)]} parameter"
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


def _checker(kind: type | UnionType, wanted: str) -> Check:
    """Return the check that an argument (of a function, at a place) is of a type."""
    refused = () if kind is bool else bool

    def check(function: str, place: int | None, value: Value) -> Value:
        if isinstance(value, kind) and not isinstance(value, refused):
            return value
        raise wrong(function, place, wanted, value)

    return check


text: Callable[[str, int | None, Value], str] = _checker(str, "be of type string")
boolean: Callable[[str, int | None, Value], bool] = _checker(bool, "be of type boolean")
number: Callable[[str, int | None, Value], Number] = _checker(Number, "be a number")


def whole(function: str, place: int | None, value: Value) -> int:
    if is_number(value) and value == value // 1:  # type: ignore[operator]
        return int(value)
    raise wrong(function, place, "be an integer", value)


# What a signature may ask for behind a parameter.
_CHECKS: dict[str, Check] = {
    "str": text,
    "bool": boolean,
    "int": whole,
    "numeric": _checker(str | Number, "be a string or a number"),
    "array": _checker(list, "be of type array"),
    "array_or_null": _checker(list | None, "be of type array"),
    "object": _checker(dict, "be of type object"),
    "string": _checker(str, "be a string"),
    "collection": _checker(str | list | dict | None, "be an object, an array or a string"),
    "sequence": _checker(str | list, "be an array or a string"),
}


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


class Family:
    """Declares the functions of one family, as a decorator of what they call.

    A signature such as `take(list:array, count?:int)` also says what its arguments have to be.
    """

    def __init__(self, name: str, **checks: Check) -> None:
        self.make = signatures.Family("function", name)
        self.checks = _CHECKS | checks
        self.entries: list[FunctionEntry] = []

    def __call__(
        self,
        signature: str,
        doc: str,
        *bound: object,
        alias: str = "",
        reads: str = "",
        borrows: bool = False,
    ) -> Callable[[Call], Call]:
        """Declare a function whose call is given what is bound, the run and checked arguments.

        A call whose first parameter is `function` is given its own name before all that. Where the
        signature ends in `...`, the arguments are one list. An alias is named so in no message.
        """
        name, _, parameters = signature.rstrip(")").partition("(")
        kinds = [parameter.partition(":") for parameter in parameters.split(", ")]
        checks = [(self.checks.get(kind), parameter[-1:] == "?") for parameter, _, kind in kinds]
        plain = f"{name}({', '.join(parameter for parameter, _, _ in kinds)})"

        def declare(call: Call) -> Call:
            is_named = call.__code__.co_varnames[:1] == ("function",)
            leading = (name, *bound) if is_named else bound
            own: Callable[..., Value] = partial(call, *leading) if leading else call
            if parameters.endswith("..."):
                own = partial(_collected, own)
            elif any(check for check, _ in checks):
                own = _checked(name, own, checks)
            made = self.make(plain, own, doc, reads=reads, borrows=borrows)
            self.entries += [made, replace(made, name=alias)] if alias else [made]
            return call

        return declare


def _collected(call: Callable[..., Value], run: Run, *given: Value) -> Value:
    # After the parameters come a tuple of further arguments and a dict of named ones.
    *values, further, _named = given
    assert isinstance(further, tuple)
    return call(run, [*values, *further])


def _checked(
    name: str, call: Callable[..., Value], checks: list[tuple[Check | None, bool]]
) -> Callable[..., Value]:
    """Return a call that checks its arguments first; an optional one may be null."""
    kept = [(at, check, optional) for at, (check, optional) in enumerate(checks) if check]
    _, only, is_optional = kept[0]
    if len(checks) == 1 and not is_optional:
        return lambda run, value: call(run, only(name, None, value))

    def checked(run: Run, *given: Value) -> Value:
        values = list(given)
        for at, check, optional in kept:
            if not optional or values[at] is not None:
                values[at] = check(name, at if len(values) > 1 else None, values[at])
        return call(run, *values)

    return checked


_SHOWN_MAX = 20


def strict_item(value: Value, key: Value) -> Value:
    """Return `value[key]`, or say what there is instead."""
    missing = object()
    item = forgiving_item(value, key, missing)
    if item is not missing:
        return item
    if isinstance(value, dict):
        shown = ", ".join(list(value)[:_SHOWN_MAX]) + ", ..." * (len(value) > _SHOWN_MAX)
        raise EvaluationError(
            f"property {key!r} doesn't exist, available properties are {shown!r}",
            help=f"write ?[{key!r}] where it may be missing",
        )
    if isinstance(value, list):
        raise EvaluationError(
            f"the array index '{key}' is outside bounds (0, {len(value) - 1}) of array"
        )
    raise EvaluationError(
        f"property {_written(key)!r} cannot be selected of null",
        help="write ? before the property where the value may be null",
    )


def forgiving_item(value: Value, key: Value, missing: Value = None) -> Value:
    """Return `value?[key]`: null where it is missing."""
    if isinstance(value, dict) and isinstance(key, str):
        own = find_key(value, key)
        return missing if own is None else value[own]
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        return value[key] if 0 <= key < len(value) else missing
    if value is None or value is UNDEFINED:
        return missing
    reason = f"Property selection is not supported on values of type {type_name(value)!r}"
    if isinstance(value, list):
        reason = (
            "array elements can only be selected using an integer index, "
            f"and {_written(key)!r} is of type {type_name(key)!r}"
        )
    elif isinstance(value, dict):
        reason = (
            "object properties can only be selected using a string, "
            f"and the key is of type {type_name(key)!r}"
        )
    raise EvaluationError(reason)


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
    """Return what a value is beside a boolean: by Microsoft's documentation, 1 equals true."""
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def identity(value: Value) -> Hashable:
    """Return what two values have in common if they are equal; the value has been measured."""
    if isinstance(value, list):
        return ("array", tuple([identity(item) for item in value]))
    if isinstance(value, dict):
        return ("object", frozenset([(key, identity(item)) for key, item in value.items()]))
    if isinstance(value, int | float | Decimal):
        return ("boolean" if isinstance(value, bool) else "number", value)
    return value if isinstance(value, str) else None
