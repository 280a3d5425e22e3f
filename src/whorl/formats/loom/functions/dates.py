"""The date functions. Now is what the scope says under `$now`, so a replay gives the same dates.

A result is in the round-trip format unless another is asked for, and ends in `Z` if the input was
in UTC or had an offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.formats.loom.values import datetimes
from whorl.formats.loom.values.arguments import Family, not_valid, text, whole
from whorl.formats.loom.values.cultures import culture_of
from whorl.formats.loom.values.date_formats import format_moment, parse_exactly, parse_moment
from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from whorl.language.calls import Run
    from whorl.language.values import Value


_UNITS = {
    "second": datetimes.SECOND,
    "minute": datetimes.MINUTE,
    "hour": datetimes.HOUR,
    "day": datetimes.DAY,
    "week": 7 * datetimes.DAY,
}
_MONTHS = {"month": 1, "year": 12}
_AMOUNT_MAX = 10**13


def _read(function: str, place: int | None, value: Value) -> datetimes.Moment:
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


def _zone(function: str, place: int | None, name: Value) -> ZoneInfo:
    return datetimes.zone_named(text(function, place, name))


DATES = Family("date", moment=_read, zone=_zone)


def _write(function: str, moment: datetimes.Moment, form: Value, locale: Value = None) -> str:
    """Write a result by the format that an argument says."""
    culture = culture_of("en-US" if locale is None else text(function, None, locale))
    return format_moment(moment, "o" if form is None else text(function, None, form), culture)


def _now(function: str, run: Run) -> datetimes.Moment:
    seconds = run.lookup("$now")
    if not isinstance(seconds, int | float):
        raise EvaluationError(
            f"The template language function {function!r} cannot be used here: there is no time"
        )
    return datetimes.from_epoch(seconds)


DATES("utcNow(format?)", "the current time, in UTC", reads="$now")(
    lambda run, form: _write("utcNow", _now("utcNow", run), form)
)


def _add(function: str, ticks: int, run: Run, moment: datetimes.Moment, *given: Value) -> str:
    amount, form = given
    return _write(function, moment.plus(_amount(function, amount) * ticks), form)


for _noun in ("days", "hours", "minutes", "seconds"):
    DATES(
        f"add{_noun.capitalize()}(timestamp:moment, {_noun}, format?)",
        f"a time some {_noun} later",
        _UNITS[_noun[:-1]],
    )(_add)


def _amount(function: str, value: Value) -> int:
    amount = whole(function, 1, value)
    if abs(amount) > _AMOUNT_MAX:
        raise not_valid(function, f"the amount '{amount}' is too large")
    return amount


def _moved(function: str, moment: datetimes.Moment, amount: int, unit: Value) -> datetimes.Moment:
    name = text(function, None, unit).lower().removesuffix("s")
    if name in _MONTHS:
        return moment.plus_months(amount * _MONTHS[name])
    if name not in _UNITS:
        raise not_valid(
            function,
            f"the time unit {unit!r} is not one of 'Second', 'Minute', 'Hour', 'Day', 'Week', "
            "'Month' and 'Year'",
        )
    return moment.plus(amount * _UNITS[name])


def _shift(function: str, sign: int, run: Run, *given: Value) -> str:
    *timestamp, amount, unit, form = given
    count = sign * _amount(function, amount)
    moment = _read(function, 0, timestamp[0]) if timestamp else _now(function, run)
    return _write(function, _moved(function, moment, count, unit), form)


_UNIT_NAMES = "Second, Minute, Hour, Day, Week, Month, Year"
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
def _convert_utc(
    function: str, run: Run, moment: datetimes.Moment, zone: ZoneInfo, form: Value
) -> str:
    if function == "convertFromUtc":
        moment = datetimes.in_zone(moment, zone)
    elif not moment.utc:
        moment = datetimes.from_zone(moment, zone)
    return _write(function, moment, form)


@DATES(
    "convertTimeZone(timestamp:moment, from, to, format?)",
    "a time of one zone, in another zone; Windows names such as 'Pacific Standard Time'",
)
def _convert(run: Run, moment: datetimes.Moment, source: Value, target: Value, form: Value) -> str:
    if not moment.utc:
        moment = datetimes.from_zone(moment, _zone("convertTimeZone", 1, source))
    local = datetimes.in_zone(moment, _zone("convertTimeZone", 2, target))
    return _write("convertTimeZone", local, form)


DATES("dateDifference(start:moment, end:moment)", "the span between two times")(
    lambda run, start, end: datetimes.format_span(end.ticks - start.ticks, "")
)
DATES("dayOfWeek(timestamp:moment)", "the day of the week, from Sunday, which is 0")(
    lambda run, moment: moment.date.isoweekday() % 7
)
DATES("dayOfMonth(timestamp:moment)", "the day of the month")(lambda run, moment: moment.date.day)
DATES("dayOfYear(timestamp:moment)", "the day of the year")(
    lambda run, moment: moment.date.timetuple().tm_yday
)


@DATES("startOfHour(timestamp:moment, format?)", "the full hour before", datetimes.HOUR)
@DATES("startOfDay(timestamp:moment, format?)", "midnight before", datetimes.DAY)
def _start_of(function: str, ticks: int, run: Run, moment: datetimes.Moment, form: Value) -> str:
    return _write(function, datetimes.Moment(moment.ticks - moment.ticks % ticks, moment.utc), form)


@DATES("startOfMonth(timestamp:moment, format?)", "the first day of its month")
def _start_of_month(run: Run, moment: datetimes.Moment, form: Value) -> str:
    days = moment.ticks // datetimes.DAY - moment.date.day + 1
    return _write("startOfMonth", datetimes.Moment(days * datetimes.DAY, moment.utc), form)


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


@DATES("formatTimeSpan(span, format?, locale?)", "a time span in another format")
def _format_time_span(run: Run, value: Value, form: Value, locale: Value) -> str:
    span = datetimes.read_span(text("formatTimeSpan", 0, value))
    return datetimes.format_span(span, "" if form is None else text("formatTimeSpan", 1, form))
