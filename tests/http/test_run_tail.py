"""The end of a run's journal is read once for all who watch it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whorl.interfaces.http import watching
from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    import pytest

RUN = RunId("r")


class CountingStore(SqliteStore):
    """Counts how often entries are read."""

    reads = 0

    def read(self, *given: Any, **named: Any) -> Any:
        self.reads += 1
        return super().read(*given, **named)

    async def write(self, count: int) -> None:
        """Adds entries to the run."""
        owner = await self.claim(RUN)
        note = Event("warning", "", 1.0, {"code": "R100", "message": "x"})
        await self.append(RUN, owner, [note] * count)
        await self.release(RUN, owner)


def with_tail(
    path: Path, work: Callable[[CountingStore, watching.RunTail], Awaitable[None]]
) -> None:
    async def run() -> None:
        async with CountingStore(path / "whorl.db") as store:
            made = NewRun(RUN, {}, "", "name", "native")
            await store.create(made, Event("run.started", "", 0.0, {"input": {}}))
            await work(store, watching.RunTail(store, RUN))

    asyncio.run(run())


def seqs(found: tuple[list[Any], str] | None) -> list[int]:
    assert found is not None
    return [entry.seq for entry in found[0]]


def test_what_is_new_is_read_once_for_all(tmp_path: Path) -> None:
    async def work(store: CountingStore, tail: watching.RunTail) -> None:
        first = await asyncio.gather(*(tail.read(0) for _ in range(50)))
        assert [seqs(found) for found in first] == [[1]] * 50
        assert seqs(await tail.read(1)) == []
        assert store.reads == 1
        await store.write(3)
        tail.is_stale = True
        later = await asyncio.gather(*(tail.read(number % 2) for number in range(50)))
        assert [seqs(found) for found in later] == [[1, 2, 3, 4], [2, 3, 4]] * 25
        assert store.reads == 2

    with_tail(tmp_path, work)


def test_what_is_written_during_a_read_is_not_missed(tmp_path: Path) -> None:
    async def work(store: CountingStore, tail: watching.RunTail) -> None:
        early = asyncio.create_task(tail.read(0))
        await asyncio.sleep(0)
        await store.write(1)
        tail.is_stale = True
        # It began before that was written, and whoever comes now asks for it.
        assert seqs(await tail.read(0)) == [1, 2]
        await early

    with_tail(tmp_path, work)


def test_who_leaves_does_not_end_it_for_others(tmp_path: Path) -> None:
    async def work(store: CountingStore, tail: watching.RunTail) -> None:
        leaving, staying = (asyncio.create_task(tail.read(0)) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        with suppress(asyncio.CancelledError):
            await leaving
        assert seqs(await staying) == [1]

    with_tail(tmp_path, work)


def test_who_is_far_behind_reads_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "PAGE", 4)

    async def work(store: CountingStore, tail: watching.RunTail) -> None:
        await store.write(9)
        assert await tail.read(5) is None
        assert seqs(await tail.read(6)) == [7, 8, 9, 10]

    with_tail(tmp_path, work)
