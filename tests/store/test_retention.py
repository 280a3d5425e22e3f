"""Old runs go on request or as the operator says, with all that only they use."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import apsw
import pytest
from journal_makers import START, event, iteration, started

from whorl.providers.settings import Retention
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite.pruning import SWEPT_ENTRIES, delete

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.threat(row="T8")

DAY = 86_400.0
SHARED = os.urandom(20_000).hex()


def payloads_in(store: SqliteStore) -> int:
    return int(store.rows("SELECT count(*) FROM payloads")[0][0])


def on_disk(path: Path) -> int:
    """The bytes of a store and its log."""
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + log.stat().st_size


def fill(store: SqliteStore, name: str, at: float, status: str, **fields: object) -> None:
    async def write() -> None:
        run, owner = await started(store, name, **fields)
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
    size, payloads = on_disk(path), payloads_in(store)

    planned = asyncio.run(store.prune(2 * DAY, dry_run=True))
    assert (planned.runs, planned.entries, planned.dry_run) == (("old",), 65, True)
    assert payloads_in(store) == payloads

    done = asyncio.run(store.prune(2 * DAY))
    assert (done.runs, done.entries, done.dry_run) == (("old",), 65, False)
    assert [row.id for row in store.runs()] == ["new", "kept"]
    assert payloads_in(store) == payloads - 20
    assert store.used_bytes() == store.sizes().file_bytes
    assert on_disk(path) < size
    assert len(list(store.read(store.resolve("new")))) == 65
    assert store.check() == []
    store.close()

    with apsw.Connection(str(path)) as file:
        for table in ("journal", "progress", "snapshots", "payload_uses"):
            runs = file.execute(f"SELECT count(DISTINCT run) FROM {table}").get
            assert runs == 2, table


def test_a_deleted_runs_number_is_not_used_again(path: Path) -> None:
    store = SqliteStore(path, clock=lambda: START + 10 * DAY)
    fill(store, "old", START, "succeeded")
    asyncio.run(store.prune(0))
    run, owner = asyncio.run(started(store, "old"))

    assert asyncio.run(store.append(run, owner, iteration(1))) == 4
    assert [entry.seq for entry in store.read(run)] == [1, 2, 3, 4]
    store.close()


def _filled(path: Path, count: int) -> SqliteStore:
    """A store with as many ended runs, a day apart, and one that goes on."""
    store = SqliteStore(path, clock=lambda: START + count * DAY)
    for number in range(count):
        fill(store, f"run-{number}", START + number * DAY, "succeeded")
    fill(store, "paused", START, "paused")
    return store


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        (Retention(older_than_s=2.5 * DAY), ["run-4", "run-5"]),
        (Retention(max_runs=3), ["run-3", "run-4", "run-5"]),
        (Retention(max_bytes=1), []),
        (Retention(max_bytes=10**9), [f"run-{number}" for number in range(6)]),
        (Retention(older_than_s=4.5 * DAY, max_runs=2), ["run-4", "run-5"]),
    ],
)
def test_what_nothing_keeps_goes_the_oldest_first(
    path: Path, keep: Retention, left: list[str]
) -> None:
    store = _filled(path, 6)

    gone = asyncio.run(store.retire(keep)).runs

    assert sorted(row.id for row in store.runs()) == ["paused", *left]
    assert list(gone) == [f"run-{number}" for number in range(6 - len(left))]
    assert (store.check(), asyncio.run(store.retire(Retention())).runs) == ([], ())
    assert asyncio.run(store.prune(20 * DAY)).runs == ()
    store.close()


@pytest.mark.parametrize(
    "keep", [Retention(older_than_s=0.0), Retention(max_runs=0), Retention(max_bytes=1)]
)
def test_runs_of_experiments_stay_since_reports_are_made_of_them(
    path: Path, keep: Retention
) -> None:
    store = SqliteStore(path, clock=lambda: START + 9 * DAY)
    fill(store, "trial", START, "succeeded", key="experiment:polish:1:abc")
    fill(store, "plain", START + DAY, "succeeded")

    assert asyncio.run(store.retire(keep)).runs == ("plain",)
    assert [row.id for row in store.runs()] == ["trial"]
    store.close()


def test_a_size_is_kept_to(path: Path) -> None:
    store = _filled(path, 6)
    limit = store.used_bytes() // 2

    asyncio.run(store.retire(Retention(max_bytes=limit)))

    assert limit * 0.6 < store.used_bytes() <= limit
    assert store.used_bytes() == store.sizes().file_bytes
    store.close()


def test_a_long_run_is_deleted_in_small_steps_and_what_a_crash_leaves_goes_later(
    path: Path,
) -> None:
    store = SqliteStore(path, clock=lambda: START + 10 * DAY)

    async def work() -> None:
        run, owner = await started(store, "long")
        for number in range(1, SWEPT_ENTRIES):
            await store.append(run, owner, iteration(number))
        await store.append(run, owner, [event("run.finished", when=START, status="failed")])
        await store.release(run, owner)
        # The first step, after which the process ends.
        await store._ask(lambda tables: delete(tables, run, "failed", START + DAY))

    asyncio.run(work())
    assert (store.runs(), store.sizes().entries > SWEPT_ENTRIES) == ([], True)

    asyncio.run(store.retire(Retention(max_runs=1)))

    assert (store.sizes().entries, payloads_in(store), store.check()) == (0, 0, [])
    store.close()
