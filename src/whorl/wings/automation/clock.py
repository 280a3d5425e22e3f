"""The clock on the wall: when it shows a time of a day, and what is due until then.

Where it is set forward, a time that it skips is as much later as it skips; where it is set back, a
time that comes twice is the first of both, unless every hour is meant (RFC 5545 says the same).
"""

from __future__ import annotations

from datetime import datetime
from datetime import time as time_of_day
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date
    from zoneinfo import ZoneInfo


def instants(
    day: date, minutes: Iterable[int], zone: ZoneInfo, *, is_hourly: bool = False
) -> list[float]:
    """When a clock on the wall shows these minutes of a day, by the rules above."""
    found: set[float] = set()
    for minute in minutes:
        shown = datetime.combine(day, time_of_day(minute // 60, minute % 60), zone)
        found.add(shown.timestamp())
        again = shown.replace(fold=1)
        first, second = shown.utcoffset(), again.utcoffset()
        if is_hourly and first is not None and second is not None and first > second:
            found.add(again.timestamp())
    return sorted(found)


def until_then(times: Iterator[float], until: float) -> list[float]:
    found = []
    for due in times:
        if due > until:
            break
        found.append(due)
    return found
