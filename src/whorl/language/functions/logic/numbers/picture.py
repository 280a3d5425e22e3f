"""Numbers written by a picture: `0` a digit, `#` a digit if there is one, `,` thousands, `.`, `%`.

A picture may have parts for numbers above zero, below zero and zero, separated by `;`.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.language.functions.logic.arguments import Number
    from whorl.language.functions.logic.cultures import Culture

_PIECE = re.compile(r"""'[^']*'|"[^"]*"|\\.|[eE][+-]?0+|.""", re.DOTALL)
_EXACT = Context(prec=1_400, rounding=ROUND_HALF_UP)


def fill_picture(number: Number, form: str, culture: Culture) -> str:
    """Write a number into a picture."""
    value = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    sections = _sections(form)
    sign = "-" if value < 0 and len(sections) == 1 else ""
    if value == 0 and len(sections) > 2:
        pieces = sections[2]
    elif value < 0 and len(sections) > 1 and sections[1]:
        pieces = sections[1]
    else:
        pieces = sections[0]
    written = _filled(abs(value), pieces, culture)
    return sign + written if any(digit in "123456789" for digit in written) else written


def _sections(form: str) -> list[list[str]]:
    sections: list[list[str]] = [[]]
    for piece in _PIECE.findall(form):
        if piece == ";":
            sections.append([])
        else:
            sections[-1].append(piece)
    return sections[:3]


def _filled(value: Decimal, pieces: list[str], culture: Culture) -> str:
    marks = [piece for piece in pieces if piece in ("0", "#", ".", ",")]
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
    scaling = _commas_before(pieces, before[-1] if before else -1, point)
    value = value.scaleb(-3 * scaling)
    digits = format(value.quantize(Decimal(1).scaleb(-len(after)), context=_EXACT), "f")
    whole, _, places = digits.partition(".")
    least = len(before) - next((at for at, i in enumerate(before) if pieces[i] == "0"), len(before))
    whole = whole.lstrip("0").rjust(least, "0")
    needed = max((at + 1 for at, i in enumerate(after) if pieces[i] == "0"), default=0)
    places = places[:needed] + places[needed:].rstrip("0")
    groups = "," in marks and _groups(pieces, before)
    return _assembled(
        pieces,
        _slots(whole, before, culture.group if groups else ""),
        {**dict(zip(after, places, strict=False)), point: culture.point if places else ""},
        exponent,
    )


def _commas_before(pieces: list[str], last: int, point: int) -> int:
    return pieces[last + 1 : point].count(",") if last >= 0 else 0


def _groups(pieces: list[str], before: list[int]) -> bool:
    return len(before) > 1 and "," in pieces[before[0] : before[-1]]


def _slots(whole: str, before: list[int], group: str) -> dict[int, str]:
    """Give each place before the point its digits; the first takes all that are left."""
    filled: dict[int, str] = {}
    for count, index in enumerate(reversed(before)):
        first = count == len(before) - 1
        end = len(whole) - count
        digits = whole[:end] if first else whole[max(0, end - 1) : max(0, end)]
        marked = ""
        for at, digit in enumerate(digits):
            behind = len(digits) - at - 1 + count
            marked += digit + (group if behind and behind % 3 == 0 else "")
        filled[index] = marked
    return filled


def _assembled(
    pieces: list[str], before: dict[int, str], after: dict[int, str], exponent: int
) -> str:
    out: list[str] = []
    for index, piece in enumerate(pieces):
        if piece in ("0", "#"):
            out.append(before.get(index, after.get(index, "")))
        elif piece == ".":
            out.append(after.get(index, ""))
        elif piece == ",":
            continue
        elif piece[0] in "eE" and len(piece) > 1:
            sign = "-" if exponent < 0 else "+" if piece[1] == "+" else ""
            out.append(f"{piece[0]}{sign}{str(abs(exponent)).zfill(piece.count('0'))}")
        elif len(piece) > 1:
            out.append(piece[1:] if piece[0] == "\\" else piece[1:-1])
        else:
            out.append(piece)
    return "".join(out)
