"""Functions from one type to another."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING

from whorl.dialects.loom.values.arguments import Family, is_number, not_valid, text, wrong
from whorl.dialects.loom.values.contents import content_text, is_envelope, is_xml
from whorl.dialects.loom.values.cultures import culture_of
from whorl.dialects.loom.values.numbers import read_decimal, read_float, to_decimal
from whorl.dialects.loom.values.printing import print_text
from whorl.language.faults import LimitExceeded
from whorl.language.values import INTEGER_MAX

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value

_LOCALE = "en-US"
_SHOWN_MAX = 40


def to_string(run: Run, value: Value) -> Value:
    return print_text(run, value)


def to_int(run: Run, value: Value) -> Value:
    if isinstance(value, str):
        # Logic Apps reads a float first, so digits beyond its precision are lost.
        found = read_float(value, culture_of(_LOCALE), trailing=False)
        if found is None or math.isinf(found):
            raise not_valid("int", f"Could not parse {value[:_SHOWN_MAX]} as int")
    elif isinstance(value, int) and not isinstance(value, bool):
        return value
    elif isinstance(value, float | Decimal):
        found = float(value)
    else:
        raise wrong("int", None, "be a string or a number", value)
    if math.isnan(found):
        return -INTEGER_MAX
    if not found.is_integer() or not -INTEGER_MAX <= found < INTEGER_MAX:
        raise not_valid("int", f"Could not parse {str(value)[:_SHOWN_MAX]} as int")
    return int(found)


def to_float(run: Run, value: Value, locale: Value) -> Value:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        raise wrong("float", 0, "be a string or a number", value)
    found = read_float(value, culture_of(_LOCALE if locale is None else text("float", 1, locale)))
    if found is None:
        raise not_valid("float", f"Could not parse {value[:_SHOWN_MAX]} as float")
    return found


def to_decimal_value(run: Run, value: Value) -> Value:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return to_decimal(value)
    if not isinstance(value, str):
        raise wrong("decimal", None, "be a string or a number", value)
    found = read_decimal(value, culture_of(_LOCALE))
    if found is None:
        raise not_valid("decimal", f"Could not parse {value[:_SHOWN_MAX]} as decimal")
    return found


def to_bool(run: Run, value: Value) -> Value:
    if isinstance(value, bool):
        return value
    if is_number(value):
        return value != 0
    word = value.strip().lower() if isinstance(value, str) else None
    if word in ("true", "false"):
        return word == "true"
    raise wrong("bool", None, "be a boolean, a number, 'true' or 'false'", value)


def is_int(run: Run, value: Value) -> Value:
    found = read_float(text("isInt", None, value), culture_of(_LOCALE), trailing=False)
    return found is not None and math.isfinite(found) and found.is_integer()


def is_float(run: Run, value: Value, locale: Value) -> Value:
    culture = culture_of("" if locale is None else text("isFloat", 1, locale))
    return read_float(text("isFloat", 0, value), culture) is not None


def from_json(run: Run, value: Value) -> Value:
    if value is None:
        return {}
    if isinstance(value, dict) and is_envelope(value):
        if is_xml(value):
            from whorl.dialects.loom.functions.xml.to_json import json_of_xml

            return json_of_xml(run, value)
        value = content_text(run, value)
    if not isinstance(value, str):
        raise wrong("json", None, "be a string or an XML", value)
    return parse_json(run, value)


def parse_json(run: Run, source: str) -> Value:
    """Read JSON; of a key that is given twice the last value counts, at its place."""
    run.check_text(len(source), "json")
    run.spend(len(source) >> 4)
    try:
        parsed: Value = json.loads(
            source,
            object_pairs_hook=_object,
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_finite,
        )
    except RecursionError:
        raise LimitExceeded("json was given JSON that is nested too deeply") from None
    except ValueError as error:
        raise not_valid("json", f"the provided value cannot be parsed as JSON: {error}") from None
    run.weigh(parsed)
    return _clean(parsed) if "\\u" in source else parsed


def _object(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, value in pairs:
        found.pop(key, None)
        found[key] = value
    return found


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -INTEGER_MAX <= (number := int(digits)) < INTEGER_MAX:
        raise ValueError("an integer is beyond 64 bits")
    return number


def _clean(value: Value) -> Value:
    """Replace lone surrogates, which no UTF-8 text can hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(part) for part in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(part) for key, part in value.items()}
    return value


def to_array(run: Run, value: Value) -> Value:
    return [value]


def create_array(run: Run, values: list[Value]) -> Value:
    run.check_items(len(values), "createArray")
    return values


_conversion = Family("conversion")

CONVERSION: tuple[FunctionEntry, ...] = (
    _conversion("string(value)", to_string, "the value as text; objects and arrays as JSON"),
    _conversion("int(value)", to_int, "the whole number that a text or number says"),
    _conversion("float(value, locale?)", to_float, "the number that a text says"),
    _conversion("decimal(value)", to_decimal_value, "a number that keeps its decimal places"),
    _conversion("bool(value)", to_bool, "true or false, from a number or a text"),
    _conversion("isInt(text)", is_int, "whether a text says a whole number"),
    _conversion("isFloat(text, locale?)", is_float, "whether a text says a number"),
    _conversion("json(value)", from_json, "the value that a JSON text or XML holds"),
    _conversion("array(value)", to_array, "an array of the one value"),
    _conversion.collecting("createArray(value)", create_array, "an array of all the values"),
)
