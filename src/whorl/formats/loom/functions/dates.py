"""The date functions and their formats. Now is the scope's `$now`, so replays give the same dates.

A result is in the round-trip format unless an argument names another one. It ends in `Z` if the
input was in UTC or had an offset.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from whorl.formats.loom.values import formats
from whorl.formats.loom.values.arguments import Family, not_valid, text, whole
from whorl.formats.loom.values.formats import DAY, HOUR, MINUTE, SECOND, Moment, checked, culture_of
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from whorl.formats.loom.values.formats import Culture
    from whorl.language.calls import Run
    from whorl.language.values import Value


_FORMAT_MAX = 1_000
_PIECE = re.compile(
    r"""(?P<quoted>'[^']*'|"[^"]*")|\\(?P<escaped>.)|%(?=[A-Za-z])"""
    r"""|(?P<letters>(?P<letter>[dfFghHKmMstyz])(?P=letter)*)|(?P<other>.)""",
    re.DOTALL,
)
_ROUND_TRIP = "yyyy-MM-dd'T'HH:mm:ss.fffffffK"
# Formats that are the same in every culture, which then is the invariant one.
_FIXED = {
    **dict.fromkeys("oO", _ROUND_TRIP),
    **dict.fromkeys("rR", "ddd, dd MMM yyyy HH:mm:ss 'GMT'"),
    "s": "yyyy-MM-dd'T'HH:mm:ss",
    "u": "yyyy-MM-dd HH:mm:ss'Z'",
}


def _pattern_of(form: str, culture: Culture) -> tuple[str, Culture]:
    """Returns the pattern and the culture of a format."""
    if len(form) > _FORMAT_MAX:
        raise EvaluationError(f"a date format has at most {_FORMAT_MAX} characters")
    if len(form) != 1:
        return form or _ROUND_TRIP, culture
    if form in _FIXED:
        return _FIXED[form], culture_of("")
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
    pattern, culture = _pattern_of(form, culture)
    out: list[str] = []
    for piece in _PIECE.finditer(pattern):
        if piece["letters"]:
            written = _written(piece["letters"], moment, culture)
            if not written and piece["letter"] == "F" and out and out[-1] == ".":
                out.pop()
            out.append(written)
        else:
            out.append(_literal(piece))
    return "".join(out)


def _literal(piece: re.Match[str]) -> str:
    return piece["quoted"][1:-1] if piece["quoted"] else piece["escaped"] or piece["other"] or ""


def _names(culture: Culture) -> dict[str, tuple[str, ...]]:
    """Returns the names that letters of a pattern represent."""
    return {
        "ddd": culture.short_days,
        "dddd": culture.days,
        "MMM": culture.short_months,
        "MMMM": culture.months,
        "t": tuple(half[:1] for half in culture.halves),
        "tt": culture.halves,
    }


# The letters of a time: what it is a part of, and the unit.
_CLOCK = {"H": (DAY, HOUR), "m": (HOUR, MINUTE), "s": (MINUTE, SECOND)}


