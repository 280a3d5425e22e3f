"""When the clock starts a definition: `recurrence` of its trigger as the IR has it."""

from __future__ import annotations

import calendar
import re
from typing import TYPE_CHECKING, Any, Final

from whorl.dialects.reading.fields import duration_of, words
from whorl.formats.loom.values.datetimes import WINDOWS_ZONES
from whorl.ir.values import parse_time
from whorl.source import Mapping, plain

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.source import Value

# The longest interval that Azure takes, by frequency.
_INTERVALS: Final = {
    "second": 9_999_999,
    "minute": 72_000,
    "hour": 12_000,
    "day": 500,
    "week": 71,
    "month": 16,
}
_WEEKDAYS: Final = {name.lower(): (n + 1) % 7 for n, name in enumerate(calendar.day_name)}
_PARAMETER: Final = re.compile(r"@\{?\s*parameters\(\s*'([^']+)'\s*\)\s*\}?", re.IGNORECASE)
_FIELDS: Final = frozenset(words("frequency interval starttime endtime timezone schedule"))
# The parts of a schedule, with those frequencies that have them, and their values.
_PARTS: Final[dict[str, tuple[str, tuple[str, ...], range]]] = {
    "hours": ("hours", ("day", "week", "month"), range(24)),
    "minutes": ("minutes", ("day", "week", "month"), range(60)),
    "monthdays": ("days", ("month",), range(1, 32)),
}


def read_recurrence(value: Value | None, given: dict[str, Value | None]) -> dict[str, Json]:
    """Raises ValueError, with the reason, for one that is not carried out.

    What it has of parameters alone is as they are `given`, for nobody gives them to the clock.
    """
    if not isinstance(value, Mapping):
        raise ValueError("it has no recurrence")
    written: dict[str, Any] = {}
    for entry in value:
        text = plain(entry.value)
        named = _PARAMETER.fullmatch(text) if isinstance(text, str) else None
        known = given.get(named[1].lower()) if named else None
        written[entry.name.lower()] = text if known is None else plain(known)
    if unknown := sorted(set(written) - _FIELDS):
        raise ValueError(f"{unknown[0]!r} of its recurrence is not known")
    frequency = str(written.get("frequency", "")).lower()
    if frequency not in _INTERVALS:
        raise ValueError(f"{written.get('frequency')!r} is not a frequency such as Day")
    interval = _whole(written.get("interval", 1), range(1, _INTERVALS[frequency] + 1), "interval")
    found: dict[str, Json] = {"frequency": frequency, "interval": interval}
    if zone := written.get("timezone"):
        found["zone"] = _zone(zone)
    for name, key in (("starttime", "start"), ("endtime", "end")):
        if (moment := written.get(name)) is not None:
            found[key] = _moment(moment)
    schedule = written.get("schedule")
    if schedule:
        found |= _schedule(schedule, frequency)
    return found


def read_window(recurrence: dict[str, Json], delay: Value | None) -> dict[str, Json]:
    """Windows of time that follow each other, each dealt with once it has ended, and a delay."""
    if {"hours", "minutes", "weekdays", "days"} & set(recurrence):
        raise ValueError("a sliding window cannot have a schedule")
    delay_s = 0.0 if delay is None else duration_of(delay)
    if delay_s is None:
        raise ValueError("its delay is not a duration such as PT15S")
    return recurrence | {"window": True, "delay_s": delay_s}


def _schedule(written: Any, frequency: str) -> dict[str, Json]:
    if not isinstance(written, dict):
        raise ValueError("its schedule is not an object")
    found: dict[str, Json] = {}
    for name, values in written.items():
        if not isinstance(values, list):
            raise ValueError(f"{name!r} of its schedule is not a list")
        if name.lower() == "weekdays" and frequency == "week":
            if not values or any(str(day).lower() not in _WEEKDAYS for day in values):
                raise ValueError("its weekDays are not names of days")
            found["weekdays"] = [*sorted({_WEEKDAYS[str(day).lower()] for day in values})]
            continue
        key, frequencies, span = _PARTS.get(name.lower(), ("", (), range(0)))
        if frequency not in frequencies:
            raise ValueError(f"a schedule with the frequency {frequency!r} cannot have {name!r}")
        numbers = [_whole(value, span, name) for value in values]
        if numbers:
            found[key] = [*sorted(set(numbers))]
    return found


def _whole(value: Any, span: range, name: str) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or int(text) not in span:
        bounds = f"{span.start} to {span.stop - 1}"
        raise ValueError(f"{text[:40]!r} is not a number from {bounds} for {name!r}")
    return int(text)


def _moment(value: Any) -> str:
    """A time as it is written, once it is known to be one; without a Z it is that of the zone."""
    try:
        parse_time(str(value))
    except ValueError:
        raise ValueError(
            f"{str(value)[:40]!r} is not a time such as 2026-01-31T09:00:00Z"
        ) from None
    return str(value)


def _zone(value: Any) -> str:
    name = str(value).strip()
    windows = next((key for key in WINDOWS_ZONES if key.lower() == name.lower()), None)
    if windows is None:
        raise ValueError(f"{name[:60]!r} is not a Windows time zone")
    return WINDOWS_ZONES[windows].split()[0]
