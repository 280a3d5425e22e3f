"""After a crash, a mistake or a rollback nothing is believed that was not written."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw
import pytest
from journal_makers import event, iteration, new_run, started

from whorl.errors import InternalError, StoreError
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite import store as writer
from whorl.runtimes.sqlite.rows import RunRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunId


class _Failing:
    """A connection that fails at some statements."""

    def __init__(self, real: apsw.Connection, statements: tuple[str, ...]) -> None:
        self.real = real
        self.statements = statements

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)

    def execute(self, statement: str, *arguments: object) -> object:
        if statement in self.statements:
            raise apsw.FullError("database or disk is full")
        return self.real.execute(statement, *arguments)  # type: ignore[call-overload]


@contextmanager
def _failing(store: SqliteStore, *statements: str) -> Iterator[None]:
    """The writer of a store fails at some statements."""
    assert store._writer is not None
    real = store._writer._connection
    store._writer._connection = _Failing(real, statements)  # type: ignore[assignment]
    try:
        yield
    finally:
        store._writer._connection = real


def _made(store: SqliteStore, *names: str) -> list[RunId]:
    """Runs that nobody owns."""

    async def create() -> list[RunId]:
        return [(await store.create(new_run(name), event("run.started")))[0] for name in names]

    return asyncio.run(create())


@pytest.fixture
def other(store: SqliteStore, path: Path) -> Iterator[SqliteStore]:
    """The same store, of another who would like to drive its runs."""
    opened = SqliteStore(path)
    yield opened
    opened.close()


def test_a_claim_that_was_rolled_back_does_not_count(
    store: SqliteStore, other: SqliteStore
) -> None:
    first, second = _made(store, "run-1", "run-2")
    with _failing(store, "COMMIT"), pytest.raises(StoreError, match="is full"):
        asyncio.run(store.claim(first))
    assert store._writer is not None
    assert store._writer._tables.ownership.runs == {}

    # Nor is the sign of life that was to be written with it: the next claim writes another.
    assert asyncio.run(store.claim(second)) == 1
    with pytest.raises(StoreError, match="is owned by process"):
        asyncio.run(other.claim(second))
    assert asyncio.run(other.claim(first)) == 1


def test_a_connection_that_cannot_be_rolled_back_is_not_used_again(store: SqliteStore) -> None:
    run, owner = asyncio.run(started(store))
    with _failing(store, "COMMIT", "ROLLBACK"), pytest.raises(StoreError, match="is full"):
        asyncio.run(store.append(run, owner, iteration(1)))
    assert store._writer is not None
    store._writer._connection.execute("ROLLBACK")

    with pytest.raises(StoreError) as caught:
        asyncio.run(store.append(run, owner, iteration(1)))
    assert caught.value.code == "R900"
    assert store.run(run).last_seq == 1


@pytest.mark.parametrize("together", [False, True])
def test_only_the_job_that_is_wrong_fails(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    """Whatever goes wrong in our own code: it is rolled back, told, and the thread goes on."""
    take = RunRecord.take

    def fails(record: RunRecord, taken: Event) -> bool:
        take(record, taken)
        if taken.body.get("wrong"):
            raise UnicodeEncodeError("utf-8", "bad \ud800", 0, 1, "a mistake")
        return True

    monkeypatch.setattr(RunRecord, "take", fails)

    async def write() -> tuple[BaseException | int, int, int]:
        run, owner = await started(store)
        other, owner_of_other = await started(store, "run-2")
        wrong = store.append(run, owner, [event("warning", wrong=True)])
        if together:
            fault, _ = await asyncio.gather(
                wrong, store.append(other, owner_of_other, iteration(1)), return_exceptions=True
            )
        else:
            (fault,) = await asyncio.gather(wrong, return_exceptions=True)
            await store.append(other, owner_of_other, iteration(1))
        last = await store.append(run, owner, iteration(1))
        return fault, last, store.run(other).last_seq

    fault, last, other = asyncio.run(write())

    assert isinstance(fault, InternalError)
    assert (last, other) == (4, 4)


class Crash(BaseException):
    """The end of the process, as far as its code can tell."""


class Points:
    """Where the writer has been; may stop it there."""

    def __init__(self) -> None:
        self.fail_at = ""

    def __call__(self, point: str, run: str, events: Sequence[Event]) -> None:
        if point == self.fail_at:
            raise Crash


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
