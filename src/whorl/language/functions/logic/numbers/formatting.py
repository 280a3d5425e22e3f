"""Numbers written by .NET formats: `C D E F G N P X` with places, and pictures like `#,##0.00`."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING

from whorl.language.faults import EvaluationError
from whorl.language.functions.logic.numbers.picture import fill_picture
from whorl.language.functions.logic.printing import float_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language.functions.logic.arguments import Number
    from whorl.language.functions.logic.cultures import Culture
    from whorl.language.run import Run

_STANDARD = re.compile(r"([A-Za-z])([0-9]{0,3})\Z")
_PICTURE_MAX = 200
# Wide enough for any float written out with 999 places.
EXACT = Context(prec=1_400, rounding=ROUND_HALF_UP)


def format_number(run: Run, number: Number, form: str, culture: Culture) -> str:
    """Write a number."""
    run.check_text(len(form) + 1_400, "formatNumber")
    if isinstance(number, float) and not math.isfinite(number):
        return float_text(number).replace("Infinity", culture.infinity)
    standard = _STANDARD.match(form) if form else _STANDARD.match("G")
    if standard is None:
        if len(form) > _PICTURE_MAX:
            raise EvaluationError(f"a number format has at most {_PICTURE_MAX} characters")
        return fill_picture(number, form, culture)
    letter = standard[1].upper()
    places = int(standard[2]) if standard[2] else None
    if letter == "X":
        return _hexadecimal(number, places, upper=standard[1] == "X")
    write = _WRITERS.get(letter)
    if write is None:
        raise EvaluationError(f"the number format {form!r} is not valid")
    written = write(exact(number), places, culture)
    return written.lower() if standard[1] == "e" else written


def exact(number: Number) -> Decimal:
    """Return a number as its shortest decimal digits."""
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def rounded(number: Decimal, places: int) -> str:
    """Write the size of a number with a number of decimal places, halves away from zero."""
    quantum = Decimal(1).scaleb(-places)
    return format(abs(number).quantize(quantum, context=EXACT), "f")


def grouped(digits: str, culture: Culture) -> str:
    """Put the marks of a culture into plain digits."""
    whole, _, places = digits.partition(".")
    parts = [whole[max(0, end - 3) : end] for end in range(len(whole), 0, -3)]
    return culture.group.join(reversed(parts)) + (f"{culture.point}{places}" if places else "")


def _signed(number: Decimal, digits: str) -> str:
    return f"-{digits}" if number < 0 and any(digit in "123456789" for digit in digits) else digits


def _number(number: Decimal, places: int | None, culture: Culture) -> str:
    return _signed(number, grouped(rounded(number, 2 if places is None else places), culture))


def _fixed(number: Decimal, places: int | None, culture: Culture) -> str:
    digits = rounded(number, 2 if places is None else places)
    return _signed(number, digits.replace(".", culture.point))


def _currency(number: Decimal, places: int | None, culture: Culture) -> str:
    digits = grouped(rounded(number, 2 if places is None else places), culture)
    if culture.point == ".":
        return _signed(number, culture.currency + digits)
    return _signed(number, f"{digits}\u00a0{culture.currency}")


def _percent(number: Decimal, places: int | None, culture: Culture) -> str:
    digits = grouped(rounded(number * 100, 2 if places is None else places), culture)
    gap = "" if culture.point == "." else "\u00a0"
    return _signed(number, f"{digits}{gap}%")


def _digits(number: Decimal, places: int | None, culture: Culture) -> str:
    if number != number.to_integral_value():
        raise EvaluationError("the number format 'D' is for integers")
    return _signed(number, format(abs(number), "f").partition(".")[0].zfill(places or 1))


def _exponential(number: Decimal, places: int | None, culture: Culture) -> str:
    power = number.adjusted() if number else 0
    digits = rounded(number.scaleb(-power), 6 if places is None else places)
    if digits.startswith("10"):
        power += 1
        digits = rounded(number.scaleb(-power), 6 if places is None else places)
    sign = "-" if power < 0 else "+"
    return _signed(number, f"{digits.replace('.', culture.point)}E{sign}{abs(power):03d}")


def _general(number: Decimal, places: int | None, culture: Culture) -> str:
    if places:
        number = Context(prec=places, rounding=ROUND_HALF_UP).create_decimal(number)
        if not -5 <= number.adjusted() < places:
            power = number.adjusted()
            digits = format(number.scaleb(-power).normalize(), "f").replace(".", culture.point)
            return f"{digits}E{'-' if power < 0 else '+'}{abs(power):02d}"
    digits = format(number, "f")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits.replace(".", culture.point)


def _hexadecimal(number: Number, places: int | None, *, upper: bool) -> str:
    if isinstance(number, float | Decimal) and number != int(number):
        raise EvaluationError("the number format 'X' is for integers")
    digits = format(int(number) % 2**64, "X" if upper else "x")
    return digits.zfill(places or 1)


_WRITERS: dict[str, Callable[[Decimal, int | None, Culture], str]] = {
    "N": _number,
    "F": _fixed,
    "C": _currency,
    "P": _percent,
    "D": _digits,
    "E": _exponential,
    "G": _general,
    "R": lambda number, places, culture: _general(number, None, culture),
}
