"""The operators on values: which values they take, and what their result may cost.

`%` also fills in the places of a text, with bounded widths.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.language.calls import ArgumentPosition, Run
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.values import UNDEFINED, Value, kind_of, well_formed
from whorl.lazily import regex

if TYPE_CHECKING:
    import re

WIDTH_MAX = 1_000
_NONE_LEFT = object()

_PERCENT = regex(
    r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<precision>\d*))?"
    r"(?P<type>[a-zA-Z%*]?)"
)


def _check_width(*digits: str | None) -> None:
    for width in digits:
        if width and (len(width) > 4 or int(width) > WIDTH_MAX):
            raise LimitExceeded(f"a format takes at most {WIDTH_MAX} places, not {width}")


def fill_percent(run: Run, template: str, values: Value) -> str:
    """Fill the `%s`, `%d`, `%.2f`, `%(name)s` of a text."""
    named = values if isinstance(values, dict) else None
    waiting = iter(values if isinstance(values, list) else [values])

    def places() -> Iterator[ArgumentPosition]:
        for place in _PERCENT.finditer(template):
            run.spend(1)
            yield place.start(), place.end(), _percent_place(run, place, named, waiting)
        if named is None and next(waiting, _NONE_LEFT) is not _NONE_LEFT:
            raise EvaluationError("format was given more values than its text has placeholders")

    return run.fill(template, places(), "format")


def _percent_place(
    run: Run, place: re.Match[str], named: Mapping[str, Value] | None, waiting: Iterator[Value]
) -> str:
    letter = place["type"]
    if letter == "%":
        return "%"
    if letter not in {*"diouxXeEfFgGsrac"}:
        raise EvaluationError(f"format does not know the placeholder {place[0]!r}")
    _check_width(place["width"], place["precision"])
    if place["key"] is not None:
        if named is None or place["key"] not in named:
            raise EvaluationError(f"format was given no value named {place['key']!r}")
        value: Value = named[place["key"]]
    else:
        value = next(waiting, _NONE_LEFT) if named is None else named
        if value is _NONE_LEFT:
            raise EvaluationError("format was given fewer values than its text has placeholders")
    precision = "" if place["precision"] is None else f".{place['precision']}"
    if letter in "sra":
        flags = place["flags"].replace("#", "")
        text = run.text(value) if letter == "s" else run.json_text(value)
        return f"%{flags}{place['width']}{precision}s" % text
    if not isinstance(value, int | float):
        raise EvaluationError(
            f"format placeholder {place[0]!r} needs a number, not {kind_of(value)}"
        )
    try:
        # A number may be half of a character, which is not a character.
        return well_formed(f"%{place['flags']}{place['width']}{precision}{letter}" % value)
    except (TypeError, ValueError, OverflowError) as error:
        raise EvaluationError(f"format placeholder {place[0]!r}: {error}") from None


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


def _numeric(symbol: str, compute: Callable[[Number, Number], Number]) -> Operate:
    def computed(run: Run, left: Value, right: Value) -> Value:
        first, second = numbers(symbol, left, right)
        if second == 0 and symbol != "-":
            raise EvaluationError(f"division by zero in {symbol!r}")
        return run.check_number(compute(first, second), repr(symbol))

    return computed


def power(run: Run, left: Value, right: Value) -> Value:
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
    return fill_percent(run, left, right) if isinstance(left, str) else _remainder(run, left, right)


_remainder = _numeric("%", operator.mod)


ARITHMETIC: dict[str, Operate] = {
    "+": add,
    "-": _numeric("-", operator.sub),
    "*": multiply,
    "/": _numeric("/", operator.truediv),
    "//": _numeric("//", operator.floordiv),
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
        run.spend((len(container) + len(member)) >> 8)
        return member in container
    if isinstance(container, list):
        run.spend(len(container) * run.weigh(member) >> 2)
        return member in container
    if isinstance(container, dict):
        return isinstance(member, str) and member in container
    if container is UNDEFINED or container is None:
        return False
    raise _fault("in", member, container)


ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _ordering(symbol: str) -> Callable[[Run, Value, Value], bool]:
    compare = ORDER[symbol]

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
    **{symbol: _ordering(symbol) for symbol in ORDER},
    "in": lambda run, member, container: contains(run, container, member),
    "not in": lambda run, member, container: not contains(run, container, member),
}


def sign(run: Run, symbol: str, value: Value) -> Value:
    if isinstance(value, int | float):
        return run.check_number(-value, "'-'") if symbol == "-" else +value
    raise EvaluationError(f"cannot use {symbol!r} on {kind_of(value)}")
