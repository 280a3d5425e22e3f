"""Expressions of cron: five fields, as crontab(5) has them.

A day has to fit both the day of the month and the day of the week, unless neither begins with `*`:
then one of them is enough.
"""

from __future__ import annotations

import calendar
import re
from typing import TYPE_CHECKING, Final

from whorl.lazily import dataclass

if TYPE_CHECKING:
    from datetime import date

_MONTHS: Final = {name.lower(): n for n, name in enumerate(calendar.month_abbr) if name}
_DAYS: Final = {name.lower(): (n + 1) % 7 for n, name in enumerate(calendar.day_abbr)}
# Of each field: what it is called, its first and last value, and names of values.
_FIELDS: Final[tuple[tuple[str, int, int, dict[str, int]], ...]] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_SHORT: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_DAYS_OF_MONTHS: Final = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_ITEM: Final = re.compile(r"(\*|[0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?(?:/([0-9]+))?")
_TEXT_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression; days of the week count from Sunday, 0."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    is_either: bool = False

    @property
    def is_hourly(self) -> bool:
        """Whether it speaks of every hour, so that it means a pace and no time of day."""
        return len(self.hours) == 24

    def fits(self, day: date) -> bool:
        is_day, is_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        fits = is_day or is_weekday if self.is_either else is_day and is_weekday
        return fits and day.month in self.months

    def minutes_of_day(self) -> list[int]:
        return sorted(60 * hour + minute for hour in self.hours for minute in self.minutes)


def parse_cron(text: str) -> Cron:
    """Raises ValueError, with what is wrong, for what is no cron expression."""
    written = _SHORT.get(text.strip().lower(), text.strip())
    fields = written.split()
    if len(written) > _TEXT_MAX or len(fields) != len(_FIELDS):
        names = ", ".join(name for name, *_ in _FIELDS)
        raise ValueError(f"{text[:60]!r} does not have the five fields of cron: {names}")
    values = [_field(part, *about) for part, about in zip(fields, _FIELDS, strict=True)]
    weekdays = frozenset(day % 7 for day in values[4])
    is_either = not fields[2].startswith("*") and not fields[4].startswith("*")
    if not is_either and all(_DAYS_OF_MONTHS[month] < min(values[2]) for month in values[3]):
        raise ValueError(f"{text!r} never happens: no such month has a day {min(values[2])}")
    return Cron(values[0], values[1], values[2], values[3], weekdays, is_either)


def _field(text: str, name: str, first: int, last: int, names: dict[str, int]) -> frozenset[int]:
    values: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise ValueError(f"{item!r} is not a valid {name}: write 5, 1-5, */15 or lists of them")
        begin, end, step = match.groups()
        low = first if begin == "*" else _value(begin, name, first, last, names)
        high = low if step is None else last
        if begin == "*":
            high = 6 if last == 7 else last
        if end is not None:
            high = _value(end, name, first, last, names)
        is_backwards = high < low or (begin == "*" and end is not None)
        if is_backwards or step == "0":
            raise ValueError(f"{item!r} is not a valid {name}: it matches nothing")
        values |= set(range(low, high + 1, int(step or 1)))
    return frozenset(values)


def _value(text: str, name: str, first: int, last: int, names: dict[str, int]) -> int:
    value = names.get(text.lower(), int(text) if text.isdecimal() else -1)
    if not first <= value <= last:
        also = f", or {next(iter(names))} and the like" if names else ""
        raise ValueError(f"{text!r} is not a valid {name}: {first} to {last}{also}")
    return value
