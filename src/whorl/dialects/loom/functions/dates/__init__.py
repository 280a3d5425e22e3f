"""Functions on dates and times."""

from __future__ import annotations

from whorl.dialects.loom.functions.dates.functions import DATES

__all__ = ["DATES"]
