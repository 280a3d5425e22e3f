"""The file grows with what happened, and by little more than that."""

from __future__ import annotations

import asyncio
import base64
import os
import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from journal_makers import event, iteration, started

from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.language import Json

pytestmark = pytest.mark.threat(row="T7")

VERDICT: Json = {"met": False, "by": "expression", "value": "not approved"}


def values(count: int) -> list[str]:
    """Texts of 1 KB that hardly compress: random bytes in base64."""
    source = random.Random(7)
    return [base64.b64encode(source.randbytes(768)).decode() for _ in range(count)]


async def write(store: SqliteStore, count: int) -> list[int]:
    """Writes iterations as a driver does, and tells the size after every tenth of them."""
    run, owner = await started(store)
    await store.append(run, owner, [event("loop.started", "polish", limits={"iterations": count})])
    sizes = []
    for number, value in enumerate(values(count), 1):
        intent, *rest = iteration(number, value, score=0.5, best=True, verdict=VERDICT)
        await store.append(run, owner, [intent])
        await store.append(run, owner, rest)
        if number % (count // 10) == 0:
            sizes.append(_pages(store))
    return sizes


def _pages(store: SqliteStore) -> int:
    with store._reader.lend() as connection:
        return int(connection.pragma("page_count")) * 4096


def test_a_thousand_iterations_of_a_kilobyte_take_a_megabyte_and_a_half_in_even_steps(
    path: Path,
) -> None:
    store = SqliteStore(path)
    empty = _pages(store)
    sizes = asyncio.run(write(store, 1000))
    store.close()
    steps = [after - before for before, after in pairwise(sizes)]

    assert not path.with_name("runs.db-wal").exists()
    assert path.stat().st_size - empty <= 1_420_000
    assert max(steps) <= 1.15 * min(steps)


@pytest.mark.slow
def test_the_log_stays_short_under_load(path: Path) -> None:
    store = SqliteStore(path)

    async def load() -> int:
        runs = [await started(store, f"run-{number}") for number in range(50)]
        value = random.Random(1).randbytes(3000).hex()
        longest = 0
        for number in range(1, 101):
            await asyncio.gather(
                *(store.append(*run, iteration(number, value + str(number))) for run in runs)
            )
            longest = max(longest, os.path.getsize(f"{store.path}-wal"))
        return longest

    longest = asyncio.run(load())
    store.close()

    assert longest <= 64 * 1024 * 1024
