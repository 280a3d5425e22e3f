"""Recurrences: every so many seconds, minutes, hours, days, weeks or months, from a start.

Days, weeks and months keep to the clock of their zone. A week begins on Sunday; a month that is
shorter than the day has its last day instead.
"""

from __future__ import annotations

import calendar
import math
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from whorl.lazily import dataclass
from whorl.wings.automation.clock import instants, until_then

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

SECONDS: Final = {"second": 1.0, "minute": 60.0, "hour": 3_600.0}
# After so many empty spans nothing more can come.
_SPANS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A recurrence; `start` is the moment that intervals are counted from, and the first one."""

    frequency: str
    interval: int
    start: float
    zone: ZoneInfo
    zone_name: str = "UTC"
    end: float = math.inf
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    days: tuple[int, ...] = ()

    def times(self, after: float) -> Iterator[float]:
        found = self._paced(after) if self.frequency in SECONDS else self._dated(after)
        last = after
        for due in found:
            if due > self.end:
                return
            if due > last and due >= self.start:
                last = due
                yield due

    def newest(self, after: float, until: float, count: int) -> list[float]:
        if self.frequency in SECONDS:
            after = max(after, until - (count + 1) * self.interval * SECONDS[self.frequency])
        return until_then(self.times(after), until)[-count:]

    @property
    def words(self) -> str:
        many = f"{self.interval} {self.frequency}s" if self.interval > 1 else self.frequency
        return f"every {many} ({self.zone_name})"

    def _paced(self, after: float) -> Iterator[float]:
        every_s = self.interval * SECONDS[self.frequency]
        count = max(0, math.floor((after - self.start) / every_s))
        while True:
            yield self.start + count * every_s
            count += 1

    def _dated(self, after: float) -> Iterator[float]:
        first = datetime.fromtimestamp(self.start, self.zone)
        begin = max(first.date(), datetime.fromtimestamp(after, self.zone).date())
        minutes = [
            60 * hour + minute
            for hour in self.hours or (first.hour,)
            for minute in self.minutes or (first.minute,)
        ]
        seconds = 0 if self.hours or self.minutes else first.second
        # Behind the year 9999 there are no dates.
        with suppress(OverflowError, ValueError):
            for span in range(_SPANS_MAX):
                for day in self._days(first.date(), begin, span):
                    for due in instants(day, minutes, self.zone):
                        yield due + seconds

    def _days(self, first: date, begin: date, span: int) -> list[date]:
        """The days of a span of days, weeks or months, counted from the one before `begin`."""
        if self.frequency == "day":
            skipped = max(0, (begin - first).days // self.interval - 1)
            return [first + timedelta(days=(skipped + span) * self.interval)]
        if self.frequency == "week":
            sunday = first - timedelta(days=first.isoweekday() % 7)
            skipped = max(0, (begin - sunday).days // (7 * self.interval) - 1)
            week = sunday + timedelta(weeks=(skipped + span) * self.interval)
            named = self.weekdays or (first.isoweekday() % 7,)
            return [week + timedelta(days=weekday) for weekday in named]
        passed = 12 * (begin.year - first.year) + begin.month - first.month
        months = first.month - 1 + (max(0, passed // self.interval - 1) + span) * self.interval
        year, month = first.year + months // 12, months % 12 + 1
        length = calendar.monthrange(year, month)[1]
        if self.days:
            return [date(year, month, day) for day in self.days if day <= length]
        return [date(year, month, min(first.day, length))]
