"""Runs made from the journals of others, in which some notes say more than they did."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whorl.interpreter.events import Event
    from whorl.language import Json


def retold(project: Path, more: Callable[[Event], dict[str, Json]], run: str = "retold") -> str:
    """A copy of the newest run; each note gets what `more` says, None takes a field away."""
    store = SqliteStore(project / ".whorl" / "whorl.db")
    try:
        source = store.resolve("last")
        told = store.run(source)
        events = [entry.event for entry in store.read(source)]
        first, *rest = [replace(one, body=_with(one.body, more(one))) for one in events]
        made = NewRun(
            RunId(run), store.workflow(source), "hash", told.name, told.dialect, file=told.file
        )
        asyncio.run(_create(store, made, first, rest))
    finally:
        store.close()
    return run


async def _create(store: SqliteStore, made: NewRun, first: Event, rest: list[Event]) -> None:
    await store.create(made, first, *rest)


def _with(body: dict[str, Json], more: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in (body | more).items() if value is not None}
