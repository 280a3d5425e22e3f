"""Old runs go on request only, with all that only they use."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import apsw
from journal_makers import START, event, iteration, started

from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400.0
SHARED = os.urandom(20_000).hex()


def fill(store: SqliteStore, name: str, at: float, status: str) -> None:
    async def write() -> None:
        run, owner = await started(store, name)
        own = [os.urandom(6000).hex() for _ in range(20)]
        for number, value in enumerate([SHARED, *own], 1):
            await store.append(run, owner, iteration(number, value))
        await store.snapshot(run, owner, 3, {"x": 1})
        await store.append(run, owner, [event("run.finished", when=at, status=status)])
        await store.release(run, owner)

    asyncio.run(write())


def test_old_finished_runs_are_deleted_and_the_file_shrinks(path: Path) -> None:
    store = SqliteStore(path, clock=lambda: START + 10 * DAY)
    fill(store, "old", START, "succeeded")
    fill(store, "kept", START, "paused")
    fill(store, "new", START + 9 * DAY, "failed")
    pages = store.sizes().file_bytes + store.sizes().log_bytes
    payloads = store.sizes().payloads

    planned = asyncio.run(store.prune(2 * DAY, dry_run=True))
    assert (planned.runs, planned.entries, planned.dry_run) == (("old",), 65, True)
    assert store.sizes().payloads == payloads

    done = asyncio.run(store.prune(2 * DAY))
    assert (done.runs, done.entries, done.dry_run) == (("old",), 65, False)
    assert [row.id for row in store.runs()] == ["new", "kept"]
    assert store.sizes().payloads == payloads - 20
    assert store.sizes().free_bytes == 0
    assert store.sizes().file_bytes + store.sizes().log_bytes < pages
    assert len(list(store.read(store.resolve("new")))) == 65
    assert store.check() == []
    store.close()

    with apsw.Connection(str(path)) as file:
        for table in ("journal", "progress", "snapshots", "payload_uses"):
            runs = file.execute(f"SELECT count(DISTINCT run) FROM {table}").get
            assert runs == 2, table


def test_nothing_is_deleted_when_nothing_is_old(store: SqliteStore) -> None:
    fill(store, "run", store.clock(), "succeeded")

    assert asyncio.run(store.prune(DAY)).runs == ()
    assert len(store.runs()) == 1


def test_a_deleted_runs_number_is_not_used_again(path: Path) -> None:
    store = SqliteStore(path, clock=lambda: START + 10 * DAY)
    fill(store, "old", START, "succeeded")
    asyncio.run(store.prune(0))
    run, owner = asyncio.run(started(store, "old"))

    assert asyncio.run(store.append(run, owner, iteration(1))) == 4
    assert [entry.seq for entry in store.read(run)] == [1, 2, 3, 4]
    store.close()
