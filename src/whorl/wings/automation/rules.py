"""The rules of schedules: cron expressions, recurrences, intervals and windows.

A rule with a time of day follows the local clock of its zone. If the clock skips a time, the time
is as much later as the clock skips. If a time comes twice, the first one counts, unless the rule
runs every hour (as in RFC 5545).
"""

from __future__ import annotations

import calendar
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from whorl.errors import UsageError, did_you_mean
from whorl.ir.values import parse_duration
from whorl.wings.automation.table import Firing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from zoneinfo import ZoneInfo

    from whorl.language import Json
    from whorl.wings.automation.table import Schedule

CODE: Final = "W916"
EVERY_S_MIN: Final = 1.0
# In the rule of a trigger: whether another system is asked at its times.
POLLED: Final = "polled"
# A later firing was missed: no server ran, or the clock was set forward.
GRACE_S: Final = 60.0
BACKFILL_MAX: Final = 100
BACKFILL_S: Final = 366 * 86_400.0
# So many firings are noted or started at once.
OPEN_MAX: Final = 1_000
_BACKFILLED: Final = "missed, and started later"
MISSED: Final = "missed: no server was running, or the clock was set forward"
_FORMS: Final = "write a cron expression such as '0 7 * * mon-fri', or a time such as 15m"


def instants(
    day: date, minutes: Iterable[int], zone: ZoneInfo, *, is_hourly: bool = False
) -> list[float]:
    """Returns the moments at which the local clock of a zone shows these minutes of a day."""
    found: set[float] = set()
    for minute in minutes:
        shown = datetime.combine(day, time_of_day(minute // 60, minute % 60), zone)
        found.add(shown.timestamp())
        again = shown.replace(fold=1)
        first, second = shown.utcoffset(), again.utcoffset()
        if is_hourly and first is not None and second is not None and first > second:
            found.add(again.timestamp())
    return sorted(found)


def paced(start: float, every_s: float, after: float) -> Iterator[float]:
    """Yields a start and the steps after it; of past steps, at most the last one."""
    return (start + n * every_s for n in count(max(0, math.floor((after - start) / every_s))))


@dataclass(frozen=True, slots=True)
class Interval:
    """A fixed interval, which does not depend on local clocks."""

    pace_s: float
    start: float
    text: str

    @property
    def words(self) -> str:
        return f"every {self.text}"

    def times(self, after: float) -> Iterator[float]:
        last = max(after, self.start)
        return (due for due in paced(self.start, self.pace_s, after) if due > last)


# Expressions of cron: five fields, as crontab(5) has them.
#
# A day has to fit both the day of the month and the day of the week, unless neither begins with
# `*`: then one of them is enough.

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
_SHORT = {"@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@hourly": "0 * * * *"}
_SHORT |= dict.fromkeys(("@yearly", "@annually"), "0 0 1 1 *")
_SHORT |= dict.fromkeys(("@daily", "@midnight"), "0 0 * * *")
_ITEM: Final = re.compile(r"(\*|[0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?(?:/([0-9]+))?")


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
        """Whether it runs every hour, so that it means a pace instead of a time of day."""
        return len(self.hours) == 24

    def fits(self, day: date) -> bool:
        is_day, is_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        fits = is_day or is_weekday if self.is_either else is_day and is_weekday
        return fits and day.month in self.months


def parse_cron(text: str) -> Cron:
    """Parses a cron expression. Raises ValueError, with the reason, if it is not valid."""
    written = _SHORT.get(text.strip().lower(), text.strip())
    fields = written.split()
    if len(written) > 200 or len(fields) != len(_FIELDS):
        names = ", ".join(name for name, *_ in _FIELDS)
        raise ValueError(f"{text[:60]!r} does not have the five fields of cron: {names}")
    values = [_field(part, *about) for part, about in zip(fields, _FIELDS, strict=True)]
    weekdays = frozenset(day % 7 for day in values[4])
    is_either = not fields[2].startswith("*") and not fields[4].startswith("*")
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


# The 29th of February is at most eight years away.
_DAYS_MAX: Final = 366 * 9


@dataclass(frozen=True, slots=True)
class CronRule:
    """A cron expression on the local clock of a zone."""

    # The seconds from each time to the next, where they are the same; else 0.
    pace_s: ClassVar[float] = 0.0
    text: str
    cron: Cron
    zone: ZoneInfo
    zone_name: str

    @property
    def words(self) -> str:
        return f"{self.text} ({self.zone_name})"

    def times(self, after: float) -> Iterator[float]:
        day = datetime.fromtimestamp(after, self.zone).date() - timedelta(days=1)
        minutes = [60 * hour + minute for hour in self.cron.hours for minute in self.cron.minutes]
        last = after
        for _ in range(_DAYS_MAX):
            if self.cron.fits(day):
                for due in instants(day, minutes, self.zone, is_hourly=self.cron.is_hourly):
                    if due > last:
                        last = due
                        yield due
            day += timedelta(days=1)


# Recurrences: every so many seconds, minutes, hours, days, weeks or months, from a start.
#
# Days, weeks and months keep to the clock of their zone. A week begins on Sunday; a month that is
# shorter than the day has its last day instead.

SECONDS: Final = {"second": 1.0, "minute": 60.0, "hour": 3_600.0}
# After so many empty spans nothing more can come.
_SPANS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A recurrence; `start` is its first moment, and intervals count from it."""

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

    @property
    def words(self) -> str:
        many = f"{self.interval} {self.frequency}s" if self.interval > 1 else self.frequency
        return f"every {many} ({self.zone_name})"

    @property
    def pace_s(self) -> float:
        return self.interval * SECONDS.get(self.frequency, 0.0)

    def times(self, after: float) -> Iterator[float]:
        pace_s = self.pace_s
        last = after
        for due in paced(self.start, pace_s, after) if pace_s else self._dated(after):
            if due > self.end:
                return
            if due > last and due >= self.start:
                last = due
                yield due

    def _dated(self, after: float) -> Iterator[float]:
        first = datetime.fromtimestamp(self.start, self.zone)
        begin = max(first.date(), datetime.fromtimestamp(after, self.zone).date())
        hours, points = self.hours or (first.hour,), self.minutes or (first.minute,)
        minutes = [60 * hour + minute for hour in hours for minute in points]
        seconds = 0 if self.hours or self.minutes else first.second
        # Behind the year 9999 there are no dates.
        with suppress(OverflowError, ValueError):
            for span in range(_SPANS_MAX):
                for day in self._days(first.date(), begin, span):
                    for due in instants(day, minutes, self.zone):
                        yield due + seconds

    def _days(self, first: date, begin: date, span: int) -> list[date]:
        """Returns the days of one span of days, weeks or months; 0 is the one before `begin`."""
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


@dataclass(frozen=True, slots=True)
class Windows:
    """Consecutive spans of time; each is due after its end plus a delay."""

    recurrence: Recurrence
    delay_s: float

    @property
    def words(self) -> str:
        return f"{self.recurrence.words}, each for the time since the one before"

    @property
    def pace_s(self) -> float:
        return self.recurrence.pace_s

    def times(self, after: float) -> Iterator[float]:
        begin = max(after - self.delay_s, self.recurrence.start)
        return (end + self.delay_s for end in self.recurrence.times(begin))

    def span(self, due: float) -> tuple[float, float]:
        """Returns the begin and end of the window that is due at a time."""
        rule, end = self.recurrence, due - self.delay_s
        # The span of a month is that of the calendar.
        begins = newest(rule, rule.start - 1.0, end - 0.001, 1)
        return (begins[0] if begins else rule.start), end


Rule: TypeAlias = Interval | CronRule | Recurrence | Windows


def newest(rule: Rule, after: float, until: float, most: int) -> list[float]:
    """Returns the last times in a span, at most `most`."""
    if rule.pace_s:
        after = max(after, until - (most + 1) * rule.pace_s)
    return list(takewhile(lambda due: due <= until, rule.times(after)))[-most:]


# Rules as they are stored, and as people write them.


def rule_of(document: Mapping[str, Json]) -> Rule:
    """Returns the rule of a stored document. Raises UsageError W916 if it is not valid."""
    if "cron" in document:
        text, zone = str(document["cron"]), str(document.get("zone") or "UTC")
        try:
            return CronRule(text, parse_cron(text), zone_of(zone), zone)
        except ValueError as fault:
            raise UsageError(str(fault), help=_FORMS, code=CODE) from fault
    every, start = document.get("every"), document.get("start")
    if "recurrence" in document and isinstance(start, int | float):
        return _recurrence(document["recurrence"], float(start))
    if not isinstance(every, int | float) or not isinstance(start, int | float):
        raise UsageError("a schedule needs --cron or --every", help=_FORMS, code=CODE)
    return Interval(float(every), float(start), str(document.get("text") or f"{every:g}s"))


def _recurrence(written: Any, seen: float) -> Rule:
    """Returns the recurrence of a trigger; without a start, it counts from `seen`."""
    try:
        zone_name = str(written.get("zone") or "UTC")
        zone = zone_of(zone_name)
        frequency, interval = str(written["frequency"]), int(written["interval"])
        if interval < 1 or frequency not in (*SECONDS, "day", "week", "month"):
            raise ValueError(f"there is no such frequency as {interval} {frequency!r}")
        start, end = (written.get(name) for name in ("start", "end"))
        names = ("hours", "minutes", "weekdays", "days")
        parts = {name: tuple(map(int, written.get(name) or ())) for name in names}
        rule = Recurrence(
            frequency=frequency,
            interval=interval,
            start=seen if start is None else _moment(str(start), zone),
            zone=zone,
            zone_name=zone_name,
            end=math.inf if end is None else _moment(str(end), zone),
            **parts,
        )
        return Windows(rule, float(written.get("delay_s", 0))) if "window" in written else rule
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise UsageError(f"the recurrence is not valid: {fault}", help=_FORMS, code=CODE) from fault


def _moment(text: str, zone: ZoneInfo) -> float:
    """Parses a time; one without a zone is in the zone of the rule."""
    moment = datetime.fromisoformat(text.strip().upper())
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()


def written_rule(
    *, cron: str | None, every: str | None, zone: str | None, now: float
) -> dict[str, Json]:
    """Returns the document of a rule that a person wrote. Raises UsageError W916."""
    if (cron is None) == (every is None):
        raise UsageError("give either a cron expression or an interval", help=_FORMS, code=CODE)
    document: dict[str, Json] = {"cron": cron, "zone": zone or "UTC"}
    if every is not None:
        if zone:
            words = "an interval has no time zone: it is the same time again and again"
            raise UsageError(words, help="leave the zone out, or write --cron", code=CODE)
        seconds = _seconds(every)
        document = {"every": seconds, "start": float(math.floor(now)), "text": every.strip()}
    rule_of(document)
    return document


def _seconds(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as fault:
        raise UsageError(str(fault), help=_FORMS, code=CODE) from fault
    if text.strip().replace(".", "").isdecimal():
        raise UsageError(f"{text!r} has no unit", help="write 15m, 1h or 7d", code=CODE)
    if seconds < EVERY_S_MIN:
        raise UsageError(f"{text!r} is shorter than a second", help=_FORMS, code=CODE)
    return seconds


def zone_of(name: str) -> ZoneInfo:
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError) as fault:
        hint = did_you_mean(name, sorted(available_timezones())) or "such as Europe/Berlin or UTC"
        message = f"there is no time zone {name[:80]!r}"
        raise UsageError(message, help=hint, code=CODE) from fault


def iso(moment: float) -> str:
    """Returns a moment in ISO 8601, with milliseconds if it has any."""
    written = datetime.fromtimestamp(moment, UTC).isoformat(
        timespec="milliseconds" if moment % 1 else "seconds"
    )
    return written.replace("+00:00", "Z")


def due_until(rule: Rule, schedule: Schedule, now: float) -> tuple[float, list[Firing]]:
    """Returns the new cursor of a schedule, and the firings since the old one."""
    if schedule.cursor > now + GRACE_S:
        # The clock was set back: what comes again has its row already, and is not made again.
        return now, []
    late = max(schedule.cursor, now - GRACE_S)
    dues = newest(rule, late, now, OPEN_MAX)
    firings = [Firing(schedule.id, due, "waiting") for due in dues]
    if schedule.cursor < late:
        since = max(schedule.cursor, now - BACKFILL_S)
        if schedule.backfill:
            missed = newest(rule, since, late, BACKFILL_MAX)
            firings = [Firing(schedule.id, d, "waiting", "", _BACKFILLED) for d in missed] + firings
        else:
            missed = newest(rule, since, late, 1)
            firings = [Firing(schedule.id, d, "skipped", "", MISSED) for d in missed] + firings
    return max([late, *dues]), firings


def key_of(schedule: Schedule, due: float) -> str:
    """Returns the key of the run that a schedule starts at a time."""
    return f"{schedule.name}.{schedule.id}@{iso(due)}"
