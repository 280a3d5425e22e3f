"""All that waits goes into one commit, and is acknowledged after it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from journal_makers import iteration, started

from whorl.errors import StoreError
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite import store as writer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whorl.interpreter.events import Event


class Crash(BaseException):
    """The end of the process, as far as its code can tell."""


class Points:
    """Where the writer has been; may stop it there."""

    def __init__(self) -> None:
        self.fail_at = ""

    def __call__(self, point: str, run: str, events: Sequence[Event]) -> None:
        if point == self.fail_at:
            raise Crash


def test_a_thousand_concurrent_appends_take_few_commits(path: Path) -> None:
    points = Points()

    async def write() -> list[int]:
        async with SqliteStore(path, crash_hook=points) as store:
            runs = await asyncio.gather(*(started(store, f"run-{n}") for n in range(100)))
            points.seen.clear()
            return await asyncio.gather(
                *(store.append(*runs[n % 100], iteration(n // 100 + 1)) for n in range(1000))
            )

    last = asyncio.run(write())
    store = SqliteStore(path)
    entries = [[entry.seq for entry in store.read(RunId(f"run-{n}"))] for n in range(100)]
    store.close()

    assert last == [4 + 3 * (n // 100) for n in range(1000)]
    assert entries == [list(range(1, 32))] * 100
    # All appends were made in one turn of the loop: one commit holds them, in order.
    assert [point for point, _, _ in points.seen] == ["before"] * 1000 + ["inside"] * 1000 + [
        "after"
    ] * 1000


@pytest.mark.parametrize(
    ("runs", "commit_s", "by"), [(1, 0.005, "loop"), (1, 0.05, "thread"), (2, 0.005, "thread")]
)
def test_a_run_alone_is_committed_by_the_event_loop_where_that_is_not_slow(
    path: Path, runs: int, commit_s: float, by: str
) -> None:
    now = 0.0
    by_loop: list[bool] = []

    def hook(point: str, run: str, events: Sequence[Event]) -> None:
        nonlocal now
        if point == "inside":
            now += commit_s
            by_loop.append(threading.current_thread() is threading.main_thread())

    async def write() -> None:
        async with SqliteStore(path, crash_hook=hook, monotonic=lambda: now) as store:
            owned = [await started(store, f"run-{n}") for n in range(runs)]
            for number in range(40):
                # The thread tells what it has written before it is ready for others.
                with store._writer._turn:  # type: ignore[union-attr]
                    pass
                await store.append(*owned[0], iteration(number + 1))

    asyncio.run(write())

    assert by_loop[-10:] == [by == "loop"] * 10


@pytest.mark.parametrize(("point", "stored"), [("before", 1), ("inside", 1), ("after", 4)])
def test_nothing_is_acknowledged_when_the_writer_dies(
    path: Path, point: str, stored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: died.set())
    monkeypatch.setattr(writer, "_QUICK_S", -1.0)
    points = Points()
    store = SqliteStore(path, crash_hook=points)
    run, owner = asyncio.run(started(store))
    points.fail_at = point

    with pytest.raises(StoreError, match="has ended"):
        asyncio.run(store.append(run, owner, iteration(1)))
    with pytest.raises(StoreError, match="has ended"):
        asyncio.run(store.append(run, owner, iteration(2)))
    store.close()
    assert died.is_set()

    again = SqliteStore(path)
    assert again.run(run).last_seq == stored
    again.close()


@pytest.mark.parametrize(("point", "stored"), [("before", 1), ("inside", 1), ("after", 4)])
def test_a_loop_that_is_interrupted_while_it_commits_writes_nothing_more(
    path: Path, point: str, stored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_QUICK_S", 60.0)
    points = Points()
    store = SqliteStore(path, crash_hook=points)
    run, owner = asyncio.run(started(store))
    assert store._writer is not None
    with store._writer._turn:  # the thread is done with what came before
        points.fail_at = point

    with pytest.raises(Crash):
        asyncio.run(store.append(run, owner, iteration(1)))
    with pytest.raises(StoreError, match="was interrupted") as caught:
        asyncio.run(store.append(run, owner, iteration(2)))
    assert caught.value.code == "R900"
    store.close()

    again = SqliteStore(path)
    assert again.run(run).last_seq == stored
    again.close()
