"""The end of a run's journal, and text that is streamed, are kept once for all who watch."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whorl.interfaces.http import event_stream, journal
from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import Entry, NewRun, RunId
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
    path: Path, work: Callable[[CountingStore, journal.RunTail], Awaitable[None]]
) -> None:
    async def run() -> None:
        async with CountingStore(path / "whorl.db") as store:
            made = NewRun(RUN, {}, "", "name", "native")
            await store.create(made, Event("run.started", "", 0.0, {"input": {}}))
            await work(store, journal.RunTail(store, RUN))

    asyncio.run(run())


def seqs(found: journal.Batch) -> list[int]:
    return [int(line[4:]) for line in found.text.splitlines() if line.startswith("id: ")]


def test_what_is_new_is_read_once_for_all(tmp_path: Path) -> None:
    async def work(store: CountingStore, tail: journal.RunTail) -> None:
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


def test_who_comes_from_elsewhere_shares_what_comes_next(tmp_path: Path) -> None:
    async def work(store: CountingStore, tail: journal.RunTail) -> None:
        await store.write(5)
        for after in (0, 2):
            assert (await tail.read(after)).last == 6
        assert store.reads == 2
        await store.write(2)
        tail.is_stale = True
        assert seqs(await tail.read(6)) == [7, 8]
        assert seqs(await tail.read(2)) == [3, 4, 5, 6, 7, 8]
        assert store.reads == 3

    with_tail(tmp_path, work)


def test_what_is_written_during_a_read_is_not_missed(tmp_path: Path) -> None:
    async def work(store: CountingStore, tail: journal.RunTail) -> None:
        early = asyncio.create_task(tail.read(0))
        await asyncio.sleep(0)
        await store.write(1)
        tail.is_stale = True
        # It began before that was written, and whoever comes now asks for it.
        assert seqs(await tail.read(0)) == [1, 2]
        await early

    with_tail(tmp_path, work)


def test_who_leaves_does_not_end_it_for_others(tmp_path: Path) -> None:
    async def work(store: CountingStore, tail: journal.RunTail) -> None:
        leaving, staying = (asyncio.create_task(tail.read(0)) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        with suppress(asyncio.CancelledError):
            await leaving
        assert seqs(await staying) == [1]

    with_tail(tmp_path, work)


def test_who_is_far_behind_gets_all_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "PAGE", 4)

    async def work(store: CountingStore, tail: journal.RunTail) -> None:
        await store.write(9)
        parts = []
        for after in (0, 4, 8, 0):
            found = await tail.read(after)
            parts.append((seqs(found), found.is_all))
        everything = list(range(1, 11))
        assert parts == [
            (everything[:4], False),
            (everything[4:8], False),
            (everything[8:], True),
            (everything, True),
        ]
        assert store.reads == 3

    with_tail(tmp_path, work)


def test_what_is_sent_at_once_and_kept_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("PAGE", 2), ("_SENT_MAX", 300), ("_KEPT_MAX", 400)):
        monkeypatch.setattr(journal, name, most)

    async def work(store: CountingStore, tail: journal.RunTail) -> None:
        await store.write(9)
        told, sizes = [], []
        found = journal.Batch(0, is_all=False)
        while not found.is_all:
            found = await tail.read(found.last)
            told += seqs(found)
            sizes.append(len(found.text))
        assert told == list(range(1, 11))
        assert len(sizes) == 5
        assert sum(len(batch.text) for batch in tail._batches.values()) <= 400
        again = await tail.read(6)
        assert (seqs(again), again.is_all) == ([7, 8], False)

    with_tail(tmp_path, work)


def texts(deltas: dict[str, event_stream.Delta]) -> dict[str, tuple[str, bool]]:
    return {address: (delta.text, delta.is_whole) for address, delta in deltas.items()}


def test_each_listener_is_told_streamed_text_once() -> None:
    async def work() -> None:
        watcher = event_stream.StreamWatcher()
        watcher.text(RUN, "a", "early ")
        with watcher.listening(RUN) as first:
            assert texts(first.take()) == {"a": ("early ", True)}
            watcher.text(RUN, "a", "one ")
            with watcher.listening(RUN) as second:
                watcher.text(RUN, "a", "two ")
                watcher.text(RUN, "b", "three")
                told = texts(first.take())
                assert told == {"a": ("one two ", False), "b": ("three", False)}
                told = texts(second.take())
                assert told == {"a": ("early one two ", True), "b": ("three", False)}
                assert first.take() == second.take() == {}
            watcher.text(RUN, "a", "four")
            watcher.entries(RUN, [Entry(1, Event("task.finished", "b", 1.0, {}))])
            with watcher.listening(RUN) as third:
                assert texts(third.take()) == {"a": ("early one two four", True)}

    asyncio.run(work())


def test_who_is_late_for_streamed_text_gets_all_that_is_still_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_stream, "_UNTAKEN_MAX", 500)

    async def work() -> None:
        watcher = event_stream.StreamWatcher()
        with watcher.listening(RUN) as listener:
            for number in range(8):
                watcher.text(RUN, "a", f"{number} ")
            told = texts(listener.take())
            assert told == {"a": ("0 1 2 3 4 5 6 7 ", True)}
            watcher.text(RUN, "a", "8 ")
            assert texts(listener.take()) == {"a": ("8 ", False)}

    asyncio.run(work())
