"""Numbers read from text as .NET reads them: thousands separators anywhere, signs at either end."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from whorl.dialects.loom.values.cultures import Culture

DECIMAL_MAX = Decimal("79228162514264337593543950335")
DECIMAL = Context(prec=29, rounding=ROUND_HALF_EVEN)
_DIGITS_MAX = 1_000
_PLACES_MAX = 28


@lru_cache(maxsize=64)
def _pattern(point: str, group: str, exponent: bool, trailing: bool) -> re.Pattern[str]:
    digits = (
        rf"(?P<whole>[0-9][0-9{re.escape(group)}]*+)?(?:{re.escape(point)}(?P<places>[0-9]*+))?"
    )
    power = r"(?:[eE](?P<power>[+-]?[0-9]+))?" if exponent else "(?P<power>(?!))?"
    after = r"\s*(?P<after>[+-])?" if trailing else "(?P<after>(?!))?"
    return re.compile(rf"\s*(?P<before>[+-])?\s*{digits}{power}{after}\s*\Z")


def read_digits(
    text: str, culture: Culture, *, exponent: bool = True, trailing: bool = True
) -> str | None:
    """Return a number in the writing of Python, or None if the text is no number."""
    if len(text) > _DIGITS_MAX:
        return None
    found = _pattern(culture.point, culture.group, exponent, trailing).match(text)
    if found is None or (found["before"] and found["after"]):
        return None
    whole = (found["whole"] or "").replace(culture.group, "")
    if not whole and not found["places"]:
        return None
    sign = "-" if "-" in (found["before"], found["after"]) else ""
    power = f"e{found['power']}" if found["power"] else ""
    return f"{sign}{whole or 0}.{found['places'] or 0}{power}"


def read_float(text: str, culture: Culture, *, trailing: bool = True) -> float | None:
    """Return the float that a text says, or None; too large a number is infinite."""
    word = text.strip().lower()
    if word in ("nan", "+nan", "-nan"):
        return math.nan
    if word.lstrip("+-") == culture.infinity.lower():
        return -math.inf if word.startswith("-") else math.inf
    digits = read_digits(text, culture, trailing=trailing)
    return None if digits is None else float(digits)


def read_decimal(text: str, culture: Culture) -> Decimal | None:
    """Return the decimal that a text says with its places, or None."""
    digits = read_digits(text, culture, exponent=False)
    if digits is None:
        return None
    written = digits if culture.point in text else digits.removesuffix(".0")
    places = text.partition(culture.point)[2].strip().rstrip("+-").strip()
    if culture.point in text and not places:
        written = digits.removesuffix(".0")
    return to_decimal(Decimal(written))


def to_decimal(number: int | float | Decimal) -> Decimal:
    """Turn a number into a decimal of .NET, or raise if it does not fit."""
    if isinstance(number, float):
        if not math.isfinite(number):
            raise EvaluationError("a float without end has no decimal value")
        number = Decimal(format(number, ".15g"))
    exact = DECIMAL.create_decimal(number)
    if abs(exact) > DECIMAL_MAX:
        raise EvaluationError("the value was either too large or too small for a decimal")
    exponent = exact.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent < -_PLACES_MAX:
        exact = exact.quantize(Decimal(1).scaleb(-_PLACES_MAX), context=DECIMAL)
    return exact if exponent <= 0 else exact.quantize(Decimal(1), context=DECIMAL)
