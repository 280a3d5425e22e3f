"""Time zones by their Windows names, as CLDR maps them, or by their names in the tz database."""

from __future__ import annotations

import re
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from whorl.errors import did_you_mean
from whorl.language.faults import EvaluationError
from whorl.language.functions.logic.dates.windows_zones import WINDOWS_ZONES

_DATABASE_NAME = re.compile(r"[A-Za-z_]+(?:/[A-Za-z0-9_+-]+){0,2}\Z")


@lru_cache(maxsize=256)
def zone_named(name: str) -> ZoneInfo:
    """Return a zone; case does not matter in Windows names."""
    lowered = name.strip().lower()
    windows = next((key for key in WINDOWS_ZONES if key.lower() == lowered), None)
    if windows is not None:
        # Some zones were renamed; databases know one of the names, or both.
        candidates = WINDOWS_ZONES[windows].split()
    else:
        candidates = [name.strip()] if _DATABASE_NAME.match(name.strip()) else []
    for candidate in candidates:
        try:
            return ZoneInfo(candidate)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    if windows is not None:
        raise EvaluationError(
            f"this machine has no time zone database that knows {windows!r}",
            help="install the package 'tzdata'",
        )
    raise EvaluationError(
        f"the time zone id {name!r} is not valid", help=did_you_mean(name, list(WINDOWS_ZONES))
    )
