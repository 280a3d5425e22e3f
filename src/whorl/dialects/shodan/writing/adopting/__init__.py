"""Workflows of other dialects as this one would have read them, and what is lost by that."""

from __future__ import annotations

from whorl.dialects.shodan.writing.adopting.workflow import adopt

__all__ = ["adopt"]
