"""Durations, counts and times as people write them."""

from __future__ import annotations

import pytest

from whorl.ir.values import parse_count, parse_duration, parse_time


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        *(("250ms", 0.25), ("5s", 5), ("10m", 600), ("2h", 7_200), ("1d", 86_400), ("1w", 604_800)),
        *(("1h30m", 5_400), ("1h 30m", 5_400), ("2 minutes", 120), ("1.5s", 1.5), ("PT5S", 5)),
        *(("pt5s", 5), ("P1DT2H", 93_600), ("PT0.5S", 0.5), ("P2W", 1_209_600), ("7", 7), (3, 3)),
        *((0.25, 0.25), (0, 0)),
    ],
)
def test_duration_is_read_in_every_form(written: str | float, seconds: float) -> None:
    assert parse_duration(written) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "written",
    [
        *("", "  ", "soon", "5x", "-5s", -1, True, "P", "PT", "5s6", "1h:30", "nan", float("nan")),
        # Too long or ambiguous.
        *(float("inf"), "999999999w", "P1Y", "P1M", "٣s", "5 s s"),
    ],
)
def test_what_is_no_duration_is_refused(written: str | float) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(written)


@pytest.mark.parametrize(
    ("written", "count"),
    [("100k", 100_000), ("1.5K", 1_500), ("2m", 2_000_000), ("10,000", 10_000), (7, 7), (7.0, 7)],
)
def test_count_is_read_in_every_form(written: str | float, count: int) -> None:
    assert parse_count(written) == count


@pytest.mark.parametrize(
    "written", ["", "many", "1.5", "-1", -1, 1.5, True, "1kk", float("nan"), "9" * 15 + "m"]
)
def test_anything_else_is_no_count(written: str | float) -> None:
    with pytest.raises(ValueError, match=r"count|whole"):
        parse_count(written)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60),
        ("1970-01-01T01:01:00+01:00", 60),
        ("1970-01-01 00:01:00", 60),
        ("1970-01-01t00:01z", 60),
    ],
)
def test_time_is_seconds_since_the_epoch(written: str, seconds: float) -> None:
    assert parse_time(written) == seconds
