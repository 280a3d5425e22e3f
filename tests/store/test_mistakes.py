"""A mistake in what one run hands over ends neither the writer nor the runs of others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import apsw
import pytest
from journal_makers import iteration, started

from waiting import PATIENCE_S
from whorl.errors import InternalError, StoreError
from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite.tables.progress import RunRecord

if TYPE_CHECKING:
    from pathlib import Path

_BAD = "bad \ud800"


def test_errors_with_broken_text_are_listed(store: SqliteStore) -> None:
    async def write() -> RunId:
        run, owner = await started(store)
        body = {"status": "failed", "error": {"code": "P100", "message": _BAD}}
        await store.append(run, owner, [Event("run.finished", "", 2.0, body)])  # type: ignore[arg-type]
        return run

    row = store.run(asyncio.run(write()))

    assert (row.status, row.error) == ("failed", "bad \ufffd")


@pytest.mark.parametrize("together", [False, True])
def test_only_the_job_that_is_wrong_fails(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    """Whatever goes wrong in our own code: it is rolled back, told, and the thread goes on."""
    take = RunRecord.take

    def fails(record: RunRecord, event: Event) -> bool:
        take(record, event)
        if event.body.get("wrong"):
            raise UnicodeEncodeError("utf-8", _BAD, 0, 1, "a mistake")
        return True

    monkeypatch.setattr(RunRecord, "take", fails)

    async def write() -> tuple[BaseException | int, int, int]:
        run, owner = await started(store)
        other, owner_of_other = await started(store, RunId("run-2"))
        wrong = store.append(run, owner, [Event("warning", "", 1.0, {"wrong": True})])
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


def test_a_store_that_cannot_be_begun_says_so(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> None:
        run, owner = await started(store)
        writer = store._writer
        assert writer is not None
        writer._connection = _Failing(writer._connection)  # type: ignore[assignment]
        writer._commit_s = 0.0
        try:
            await store.append(run, owner, iteration(1))
        finally:
            writer._connection = writer._connection.real  # type: ignore[attr-defined]

    with pytest.raises(StoreError, match="disk I/O error"):
        asyncio.run(write())


class _Failing:
    """A connection that cannot begin a transaction."""

    def __init__(self, real: apsw.Connection) -> None:
        self.real = real

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)

    def execute(self, statement: str, *arguments: object) -> object:
        if statement == "BEGIN IMMEDIATE":
            raise apsw.IOError("disk I/O error")
        return self.real.execute(statement, *arguments)  # type: ignore[call-overload]


def test_a_closed_store_says_so_at_once(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "new.db")
    store.close()

    async def write() -> None:
        new = NewRun(RunId("r"), {}, "h", "n", "native")
        await asyncio.wait_for(store.create(new, Event("run.started", "", 1.0)), PATIENCE_S)

    with pytest.raises(StoreError, match="is closed") as caught:
        asyncio.run(write())
    assert caught.value.code == "R905"
