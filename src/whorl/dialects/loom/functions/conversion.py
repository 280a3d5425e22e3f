"""Functions on numbers, from one type to another, and on XML.

The parser of XML and XPath are imported when the first expression needs them.
"""

from __future__ import annotations

import json
import math
import operator
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, TypeAlias

from whorl.dialects.loom.values.arguments import (
    Family,
    Number,
    is_number,
    not_valid,
    number,
    text,
    whole,
    within_integers,
    wrong,
)
from whorl.dialects.loom.values.cultures import culture_of
from whorl.dialects.loom.values.numbers import (
    DECIMAL,
    format_number,
    read_decimal,
    read_float,
    to_decimal,
)
from whorl.dialects.loom.values.printing import content_text, is_envelope, is_xml, print_text
from whorl.language.faults import EvaluationError, LimitExceeded
from whorl.language.values import INTEGER_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.loom.values.arguments import Collected
    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value

    Operations: TypeAlias = tuple[
        Callable[[int, int], int],
        Callable[[float, float], float],
        Callable[[Decimal, Decimal], Decimal],
    ]


_LOCALE = "en-US"
_SHOWN_MAX = 40


def to_int(run: Run, value: Value) -> Value:
    if isinstance(value, str):
        # Logic Apps reads a float first, so digits beyond its precision are lost.
        number = read_float(value, culture_of(_LOCALE), trailing=False)
        if number is None or math.isinf(number):
            raise _unread("int", value)
    elif isinstance(value, int) and not isinstance(value, bool):
        return value
    elif isinstance(value, float | Decimal):
        number = float(value)
    else:
        raise wrong("int", None, "be a string or a number", value)
    if math.isnan(number):
        return -INTEGER_MAX
    if not number.is_integer() or not -INTEGER_MAX <= number < INTEGER_MAX:
        raise _unread("int", value)
    return int(number)


def to_float(run: Run, value: Value, locale: Value) -> Value:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        raise wrong("float", 0, "be a string or a number", value)
    number = read_float(value, culture_of(_LOCALE if locale is None else text("float", 1, locale)))
    if number is None:
        raise _unread("float", value)
    return number


def to_decimal_value(run: Run, value: Value) -> Value:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return to_decimal(value)
    if not isinstance(value, str):
        raise wrong("decimal", None, "be a string or a number", value)
    number = read_decimal(value, culture_of(_LOCALE))
    if number is None:
        raise _unread("decimal", value)
    return number


def _unread(function: str, value: Value) -> EvaluationError:
    return not_valid(function, f"Could not parse {str(value)[:_SHOWN_MAX]} as {function}")


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
    number = read_float(text("isInt", None, value), culture_of(_LOCALE), trailing=False)
    return number is not None and math.isfinite(number) and number.is_integer()


def is_float(run: Run, value: Value, locale: Value) -> Value:
    culture = culture_of("" if locale is None else text("isFloat", 1, locale))
    return read_float(text("isFloat", 0, value), culture) is not None


def from_json(run: Run, value: Value) -> Value:
    if value is None:
        return {}
    if is_envelope(value):
        if is_xml(value):
            from whorl.dialects.loom.functions.xml import json_of_xml

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
    properties: dict[str, Value] = {}
    for key, value in pairs:
        properties.pop(key, None)
        properties[key] = value
    return properties


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


def create_array(run: Run, values: list[Value]) -> Value:
    run.check_items(len(values), "createArray")
    return values


_conversion = Family("conversion")

CONVERSION: tuple[FunctionEntry, ...] = (
    _conversion("string(value)", print_text, "the value as text; objects and arrays as JSON"),
    _conversion("int(value)", to_int, "the whole number that a text or number says"),
    _conversion("float(value, locale?)", to_float, "the number that a text says"),
    _conversion("decimal(value)", to_decimal_value, "a number that keeps its decimal places"),
    _conversion("bool(value)", to_bool, "true or false, from a number or a text"),
    _conversion("isInt(text)", is_int, "whether a text says a whole number"),
    _conversion("isFloat(text, locale?)", is_float, "whether a text says a number"),
    _conversion("json(value)", from_json, "the value that a JSON text or XML holds"),
    _conversion("array(value)", lambda run, value: [value], "an array of the one value"),
    _conversion.collecting("createArray(value)", create_array, "an array of all the values"),
)


