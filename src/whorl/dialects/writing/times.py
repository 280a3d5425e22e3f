"""Durations as people write them."""

from __future__ import annotations

from whorl.ir.durations import parse_duration

_UNITS = (("h", 3_600), ("m", 60), ("s", 1))


def duration_text(seconds: float) -> str | float:
    """Seconds as 90s, 1h30m or 250ms; the number itself where no such text is exact."""
    if seconds == int(seconds):
        text = _whole(int(seconds))
    else:
        text = f"{round(seconds * 1000)}ms"
    return text if parse_duration(text) == seconds else seconds


def _whole(seconds: int) -> str:
    parts: list[str] = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
