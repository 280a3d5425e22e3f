"""The operators on values: what they accept, and what their result may cost before it exists."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.formatting import fill_percent
from whorl.language.run import Run
from whorl.language.values import UNDEFINED, Value, kind_of

Operate: TypeAlias = Callable[[Run, Value, Value], Value]
Number: TypeAlias = int | float

_JOIN_HELP = "join texts and other values with `~`"


def _fault(symbol: str, left: Value, right: Value, *, help: str = "") -> EvaluationError:  # noqa: A002
    if UNDEFINED in (left, right) and not help:
        help = "give the missing value a default: `name | default(...)`"  # noqa: A001
    return EvaluationError(
        f"cannot use {symbol!r} between {kind_of(left)} and {kind_of(right)}", help=help
    )


def numbers(symbol: str, left: Value, right: Value) -> tuple[Number, Number]:
    """Return two operands as numbers, or raise."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left, right
    raise _fault(symbol, left, right)


def add(run: Run, left: Value, right: Value) -> Value:
    """Add numbers, or join two texts or two lists."""
    if isinstance(left, str) and isinstance(right, str):
        run.check_text(len(left) + len(right), "'+'")
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        run.check_items(len(left) + len(right), "'+'")
        return left + right
    if isinstance(left, str) or isinstance(right, str):
        raise _fault("+", left, right, help=_JOIN_HELP)
    first, second = numbers("+", left, right)
    return run.check_number(first + second, "'+'")


def subtract(run: Run, left: Value, right: Value) -> Value:
    """Subtract numbers."""
    first, second = numbers("-", left, right)
    return run.check_number(first - second, "'-'")


def multiply(run: Run, left: Value, right: Value) -> Value:
    """Multiply numbers, or repeat a text or a list."""
    if isinstance(right, str | list):
        left, right = right, left
    if isinstance(left, str | list):
        if not isinstance(right, int):
            raise _fault("*", left, right)
        size = len(left) * max(right, 0)
        (run.check_text if isinstance(left, str) else run.check_items)(size, "'*'")
        return left * right
    first, second = numbers("*", left, right)
    return run.check_number(first * second, "'*'")


def _dividing(symbol: str, divide: Callable[[Number, Number], Number]) -> Operate:
    def divided(run: Run, left: Value, right: Value) -> Value:
        first, second = numbers(symbol, left, right)
        if second == 0:
            raise EvaluationError(f"division by zero in {symbol!r}")
        return run.check_number(divide(first, second), repr(symbol))

    return divided


def power(run: Run, left: Value, right: Value) -> Value:
    """Raise a number to a power."""
    first, second = numbers("**", left, right)
    if isinstance(first, int) and isinstance(second, int) and second > 0:
        # A bit length of the result is known before it is computed; 128 bits are past the limit.
        if (abs(first).bit_length() - 1) * second > 128:
            raise LimitExceeded("'**' gives an integer beyond 64 bits")
    elif first == 0 and second < 0:
        raise EvaluationError("division by zero in '**'")
    try:
        return run.check_number(first**second, "'**'")
    except OverflowError:
        raise EvaluationError("'**' does not give a finite number") from None


def modulo(run: Run, left: Value, right: Value) -> Value:
    """Return the remainder of numbers, or fill in the `%s` of a text."""
    if isinstance(left, str):
        return fill_percent(run, left, right)
    return _remainder(run, left, right)


_remainder = _dividing("%", operator.mod)


ARITHMETIC: dict[str, Operate] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": _dividing("/", operator.truediv),
    "//": _dividing("//", operator.floordiv),
    "%": modulo,
    "**": power,
}


def equal(run: Run, left: Value, right: Value) -> bool:
    """Compare two values by content."""
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        run.weigh(left)
        run.weigh(right)
    elif isinstance(left, str) and len(left) > 255:
        run.spend(len(left) >> 8)
    return left == right


def contains(run: Run, container: Value, member: Value) -> bool:
    """Tell whether a text holds a text, a list an item, or an object a key."""
    if isinstance(container, str):
        if not isinstance(member, str):
            raise _fault("in", member, container)
        run.spend((len(container) + len(member)) >> 6)
        return member in container
    if isinstance(container, list):
        run.spend(len(container) * run.weigh(member) >> 2)
        return member in container
    if isinstance(container, dict):
        return isinstance(member, str) and member in container
    if container is UNDEFINED or container is None:
        return False
    raise _fault("in", member, container)


_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _ordering(symbol: str) -> Callable[[Run, Value, Value], bool]:
    compare = _ORDER[symbol]

    def ordered(run: Run, left: Value, right: Value) -> bool:
        if isinstance(left, int | float) and isinstance(right, int | float):
            return compare(left, right)
        if isinstance(left, str) and isinstance(right, str):
            run.spend(min(len(left), len(right)) >> 8)
            return compare(left, right)
        if isinstance(left, list) and isinstance(right, list):
            run.weigh(left)
            run.weigh(right)
            try:
                return compare(left, right)
            except TypeError:
                raise _fault(symbol, left, right) from None
        raise _fault(symbol, left, right)

    return ordered


COMPARISON: dict[str, Callable[[Run, Value, Value], bool]] = {
    "==": equal,
    "!=": lambda run, left, right: not equal(run, left, right),
    "<": _ordering("<"),
    "<=": _ordering("<="),
    ">": _ordering(">"),
    ">=": _ordering(">="),
    "in": lambda run, member, container: contains(run, container, member),
    "not in": lambda run, member, container: not contains(run, container, member),
}


def negate(run: Run, value: Value) -> Value:
    """Return `-value`."""
    if isinstance(value, int | float):
        return run.check_number(-value, "'-'")
    raise EvaluationError(f"cannot use '-' on {kind_of(value)}")


def affirm(run: Run, value: Value) -> Value:
    """Return `+value`."""
    if isinstance(value, int | float):
        return +value
    raise EvaluationError(f"cannot use '+' on {kind_of(value)}")