def calculate(function: str, kinds: Operations, run: Run, left: Value, right: Value) -> Value:
    """Calculate by the wider kind of two numbers: decimal, float or integer."""
    if function in ("div", "mod") and number(function, 1, right) == 0:
        raise not_valid(function, "attempt to divide an integer or decimal by zero")
    first, second = number(function, 0, left), number(function, 1, right)
    integers, floats, decimals = kinds
    if isinstance(first, Decimal) or isinstance(second, Decimal):
        return to_decimal(decimals(to_decimal(first), to_decimal(second)))
    if isinstance(first, int) and isinstance(second, int):
        return within_integers(function, integers(first, second))
    return floats(float(first), float(second))


def _quotient(left: int, right: int) -> int:
    """Divide and drop what is behind the point, as .NET does."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _quotient(left, right)


def _float_quotient(left: float, right: float) -> float:
    try:
        return left / right
    except OverflowError:
        return math.inf


def _float_remainder(left: float, right: float) -> float:
    return math.fmod(left, right) if math.isfinite(left) else math.nan


def extreme(function: str, choose: Callable[..., Number]) -> Collected:
    def chosen(run: Run, values: list[Value]) -> Value:
        items = values
        if len(values) == 1 and isinstance(values[0], list):
            items = values[0]
            run.spend(len(items))
        if not items:
            raise not_valid(function, "the array is empty")
        numbers = [number(function, place, item) for place, item in enumerate(items)]
        best = choose(numbers)
        if any(isinstance(each, Decimal) for each in numbers):
            return to_decimal(best)
        return float(best) if any(isinstance(each, float) for each in numbers) else best

    return chosen


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
    subject = number("formatNumber", 0, value)
    try:
        return format_number(run, subject, text("formatNumber", 1, form), culture)
    except InvalidOperation:
        raise not_valid("formatNumber", "the number is too large for this format") from None


_math = Family("math")

# By function: on integers, on floats and on decimals. A product of floats that is too large is
# infinite in Python as in .NET.
_ARITHMETIC: tuple[tuple[str, Operations, str], ...] = (
    ("add", (operator.add, operator.add, DECIMAL.add), "the sum of two numbers"),
    ("sub", (operator.sub, operator.sub, DECIMAL.subtract), "the first number less the second"),
    ("mul", (operator.mul, operator.mul, DECIMAL.multiply), "the product of two numbers"),
    (
        "div",
        (_quotient, _float_quotient, DECIMAL.divide),
        "the quotient; of two integers without its fraction",
    ),
    (
        "mod",
        (_remainder, _float_remainder, DECIMAL.remainder),
        "what is left of a division; it has the dividend's sign",
    ),
)

MATH: tuple[FunctionEntry, ...] = (
    *(
        _math.named(f"{name}(left, right)", calculate, doc, kinds)
        for name, kinds, doc in _ARITHMETIC
    ),
    _math.collecting("min(value)", extreme("min", min), "the lowest of numbers or an array"),
    _math.collecting("max(value)", extreme("max", max), "the highest of numbers or an array"),
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


_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;"))


def make_xml(run: Run, value: Value) -> Value:
    from whorl.dialects.loom.functions.xml import to_xml

    return to_xml(run, value)


def find(run: Run, value: Value, path: Value) -> Value:
    from whorl.dialects.loom.functions.xpath import select

    return select(run, value, path)


def encode_value(run: Run, value: Value) -> Value:
    written = text("encodeXmlValue", None, value)
    run.check_text(len(written) * 6, "encodeXmlValue")
    for character, entity in _ESCAPES:
        written = written.replace(character, entity)
    return written


def decode_value(run: Run, value: Value) -> Value:
    written = text("decodeXmlValue", None, value)
    for character, entity in reversed(_ESCAPES):
        written = written.replace(entity, character)
    return written


def encode_element_name(run: Run, value: Value) -> Value:
    written = text("encodeXmlName", None, value)
    run.check_text(len(written) * 7, "encodeXmlName")
    from whorl.dialects.loom.functions.xml import encode_name

    return encode_name(written)


def decode_element_name(run: Run, value: Value) -> Value:
    from whorl.dialects.loom.functions.xml import decode_name

    return decode_name(text("decodeXmlName", None, value))


_xml = Family("xml")

XML_FUNCTIONS: tuple[FunctionEntry, ...] = (
    _xml("xml(value)", make_xml, "the XML that a text says or a JSON object means"),
    _xml("xpath(xml, xpath)", find, "what an XPath expression finds in XML"),
    _xml("encodeXmlValue(text)", encode_value, "escaped for use in XML"),
    _xml("decodeXmlValue(text)", decode_value, "without the escapes of XML"),
    _xml("encodeXmlName(text)", encode_element_name, "a name that XML allows"),
    _xml("decodeXmlName(text)", decode_element_name, "the name that was made fit for XML"),
)
