"""Durations and counts as people write them: 250ms, 1h30m, PT5S, 100k."""

from __future__ import annotations

import re
from datetime import UTC, datetime

DURATION_MAX_S = 10 * 366 * 86_400.0
COUNT_MAX = 10**15

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_WORDS = {
    **dict.fromkeys(("msec", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("week", "weeks"), "w"),
}
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_PART = re.compile(rf"({_NUMBER})\s*([a-z]*)\s*")
_ISO = re.compile(
    rf"P(?:({_NUMBER})W)?(?:({_NUMBER})D)?"
    rf"(?:T(?=[0-9])(?:({_NUMBER})H)?(?:({_NUMBER})M)?(?:({_NUMBER})S)?)?",
    re.IGNORECASE,
)
_COUNT = re.compile(rf"({_NUMBER})\s*([kmKM]?)")
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}


def parse_duration(written: str | float) -> float:
    """Returns seconds; a bare number is seconds. Raises ValueError for anything else."""
    if isinstance(written, bool):
        raise ValueError(f"{written!r} is not a duration")
    seconds = _parse_text(written.strip()) if isinstance(written, str) else float(written)
    if not 0 <= seconds <= DURATION_MAX_S:
        raise ValueError(f"duration {written!r} is not between 0 and 10 years")
    return seconds


def parse_count(written: str | float) -> int:
    """Returns a whole number; k stands for thousands, m for millions. Raises ValueError."""
    if isinstance(written, bool):
        raise ValueError(f"{written!r} is not a count")
    if isinstance(written, str):
        match = _COUNT.fullmatch(written.strip().replace(",", "").replace("_", ""))
        if match is None:
            raise ValueError(f"{written!r} is not a count")
        count = float(match[1]) * _TIMES[match[2].lower()]
    else:
        count = float(written)
    if not 0 <= count <= COUNT_MAX or count != int(count):
        raise ValueError(f"{written!r} is not a whole number from 0 to {COUNT_MAX:,}")
    return int(count)


def parse_time(written: str) -> float:
    """Returns seconds since the epoch of an ISO 8601 time; without a zone it is UTC."""
    if "T" not in written.upper() and ":" not in written:
        raise ValueError(f"{written!r} is not a time")
    moment = datetime.fromisoformat(written.strip().upper())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return moment.timestamp()
    except OverflowError:
        raise ValueError(f"{written!r} is not a time") from None


def _parse_text(text: str) -> float:
    match = _ISO.fullmatch(text)
    if match is not None and any(match.groups()):
        parts = zip(match.groups(), "wdhms", strict=True)
        return sum(float(number) * _UNITS_S[unit] for number, unit in parts if number)
    lowered = text.lower()
    position, seconds, count = 0, 0.0, 0
    while position < len(lowered):
        part = _PART.match(lowered, position)
        unit = part and _WORDS.get(part[2], part[2])
        if part is None or unit not in _UNITS_S or (count and not part[2]):
            raise ValueError(f"{text!r} is not a duration")
        seconds += float(part[1]) * _UNITS_S[unit]
        position, count = part.end(), count + 1
    if not count:
        raise ValueError("a duration is empty")
    return seconds
