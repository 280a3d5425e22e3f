"""The Python interface: load or build a workflow, run it, watch it, steer it."""

from __future__ import annotations

from whorl.interfaces.python.session import Run, Session, resume, run, run_sync
from whorl.interfaces.python.values import Event, LoopResult, Result, Usage, Workflow, build, load
from whorl.language import Json
from whorl.providers.functions import Tasks

__all__ = [
    "Event",
    "Json",
    "LoopResult",
    "Result",
    "Run",
    "Session",
    "Tasks",
    "Usage",
    "Workflow",
    "build",
    "load",
    "resume",
    "run",
    "run_sync",
]
