"""Definitions in the words of other formats: what actions give is read by name, in plain Jinja."""

from __future__ import annotations

from whorl.dialects.loom.writing.outward.workflow import plain_workflow

__all__ = ["plain_workflow"]
