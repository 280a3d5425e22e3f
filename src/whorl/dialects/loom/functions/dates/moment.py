"""A moment as .NET counts it: ticks of 100 ns since the year 1, in UTC or in no zone at all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from whorl.language.faults import EvaluationError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

SECOND = 10_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
TICKS_MAX = date.max.toordinal() * DAY
_EPOCH = (date(1970, 1, 1).toordinal() - 1) * DAY


@dataclass(frozen=True, slots=True)
class Moment:
    """A date with a time; `utc` means that it is known to be in UTC."""

    ticks: int
    utc: bool

    @property
    def date(self) -> date:
        """The day."""
        return date.fromordinal(self.ticks // DAY + 1)

    @property
    def time(self) -> int:
        """The ticks since midnight."""
        return self.ticks % DAY

    def plus(self, ticks: int) -> Moment:
        """Return the moment that much later."""
        return Moment(checked(self.ticks + ticks), self.utc)

    def plus_months(self, months: int) -> Moment:
        """Return the same day some months later, or the last one that the month has."""
        if not -120_000 <= months <= 120_000:
            raise _beyond()
        day = self.date
        count = day.year * 12 + day.month - 1 + months
        year, month = count // 12, count % 12 + 1
        if not 1 <= year <= 9999:
            raise _beyond()
        last = days_in_month(year, month)
        moved = date(year, month, min(day.day, last))
        return Moment((moved.toordinal() - 1) * DAY + self.time, self.utc)


def days_in_month(year: int, month: int) -> int:
    """Return how many days a month has."""
    if month == 12:
        return 31
    return (date(year, month + 1, 1) - date(year, month, 1)).days


def checked(ticks: int) -> int:
    """Return ticks that are a date; refuse others."""
    if 0 <= ticks < TICKS_MAX:
        return ticks
    raise _beyond()


def _beyond() -> EvaluationError:
    return EvaluationError("the result is a date outside the years 1 to 9999")


def from_epoch(seconds: float) -> Moment:
    """Return the moment so many seconds after 1970 in UTC, to the microsecond."""
    return Moment(checked(_EPOCH + round(seconds * 1_000_000) * 10), utc=True)


def in_zone(moment: Moment, zone: ZoneInfo) -> Moment:
    """Return what clocks in a zone show at a moment in UTC."""
    at = _datetime(moment).replace(tzinfo=UTC)
    try:
        offset = at.astimezone(zone).utcoffset()
    except OverflowError:
        raise _beyond() from None
    return Moment(checked(moment.ticks + _ticks(offset)), utc=False)


def from_zone(moment: Moment, zone: ZoneInfo) -> Moment:
    """Return the moment in UTC at which clocks in a zone show this."""
    offset = _datetime(moment).replace(tzinfo=zone).utcoffset()
    return Moment(checked(moment.ticks - _ticks(offset)), utc=True)


def _datetime(moment: Moment) -> datetime:
    return datetime.min + timedelta(microseconds=moment.ticks // 10)


def _ticks(offset: timedelta | None) -> int:
    assert offset is not None
    return round(offset.total_seconds()) * SECOND
