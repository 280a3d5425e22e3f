"""When a schedule is due: by cron, by a recurrence, or after the same time again and again.

A rule with a time of day keeps to the clock on the wall of its zone (`clock.py`).
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

from whorl.errors import UsageError, did_you_mean
from whorl.ir.values import parse_duration
from whorl.lazily import dataclass
from whorl.wings.automation.clock import instants, until_then
from whorl.wings.automation.cron import Cron, parse_cron
from whorl.wings.automation.recurrence import SECONDS, Recurrence
from whorl.wings.automation.table import Firing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from zoneinfo import ZoneInfo

    from whorl.language import Json
    from whorl.wings.automation.table import Schedule

CODE: Final = "W916"
EVERY_S_MIN: Final = 1.0
# The 29th of February is at most eight years away.
_DAYS_MAX: Final = 366 * 9
# The rule of a trigger: whether another system is asked at its times; what tells the subscription
# that it wants from others; and how the one that there is is taken back, sealed.
POLLED: Final = "polled"
SUBSCRIPTION: Final = "subscription"
UNDO: Final = "undo"
# What is later than this was missed: no server ran, or the clock was set forward.
GRACE_S: Final = 60.0
BACKFILL_MAX: Final = 100
BACKFILL_S: Final = 366 * 86_400.0
# So many firings are noted or started at once.
OPEN_MAX: Final = 1_000
_BACKFILLED: Final = "missed, and started later"
MISSED: Final = "missed: no server was running, or the clock was set forward"
_FORMS: Final = "write a cron expression such as '0 7 * * mon-fri', or a time such as 15m"


class Rule(Protocol):
    """Says when a schedule is due: the times after a moment, in order, without end or with."""

    def times(self, after: float) -> Iterator[float]: ...

    def newest(self, after: float, until: float, count: int) -> list[float]:
        """The last times in a span, at most so many."""
        ...

    @property
    def words(self) -> str: ...


def rule_of(document: Mapping[str, Json]) -> Rule:
    """The rule that a store has; raises UsageError W916 where it is none."""
    if "cron" in document:
        text, zone = str(document["cron"]), str(document.get("zone") or "UTC")
        try:
            return CronRule(text, parse_cron(text), zone_of(zone), zone)
        except ValueError as fault:
            raise UsageError(str(fault), help=_FORMS, code=CODE) from fault
    if SUBSCRIPTION in document:
        return Subscription()
    every, start = document.get("every"), document.get("start")
    if "recurrence" in document and isinstance(start, int | float):
        return _recurrence(document["recurrence"], float(start))
    if not isinstance(every, int | float) or not isinstance(start, int | float):
        raise UsageError("a schedule needs --cron or --every", help=_FORMS, code=CODE)
    return Interval(float(every), float(start), str(document.get("text") or f"{every:g}s"))


def _recurrence(written: Any, seen: float) -> Rule:
    """The recurrence of a trigger; one without a start counts from when it was first seen."""
    try:
        zone_name = str(written.get("zone") or "UTC")
        zone = zone_of(zone_name)
        frequency, interval = str(written["frequency"]), int(written["interval"])
        if interval < 1 or frequency not in (*SECONDS, "day", "week", "month"):
            raise ValueError(f"there is no such frequency as {interval} {frequency!r}")
        start, end = (written.get(name) for name in ("start", "end"))
        parts = {
            name: tuple(int(number) for number in written.get(name) or ())
            for name in ("hours", "minutes", "weekdays", "days")
        }
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
    """A time; without a zone of its own it is shown by the clock of the rule's."""
    moment = datetime.fromisoformat(text.strip().upper())
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()


def written_rule(
    *, cron: str | None, every: str | None, zone: str | None, now: float
) -> dict[str, Json]:
    """The document of a rule as a person writes it; raises UsageError W916."""
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