def _written(letters: str, moment: Moment, culture: Culture) -> str:
    """Returns the text that letters of a pattern represent."""
    letter, count, time = letters[0], len(letters), moment.time
    if letter in _CLOCK:
        whole, unit = _CLOCK[letter]
        return str(time % whole // unit).zfill(min(count, 2))
    if letter == "h":
        return str((time // HOUR + 11) % 12 + 1).zfill(min(count, 2))
    if letter in "fF":
        if count > 7:
            raise EvaluationError("a date format has at most 7 places of a second")
        places = f"{time % SECOND:07d}"[:count]
        return places if letter == "f" else places.rstrip("0")
    if letter in "Kzg":
        zone = {1: "+0", 2: "+00"}.get(count, "+00:00")
        return {"K": "Z" * moment.utc, "z": zone, "g": "A.D."}[letter]
    day = moment.date
    if letter == "y":
        return str(day.year % 100 if count <= 2 else day.year).zfill(count)
    if letter in "dM" and count <= 2:
        return str(day.day if letter == "d" else day.month).zfill(count)
    index = {"d": day.isoweekday() % 7, "M": day.month - 1, "t": time >= DAY // 2}[letter]
    return _names(culture)[letters[: 2 if letter == "t" else 4]][index]


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


_ORDERED = {"y": "year", "M": "month", "d": "day"}


def parse_moment(text: str, culture: Culture) -> Moment:
    """Read a date, with or without a time and a zone."""
    match = None
    for form in (_ISO, _COMPACT, _NUMBERS, _WORDS) if len(text) <= _TEXT_MAX else ():
        if match := form.match(text):
            break
    if match is None or (match["half"] and not 1 <= int(match["hour"]) <= 12):
        raise _not_a_date(text)
    parts = match.groupdict()
    if match.re is _WORDS:
        parts["month"] = parts["month"] or parts["month_first"]
        parts["day"] = parts["day"] or parts["day_after"]
    elif match.re is _NUMBERS:
        order = "yMd"
        if len(parts["first"]) < 4:
            # The three numbers are in the order that the culture writes them in.
            order = re.sub(r"[^dMy]", "", re.sub(r"(.)\1+", r"\1", culture.short_date))
            order = order if order[0] != "y" else "dMy"
        numbers = (parts["first"], parts["second_part"], parts["third"])
        parts |= {_ORDERED[letter]: number for letter, number in zip(order, numbers, strict=True)}
    return _moment(text, parts, culture)


# What reads the letters of a pattern; names are read in English, into which they are put.
_DIRECTIVES_TEXT = (
    "yyyy=Y yy=y MMMM=B MMM=b MM=m M=m dddd=A ddd=a dd=d d=d HH=H H=H hh=I h=I mm=M m=M ss=S s=S "
    "tt=p K=z zzz=z zz=z z=z"
)
_DIRECTIVES = {
    letters: f"%{mark}" for letters, mark in (pair.split("=") for pair in _DIRECTIVES_TEXT.split())
}
_DIRECTIVES |= {letter * count: "%f" for letter in "fF" for count in range(1, 8)}
_OFFSET = re.compile(r"(?:Z|[+-]\d\d:?\d\d)\s*\Z", re.IGNORECASE)


def parse_exactly(text: str, form: str, culture: Culture) -> Moment:
    """Reads a date by a pattern."""
    pattern, culture = _pattern_of(form, culture)
    own, english = _names(culture), _names(culture_of(""))
    # A microsecond is the least that is read.
    source, out = re.sub(r"(\.\d{6})\d", r"\1", text.strip()), ""
    for piece in _PIECE.finditer(pattern):
        letters = piece["letters"] or ""
        if letters and letters not in _DIRECTIVES:
            raise EvaluationError(f"the date format {letters!r} cannot be read")
        for name, other in zip(own.get(letters, ()), english.get(letters, ()), strict=True):
            source = re.sub(rf"\b{re.escape(name)}(?!\w)", other, source, flags=re.IGNORECASE)
        if letters != "K" or _OFFSET.search(source):
            out += _DIRECTIVES[letters] if letters else _literal(piece).replace("%", "%%")
    try:
        if len(text) > _TEXT_MAX:
            raise ValueError
        read = datetime.strptime(source, out)
    except (ValueError, re.error):
        raise _not_a_date(text) from None
    offset = read.utcoffset() or timedelta()
    micros = (read.replace(tzinfo=None) - datetime.min - offset) // timedelta(microseconds=1)
    return Moment(checked(micros * 10), utc=read.tzinfo is not None)


def _moment(text: str, parts: dict[str, str | None], culture: Culture) -> Moment:
    """Returns the moment of the parts of a date, in UTC if they have a zone."""
    year, name, zone, half = (parts.get(part) or "" for part in ("year", "month", "zone", "half"))
    if 0 < len(year) <= 2:
        # .NET reads two digits as a year from 1950 to 2049.
        year = str(int(year) + (2000 if int(year) < 50 else 1900))
    hour, minute, second = (int(parts.get(part) or 0) for part in ("hour", "minute", "second"))
    if half:
        is_afternoon = half[0] in "pP" or half[:2].lower() == culture.halves[1][:2].lower()
        hour = hour % 12 + 12 * is_afternoon
    # A zone such as `Z` or `+02:00`.
    digits = zone[1:].replace(":", "") if zone[:1] in ("+", "-") else "0"
    hours, minutes = (digits, "0") if len(digits) <= 2 else (digits[:-2], digits[-2:])
    months = [each.lower().rstrip(".") for each in (*culture.months, *culture.short_months)]
    month = int(name or 1) if not name or name.isdecimal() else 0
    if (word := name.lower().rstrip(".")) in months:
        month = months.index(word) % 12 + 1
    try:
        day = date(int(year or 1), month, int(parts.get("day") or 1))
    except (ValueError, OverflowError):
        raise _not_a_date(text) from None
    if hour > 23 or max(minute, second, int(minutes)) > 59 or int(hours) > 14:
        raise _not_a_date(text)
    ticks = (day.toordinal() - 1) * DAY + hour * HOUR + minute * MINUTE + second * SECOND
    ticks += int((parts.get("fraction") or "")[:7].ljust(7, "0"))
    if not zone:
        return Moment(ticks, utc=False)
    offset = int(hours) * HOUR + int(minutes) * MINUTE
    return Moment(checked(ticks + offset if zone[0] == "-" else ticks - offset), utc=True)


def _not_a_date(text: str) -> EvaluationError:
    return EvaluationError(
        f"the value {text[:60]!r} is not a valid date or time",
        help="write it as 2026-01-31T12:00:00Z",
    )


_UNITS = {"second": SECOND, "minute": MINUTE, "hour": HOUR, "day": DAY, "week": 7 * DAY}
_MONTHS = {"month": 1, "year": 12}
_AMOUNT_MAX = 10**13
_UNIT_NAMES = "Second, Minute, Hour, Day, Week, Month, Year"


def _read(function: str, place: int | None, value: Value) -> Moment:
    return parse_moment(text(function, place, value), culture_of("en-US"))


def _zone(function: str, place: int | None, name: Value) -> ZoneInfo:
    return formats.zone_named(text(function, place, name))


DATES = Family("date", moment=_read, zone=_zone)


def _write(function: str, moment: Moment, form: Value, locale: Value = None) -> str:
    """Writes a result in the format that an argument names."""
    culture = culture_of("en-US" if locale is None else text(function, None, locale))
    return format_moment(moment, "o" if form is None else text(function, None, form), culture)


def _now(function: str, run: Run) -> Moment:
    seconds = run.lookup("$now")
    if not isinstance(seconds, int | float):
        raise EvaluationError(
            f"The template language function {function!r} cannot be used here: there is no time"
        )
    return formats.from_epoch(seconds)


DATES("utcNow(format?)", "the current time, in UTC", reads="$now")(
    lambda run, form: _write("utcNow", _now("utcNow", run), form)
)


def _moved(function: str, moment: Moment, amount: int, unit: str) -> Moment:
    if abs(amount) > _AMOUNT_MAX:
        raise not_valid(function, f"the amount '{amount}' is too large")
    name = unit.lower().removesuffix("s")
    if name in _MONTHS:
        return moment.plus_months(amount * _MONTHS[name])
    if name not in _UNITS:
        raise not_valid(function, f"the time unit {unit!r} is not one of {_UNIT_NAMES}")
    return moment.plus(amount * _UNITS[name])


def _add(function: str, unit: str, run: Run, moment: Moment, *given: Value) -> str:
    amount, form = given
    return _write(function, _moved(function, moment, whole(function, 1, amount), unit), form)


for _noun in ("days", "hours", "minutes", "seconds"):
    _signature = f"add{_noun.capitalize()}(timestamp:moment, {_noun}, format?)"
    DATES(_signature, f"a time some {_noun} later", _noun)(_add)


def _shift(function: str, sign: int, run: Run, *given: Value) -> str:
    *timestamp, amount, unit, form = given
    count = sign * whole(function, 1, amount)
    moment = _read(function, 0, timestamp[0]) if timestamp else _now(function, run)
    return _write(function, _moved(function, moment, count, text(function, None, unit)), form)


for _name, _parameters, _sign, _doc in (
    ("addToTime", "timestamp, ", 1, f"a time some units later: {_UNIT_NAMES}"),
    ("subtractFromTime", "timestamp, ", -1, "a time some units earlier"),
    ("getFutureTime", "", 1, "the time some units from now"),
    ("getPastTime", "", -1, "the time some units ago"),
):
    _signature = f"{_name}({_parameters}interval, unit, format?)"
    DATES(_signature, _doc, _sign, reads="" if _parameters else "$now")(_shift)


@DATES("convertToUtc(timestamp:moment, zone:zone, format?)", "a time of a time zone, in UTC")
@DATES("convertFromUtc(timestamp:moment, zone:zone, format?)", "a time in UTC, in a time zone")
def _convert_utc(function: str, run: Run, moment: Moment, zone: ZoneInfo, form: Value) -> str:
    if function == "convertFromUtc":
        moment = formats.in_zone(moment, zone)
    elif not moment.utc:
        moment = formats.from_zone(moment, zone)
    return _write(function, moment, form)


@DATES(
    "convertTimeZone(timestamp:moment, from, to, format?)",
    "a time of one zone, in another zone; Windows names such as 'Pacific Standard Time'",
)
def _convert(run: Run, moment: Moment, source: Value, target: Value, form: Value) -> str:
    if not moment.utc:
        moment = formats.from_zone(moment, _zone("convertTimeZone", 1, source))
    local = formats.in_zone(moment, _zone("convertTimeZone", 2, target))
    return _write("convertTimeZone", local, form)


DATES("dateDifference(start:moment, end:moment)", "the span between two times")(
    lambda run, start, end: formats.format_span(end.ticks - start.ticks)
)
DATES("dayOfWeek(timestamp:moment)", "the day of the week, from Sunday, which is 0")(
    lambda run, moment: moment.date.isoweekday() % 7
)
DATES("dayOfMonth(timestamp:moment)", "the day of the month")(lambda run, moment: moment.date.day)
DATES("dayOfYear(timestamp:moment)", "the day of the year")(
    lambda run, moment: moment.date.timetuple().tm_yday
)


@DATES("startOfMonth(timestamp:moment, format?)", "the first day of its month", DAY)
@DATES("startOfHour(timestamp:moment, format?)", "the full hour before", HOUR)
@DATES("startOfDay(timestamp:moment, format?)", "midnight before", DAY)
def _start_of(function: str, unit: int, run: Run, moment: Moment, form: Value) -> str:
    days = moment.date.day - 1 if function == "startOfMonth" else 0
    start = moment.ticks - moment.ticks % unit - days * DAY
    return _write(function, Moment(start, moment.utc), form)


DATES("ticks(timestamp:moment)", "the number of 100 ns ticks since the year 1")(
    lambda run, moment: moment.ticks
)
DATES("formatDateTime(timestamp:moment, format?, locale?)", "a time in another format")(
    lambda run, moment, form, locale: _write("formatDateTime", moment, form, locale)
)


@DATES(
    "parseDateTime(text:str, locale?:str, format?)",
    "a text as a time, read with a locale or a format",
)
def _parse_date_time(run: Run, source: str, locale: str | None, form: Value) -> str:
    culture = culture_of("en-US" if locale is None else locale)
    if form is None:
        moment = parse_moment(source, culture)
    else:
        moment = parse_exactly(source, text("parseDateTime", 2, form), culture)
    return _write("parseDateTime", moment, None)
