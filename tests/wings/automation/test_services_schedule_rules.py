"""When schedules are due: cron against a plain reading of it, time zones, intervals."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign import amount
from whorl.errors import UsageError
from whorl.wings.automation.rules import newest, rule_of, written_rule

BERLIN = "Europe/Berlin"


def moment(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def times(cron: str, after: str, count: int, zone: str = "UTC") -> list[str]:
    """The next times, as the clock of the zone shows them, with its distance from UTC."""
    found = islice(rule_of({"cron": cron, "zone": zone}).times(moment(after, zone)), count)
    return [datetime.fromtimestamp(due, ZoneInfo(zone)).isoformat()[:22] for due in found]


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("* * * *", "five fields"),
        ("0 0 12 * * *", "five fields"),
        ("60 * * * *", "'60' is not a valid minute"),
        ("* 24 * * *", "'24' is not a valid hour"),
        ("* * 0 * *", "'0' is not a valid day of the month"),
        ("* * * foo *", "'foo' is not a valid month"),
        ("* * * * 8", "'8' is not a valid day of the week"),
        ("*/0 * * * *", "it matches nothing"),
        ("5-1 * * * *", "it matches nothing"),
        ("*-5 * * * *", "it matches nothing"),
        ("1,,2 * * * *", "'' is not a valid minute"),
        ("* * L * *", "'L' is not a valid day of the month"),
        ("* * ? * 1#2", "'?' is not a valid day"),
    ],
)
def test_what_is_no_cron_expression(cron: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?")) as caught:
        rule_of({"cron": cron})
    assert caught.value.code == "W916"


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> str:
    """A field of cron in any of its forms."""
    first = draw(st.integers(low, high))
    last = draw(st.integers(first, high))
    step = draw(st.integers(1, 20))
    forms = ("*", f"*/{step}", f"{first}", f"{first}-{last}", f"{first}-{last}/{step}")
    return ",".join(draw(st.lists(st.sampled_from(forms), min_size=1, max_size=3)))


def plainly(field: str, low: int, high: int) -> set[int]:
    """What a field means, read as the manual says it and not as the parser does."""
    found = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        for value in range(low, high + 1):
            lowest = low if span == "*" else int(first)
            highest = high if span == "*" else int(last or first)
            if lowest <= value <= highest and (value - lowest) % int(step or 1) == 0:
                found.add(value)
    return found


@pytest.mark.slow
@pytest.mark.campaign
@settings(max_examples=amount(60, 3_000), deadline=None)
@given(
    parts=st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 6)),
    start=st.integers(1_500_000_000, 2_500_000_000),
)
def test_cron_is_what_a_look_at_every_minute_finds(parts: tuple[str, ...], start: int) -> None:
    text = " ".join(parts)
    spans = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
    minutes, hours, days, months, weekdays = (
        plainly(part, *span) for part, span in zip(parts, spans, strict=True)
    )
    is_either = not parts[2].startswith("*") and not parts[4].startswith("*")
    expected = []
    at = datetime.fromtimestamp(start, UTC).replace(second=0, microsecond=0)
    for _ in range(60 * 24 * 3):
        at += timedelta(minutes=1)
        is_day, is_weekday = at.day in days, (at.weekday() + 1) % 7 in weekdays
        fits = is_day or is_weekday if is_either else is_day and is_weekday
        if fits and at.month in months and at.hour in hours and at.minute in minutes:
            expected.append(at.timestamp())
    begin = datetime.fromtimestamp(start, UTC).replace(second=0, microsecond=0).timestamp()
    found = newest(rule_of({"cron": text}), begin, at.timestamp(), 10_000)

    assert found == expected


# In Berlin 02:00 to 03:00 is left out on the 29th of March 2026, and comes twice on the 25th of
# October.
@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        # A time that is skipped is due as much later.
        ("30 2 * * *", "03-28T00:00", "03-28T02:30:00+01 03-29T03:30:00+02 03-30T02:30:00+02"),
        ("30 2,3 * * *", "03-29T00:00", "03-29T03:30:00+02 03-30T02:30:00+02"),
        # So is a time of every second hour; all hours, also if they are named, are a pace.
        ("30 */2 * * *", "10-25T01:00", "10-25T02:30:00+02 10-25T04:30:00+01"),
        ("30 0-23 * * *", "10-25T01:00", "10-25T01:30:00+02 10-25T02:30:00+02 10-25T02:30:00+01"),
        # A pace goes on.
        (
            "*/30 * * * *",
            "03-29T01:10",
            "03-29T01:30:00+01 03-29T03:00:00+02 03-29T03:30:00+02 03-29T04:00:00+02",
        ),
        # A time of day that comes twice is due once.
        ("30 2 * * *", "10-24T03:00", "10-25T02:30:00+02 10-26T02:30:00+01"),
        (
            "30 * * * *",
            "10-25T01:00",
            "10-25T01:30:00+02 10-25T02:30:00+02 10-25T02:30:00+01 10-25T03:30:00+01",
        ),
    ],
)
def test_times_where_the_clocks_change(cron: str, after: str, expected: str) -> None:
    due = [f"2026-{moment}" for moment in expected.split()]

    assert times(cron, f"2026-{after}", len(due), BERLIN) == due


@pytest.mark.parametrize(
    ("zone", "year"),
    [
        (BERLIN, 2026),
        ("America/New_York", 2026),
        ("Australia/Lord_Howe", 2026),
        ("America/Sao_Paulo", 2018),
        ("Pacific/Apia", 2011),
        ("Africa/Casablanca", 2026),
    ],
)
@pytest.mark.parametrize("cron", ["30 2 * * *", "15 * * * *", "0 0 * * *", "*/20 1-3 * * sun"])
def test_times_of_any_zone_come_in_order_and_one_on_each_day(
    cron: str, zone: str, year: int
) -> None:
    rule = rule_of({"cron": cron, "zone": zone})
    begin, end = moment(f"{year}-01-01", zone), moment(f"{year + 1}-01-01", zone)
    found = newest(rule, begin, end, 100_000)

    assert all(before < after for before, after in pairwise(found))
    days = {datetime.fromtimestamp(due, ZoneInfo(zone)).date() for due in found}
    missing = 1 if zone == "Pacific/Apia" else 0
    if cron == "30 2 * * *":
        assert (len(found), len(days)) == (365 - missing, 365 - missing)
    if cron == "15 * * * *" and zone != "Australia/Lord_Howe":
        assert {after - before for before, after in pairwise(found)} == {3600.0}


def test_an_interval_continues_from_its_start() -> None:
    document = written_rule(cron=None, every="90m", zone=None, now=1_000_000.7)
    rule = rule_of(document)

    assert list(islice(rule.times(1_000_000.7), 2)) == [1_005_400.0, 1_010_800.0]
    assert next(rule.times(1_005_400.0)) == 1_010_800.0
    assert next(rule.times(0.0)) == 1_005_400.0
    assert newest(rule, 0.0, 1_000_000_000.0, 3)[-1] <= 1_000_000_000.0
    assert len(newest(rule, 0.0, 1_000_000_000.0, 3)) == 3
    assert rule.words == "every 90m"


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"cron": None, "every": None, "zone": None}, "either"),
        ({"cron": "@daily", "every": "1h", "zone": None}, "either"),
        ({"cron": None, "every": "1h", "zone": BERLIN}, "no time zone"),
        ({"cron": None, "every": "10", "zone": None}, "no unit"),
        ({"cron": None, "every": "soon", "zone": None}, "duration"),
        ({"cron": None, "every": "10ms", "zone": None}, "shorter than a second"),
        ({"cron": "@daily", "every": None, "zone": "Europe/Belin"}, "no time zone 'Europe/Belin'"),
        ({"cron": "@daily", "every": None, "zone": "../../etc/passwd"}, "no time zone"),
    ],
)
def test_what_is_no_rule(given_: dict[str, str | None], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        written_rule(**given_, now=0.0)
    assert caught.value.code == "W916"


def recurring(after: str, count: int, **written: Any) -> list[str]:
    """The next times of a recurrence that was first seen at noon of the 30th of January 2026."""
    zone = str(written.get("zone", "UTC"))
    rule = rule_of({"recurrence": written, "start": moment("2026-01-30T12:00:05")})
    found = islice(rule.times(moment(after, zone)), count)
    return [datetime.fromtimestamp(due, ZoneInfo(zone)).isoformat()[:19] for due in found]


def each(frequency: str, interval: int = 1, **more: Any) -> dict[str, Any]:
    return {"frequency": frequency, "interval": interval, **more}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (each("minute", 90), ["2026-01-30T13:30:05", "2026-01-30T15:00:05"]),
        (each("day", 2), ["2026-02-01T12:00:05", "2026-02-03T12:00:05"]),
        (each("week", 2), ["2026-02-13T12:00:05", "2026-02-27T12:00:05"]),
        (each("month"), ["2026-02-28T12:00:05", "2026-03-30T12:00:05"]),
        (each("day", hours=[7, 19], minutes=[30]), ["2026-01-30T19:30:00", "2026-01-31T07:30:00"]),
        (
            each("week", 2, weekdays=[0, 6], hours=[7], minutes=[0]),
            ["2026-01-31T07:00:00", "2026-02-08T07:00:00"],
        ),
        (
            each("month", days=[1, 31], hours=[0], minutes=[0]),
            ["2026-01-31T00:00:00", "2026-02-01T00:00:00"],
        ),
        (
            each("hour", start="2026-02-02T09:15:00Z"),
            ["2026-02-02T09:15:00", "2026-02-02T10:15:00"],
        ),
        (each("day", end="2026-01-31T13:00:00Z"), ["2026-01-31T12:00:05"]),
        (each("month", 12, start="2025-02-01T00:00", days=[31]), []),
    ],
)
def test_recurrences(written: dict[str, Any], expected: list[str]) -> None:
    assert recurring("2026-01-30T12:00:05", 2, **written) == expected


@pytest.mark.parametrize(
    ("after", "days"),
    [("03-28T00:00", "03-28T02 03-29T03 03-30T02"), ("10-24T12:00", "10-25T02 10-26T02")],
)
def test_a_recurrence_keeps_to_the_clock_of_its_zone(after: str, days: str) -> None:
    daily = each("day", zone=BERLIN, start="2026-03-01T02:30:00")
    expected = [f"2026-{day}:30:00" for day in days.split()]

    assert recurring(f"2026-{after}", len(expected), **daily) == expected


@pytest.mark.parametrize(
    "written",
    [
        *(None, {}, each("year"), each("day", 0), each("day", zone="Mars")),
        *(each("day", start="soon"), each("day", hours=["a"])),
    ],
)
def test_what_is_no_recurrence(written: Any) -> None:
    with pytest.raises(UsageError) as caught:
        rule_of({"recurrence": written, "start": 0.0})
    assert caught.value.code == "W916"
