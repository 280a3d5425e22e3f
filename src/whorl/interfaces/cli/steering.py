"""Bringing a request to a run: through its owner's inbox, or by driving it from here."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from whorl.errors import UsageError
from whorl.interfaces.cli.stage import Stage, say
from whorl.interpreter.control import Refused, chosen_loop
from whorl.interpreter.events import Event
from whorl.runtimes.folding import fold

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.runtimes.journal import RunId

# How long a command waits until another process has taken its request.
PATIENCE_S = 5.0
POLL_S = 0.05


def asked(kind: str, body: dict[str, Json] | None = None, address: str = "") -> Event:
    """A request, made now."""
    return Event(kind, address, time.time(), body or {})


async def steer(stage: Stage, run: RunId, event: Event) -> int:
    """Carries a request out, and shows the run as it goes on; gives the exit code."""
    before = stage.store.run(run).last_seq
    if await stage.runtime.request(run, event):
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


def loop_at(stage: Stage, run: RunId, at: str, *, at_limit: bool = False) -> str:
    """The address of the loop that is meant; without `--at`, the only one that it can be."""
    from whorl.interpreter.address import split_iteration

    machine = fold(stage.store, run).machine
    try:
        return chosen_loop(machine, split_iteration(at)[0], at_limit=at_limit)
    except Refused as refusal:
        raise UsageError(str(refusal), code="W903") from refusal
