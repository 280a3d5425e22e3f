"""Runs and events for the tests of the store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import NewRun, RunId

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.runtimes.sqlite import SqliteStore

START = 1_700_000_000.0


def event(kind: str, address: str = "", when: float = START, **body: Json) -> Event:
    return Event(kind, address, when, body)


def new_run(run: str = "run-1", /, **fields: object) -> NewRun:
    known: dict[str, object] = {
        "workflow": {"name": "polish"},
        "workflow_hash": "h",
        "name": "polish",
        "dialect": "native",
    }
    return NewRun(id=RunId(run), **(known | fields))  # type: ignore[arg-type]


def iteration(number: int, value: str = "text", **note: Json) -> list[Event]:
    """What one iteration of a loop with one task leaves in the journal, without its start."""
    address = f"polish[{number}]"
    ended: dict[str, Json] = {"number": number, "status": "succeeded", "seconds": 1.5}
    usage: Json = {"calls": 1, "input_tokens": 100, "output_tokens": 20, "cost_usd": 0.001}
    return [
        event(
            "task.started", f"{address}/write", attempt=1, inputs={"prompt": "Write " + "x" * 16}
        ),
        event("task.finished", f"{address}/write", attempt=1, value=value, usage=usage),
        Event("iteration.finished", address, START, ended | note),
    ]


async def started(
    store: SqliteStore, run_id: str = "run-1", /, **fields: object
) -> tuple[RunId, int]:
    """A run that this store owns."""
    run, _ = await store.create(new_run(run_id, **fields), event("run.started", input={}))
    return run, await store.claim(run)


def write(store: SqliteStore, *events: Event, name: str = "run-1", **fields: object) -> RunId:
    """A run of this store with these entries, written together."""

    async def append() -> RunId:
        run, owner = await started(store, name, **fields)
        await store.append(run, owner, events)
        return run

    return asyncio.run(append())
