"""A store that one run has for itself commits in the event loop; with more, a thread does."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import apsw
import pytest
from journal_makers import iteration, started

from whorl.errors import StoreError
from whorl.runtimes.sqlite.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whorl.runtimes.sqlite import SqliteStore


def committing_threads(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []

    def noting(original: Callable[..., object]) -> Callable[..., object]:
        def noted(*arguments: object, **keywords: object) -> object:
            seen.append(threading.current_thread().name)
            return original(*arguments, **keywords)

        return noted

    monkeypatch.setattr(Writer, "_commit", noting(Writer._commit))
    return seen


def test_one_run_is_committed_where_it_is_driven(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> int:
        run, owner = await started(store)
        assert store._writer is not None
        store._writer._commit_s = 0.0
        with store._writer._turn:  # the thread is done with what came before
            seen.clear()
        return await store.append(run, owner, iteration(1))

    seen = committing_threads(store, monkeypatch)

    assert asyncio.run(write()) == 4
    assert seen == ["MainThread"]


def test_a_slow_disk_is_left_to_the_thread(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> int:
        run, owner = await started(store)
        seen.clear()
        assert store._writer is not None
        store._writer._commit_s = 1.0
        return await store.append(run, owner, iteration(1))

    seen = committing_threads(store, monkeypatch)

    assert asyncio.run(write()) == 4
    assert seen == ["whorl-writer"]


def test_the_loop_does_not_wait_for_another_process(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> int:
        run, owner = await started(store)
        seen.clear()
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        appending = asyncio.create_task(store.append(run, owner, iteration(1)))
        await asyncio.sleep(0.05)
        assert not appending.done()
        other.execute("COMMIT")
        other.close()
        return await appending

    seen = committing_threads(store, monkeypatch)

    assert asyncio.run(write()) == 4
    assert seen == ["whorl-writer"]


def test_a_refusal_reaches_whoever_appends_here(store: SqliteStore) -> None:
    async def write() -> int:
        run, owner = await started(store)
        assert store._writer is not None
        store._writer._commit_s = 0.0
        with pytest.raises(StoreError, match="not at 77"):
            await store.append(run, owner, iteration(1), after=77)
        return await store.append(run, owner, iteration(1))

    assert asyncio.run(write()) == 4
