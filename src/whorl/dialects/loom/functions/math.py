"""Functions on numbers: 64-bit integers that refuse to overflow, floats, decimals."""

from __future__ import annotations

import math
import operator
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any

from whorl.dialects.loom.values.arguments import (
    Family,
    Number,
    not_valid,
    number,
    text,
    whole,
    within_integers,
)
from whorl.dialects.loom.values.cultures import culture_of
from whorl.dialects.loom.values.number_formats import format_number
from whorl.dialects.loom.values.numbers import DECIMAL, to_decimal

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value


def calculate(
    run: Run,
    left: Value,
    right: Value,
    *,
    name: str,
    integers: Callable[[int, int], int],
    floats: Callable[[float, float], float],
    decimals: Callable[[Decimal, Decimal], Decimal],
) -> Value:
    first, second = number(name, 0, left), number(name, 1, right)
    if isinstance(first, Decimal) or isinstance(second, Decimal):
        return to_decimal(decimals(to_decimal(first), to_decimal(second)))
    if isinstance(first, int) and isinstance(second, int):
        return within_integers(name, integers(first, second))
    return floats(float(first), float(second))


def _calculating(
    name: str,
    operate: Callable[[Any, Any], Any],
    decimals: Callable[[Decimal, Decimal], Decimal],
) -> Callable[..., Value]:
    # Floats have no overflow in Python either: a product that is too large is infinite.
    return partial(calculate, name=name, integers=operate, floats=operate, decimals=decimals)


def divide(run: Run, left: Value, right: Value) -> Value:
    _check_divisor("div", right)
    return calculate(
        run,
        left,
        right,
        name="div",
        integers=_quotient,
        floats=_float_quotient,
        decimals=DECIMAL.divide,
    )


def remainder(run: Run, left: Value, right: Value) -> Value:
    _check_divisor("mod", right)
    return calculate(
        run,
        left,
        right,
        name="mod",
        integers=lambda first, second: first - second * _quotient(first, second),
        floats=_float_remainder,
        decimals=DECIMAL.remainder,
    )


def _check_divisor(name: str, value: Value) -> None:
    if number(name, 1, value) == 0:
        raise not_valid(name, "attempt to divide an integer or decimal by zero")


def _quotient(left: int, right: int) -> int:
    """Divide and drop what is behind the point, as .NET does."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _float_quotient(left: float, right: float) -> float:
    try:
        return left / right
    except OverflowError:
        return math.inf


def _float_remainder(left: float, right: float) -> float:
    return math.fmod(left, right) if math.isfinite(left) else math.nan


def extreme(name: str, sign: int, run: Run, values: list[Value]) -> Value:
    items: list[Value] = values
    if len(values) == 1:
        if not isinstance(values[0], list):
            items = values
        else:
            items = values[0]
            run.spend(len(items))
    if not items:
        raise not_valid(name, "the array is empty")
    numbers = [number(name, place, item) for place, item in enumerate(items)]
    best = max(numbers) if sign > 0 else min(numbers)
    if any(isinstance(each, Decimal) for each in numbers):
        return to_decimal(best)
    return float(best) if any(isinstance(each, float) for each in numbers) else best


def random_integer(run: Run, low: Value, high: Value) -> Value:
    first, beyond = whole("rand", 0, low), whole("rand", 1, high)
    if first >= beyond:
        raise not_valid("rand", "the minimum has to be less than the maximum")
    return first + int.from_bytes(run.draw()) % (beyond - first)


def make_range(run: Run, start: Value, count: Value) -> Value:
    first, length = whole("range", 0, start), whole("range", 1, count)
    if length < 0:
        raise not_valid("range", "the count cannot be below 0")
    run.check_items(length, "range")
    within_integers("range", first + length)
    return list(range(first, first + length))


def written_number(run: Run, value: Value, form: Value, locale: Value) -> Value:
    culture = culture_of("en-US" if locale is None else text("formatNumber", 2, locale))
    subject: Number = number("formatNumber", 0, value)
    try:
        return format_number(run, subject, text("formatNumber", 1, form), culture)
    except InvalidOperation:
        raise not_valid("formatNumber", "the number is too large for this format") from None


_math = Family("math")

MATH: tuple[FunctionEntry, ...] = (
    _math(
        "add(left, right)",
        _calculating("add", operator.add, DECIMAL.add),
        "the sum of two numbers",
    ),
    _math(
        "sub(left, right)",
        _calculating("sub", operator.sub, DECIMAL.subtract),
        "the first number less the second",
    ),
    _math(
        "mul(left, right)",
        _calculating("mul", operator.mul, DECIMAL.multiply),
        "the product of two numbers",
    ),
    _math("div(left, right)", divide, "the quotient; of two integers without its fraction"),
    _math("mod(left, right)", remainder, "what is left of a division; it has the dividend's sign"),
    _math.collecting(
        "min(value)", partial(extreme, "min", -1), "the lowest of numbers or an array"
    ),
    _math.collecting(
        "max(value)", partial(extreme, "max", 1), "the highest of numbers or an array"
    ),
    _math(
        "rand(min, max)",
        random_integer,
        "an integer from min to below max, drawn from the seed of the run",
        reads="$seed",
    ),
    _math("range(start, count)", make_range, "an array of integers that follow each other"),
    _math(
        "formatNumber(number, format, locale?)",
        written_number,
        "a number written by a .NET format such as '#,##0.00' or 'C2'",
    ),
)
