"""The native format as tables: every field with its form and one line about it."""

from __future__ import annotations
