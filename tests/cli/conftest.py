"""A project in an empty folder, and the command line run in it."""

from __future__ import annotations

from command_line import project, spawn, whorl
from terminals import at

__all__ = ["at", "project", "spawn", "whorl"]
