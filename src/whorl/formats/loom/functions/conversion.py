"""Functions on numbers, from one type to another, and on XML."""

from __future__ import annotations

import json
import math
import operator
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from whorl.formats.loom.functions.xml import json_of_xml, select, to_xml
from whorl.formats.loom.values import arguments, formats
from whorl.formats.loom.values.arguments import Number, not_valid, number, wrong
from whorl.formats.loom.values.formats import culture_of
from whorl.language.core.text import finite, refuse_constant, without_surrogates
from whorl.language.faults import LimitExceeded
from whorl.language.values import INTEGER_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.calls import Run
    from whorl.language.values import Value

    Operations: TypeAlias = tuple[Callable[..., int], Callable[..., float], Callable[..., Decimal]]

Made = TypeVar("Made")

CONVERSION = arguments.Family("conversion")
MATH = arguments.Family("math")
XML_FUNCTIONS = arguments.Family("xml")

_LOCALE = "en-US"
_SHOWN_MAX = 40

CONVERSION("string(value)", "the value as text; objects and arrays as JSON")(arguments.print_text)


def _parsed(function: str, value: Value, number: Made | None) -> Made:
    """Return the number that a value says; refuse one that says none."""
    if number is None:
        reason = f"Could not parse {str(value)[:_SHOWN_MAX]} as {function}"
        raise not_valid(function, reason)
    return number


def _read_whole(text: str) -> float | None:
    return formats.read_float(text, culture_of(_LOCALE), trailing=False)


@CONVERSION("int(value:numeric)", "a text or number as a whole number")
def _to_int(run: Run, value: str | Number) -> int:
    if isinstance(value, int):
        return value
    # Logic Apps reads a float first, so digits beyond its precision are lost.
    number = _read_whole(value) if isinstance(value, str) else float(value)
    if number is not None and math.isnan(number):
        return -INTEGER_MAX
    fits = number is not None and number.is_integer() and -INTEGER_MAX <= number < INTEGER_MAX
    return int(_parsed("int", value, number if fits else None))


@CONVERSION("float(value:numeric, locale?)", "a text as a number")
def _to_float(run: Run, value: str | Number, locale: Value) -> float:
    if not isinstance(value, str):
        return float(value)
    culture = culture_of(_LOCALE if locale is None else arguments.text("float", 1, locale))
    return _parsed("float", value, formats.read_float(value, culture))


@CONVERSION("decimal(value:numeric)", "a number that keeps its decimal places")
def _to_decimal(run: Run, value: str | Number) -> Decimal:
    if not isinstance(value, str):
        return formats.to_decimal(value)
    return _parsed("decimal", value, formats.read_decimal(value, culture_of(_LOCALE)))


@CONVERSION("bool(value)", "true or false, from a number or a text")
def _to_bool(run: Run, value: Value) -> bool:
    if isinstance(value, bool) or arguments.is_number(value):
        return value != 0
    word = value.strip().lower() if isinstance(value, str) else None
    if word in ("true", "false"):
        return word == "true"
    raise wrong("bool", None, "be a boolean, a number, 'true' or 'false'", value)


@CONVERSION("isInt(text:str)", "whether a text is a whole number")
def _is_int(run: Run, text: str) -> bool:
    number = _read_whole(text)
    return number is not None and number.is_integer()


@CONVERSION("isFloat(text, locale?:str)", "whether a text is a number")
def _is_float(run: Run, value: Value, locale: str | None) -> bool:
    culture = culture_of(locale or "")
    return formats.read_float(arguments.text("isFloat", 0, value), culture) is not None


@CONVERSION("json(value)", "the value in a JSON text or in XML")
def _from_json(run: Run, value: Value) -> Value:
    if value is None:
        return {}
    if arguments.is_envelope(value):
        if arguments.is_xml(value):
            return json_of_xml(run, value)
        value = arguments.content_text(run, value)
    if not isinstance(value, str):
        raise wrong("json", None, "be a string or an XML", value)
    run.check_text(len(value), "json")
    run.spend(len(value) >> 4)
    try:
        parsed: Value = json.loads(
            value,
            object_pairs_hook=_object,
            parse_constant=refuse_constant,
            parse_int=_integer,
            parse_float=finite,
        )
    except RecursionError:
        raise LimitExceeded("json was given JSON that is nested too deeply") from None
    except ValueError as error:
        raise not_valid("json", f"the provided value cannot be parsed as JSON: {error}") from None
    run.weigh(parsed)
    return without_surrogates(parsed) if "\\u" in value else parsed


