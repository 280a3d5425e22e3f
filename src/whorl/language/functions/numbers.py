"""Filters and functions on numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whorl.language.entry import FunctionEntry, Scalar
from whorl.language.faults import EvaluationError
from whorl.language.functions.arguments import number, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.run import Run
    from whorl.language.values import Value

_DIGITS_MAX = 400


def absolute(run: Run, value: Value) -> Value:
    return run.check_number(abs(number(value, "abs")), "abs")


def to_integer(run: Run, value: Value, default: Value, base: Value) -> Value:
    radix = whole(base, "int", "base")
    if radix != 0 and not 2 <= radix <= 36:
        raise EvaluationError(f"int needs a base from 2 to 36, not {radix}")
    if isinstance(value, str) and len(value) > _DIGITS_MAX:
        return default
    try:
        found = int(value, radix) if isinstance(value, str) else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        try:
            found = int(float(value))  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return default
    return run.check_number(found, "int")


def to_float(run: Run, value: Value, default: Value) -> Value:
    if isinstance(value, str) and len(value) > _DIGITS_MAX:
        return default
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return default
    return found if math.isfinite(found) else default


def rounded(run: Run, value: Value, precision: Value, method: Value) -> Value:
    subject, places = number(value, "round"), whole(precision, "round", "precision")
    if not -400 <= places <= 400:
        raise EvaluationError(f"round needs a precision from -400 to 400, not {places}")
    ways: dict[Value, Callable[[float], int]] = {"ceil": math.ceil, "floor": math.floor}
    if method == "common":
        return run.check_number(round(subject, places), "round")
    if not isinstance(method, str) or method not in ways:
        raise EvaluationError("round needs 'common', 'ceil' or 'floor' as its method")
    if not -18 <= places <= 18:
        raise EvaluationError(f"round needs a precision from -18 to 18 here, not {places}")
    scale = 10**places
    return run.check_number(ways[method](subject * scale) / scale, "round")


def filesizeformat(run: Run, value: Value, binary: Value) -> str:
    size = to_float(run, value, None)
    if not isinstance(size, float):
        raise EvaluationError("filesizeformat needs a number")
    step = 1024 if binary else 1000
    if size == 1:
        return "1 Byte"
    if size < step:
        return f"{int(size)} Bytes"
    unit, prefix = step, ""
    for prefix in "kMGTPEZY":  # noqa: B007
        unit *= step
        if size < unit:
            break
    return f"{step * size / unit:.1f} {prefix.upper() + 'iB' if binary else prefix + 'B'}"


def make_range(run: Run, values: tuple[Value, ...], named: dict[str, Value]) -> list[int]:
    if named or not 1 <= len(values) <= 3:
        raise EvaluationError("range takes a stop, or a start and a stop, and a step")
    bounds = [whole(value, "range", "bounds") for value in values]
    if len(bounds) == 3 and bounds[2] == 0:
        raise EvaluationError("the step of a range cannot be 0")
    numbers = range(*bounds)
    count = max(0, -((numbers.start - numbers.stop) // numbers.step))
    run.check_items(count, "range")
    return list(numbers)


def _filter(
    name: str, call: object, doc: str, required: tuple[str, ...] = (), **optional: Scalar
) -> FunctionEntry:
    assert callable(call)
    return FunctionEntry("filter", "numbers", name, call, doc, required, tuple(optional.items()))


NUMBERS: tuple[FunctionEntry, ...] = (
    _filter("abs", absolute, "the number without its sign"),
    _filter("int", to_integer, "a whole number, or the default", default=0, base=10),
    _filter("float", to_float, "a number with decimals, or the default", default=0.0),
    _filter(
        "round", rounded, "rounded; method common, ceil or floor", precision=0, method="common"
    ),
    _filter("filesizeformat", filesizeformat, "a number of bytes as '13.5 kB'", binary=False),
    FunctionEntry(
        "function",
        "numbers",
        "range",
        make_range,
        "a list of numbers up to a stop",
        extra="*bounds",
    ),
)
