"""What loops remember from run to run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from journal_makers import iteration, started

from whorl.errors import Fenced

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.runtimes.sqlite import SqliteStore


def remember(store: SqliteStore, key: str, numbers: range, keep: int) -> None:
    async def write() -> None:
        run, owner = await started(store, f"run-{key}-{numbers.start}")
        for number in numbers:
            kept: Json = {"key": key, "record": {"number": number, "text": "é\0"}, "keep": keep}
            await store.append(run, owner, iteration(number, remember=kept))

    asyncio.run(write())


def test_the_newest_records_of_a_key_stay(store: SqliteStore) -> None:
    remember(store, "a", range(1, 8), keep=3)
    remember(store, "b", range(1, 3), keep=3)
    remember(store, "a", range(8, 10), keep=3)

    assert store.memory("a") == [{"number": n, "text": "é\0"} for n in (7, 8, 9)]
    assert [(row.key, row.records) for row in store.memories()] == [("a", 3), ("b", 2)]
    assert store.memory("none") == []


def test_a_memory_is_kept_only_with_its_append(store: SqliteStore) -> None:
    run, owner = asyncio.run(started(store))

    kept: Json = {"key": "a", "record": {"number": 1}, "keep": 3}
    with pytest.raises(Fenced):
        asyncio.run(store.append(run, owner + 1, iteration(1, remember=kept)))
    assert store.memory("a") == []


def test_a_key_can_be_forgotten(store: SqliteStore) -> None:
    remember(store, "a", range(1, 4), keep=3)
    remember(store, "b", range(1, 2), keep=3)

    assert asyncio.run(store.forget("a")) == 3
    assert [row.key for row in store.memories()] == ["b"]
