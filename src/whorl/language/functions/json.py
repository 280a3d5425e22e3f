"""Filters between values and JSON text."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from whorl.language.entry import FunctionEntry
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.functions.arguments import text, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.run import Run
    from whorl.language.values import Value

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
    try:
        parsed: Value = json.loads(
            source, parse_constant=_not_a_number, parse_float=_finite, parse_int=_integer(run)
        )
    except RecursionError:
        raise LimitExceeded("fromjson was given JSON that is nested too deeply") from None
    except ValueError as error:
        raise EvaluationError(f"fromjson was given a text that is not JSON: {error}") from None
    run.weigh(parsed)
    return _clean(parsed) if "\\u" in source else parsed


def _not_a_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _integer(run: Run) -> Callable[[str], int | float]:
    def integer(digits: str) -> int | float:
        if len(digits) > 20:
            raise ValueError("an integer is beyond 64 bits")
        return run.check_number(int(digits), "fromjson")

    return integer


def _clean(value: Value) -> Value:
    """Replace lone surrogates, which no UTF-8 text can hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(part) for part in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(part) for key, part in value.items()}
    return value


def pretty(run: Run, value: Value, verbose: Value) -> str:
    return run.json_text(value, 2)


JSON: tuple[FunctionEntry, ...] = (
    FunctionEntry(
        "filter", "json", "tojson", to_json, "the value as JSON", optional=(("indent", None),)
    ),
    FunctionEntry("filter", "json", "fromjson", from_json, "the value that a JSON text holds"),
    FunctionEntry(
        "filter",
        "json",
        "pprint",
        pretty,
        "the value as indented JSON",
        optional=(("verbose", False),),
    ),
)
