"""Bringing a request to a run: through its owner's inbox, or by driving it from here."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from whorl.interfaces.cli.stage import Stage, say
from whorl.interfaces.steering import fitting

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal import RunId

# How long a command waits until another process has taken its request.
PATIENCE_S = 5.0
POLL_S = 0.05


async def steer(stage: Stage, run: RunId, event: Event) -> int:
    """Carries a request out, and shows the run as it goes on; gives the exit code."""
    before = stage.store.run(run).last_seq
    with fitting(run):
        is_driven = await stage.runtime.request(run, event)
    if is_driven:
        await _taken(stage, run, before)
        say(f"run {run} is driven by another process, which goes on with it")
        return await stage.follow(run)
    return await stage.drive(run, [event])


async def _taken(stage: Stage, run: RunId, before: int) -> None:
    """Waits until the owner has journaled something, or has given the run up."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        row = stage.store.run(run)
        if row.last_seq > before or row.status != "running":
            return
        await asyncio.sleep(POLL_S)
