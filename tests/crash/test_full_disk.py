"""A full disk under a run: it waits, sends nothing unannounced, and loses nothing."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from crash.priced import Priced
from threats import tally
from whorl.dialects import read_workflow
from whorl.providers.task import Reply, Usage
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

    from whorl.errors import StoreError
    from whorl.providers.task import Emit, Request
    from whorl.runtimes.journal.journal import Entry, RunId

pytestmark = pytest.mark.threat(row="T3")

WORKFLOW = """
whorl: 1
name: fill
budget: 1.00
steps:
  fill:
    repeat:
      until: iteration >= 12
      at_most: 20
      steps: {write: {ask: "Write {{ iteration }}"}}
outputs: {text: "{{ fill.write }}"}
"""


class Writing(Priced):
    """Answers with what takes a page, and remembers what was announced when it was asked."""

    def __init__(self, store: SqliteStore) -> None:
        super().__init__()
        self.unannounced: list[str] = []
        self._store = store

    async def perform(self, request: Request, emit: Emit) -> Reply:
        self.sent[request.address] += 1
        entries = self._store.entries_at(request.run, request.address)  # type: ignore[arg-type]
        if not any(entry.event.kind == "task.started" for entry in entries):
            self.unannounced.append(request.address)
        return Reply(os.urandom(5000).hex(), Usage(calls=1))


class Watching:
    """Makes room once the third complaint has come."""

    def __init__(self, store: SqliteStore) -> None:
        self.complaints: list[str] = []
        self._store = store

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        pass

    def text(self, run: RunId, address: str, text: str) -> None:
        pass

    def trouble(self, run: RunId, fault: StoreError) -> None:
        self.complaints.append(str(fault))
        if len(self.complaints) == 3:
            writing(self._store).pragma("max_page_count", 1_000_000)


def writing(store: SqliteStore) -> apsw.Connection:
    assert store._writer is not None
    return store._writer._connection


@pytest.mark.parametrize("room", range(20))
def test_a_run_waits_for_room_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """Wherever it happens: an iteration takes not quite two pages, of which there are so many."""
    monkeypatch.setattr("whorl.runtimes.driver.TROUBLE_PAUSE_S", 0.01)

    async def fill() -> tuple[str, Writing, Watching, list[str]]:
        async with SqliteStore(tmp_path / "runs.db") as store:
            workers, watcher = Writing(store), Watching(store)
            runtime = LocalRuntime(store, workers, watcher=watcher)
            workflow = read_workflow(WORKFLOW, "fill.yaml").workflow
            run, _ = await runtime.start(workflow, Start())
            pages = writing(store).pragma("page_count")
            writing(store).pragma("max_page_count", pages + room)
            status = await runtime.drive(run)
            kinds = [entry.event.kind for entry in store.read(run)]
            assert store.check() == []
            return status, workers, watcher, kinds

    status, workers, watcher, kinds = asyncio.run(fill())

    assert status == "succeeded"
    assert len(watcher.complaints) == 3
    assert "room" in watcher.complaints[0]
    assert set(workers.sent.values()) == {1}
    assert workers.unannounced == []
    assert kinds.count("task.finished") == 12
    assert "task.in_doubt" not in kinds
    tally("appends without room", len(watcher.complaints))
