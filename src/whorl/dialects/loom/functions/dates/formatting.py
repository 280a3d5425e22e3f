"""Dates written by .NET formats: a letter such as `D` or `o`, or a pattern such as `yyyy-MM-dd`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.loom.functions.dates.moment import DAY, HOUR, MINUTE, SECOND
from whorl.dialects.loom.values.cultures import culture_of
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.loom.functions.dates.moment import Moment
    from whorl.dialects.loom.values.cultures import Culture

FORMAT_MAX = 1_000
PIECE = re.compile(
    r"""(?P<quoted>'[^']*'|"[^"]*")|\\(?P<escaped>.)|%(?=[A-Za-z])"""
    r"""|(?P<letters>(?P<letter>[dfFghHKmMstyz])(?P=letter)*)|(?P<other>.)""",
    re.DOTALL,
)
ROUND_TRIP = "yyyy-MM-dd'T'HH:mm:ss.fffffffK"
# Formats that are the same in every culture, which then is the invariant one.
FIXED = {
    "o": ROUND_TRIP,
    "O": ROUND_TRIP,
    "r": "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
    "R": "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
    "s": "yyyy-MM-dd'T'HH:mm:ss",
    "u": "yyyy-MM-dd HH:mm:ss'Z'",
}


def pattern_of(form: str, culture: Culture) -> tuple[str, Culture]:
    """Return the pattern that a format stands for, and the culture that it is written in."""
    if len(form) > FORMAT_MAX:
        raise EvaluationError(f"a date format has at most {FORMAT_MAX} characters")
    if len(form) != 1:
        return form or ROUND_TRIP, culture
    if form in FIXED:
        return FIXED[form], culture_of("")
    mark = culture.short_time.lstrip("Hh")[0]
    long_time = culture.short_time.replace("mm", f"mm{mark}ss", 1)
    month_day = re.sub(r",? ?y+|dddd,? ?", "", culture.long_date).strip(" ,")
    patterns = {
        "d": culture.short_date,
        "D": culture.long_date,
        "t": culture.short_time,
        "T": long_time,
        "f": f"{culture.long_date} {culture.short_time}",
        "F": f"{culture.long_date} {long_time}",
        "U": f"{culture.long_date} {long_time}",
        "g": f"{culture.short_date} {culture.short_time}",
        "G": f"{culture.short_date} {long_time}",
        "m": month_day,
        "M": month_day,
        "y": "MMMM yyyy",
        "Y": "MMMM yyyy",
    }
    if form not in patterns:
        raise EvaluationError(
            f"the date format {form!r} is not valid", help="use one such as 'yyyy-MM-dd' or 'o'"
        )
    return patterns[form], culture


def format_moment(moment: Moment, form: str, culture: Culture) -> str:
    """Write a moment."""
    pattern, culture = pattern_of(form, culture)
    out: list[str] = []
    for piece in PIECE.finditer(pattern):
        if piece["letters"]:
            written = _WRITERS[piece["letter"]](moment, len(piece["letters"]), culture)
            if not written and piece["letter"] == "F" and out and out[-1] == ".":
                out.pop()
            out.append(written)
        elif piece["quoted"]:
            out.append(piece["quoted"][1:-1])
        else:
            out.append(piece["escaped"] or piece["other"] or "")
    return "".join(out)


def _day(moment: Moment, count: int, culture: Culture) -> str:
    if count <= 2:
        return str(moment.date.day).zfill(count)
    names = culture.short_days if count == 3 else culture.days
    return names[moment.date.isoweekday() % 7]


def _month(moment: Moment, count: int, culture: Culture) -> str:
    if count <= 2:
        return str(moment.date.month).zfill(count)
    return (culture.short_months if count == 3 else culture.months)[moment.date.month - 1]


def _year(moment: Moment, count: int, culture: Culture) -> str:
    year = moment.date.year
    return str(year % 100).zfill(count) if count <= 2 else str(year).zfill(count)


def _hour(moment: Moment, count: int, culture: Culture) -> str:
    return str(moment.time // HOUR).zfill(min(count, 2))


def _half_hour(moment: Moment, count: int, culture: Culture) -> str:
    return str((moment.time // HOUR + 11) % 12 + 1).zfill(min(count, 2))


def _minute(moment: Moment, count: int, culture: Culture) -> str:
    return str(moment.time % HOUR // MINUTE).zfill(min(count, 2))


def _second(moment: Moment, count: int, culture: Culture) -> str:
    return str(moment.time % MINUTE // SECOND).zfill(min(count, 2))


def _fraction(moment: Moment, count: int, culture: Culture) -> str:
    if count > 7:
        raise EvaluationError("a date format has at most 7 places of a second")
    return f"{moment.time % SECOND:07d}"[:count]


def _half(moment: Moment, count: int, culture: Culture) -> str:
    name = culture.halves[moment.time >= DAY // 2]
    return name[:1] if count == 1 else name


def _offset(moment: Moment, count: int, culture: Culture) -> str:
    return {1: "+0", 2: "+00"}.get(count, "+00:00")


_WRITERS: dict[str, Callable[[Moment, int, Culture], str]] = {
    "d": _day,
    "M": _month,
    "y": _year,
    "H": _hour,
    "h": _half_hour,
    "m": _minute,
    "s": _second,
    "f": _fraction,
    "F": lambda moment, count, culture: _fraction(moment, count, culture).rstrip("0"),
    "t": _half,
    "K": lambda moment, count, culture: "Z" * moment.utc,
    "z": _offset,
    "g": lambda moment, count, culture: "A.D.",
}