def _object(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    """Of a key that is given twice the last value counts, at its place."""
    properties: dict[str, Value] = {}
    for key, value in pairs:
        properties.pop(key, None)
        properties[key] = value
    return properties


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -INTEGER_MAX <= (number := int(digits)) < INTEGER_MAX:
        raise ValueError("an integer is beyond 64 bits")
    return number


CONVERSION("array(value)", "an array with the value as its only item")(lambda run, value: [value])


@CONVERSION("createArray(value, ...)", "an array of all the values")
def _create_array(run: Run, values: list[Value]) -> list[Value]:
    run.check_items(len(values), "createArray")
    return values


def _calculate(function: str, kinds: Operations, run: Run, left: Value, right: Value) -> Value:
    """Calculate by the wider kind of two numbers: decimal, float or integer."""
    if function in ("div", "mod") and number(function, 1, right) == 0:
        raise not_valid(function, "attempt to divide an integer or decimal by zero")
    first, second = number(function, 0, left), number(function, 1, right)
    integers, floats, decimals = kinds
    if isinstance(first, Decimal) or isinstance(second, Decimal):
        return formats.to_decimal(decimals(formats.to_decimal(first), formats.to_decimal(second)))
    if isinstance(first, int) and isinstance(second, int):
        return arguments.within_integers(function, integers(first, second))
    return floats(float(first), float(second))


def _quotient(left: int, right: int) -> int:
    """Divide and drop what is behind the point, as .NET does."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _float_quotient(left: float, right: float) -> float:
    try:
        return left / right
    except OverflowError:
        return math.inf


# By function: on integers, on floats and on decimals. A product of floats that is too large is
# infinite in Python as in .NET.
_ARITHMETIC: tuple[tuple[str, Operations, str], ...] = (
    ("add", (operator.add, operator.add, formats.DECIMAL.add), "the sum of two numbers"),
    (
        "sub",
        (operator.sub, operator.sub, formats.DECIMAL.subtract),
        "the first number minus the second",
    ),
    ("mul", (operator.mul, operator.mul, formats.DECIMAL.multiply), "the product of two numbers"),
    (
        "div",
        (_quotient, _float_quotient, formats.DECIMAL.divide),
        "the quotient; for two integers without the fraction",
    ),
    (
        "mod",
        (
            lambda left, right: left - right * _quotient(left, right),
            lambda left, right: math.fmod(left, right) if math.isfinite(left) else math.nan,
            formats.DECIMAL.remainder,
        ),
        "the remainder of a division; it has the sign of the dividend",
    ),
)
for _name, _kinds, _doc in _ARITHMETIC:
    MATH(f"{_name}(left, right)", _doc, _kinds)(_calculate)


@MATH("max(value, ...)", "the highest of numbers or an array", max)
@MATH("min(value, ...)", "the lowest of numbers or an array", min)
def _extreme(function: str, choose: Callable[..., Number], run: Run, values: list[Value]) -> Number:
    items = values
    if len(values) == 1 and isinstance(values[0], list):
        items = values[0]
        run.spend(len(items))
    if not items:
        raise not_valid(function, "the array is empty")
    given = [number(function, place, item) for place, item in enumerate(items)]
    best = choose(given)
    if any(isinstance(each, Decimal) for each in given):
        return formats.to_decimal(best)
    return float(best) if any(isinstance(each, float) for each in given) else best


@MATH(
    "rand(min:int, max:int)",
    "an integer from min to below max, drawn from the seed of the run",
    reads="$seed",
)
def _random_integer(run: Run, first: int, beyond: int) -> int:
    if first >= beyond:
        raise not_valid("rand", "the minimum has to be less than the maximum")
    return first + int.from_bytes(run.draw()) % (beyond - first)


@MATH("range(start:int, count:int)", "an array of consecutive integers")
def _range(run: Run, first: int, length: int) -> list[int]:
    if length < 0:
        raise not_valid("range", "the count cannot be below 0")
    run.check_items(length, "range")
    arguments.within_integers("range", first + length)
    return list(range(first, first + length))


@MATH(
    "formatNumber(number, format, locale?:str)",
    "a number written by a .NET format such as '#,##0.00' or 'C2'",
)
def _format_number(run: Run, value: Value, form: Value, locale: str | None) -> str:
    culture = culture_of(_LOCALE if locale is None else locale)
    subject = number("formatNumber", 0, value)
    try:
        return formats.format_number(run, subject, arguments.text("formatNumber", 1, form), culture)
    except InvalidOperation:
        raise not_valid("formatNumber", "the number is too large for this format") from None


_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;"))


XML_FUNCTIONS("xml(value)", "a text or a JSON object as XML")(to_xml)
XML_FUNCTIONS("xpath(xml, xpath)", "what an XPath expression finds in XML, by the extra `xslt`")(
    select
)


@XML_FUNCTIONS("encodeXmlValue(text:str)", "escaped for use in XML")
def _encode_value(run: Run, text: str) -> str:
    run.check_text(len(text) * 6, "encodeXmlValue")
    for character, entity in _ESCAPES:
        text = text.replace(character, entity)
    return text


@XML_FUNCTIONS("decodeXmlValue(text:str)", "without the escapes of XML")
def _decode_value(run: Run, text: str) -> str:
    for character, entity in reversed(_ESCAPES):
        text = text.replace(entity, character)
    return text


@XML_FUNCTIONS("encodeXmlName(text:str)", "a text encoded as a valid XML name")
def _encode_name(run: Run, text: str) -> str:
    run.check_text(len(text) * 7, "encodeXmlName")
    return arguments.encode_name(text)


XML_FUNCTIONS("decodeXmlName(text:str)", "the text of an encoded XML name")(
    lambda run, text: arguments.decode_name(text)
)
