"""Logical functions. `and`, `or` and `if` are written out by the syntax, which makes them lazy."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from whorl.dialects.loom.values.access import same
from whorl.dialects.loom.values.arguments import Family, boolean, is_number, wrong
from whorl.language.entry import FunctionEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.run import Run
    from whorl.language.values import Value


@lru_cache(maxsize=16)
def condition_check(function: str, place: int) -> FunctionEntry:
    """Return the function that lets booleans through, for the arguments of `and`, `or`, `if`."""

    def check(run: Run, value: Value) -> Value:
        return boolean(function, place, value)

    return FunctionEntry("function", "logical", function, check, "the boolean", ("value",))


def _booleans(function: str, values: list[Value]) -> list[bool]:
    return [boolean(function, place, value) for place, value in enumerate(values)]


def every(run: Run, values: list[Value]) -> Value:
    return _booleans("and", values).count(False) == 0


def some(run: Run, values: list[Value]) -> Value:
    return _booleans("or", values).count(True) > 0


def negated(run: Run, value: Value) -> Value:
    return not boolean("not", None, value)


def chosen(run: Run, test: Value, then: Value, otherwise: Value) -> Value:
    return then if boolean("if", 0, test) else otherwise


def ordered(name: str, compare: Callable[[int], bool], run: Run, left: Value, right: Value) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        run.spend(min(len(left), len(right)) >> 8)
        return compare((left > right) - (left < right))
    if not is_number(left) or not is_number(right):
        place = 0 if not is_number(left) and not isinstance(left, str) else 1
        wanted = "be of type string" if isinstance(left, str) else "be a number"
        raise wrong(
            name, place, wanted if place else "be a number or a string", right if place else left
        )
    assert isinstance(left, int | float | Decimal)
    assert isinstance(right, int | float | Decimal)
    if left != left or right != right:  # noqa: PLR0124
        return False
    return compare((left > right) - (left < right))


_logical = Family("logical")

LOGICAL: tuple[FunctionEntry, ...] = (
    _logical.collecting("and(condition)", every, "whether all conditions are true; stops at false"),
    _logical.collecting("or(condition)", some, "whether a condition is true; stops at true"),
    _logical("not(condition)", negated, "the opposite of a boolean"),
    _logical(
        "if(condition, then, otherwise)", chosen, "one of two values; only that one is evaluated"
    ),
    _logical("equals(left, right)", same, "whether two values are the same; case matters"),
    _logical(
        "greater(left, right)",
        partial(ordered, "greater", lambda order: order > 0),
        "whether the first number or text comes after the second",
    ),
    _logical(
        "greaterOrEquals(left, right)",
        partial(ordered, "greaterOrEquals", lambda order: order >= 0),
        "whether the first number or text comes after the second or is the same",
    ),
    _logical(
        "less(left, right)",
        partial(ordered, "less", lambda order: order < 0),
        "whether the first number or text comes before the second",
    ),
    _logical(
        "lessOrEquals(left, right)",
        partial(ordered, "lessOrEquals", lambda order: order <= 0),
        "whether the first number or text comes before the second or is the same",
    ),
)
