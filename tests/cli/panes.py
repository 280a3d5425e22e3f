"""Runs in virtual time, and what the live view shows of them at any moment of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from conformance.literate import read_cases
from conformance.reading import workflow_of
from conformance.replies import Script
from conformance.running import run_simulated
from whorl.interfaces.cli.live_view import Picture, framed
from whorl.interfaces.progress import Progress

if TYPE_CHECKING:
    from conformance.literate import Case
    from whorl.interpreter.events import Event

CASES = {case.title: case for case in read_cases(Path(__file__).parent / "panes.md")}


class Watched:
    """A run that is looked at while it goes on."""

    def __init__(self, case: Case) -> None:
        self.events = run_simulated(case, Script(case.blocks.get("replies"))).entries
        self.workflow = workflow_of(case)
        self.progress = Progress(
            run="r1", workflow=self.workflow.name, budget_usd=self.workflow.limits.cost_usd
        )
        self.now = self.began = self.events[0].at
        self._next = 0

    def picture(self, **options: Any) -> Picture:
        return Picture(self.progress, self.workflow, self.now, **options)

    def take(self) -> Event | None:
        """Takes the next event in; None: there are no more."""
        if self._next == len(self.events):
            return None
        event = self.events[self._next]
        self._next += 1
        self.progress.take(event)
        return event

    def go_to(self, seconds: float) -> None:
        """Takes in all that happened until so many seconds after the beginning."""
        self.now = self.began + seconds
        while self._next < len(self.events) and self.events[self._next].at <= self.now:
            self.take()

    def pane(self, width: int, height: int, **options: Any) -> str:
        """What a terminal of that size shows."""
        picture = self.picture(width=width - 4, height=height - 3, **options)
        console = Console(file=io.StringIO(), width=width, height=height, color_system=None)
        with console.capture() as captured:
            console.print(framed(picture, "whorl run", ["p pause"]))
        return captured.get()
