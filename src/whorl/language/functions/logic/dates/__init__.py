"""Functions on dates and times."""

from __future__ import annotations

from whorl.language.functions.logic.dates.functions import DATES

__all__ = ["DATES"]
