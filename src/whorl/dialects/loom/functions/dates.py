"""The date functions. Now is what the scope says under `$now`, so a replay gives the same dates.

A result is in the round-trip format unless another is asked for, and ends in `Z` if the input was
in UTC or had an offset.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from whorl.dialects.loom.values.arguments import Family, not_valid, text, whole
from whorl.dialects.loom.values.cultures import culture_of
from whorl.dialects.loom.values.date_formats import format_moment, parse_exactly, parse_moment
from whorl.dialects.loom.values.moments import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Moment,
    format_span,
    from_epoch,
    from_zone,
    in_zone,
    read_span,
    zone_named,
)
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from zoneinfo import ZoneInfo

    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value


_UNITS = {"second": SECOND, "minute": MINUTE, "hour": HOUR, "day": DAY, "week": 7 * DAY}
_MONTHS = {"month": 1, "year": 12}
_AMOUNT_MAX = 10**13


def read(function: str, value: Value, place: int | None = 0) -> Moment:
    """Return the moment that an argument says."""
    try:
        return parse_moment(text(function, place, value), culture_of("en-US"))
    except EvaluationError as error:
        if "valid date" not in error.message:
            raise
        raise EvaluationError(
            f"The template language function {function!r} expects its first parameter to be a "
            f"string that contains the time: {error.message}",
            help=error.help,
        ) from None


def write(function: str, moment: Moment, form: Value, locale: Value = None) -> str:
    """Write a result by the format that an argument says."""
    culture = culture_of("en-US" if locale is None else text(function, None, locale))
    return format_moment(moment, "o" if form is None else text(function, None, form), culture)


def now(function: str, run: Run) -> Moment:
    """Return the time that the scope says."""
    seconds = run.lookup("$now")
    if not isinstance(seconds, int | float):
        raise EvaluationError(
            f"The template language function {function!r} cannot be used here: there is no time"
        )
    return from_epoch(seconds)


def utc_now(run: Run, form: Value) -> Value:
    return write("utcNow", now("utcNow", run), form)


def add(run: Run, value: Value, amount: Value, form: Value, *, function: str, ticks: int) -> Value:
    return write(function, read(function, value).plus(_amount(function, amount) * ticks), form)


def _amount(function: str, value: Value) -> int:
    amount = whole(function, 1, value)
    if abs(amount) > _AMOUNT_MAX:
        raise not_valid(function, f"the amount '{amount}' is too large")
    return amount


def _moved(function: str, moment: Moment, amount: int, unit: Value) -> Moment:
    name = text(function, None, unit).lower()
    name = name.removesuffix("s") if name not in _UNITS else name
    if name in _MONTHS:
        return moment.plus_months(amount * _MONTHS[name])
    if name not in _UNITS:
        raise not_valid(
            function,
            f"the time unit {unit!r} is not one of 'Second', 'Minute', 'Hour', 'Day', 'Week', "
            "'Month' and 'Year'",
        )
    return moment.plus(amount * _UNITS[name])


def shift(
    run: Run, value: Value, amount: Value, unit: Value, form: Value, *, function: str, sign: int
) -> Value:
    count = sign * _amount(function, amount)
    return write(function, _moved(function, read(function, value), count, unit), form)


def from_now(
    run: Run, amount: Value, unit: Value, form: Value, *, function: str, sign: int
) -> Value:
    count = sign * _amount(function, amount)
    return write(function, _moved(function, now(function, run), count, unit), form)


def _zone(function: str, place: int, name: Value) -> ZoneInfo:
    return zone_named(text(function, place, name))


def convert_from_utc(run: Run, value: Value, zone: Value, form: Value) -> Value:
    local = in_zone(read("convertFromUtc", value), _zone("convertFromUtc", 1, zone))
    return write("convertFromUtc", local, form)


def convert_to_utc(run: Run, value: Value, zone: Value, form: Value) -> Value:
    moment = read("convertToUtc", value)
    source = _zone("convertToUtc", 1, zone)
    return write("convertToUtc", moment if moment.utc else from_zone(moment, source), form)


def convert_time_zone(run: Run, value: Value, source: Value, target: Value, form: Value) -> Value:
    moment = read("convertTimeZone", value)
    if not moment.utc:
        moment = from_zone(moment, _zone("convertTimeZone", 1, source))
    local = in_zone(moment, _zone("convertTimeZone", 2, target))
    return write("convertTimeZone", local, form)


def date_difference(run: Run, start: Value, end: Value) -> Value:
    first, second = read("dateDifference", start), read("dateDifference", end, 1)
    return format_span(second.ticks - first.ticks, "")


def part_of(function: str, part: Callable[[Moment], int], run: Run, value: Value) -> Value:
    return part(read(function, value, None))


def start_of(function: str, ticks: int, run: Run, value: Value, form: Value) -> Value:
    moment = read(function, value)
    return write(function, Moment(moment.ticks - moment.ticks % ticks, moment.utc), form)


def start_of_month(run: Run, value: Value, form: Value) -> Value:
    moment = read("startOfMonth", value)
    days = moment.ticks // DAY - moment.date.day + 1
    return write("startOfMonth", Moment(days * DAY, moment.utc), form)


def format_date_time(run: Run, value: Value, form: Value, locale: Value) -> Value:
    return write("formatDateTime", read("formatDateTime", value), form, locale)


def parse_date_time(run: Run, value: Value, locale: Value, form: Value) -> Value:
    source = text("parseDateTime", 0, value)
    culture = culture_of("en-US" if locale is None else text("parseDateTime", 1, locale))
    moment = (
        parse_moment(source, culture)
        if form is None
        else parse_exactly(source, text("parseDateTime", 2, form), culture)
    )
    return write("parseDateTime", moment, None)


def format_time_span(run: Run, value: Value, form: Value, locale: Value) -> Value:
    span = read_span(text("formatTimeSpan", 0, value))
    return format_span(span, "" if form is None else text("formatTimeSpan", 1, form))


_date = Family("date")


DATES: tuple[FunctionEntry, ...] = (
    _date("utcNow(format?)", utc_now, "the time of the evaluation", reads="$now"),
    *(
        _date(
            f"add{noun.capitalize()}(timestamp, {noun}, format?)",
            partial(add, function=f"add{noun.capitalize()}", ticks=_UNITS[noun[:-1]]),
            f"a time some {noun} later",
        )
        for noun in ("days", "hours", "minutes", "seconds")
    ),
    _date(
        "addToTime(timestamp, interval, unit, format?)",
        partial(shift, function="addToTime", sign=1),
        "a time some units later: Second, Minute, Hour, Day, Week, Month, Year",
    ),
    _date(
        "subtractFromTime(timestamp, interval, unit, format?)",
        partial(shift, function="subtractFromTime", sign=-1),
        "a time some units earlier",
    ),
    *(
        _date(
            f"{name}(interval, unit, format?)",
            partial(from_now, function=name, sign=sign),
            doc,
            reads="$now",
        )
        for name, sign, doc in (
            ("getFutureTime", 1, "the time some units from now"),
            ("getPastTime", -1, "the time some units ago"),
        )
    ),
    _date("convertFromUtc(timestamp, zone, format?)", convert_from_utc, "UTC in a time zone"),
    _date("convertToUtc(timestamp, zone, format?)", convert_to_utc, "the time of a zone in UTC"),
    _date(
        "convertTimeZone(timestamp, from, to, format?)",
        convert_time_zone,
        "the time of a zone in another; Windows names such as 'Pacific Standard Time'",
    ),
    _date("dateDifference(start, end)", date_difference, "the span between two times"),
    *(
        _date.named(f"{name}(timestamp)", part_of, doc, part)
        for name, doc, part in (
            (
                "dayOfWeek",
                "the day of the week, from Sunday, which is 0",
                lambda moment: moment.date.isoweekday() % 7,
            ),
            ("dayOfMonth", "the day of the month", lambda moment: moment.date.day),
            ("dayOfYear", "the day of the year", lambda moment: moment.date.timetuple().tm_yday),
        )
    ),
    _date.named("startOfDay(timestamp, format?)", start_of, "midnight before", DAY),
    _date.named("startOfHour(timestamp, format?)", start_of, "the full hour before", HOUR),
    _date("startOfMonth(timestamp, format?)", start_of_month, "the first day of its month"),
    _date.named(
        "ticks(timestamp)", part_of, "how many 100 ns since the year 1", attrgetter("ticks")
    ),
    _date(
        "formatDateTime(timestamp, format?, locale?)", format_date_time, "a time in another form"
    ),
    _date(
        "parseDateTime(text, locale?, format?)",
        parse_date_time,
        "the time that a text says in a language, or by a pattern",
    ),
    _date(
        "formatTimeSpan(span, format?, locale?)", format_time_span, "a span of time in another form"
    ),
)
