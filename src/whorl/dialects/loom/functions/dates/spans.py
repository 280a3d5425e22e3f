"""Spans of time, written as .NET does: `[-][d.]hh:mm:ss[.fffffff]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.loom.functions.dates.moment import DAY, HOUR, MINUTE, SECOND
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable

_SPAN = re.compile(
    r"\s*(?P<sign>-)?(?:(?P<days>\d{1,8})(?:[.:](?=\d))?)?"
    r"(?:(?P<hours>\d{1,2}):(?P<minutes>\d{1,2})(?::(?P<seconds>\d{1,2})(?:\.(?P<part>\d{1,7}))?)?)?"
    r"\s*\Z"
)
_PIECE = re.compile(r"'(?P<quoted>[^']*)'|\\(?P<escaped>.)|(?P<letters>([dhmsfF])\4*)|(?P<other>.)")


def write_span(ticks: int) -> str:
    """Write a span; days and fractions of a second only where there are some."""
    size = abs(ticks)
    days, fraction = size // DAY, size % SECOND
    clock = f"{size % DAY // HOUR:02d}:{size % HOUR // MINUTE:02d}:{size % MINUTE // SECOND:02d}"
    sign = "-" * (ticks < 0)
    return f"{sign}{f'{days}.' if days else ''}{clock}{f'.{fraction:07d}' if fraction else ''}"


def read_span(text: str) -> int:
    """Return the ticks of a span."""
    found = _SPAN.match(text) if len(text) < 100 else None
    if found is None or not text.strip(" -"):
        raise EvaluationError(f"the value {text[:60]!r} is not a valid time span")
    ticks = (
        int(found["days"] or 0) * DAY
        + int(found["hours"] or 0) * HOUR
        + int(found["minutes"] or 0) * MINUTE
        + int(found["seconds"] or 0) * SECOND
        + int((found["part"] or "0").ljust(7, "0"))
    )
    return -ticks if found["sign"] else ticks


def format_span(ticks: int, form: str) -> str:
    """Write a span by `c`, `g`, `G` or a pattern such as `hh\\:mm`."""
    if form in ("", "c", "t", "T"):
        return write_span(ticks)
    size = abs(ticks)
    if form in ("g", "G"):
        fraction = f".{size % SECOND:07d}"
        days = f"{size // DAY}:" if form == "G" or size >= DAY else ""
        hours = f"{size % DAY // HOUR:02d}" if form == "G" else str(size % DAY // HOUR)
        rest = f":{size % HOUR // MINUTE:02d}:{size % MINUTE // SECOND:02d}"
        tail = fraction if form == "G" else fraction.rstrip("0").rstrip(".")
        return f"{'-' * (ticks < 0)}{days}{hours}{rest}{tail}"
    return "".join(_piece(size, piece) for piece in _PIECE.finditer(form))


def _piece(size: int, piece: re.Match[str]) -> str:
    letters = piece["letters"]
    if letters:
        return (
            _WRITERS[letters[0]](size).zfill(len(letters))
            if letters[0] in "dhms"
            else (f"{size % SECOND:07d}"[: len(letters)])
        )
    if piece["other"]:
        raise EvaluationError(
            f"the time span format has {piece['other']!r}, which needs a backslash before it"
        )
    return piece["quoted"] or piece["escaped"] or ""


_WRITERS: dict[str, Callable[[int], str]] = {
    "d": lambda size: str(size // DAY),
    "h": lambda size: str(size % DAY // HOUR),
    "m": lambda size: str(size % HOUR // MINUTE),
    "s": lambda size: str(size % MINUTE // SECOND),
}
