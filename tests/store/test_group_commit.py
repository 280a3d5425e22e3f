"""All that waits goes into one commit, and is acknowledged after it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from journal_makers import iteration, started

from whorl.errors import StoreError
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whorl.interpreter.events import Event


class Crash(BaseException):
    """The end of the process, as far as its code can tell."""


class Points:
    """Where the writer has been; may stop it there."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, int]] = []
        self.fail_at = ""

    def __call__(self, point: str, run: str, events: Sequence[Event]) -> None:
        self.seen.append((point, run, len(events)))
        if point == self.fail_at:
            raise Crash


@pytest.mark.parametrize(("point", "stored"), [("before", 1), ("inside", 1), ("after", 4)])
def test_nothing_is_acknowledged_when_the_writer_dies(
    path: Path, point: str, stored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: died.set())
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


def test_appends_keep_their_place_between_other_changes(store: SqliteStore) -> None:
    async def write() -> tuple[object, ...]:
        run, owner = await started(store)
        return await asyncio.gather(
            store.append(run, owner, iteration(1)),
            store.release(run, owner),
            store.claim(run),
            store.append(run, owner, iteration(2)),
            store.append(run, owner + 1, iteration(2)),
            return_exceptions=True,
        )

    first, _, second, fenced, last = asyncio.run(write())

    assert (first, second, last) == (4, 2, 7)
    assert str(fenced) == "run 'run-1' has another owner now (owner number 1, current 2)"


def test_a_cancelled_append_harms_nobody(store: SqliteStore) -> None:
    async def write() -> int:
        run, owner = await started(store)
        gone = asyncio.create_task(store.append(run, owner, iteration(1)))
        await asyncio.sleep(0)
        gone.cancel()
        return await store.append(run, owner, [event("warning", code="W1")])

    assert asyncio.run(write()) == 5


def test_several_event_loops_share_a_store(store: SqliteStore) -> None:
    owners = {f"run-{n}": asyncio.run(started(store, f"run-{n}"))[1] for n in range(4)}

    async def write(name: str) -> None:
        for number in range(50):
            await store.append(RunId(name), owners[name], iteration(number))

    threads = [threading.Thread(target=lambda n=n: asyncio.run(write(n))) for n in owners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [store.run(name).last_seq for name in owners] == [151] * 4


def test_the_loop_does_not_wait_for_another_process(path: Path) -> None:
    by: list[str] = []

    def hook(point: str, run: str, events: Sequence[Event]) -> None:
        if point == "inside":
            by.append(threading.current_thread().name)

    async def write() -> int:
        async with SqliteStore(path, crash_hook=hook) as store:
            run, owner = await started(store)
            by.clear()
            with closing(apsw.Connection(str(path))) as other:
                other.execute("BEGIN IMMEDIATE")
                appending = asyncio.create_task(store.append(run, owner, iteration(1)))
                await asyncio.sleep(0.05)
                assert not appending.done()
                other.execute("COMMIT")
            return await appending

    assert asyncio.run(write()) == 4
    assert by == ["whorl-writer"]
