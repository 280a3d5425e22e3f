"""Dates written and read by .NET formats: a letter like `D`, or a pattern like `yyyy-MM-dd`."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from whorl.dialects.loom.values.cultures import culture_of
from whorl.dialects.loom.values.moments import DAY, HOUR, MINUTE, SECOND, Moment, checked
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable

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
    **dict.fromkeys("oO", ROUND_TRIP),
    **dict.fromkeys("rR", "ddd, dd MMM yyyy HH:mm:ss 'GMT'"),
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
        **dict.fromkeys("FU", f"{culture.long_date} {long_time}"),
        "g": f"{culture.short_date} {culture.short_time}",
        "G": f"{culture.short_date} {long_time}",
        **dict.fromkeys("mM", month_day),
        **dict.fromkeys("yY", "MMMM yyyy"),
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
    return (culture.short_days if count == 3 else culture.days)[moment.date.isoweekday() % 7]


def _month(moment: Moment, count: int, culture: Culture) -> str:
    if count <= 2:
        return str(moment.date.month).zfill(count)
    return (culture.short_months if count == 3 else culture.months)[moment.date.month - 1]


def _year(moment: Moment, count: int, culture: Culture) -> str:
    year = moment.date.year
    return str(year % 100).zfill(count) if count <= 2 else str(year).zfill(count)


def _count(moment: Moment, count: int, whole: int, unit: int) -> str:
    return str(moment.time % whole // unit).zfill(min(count, 2))


def _half_hour(moment: Moment, count: int, culture: Culture) -> str:
    return str((moment.time // HOUR + 11) % 12 + 1).zfill(min(count, 2))


def _fraction(moment: Moment, count: int, culture: Culture) -> str:
    if count > 7:
        raise EvaluationError("a date format has at most 7 places of a second")
    return f"{moment.time % SECOND:07d}"[:count]


def _half(moment: Moment, count: int, culture: Culture) -> str:
    name = culture.halves[moment.time >= DAY // 2]
    return name[:1] if count == 1 else name


_WRITERS: dict[str, Callable[[Moment, int, Culture], str]] = {
    "d": _day,
    "M": _month,
    "y": _year,
    "H": lambda moment, count, culture: _count(moment, count, DAY, HOUR),
    "h": _half_hour,
    "m": lambda moment, count, culture: _count(moment, count, HOUR, MINUTE),
    "s": lambda moment, count, culture: _count(moment, count, MINUTE, SECOND),
    "f": _fraction,
    "F": lambda moment, count, culture: _fraction(moment, count, culture).rstrip("0"),
    "t": _half,
    "K": lambda moment, count, culture: "Z" * moment.utc,
    "z": lambda moment, count, culture: {1: "+0", 2: "+00"}.get(count, "+00:00"),
    "g": lambda moment, count, culture: "A.D.",
}


_TEXT_MAX = 200
_TIME = (
    r"(?:[T\s]\s*(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})"
    r"(?:[.,](?P<fraction>\d{1,9}))?)?\s*(?P<half>[AaPp]\.?[Mm]\.?)?)?"
    r"\s*(?P<zone>[Zz]|GMT|UTC|[+-]\d{1,2}(?::?\d{2})?)?\s*\Z"
)
_ISO = re.compile(r"\s*(?P<year>\d{4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?" + _TIME)
_COMPACT = re.compile(
    r"\s*(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})T(?P<hour>\d{2})(?P<minute>\d{2})"
    r"(?P<second>\d{2})(?P<fraction>)?(?P<half>)?(?P<zone>Z)?\s*\Z"
)
_NUMBERS = re.compile(
    r"\s*(?P<first>\d{1,4})(?P<mark>[/.-])(?P<second_part>\d{1,2})(?P=mark)(?P<third>\d{1,4})"
    + _TIME
)
_WORDS = re.compile(
    r"\s*(?:(?P<weekday>[^\W\d]+\.?),?\s+)?(?:(?P<day>\d{1,2})\.?[\s-]+(?:de\s+|den\s+)?"
    r"(?P<month>[^\W\d]+\.?)|(?P<month_first>[^\W\d]+\.?)\s+(?P<day_after>\d{1,2}))"
    r"(?:,?[\s-]+(?:de\s+)?(?P<year>\d{4}))" + _TIME
)


def parse_moment(text: str, culture: Culture) -> Moment:
    """Read a date, with or without a time and a zone."""
    if len(text) > _TEXT_MAX:
        raise _not_a_date(text)
    if match := _ISO.match(text) or _COMPACT.match(text):
        return _moment(text, (match["year"], match["month"], match["day"] or "1"), match)
    if match := _NUMBERS.match(text):
        parts = (match["first"], match["second_part"], match["third"])
        return _moment(text, _by_culture(parts, culture), match)
    if match := _WORDS.match(text):
        month = _month_number(match["month"] or match["month_first"], culture)
        if month:
            day = match["day"] or match["day_after"]
            return _moment(text, (match["year"], str(month), day), match)
    raise _not_a_date(text)


def _by_culture(parts: tuple[str, str, str], culture: Culture) -> tuple[str, str, str]:
    """Sort the three numbers of a date by the order that a culture writes them in."""
    if len(parts[0]) == 4:
        return parts
    order = re.sub(r"[^dMy]", "", re.sub(r"(.)\1+", r"\1", culture.short_date))
    fields = dict(zip(order if order[0] != "y" else "dMy", parts, strict=False))
    return _full_year(fields["y"]), fields["M"], fields["d"]


def _full_year(year: str) -> str:
    if len(year) > 2:
        return year
    # .NET reads two digits as a year from 1950 to 2049.
    return str(int(year) + (2000 if int(year) < 50 else 1900))


def _month_number(name: str, culture: Culture) -> int:
    wanted = name.lower().rstrip(".")
    for names in (culture.months, culture.short_months):
        for number, month in enumerate(names, 1):
            if month.lower().rstrip(".") == wanted:
                return number
    return 0


def _moment(text: str, day: tuple[str, str, str], match: re.Match[str]) -> Moment:
    hour = int(match["hour"] or 0)
    if match["half"]:
        if not 1 <= hour <= 12:
            raise _not_a_date(text)
        hour = hour % 12 + 12 * (match["half"][0] in "Pp")
    time = (hour, int(match["minute"] or 0), int(match["second"] or 0))
    year, month, number = map(int, day)
    return _in_utc(text, (year, month, number), time, (match["fraction"] or "")[:7], match["zone"])


def _in_utc(
    text: str,
    day: tuple[int, int, int],
    time: tuple[int, int, int],
    fraction: str,
    zone: str | None,
) -> Moment:
    """Return the moment of a day and a time, in UTC where there is a zone."""
    hour, minute, second = time
    try:
        days = date(*day).toordinal() - 1
    except (ValueError, OverflowError):
        raise _not_a_date(text) from None
    if hour > 23 or minute > 59 or second > 59:
        raise _not_a_date(text)
    ticks = days * DAY + hour * HOUR + minute * MINUTE + second * SECOND
    ticks += int(fraction.ljust(7, "0"))
    if zone is None:
        return Moment(ticks, utc=False)
    return Moment(checked(ticks - _zone_ticks(text, zone)), utc=True)


def _zone_ticks(text: str, zone: str) -> int:
    """Return the offset that a zone such as `Z` or `+02:00` says."""
    if zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "")
    hours, minutes = (digits, "0") if len(digits) <= 2 else (digits[:-2], digits[-2:])
    if int(hours) > 14 or int(minutes) > 59:
        raise _not_a_date(text)
    ticks = int(hours) * HOUR + int(minutes) * MINUTE
    return -ticks if zone[0] == "-" else ticks


def _not_a_date(text: str) -> EvaluationError:
    return EvaluationError(
        f"the value {text[:60]!r} is not a valid date or time",
        help="write it as 2026-01-31T12:00:00Z",
    )


# What the letters of a pattern match; names of days and months are matched by the culture.
_FIELDS = {
    **dict.fromkeys("dMyHhms", r"\d{1,2}"),
    **{letter * 2: r"\d{2}" for letter in "dMyHhms"},
    "yyyy": r"\d{4}",
    "K": r"Z|[+-]\d{2}:\d{2}|",
    "z": r"[+-]\d{1,2}",
    "zz": r"[+-]\d{2}",
    "zzz": r"[+-]\d{2}:\d{2}",
}


def parse_exactly(text: str, form: str, culture: Culture) -> Moment:
    """Read a date that is written by a pattern."""
    pattern, culture = pattern_of(form, culture)
    if len(text) > _TEXT_MAX:
        raise _not_a_date(text)
    fields: list[str] = []
    out: list[str] = []
    for piece in PIECE.finditer(pattern):
        if piece["letters"]:
            # Each part of a date once: reading then cannot try ways without end.
            values = [field for field in fields if field not in ("ddd", "dddd")]
            if any(field[0] == piece["letter"] for field in values):
                raise EvaluationError(f"the date format has {piece['letters']!r} twice")
            fields.append(piece["letters"])
            out.append(f"({_field(piece['letters'], culture)})")
        else:
            literal = piece["quoted"][1:-1] if piece["quoted"] else piece["escaped"]
            out.append(re.escape(literal or piece["other"] or ""))
    match = re.fullmatch("".join(out), text.strip(), re.IGNORECASE)
    if match is None:
        raise _not_a_date(text)
    return _assembled(text, dict(zip(fields, match.groups(), strict=True)), culture)


def _field(letters: str, culture: Culture) -> str:
    names = {
        "ddd": culture.short_days,
        "dddd": culture.days,
        "MMM": culture.short_months,
        "MMMM": culture.months,
        "t": tuple(half[:1] for half in culture.halves),
        "tt": culture.halves,
    }
    if letters in names:
        return "|".join(re.escape(name) for name in names[letters])
    if letters[0] in "fF" and len(letters) <= 7:
        return rf"\d{{{len(letters)}}}" if letters[0] == "f" else rf"\d{{0,{len(letters)}}}"
    if letters not in _FIELDS:
        raise EvaluationError(f"the date format {letters!r} cannot be read")
    return _FIELDS[letters]


def _assembled(text: str, fields: dict[str, str], culture: Culture) -> Moment:
    def value(*letters: str, default: int = 0) -> int:
        digits = next((fields[each] for each in letters if each in fields), None)
        return int(digits) if digits else default

    month = value("M", "MM")
    for letters in ("MMM", "MMMM"):
        if letters in fields:
            month = _month_number(fields[letters], culture)
    year = next((_full_year(fields[each]) for each in ("yyyy", "yy", "y") if each in fields), "1")
    hour = value("H", "HH", "h", "hh")
    half = fields.get("tt") or fields.get("t")
    if half:
        afternoon = half.lower().startswith(culture.halves[1][:1].lower())
        hour = hour % 12 + 12 * (afternoon and half[:1].lower() != culture.halves[0][:1].lower())
    fraction = next((part for name, part in fields.items() if name[0] in "fF"), "")
    zone = next((fields[each] for each in ("K", "z", "zz", "zzz") if fields.get(each)), None)
    return _in_utc(
        text,
        (int(year), month or 1, value("d", "dd", default=1)),
        (hour, value("m", "mm"), value("s", "ss")),
        fraction,
        zone.upper() if zone else None,
    )