@dataclass(frozen=True, slots=True)
class Interval:
    """The same time again and again, whatever the clocks on the wall do."""

    every_s: float
    start: float
    text: str

    def times(self, after: float) -> Iterator[float]:
        count = max(0, math.floor((after - self.start) / self.every_s))
        while True:
            count += 1
            if (due := self.start + count * self.every_s) > after:
                yield due

    def newest(self, after: float, until: float, count: int) -> list[float]:
        begin = max(after, until - (count + 1) * self.every_s)
        return until_then(self.times(begin), until)[-count:]

    @property
    def words(self) -> str:
        return f"every {self.text}"


@dataclass(frozen=True, slots=True)
class CronRule:
    """A cron expression on the clock of a zone."""

    text: str
    cron: Cron
    zone: ZoneInfo
    zone_name: str

    def times(self, after: float) -> Iterator[float]:
        day = datetime.fromtimestamp(after, self.zone).date() - timedelta(days=1)
        minutes, last = self.cron.minutes_of_day(), after
        for _ in range(_DAYS_MAX):
            if self.cron.fits(day):
                for due in instants(day, minutes, self.zone, is_hourly=self.cron.is_hourly):
                    if due > last:
                        last = due
                        yield due
            day += timedelta(days=1)

    def newest(self, after: float, until: float, count: int) -> list[float]:
        return until_then(self.times(after), until)[-count:]

    @property
    def words(self) -> str:
        return f"{self.text} ({self.zone_name})"


@dataclass(frozen=True, slots=True)
class Windows:
    """Spans of time that follow each other: each is due when it has ended, and a while later."""

    recurrence: Recurrence
    delay_s: float

    def times(self, after: float) -> Iterator[float]:
        for end in self.recurrence.times(max(after - self.delay_s, self.recurrence.start)):
            yield end + self.delay_s

    def newest(self, after: float, until: float, count: int) -> list[float]:
        begin = max(after - self.delay_s, self.recurrence.start)
        ends = self.recurrence.newest(begin, until - self.delay_s, count)
        return [end + self.delay_s for end in ends]

    def span(self, due: float) -> tuple[float, float]:
        """The window that is due at a time: its begin and its end."""
        rule, end = self.recurrence, due - self.delay_s
        # The span of a month is that of the calendar.
        begins = rule.newest(rule.start - 1.0, end - 0.001, 1)
        return (begins[0] if begins else rule.start), end

    @property
    def words(self) -> str:
        return f"{self.recurrence.words}, for the time since then"


@dataclass(frozen=True, slots=True)
class Subscription:
    """Never by the clock: another system calls."""

    def times(self, after: float) -> Iterator[float]:
        return iter(())

    def newest(self, after: float, until: float, count: int) -> list[float]:
        return []

    @property
    def words(self) -> str:
        return "when another system calls"


def iso(moment: float) -> str:
    """A moment as ISO 8601 has it, with milliseconds where it has some."""
    written = datetime.fromtimestamp(moment, UTC).isoformat(
        timespec="milliseconds" if moment % 1 else "seconds"
    )
    return written.replace("+00:00", "Z")


def due_until(rule: Rule, schedule: Schedule, now: float) -> tuple[float, list[Firing]]:
    """What is due since the cursor of a schedule, and where its cursor is then."""
    if schedule.cursor > now + GRACE_S:
        # The clock was set back: what comes again has its row already, and is not made again.
        return now, []
    late = max(schedule.cursor, now - GRACE_S)
    dues = rule.newest(late, now, OPEN_MAX)
    firings = [Firing(schedule.id, due, "waiting") for due in dues]
    if schedule.cursor < late:
        since = max(schedule.cursor, now - BACKFILL_S)
        if schedule.backfill:
            missed = rule.newest(since, late, BACKFILL_MAX)
            firings = [Firing(schedule.id, d, "waiting", "", _BACKFILLED) for d in missed] + firings
        else:
            missed = rule.newest(since, late, 1)
            firings = [Firing(schedule.id, d, "skipped", "", MISSED) for d in missed] + firings
    return max([late, *dues]), firings


def key_of(schedule: Schedule, due: float) -> str:
    """The key of the run that a schedule starts at a time."""
    return f"{schedule.name}.{schedule.id}@{iso(due)}"
