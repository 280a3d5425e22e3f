"""The command line, run in a project."""

from __future__ import annotations

from command_line import project, spawn, whorl

__all__ = ["project", "spawn", "whorl"]
