"""Canvases in the words of other formats: values are read by name, and inputs are no nodes."""

from __future__ import annotations

from whorl.dialects.studio.writing.outward.workflow import plain_workflow

__all__ = ["plain_workflow"]
