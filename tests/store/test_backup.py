"""A copy of a store that is written to meanwhile is one state of it, whole."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest
from journal_makers import iteration, started

from whorl.errors import UsageError
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.copies import back_up, restore

if TYPE_CHECKING:
    from pathlib import Path


def test_a_copy_is_one_state_of_a_store_that_is_written_to(path: Path, tmp_path: Path) -> None:
    async def work() -> tuple[int, int]:
        async with SqliteStore(path) as store:
            run, owner = await started(store)
            values = [os.urandom(6_000).hex() for _ in range(200)]
            for number, value in enumerate(values, 1):
                await store.append(run, owner, iteration(number, value))
            copying = asyncio.create_task(asyncio.to_thread(back_up, store, tmp_path / "copy.db"))
            last, number = 0, 201
            while not copying.done():
                last = await store.append(run, owner, iteration(number))
                number += 1
            return (await copying).entries, last

    copied, last = asyncio.run(work())

    assert 601 <= copied < last
    copy = SqliteStore(tmp_path / "copy.db")
    assert [entry.seq for entry in copy.read("run-1")] == list(range(1, copied + 1))
    assert (copy.check(), copy.run("run-1").status) == ([], "interrupted")
    copy.close()


def test_neither_overwrites_the_store_itself(store: SqliteStore, path: Path) -> None:
    asyncio.run(started(store))

    with pytest.raises(UsageError, match="is the store itself"):
        back_up(store, path, force=True)
    with pytest.raises(UsageError, match="is the store itself"):
        restore(path, path, force=True)
