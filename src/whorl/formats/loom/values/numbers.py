"""Numbers read and written as .NET does.

A number may have thousands separators anywhere and a sign at either end.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from whorl.formats.loom.values.printing import float_text
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.formats.loom.values.arguments import Number
    from whorl.formats.loom.values.cultures import Culture
    from whorl.language.calls import Run


_DECIMAL_MAX = Decimal("79228162514264337593543950335")
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


def _read_digits(
    text: str, culture: Culture, *, exponent: bool = True, trailing: bool = True
) -> str | None:
    """Return a number in the writing of Python, or None if the text is no number."""
    if len(text) > _DIGITS_MAX:
        return None
    match = _pattern(culture.point, culture.group, exponent, trailing).match(text)
    if match is None or (match["before"] and match["after"]):
        return None
    whole = (match["whole"] or "").replace(culture.group, "")
    if not whole and not match["places"]:
        return None
    sign = "-" if "-" in (match["before"], match["after"]) else ""
    return f"{sign}{whole or 0}.{match['places'] or 0}e{match['power'] or 0}"


def read_float(text: str, culture: Culture, *, trailing: bool = True) -> float | None:
    """Return the float that a text says, or None; too large a number is infinite."""
    word = text.strip().lower()
    if word in ("nan", "+nan", "-nan"):
        return math.nan
    if word.lstrip("+-") == culture.infinity.lower():
        return -math.inf if word.startswith("-") else math.inf
    digits = _read_digits(text, culture, trailing=trailing)
    return None if digits is None else float(digits)


def read_decimal(text: str, culture: Culture) -> Decimal | None:
    """Return the decimal that a text says with its places, or None."""
    digits = _read_digits(text, culture, exponent=False)
    if digits is None:
        return None
    places = text.partition(culture.point)[2].strip().rstrip("+-").strip()
    return to_decimal(Decimal(digits if places else digits.removesuffix(".0e0")))


def to_decimal(number: int | float | Decimal) -> Decimal:
    """Turn a number into a decimal of .NET, or raise if it does not fit."""
    if isinstance(number, float):
        if not math.isfinite(number):
            raise EvaluationError("an infinite float has no decimal value")
        number = Decimal(format(number, ".15g"))
    exact = DECIMAL.create_decimal(number)
    if abs(exact) > _DECIMAL_MAX:
        raise EvaluationError("the value was either too large or too small for a decimal")
    exponent = exact.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent < -_PLACES_MAX:
        exact = exact.quantize(Decimal(1).scaleb(-_PLACES_MAX), context=DECIMAL)
    return exact if exponent <= 0 else exact.quantize(Decimal(1), context=DECIMAL)


_STANDARD = re.compile(r"([A-Za-z])([0-9]{0,3})\Z")
_PICTURE_MAX = 200
# Wide enough for any float written out with 999 places.
_EXACT = Context(prec=1_400, rounding=ROUND_HALF_UP)


def format_number(run: Run, number: Number, form: str, culture: Culture) -> str:
    run.check_text(len(form) + 1_400, "formatNumber")
    if isinstance(number, float) and not math.isfinite(number):
        return float_text(number).replace("Infinity", culture.infinity)
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    standard = _STANDARD.match(form or "G")
    if standard is None:
        if len(form) > _PICTURE_MAX:
            raise EvaluationError(f"a number format has at most {_PICTURE_MAX} characters")
        return _fill_picture(exact, form, culture)
    letter = standard[1].upper()
    places = int(standard[2]) if standard[2] else None
    if letter in "DX" and exact != exact.to_integral_value():
        raise EvaluationError(f"the number format {letter!r} is for integers")
    if letter == "X":
        return format(int(number) % 2**64, standard[1]).zfill(places or 1)
    write = _WRITERS.get(letter)
    if write is None:
        raise EvaluationError(f"the number format {form!r} is not valid")
    written = write(exact, places, culture)
    if letter not in "GR" and exact < 0 and any(digit in "123456789" for digit in written):
        written = f"-{written}"
    return written.lower() if standard[1] == "e" else written


def _rounded(number: Decimal, places: int | None, usual: int = 2) -> str:
    """Write the size of a number with so many decimal places, halves away from zero."""
    quantum = Decimal(1).scaleb(-(usual if places is None else places))
    return format(abs(number).quantize(quantum, context=_EXACT), "f")


def _grouped(number: Decimal, places: int | None, culture: Culture) -> str:
    """Write the size of a number with the marks of a culture."""
    whole, _, decimals = _rounded(number, places).partition(".")
    parts = [whole[max(0, end - 3) : end] for end in range(len(whole), 0, -3)]
    return culture.group.join(reversed(parts)) + (f"{culture.point}{decimals}" if decimals else "")


def _currency(number: Decimal, places: int | None, culture: Culture) -> str:
    digits = _grouped(number, places, culture)
    if culture.point == ".":
        return culture.currency + digits
    return f"{digits}\u00a0{culture.currency}"


def _percent(number: Decimal, places: int | None, culture: Culture) -> str:
    gap = "" if culture.point == "." else "\u00a0"
    return f"{_grouped(number * 100, places, culture)}{gap}%"


def _exponential(number: Decimal, places: int | None, culture: Culture) -> str:
    power = number.adjusted() if number else 0
    digits = _rounded(number.scaleb(-power), places, 6)
    if digits.startswith("10"):
        power += 1
        digits = _rounded(number.scaleb(-power), places, 6)
    return f"{digits.replace('.', culture.point)}E{'-' if power < 0 else '+'}{abs(power):03d}"


def _general(number: Decimal, places: int | None, culture: Culture) -> str:
    power = ""
    if places:
        number = Context(prec=places, rounding=ROUND_HALF_UP).create_decimal(number)
        size = number.adjusted()
        if not -5 <= size < places:
            number = number.scaleb(-size)
            power = f"E{'-' if size < 0 else '+'}{abs(size):02d}"
    digits = format(number, "f")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return digits.replace(".", culture.point) + power


# Each writes the size of a number, but for the general format, which has the sign, too.
_WRITERS: dict[str, Callable[[Decimal, int | None, Culture], str]] = {
    "N": _grouped,
    "F": lambda number, places, culture: _rounded(number, places).replace(".", culture.point),
    "C": _currency,
    "P": _percent,
    "D": lambda number, places, culture: (
        format(abs(number), "f").partition(".")[0].zfill(places or 1)
    ),
    "E": _exponential,
    "G": _general,
    "R": lambda number, places, culture: _general(number, None, culture),
}


_PIECE = re.compile(r"""'[^']*'|"[^"]*"|\\.|[eE][+-]?0+|.""", re.DOTALL)


