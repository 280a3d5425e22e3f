"""Bringing a request to a run: through its owner's inbox, or by driving it from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.interfaces.cli.stage import Stage
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal import RunId


async def steer(stage: Stage, run: RunId, event: Event) -> int:
    """Carries a request out, and shows the run as it goes on; gives the exit code."""
    return await stage.settle(run) if await stage.carry_out(run, event) else 0
