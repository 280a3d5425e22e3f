"""Every run has one owner, and whoever lost a run writes nothing more to it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from journal_makers import iteration, started

from waiting import wait_until
from whorl.errors import Fenced, StoreError
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Child

pytestmark = pytest.mark.threat(row="T4")

RUN = RunId("run-1")


def make_free_run(store: SqliteStore) -> None:
    async def work() -> None:
        await store.release(*await started(store))

    asyncio.run(work())


def test_a_run_of_a_living_process_cannot_be_claimed(
    store: SqliteStore, child: Callable[..., Child]
) -> None:
    make_free_run(store)
    owner = child("own", "run-1")

    assert owner.hear() == "owner 2"
    assert store.run("run-1").status == "running"
    with pytest.raises(StoreError, match=f"owned by process {owner.pid}") as caught:
        asyncio.run(store.claim(RUN))
    assert caught.value.code == "R902"
    assert "whorl watch run-1" in caught.value.help


def test_a_killed_owner_is_noticed_at_once(store: SqliteStore, child: Callable[..., Child]) -> None:
    make_free_run(store)
    owner = child("own", "run-1")
    owner.hear()
    owner.tell()
    assert owner.hear() == "seq 4"
    os.kill(owner.pid, signal.SIGKILL)
    # Not reaped: the process is a zombie now, as it is under a parent that does not look.
    os.waitid(os.P_PID, owner.pid, os.WEXITED | os.WNOWAIT)

    assert store.run("run-1").status == "interrupted"
    assert [row.id for row in store.runs(status="interrupted")] == ["run-1"]
    assert store.runs(status="running") == []
    assert asyncio.run(store.claim(RUN)) == 3
    assert store.run("run-1").status == "running"
    assert asyncio.run(store.append(RUN, 3, iteration(2))) == 7


def test_a_stopped_owner_that_wakes_up_is_fenced(
    store: SqliteStore, path: Path, child: Callable[..., Child]
) -> None:
    make_free_run(store)
    owner = child("own", "run-1")
    owner.hear()
    os.kill(owner.pid, signal.SIGSTOP)
    later = SqliteStore(path, monotonic=lambda: time.monotonic() + 30)
    try:
        assert later.run("run-1").status == "interrupted"
        assert asyncio.run(later.claim(RUN)) == 3
        assert asyncio.run(later.append(RUN, 3, iteration(1))) == 4
        os.kill(owner.pid, signal.SIGCONT)
        owner.tell()
        assert owner.hear().startswith("Fenced run 'run-1' has another owner now")
        assert asyncio.run(later.append(RUN, 3, iteration(2))) == 7
        assert [entry.seq for entry in later.read(RUN)] == list(range(1, 8))
    finally:
        os.kill(owner.pid, signal.SIGCONT)
        later.close()


@pytest.mark.threat(row="T9")
def test_a_jump_of_the_wall_clock_takes_no_run_away(path: Path, store: SqliteStore) -> None:
    asyncio.run(started(store))
    jumped = SqliteStore(path, clock=lambda: time.time() + 86_400)

    with pytest.raises(StoreError, match="is owned by process"):
        asyncio.run(jumped.claim(RUN))
    jumped.close()


def test_only_the_fenced_append_of_a_commit_fails(store: SqliteStore) -> None:
    async def write() -> list[int | BaseException]:
        runs = [await started(store, f"run-{number}") for number in range(5)]
        # One commit holds all of these: they are made in one turn of the event loop.
        owners = [owner + (number == 2) for number, (_, owner) in enumerate(runs)]
        return await asyncio.gather(
            *(
                store.append(run, owner, iteration(1))
                for (run, _), owner in zip(runs, owners, strict=True)
            ),
            store.append(RunId("none"), 1, iteration(1)),
            store.append(runs[0][0], runs[0][1], iteration(2), after=1),
            store.append(runs[0][0], runs[0][1], iteration(2), after=4),
            return_exceptions=True,
        )

    *others, unknown, early, right = asyncio.run(write())

    assert [type(one) for one in others] == [int, int, Fenced, int, int]
    assert str(unknown) == "there is no run 'none' in the store"
    assert str(early) == "run 'run-0' is at entry 4, not at 1"
    assert right == 7
    assert [store.run(f"run-{n}").last_seq for n in range(5)] == [7, 4, 1, 4, 4]


def test_a_snapshot_of_a_lost_run_is_refused(store: SqliteStore) -> None:
    run, owner = asyncio.run(started(store))

    with pytest.raises(Fenced):
        asyncio.run(store.snapshot(run, owner + 1, 1, {}))
    assert store.last_snapshot(run) is None


def test_a_released_run_is_free_and_a_late_release_changes_nothing(store: SqliteStore) -> None:
    async def write() -> int:
        run, owner = await started(store)
        await store.release(run, owner)
        second = await store.claim(run)
        await store.release(run, owner)
        return second

    assert asyncio.run(write()) == 2
    with pytest.raises(StoreError, match="owned by this process"):
        asyncio.run(store.claim(RUN))


def test_the_heartbeat_rides_on_commits(path: Path) -> None:
    now = 1000.0
    store = SqliteStore(path, monotonic=lambda: now)
    run, owner = asyncio.run(started(store))
    for seconds in (9.0, 18.0, 27.0):
        now = 1000.0 + seconds
        asyncio.run(store.append(run, owner, iteration(1)))
        assert store.run(run).status == "running"
    now += 10.5

    assert store.run(run).status == "interrupted"
    store.close()


@pytest.mark.slow
def test_an_idle_owner_keeps_its_lease(path: Path, store: SqliteStore) -> None:
    asyncio.run(started(store))
    seen = store.version()

    wait_until(lambda: store.version() != seen)