def _fill_picture(value: Decimal, form: str, culture: Culture) -> str:
    """Write a number into a picture, which has up to three sections: positive, negative, zero."""
    sections: list[list[str]] = [[]]
    for piece in _PIECE.findall(form):
        if piece == ";":
            sections.append([])
        else:
            sections[-1].append(piece)
    pieces = sections[0]
    if value == 0 and len(sections) > 2:
        pieces = sections[2]
    elif value < 0 and len(sections) > 1 and sections[1]:
        pieces = sections[1]
    written = _filled(abs(value), pieces, culture)
    is_signed = value < 0 and len(sections) == 1 and any(digit in "123456789" for digit in written)
    return f"-{written}" if is_signed else written


def _filled(value: Decimal, pieces: list[str], culture: Culture) -> str:
    point = pieces.index(".") if "." in pieces else len(pieces)
    slots = [index for index, piece in enumerate(pieces) if piece in ("0", "#")]
    before = [index for index in slots if index < point]
    after = [index for index in slots if index > point]
    value *= Decimal(100) ** pieces.count("%") * Decimal(1000) ** pieces.count("‰")
    power = next((piece for piece in pieces if piece[0] in "eE" and len(piece) > 1), None)
    exponent = 0
    if power is not None and value:
        exponent = value.adjusted() - max(0, len(before) - 1)
        value = value.scaleb(-exponent)
    # Commas right before the point divide by a thousand each; others group the digits.
    scaling = pieces[before[-1] + 1 : point].count(",") if before else 0
    value = value.scaleb(-3 * scaling)
    digits = format(value.quantize(Decimal(1).scaleb(-len(after)), context=_EXACT), "f")
    whole, _, places = digits.partition(".")
    least = len(before) - next((at for at, i in enumerate(before) if pieces[i] == "0"), len(before))
    whole = whole.lstrip("0").rjust(least, "0")
    needed = max((at + 1 for at, i in enumerate(after) if pieces[i] == "0"), default=0)
    places = places[:needed] + places[needed:].rstrip("0")
    groups = len(before) > 1 and "," in pieces[before[0] : before[-1]]
    mark = culture.group if groups else ""
    # From the right; the first place takes all digits that are left.
    marked = [d + (mark if at and at % 3 == 0 else "") for at, d in enumerate(reversed(whole))]
    filled = dict(zip(reversed(before), marked, strict=False))
    if before:
        filled[before[0]] = "".join(reversed(marked[len(before) - 1 :]))
    filled |= dict(zip(after, places, strict=False)) | {point: culture.point if places else ""}
    return "".join(
        _shown(piece, filled.get(index, ""), exponent) for index, piece in enumerate(pieces)
    )


def _shown(piece: str, digits: str, exponent: int) -> str:
    if piece in ("0", "#", "."):
        return digits
    if piece == ",":
        return ""
    if len(piece) == 1:
        return piece
    if piece[0] in "eE":
        sign = "-" if exponent < 0 else "+" if piece[1] == "+" else ""
        return f"{piece[0]}{sign}{str(abs(exponent)).zfill(piece.count('0'))}"
    return piece[1:] if piece[0] == "\\" else piece[1:-1]
