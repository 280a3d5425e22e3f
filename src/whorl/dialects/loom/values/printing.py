"""Values as text: what `@{}`, `concat`, `string` and `join` print, and what leaves the language.

Booleans print as `True` and `False`, but as JSON does inside an array or object; a float prints
without `.0`, but with it inside. An object that holds content (`$content-type`, `$content`) prints
as its content.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING

from whorl.dialects.loom.values.contents import content_text, is_envelope
from whorl.language.faults import EvaluationError
from whorl.language.values import UNDEFINED, kind_of, measure, to_result

if TYPE_CHECKING:
    from whorl.language.run import Run
    from whorl.language.values import Json, Limits, Value

_ESCAPED = {"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def print_text(run: Run, value: Value) -> str:
    """Turn a value into text."""
    if isinstance(value, str):
        return value
    if value is None or value is UNDEFINED:
        return ""
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict) and is_envelope(value):
        return content_text(run, value)
    if isinstance(value, list | dict):
        return json_text(run, value)
    raise EvaluationError(f"{kind_of(value)} cannot be printed")


def json_text(run: Run, value: Value) -> str:
    """Write a value as compact JSON."""
    run.spend(measure(value, run.limits, run.text_max))
    out: list[str] = []
    _write(value, out)
    written = "".join(out)
    run.check_text(len(written), "JSON")
    return written


def _write(value: Value, out: list[str]) -> None:
    if isinstance(value, str):
        out.append(quoted(value))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            out.append("," if index else "[")
            _write(item, out)
        out.append("]" if value else "[]")
    elif isinstance(value, dict):
        for index, (key, item) in enumerate(value.items()):
            out.append(("," if index else "{") + quoted(key) + ":")
            _write(item, out)
        out.append("}" if value else "{}")
    elif value is None or value is UNDEFINED:
        out.append("null")
    elif isinstance(value, bool):
        out.append("true" if value else "false")
    elif isinstance(value, float):
        shown = float_text(value) if math.isfinite(value) else quoted(float_text(value))
        out.append(_with_places(shown))
    else:
        assert isinstance(value, int | Decimal)
        out.append(str(value) if isinstance(value, int) else _with_places(format(value, "f")))


def quoted(text: str) -> str:
    """Write a text as a JSON string."""
    written = json.dumps(text, ensure_ascii=False)
    if not written.isascii():
        for character, escape in _ESCAPED.items():
            written = written.replace(character, escape)
    return written


def _with_places(shown: str) -> str:
    return shown if any(mark in shown for mark in '.E"') else shown + ".0"


def float_text(number: float) -> str:
    """Write a float as .NET does: the shortest digits that give it back."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    shown = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent
    if shown == "0":
        point = 1
    minus = "-" * sign
    if -4 < point <= 15:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{shown}"
        whole, places = shown[:point].ljust(point, "0"), shown[point:]
        return f"{minus}{whole}.{places}" if places else minus + whole
    mantissa = shown[0] + (f".{shown[1:]}" if len(shown) > 1 else "")
    return f"{minus}{mantissa}E{'+' if point > 0 else '-'}{abs(point - 1):02d}"


def pay(run: Run, value: Value) -> Value:
    """Pay for the length of a value; numbers without end are values here."""
    if isinstance(value, str):
        if len(value) > 63:
            run.check_text(len(value), "expression")
    elif isinstance(value, list | dict):
        run.check_items(len(value), "expression")
    return value


def to_plain_json(value: Value, limits: Limits) -> Json:
    """Turn a result into JSON: a decimal becomes a float, a float without end its name."""
    if isinstance(value, list | dict):
        measure(value, limits)
        return _plain(value)
    if isinstance(value, float | Decimal):
        return _plain(value)
    return to_result(value, limits)


def _plain(value: Value) -> Json:
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return float_text(value)
    return None if value is UNDEFINED else value  # type: ignore[return-value]
