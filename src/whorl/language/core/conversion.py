"""Filters on numbers, and between values and JSON text."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from whorl.language.calls import Run, number, text, whole
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.signatures import Family, FunctionEntry
from whorl.language.values import well_formed

if TYPE_CHECKING:
    from collections.abc import Callable

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
        number = int(value, radix) if isinstance(value, str) else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        try:
            number = int(float(value))  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return default
    return run.check_number(number, "int")


def to_float(run: Run, value: Value, default: Value) -> Value:
    if isinstance(value, str) and len(value) > _DIGITS_MAX:
        return default
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return default
    return number if math.isfinite(number) else default


def rounded(run: Run, value: Value, precision: Value, method: Value) -> Value:
    """Rounded; method common, ceil or floor."""
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


_numbers = Family("filter", "numbers")
_number_functions = Family("function", "numbers")

NUMBERS: tuple[FunctionEntry, ...] = (
    _numbers("abs", absolute, "the number without its sign"),
    _numbers("int(default=0, base=10)", to_integer, "a whole number, or the default"),
    _numbers("float(default=0.0)", to_float, "a number with decimals, or the default"),
    _numbers("round(precision=0, method='common')", rounded),
    _numbers("filesizeformat(binary=false)", filesizeformat, "a number of bytes as '13.5 kB'"),
    _number_functions("range(*bounds)", make_range, "a list of numbers up to a stop"),
)


_INDENT_MAX = 16


def to_json(run: Run, value: Value, indent: Value) -> str:
    width = None if indent is None else whole(indent, "tojson", "indent")
    if width is not None and not 0 <= width <= _INDENT_MAX:
        raise EvaluationError(f"tojson needs an indent from 0 to {_INDENT_MAX}, not {width}")
    return run.json_text(value, width)


def from_json(run: Run, value: Value) -> Value:
    source = text(value, "fromjson", "value")
    run.check_text(len(source), "fromjson")
    run.spend(len(source) >> 4)

    def integer(digits: str) -> int | float:
        if len(digits) > 20:
            raise ValueError("an integer is beyond 64 bits")
        return run.check_number(int(digits), "fromjson")

    try:
        parsed: Value = json.loads(
            source, parse_constant=refuse_constant, parse_float=finite, parse_int=integer
        )
    except RecursionError:
        raise LimitExceeded("fromjson was given JSON that is nested too deeply") from None
    except ValueError as error:
        raise EvaluationError(f"fromjson was given a text that is not JSON: {error}") from None
    run.weigh(parsed)
    return without_surrogates(parsed) if "\\u" in source else parsed


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def without_surrogates(value: Value) -> Value:
    """Replace lone surrogates, which no UTF-8 text can hold."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [without_surrogates(part) for part in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(part) for key, part in value.items()}
    return value


_json = Family("filter", "json")

JSON: tuple[FunctionEntry, ...] = (
    _json("tojson(indent=none)", to_json, "the value as JSON"),
    _json("fromjson", from_json, "the value that a JSON text holds"),
    _json(
        "pprint(verbose=false)",
        lambda run, value, verbose: run.json_text(value, 2),
        "the value as indented JSON",
    ),
)
