"""A store whose file was deleted, replaced or overwritten takes no writes and says so."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest
from journal_makers import event, iteration, new_run, started

from whorl.errors import StoreError
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _delete(path: Path) -> None:
    shutil.rmtree(path.parent)


def _replace(path: Path) -> None:
    other = path.with_name("other.db")
    SqliteStore(other).close()
    os.replace(other, path)


def _overwrite(path: Path) -> None:
    with open(os.open(path, os.O_WRONLY), "wb") as file:
        file.write(b"\0" * 100)


def _delete_beside(path: Path, end: str) -> None:
    path.with_name(path.name + end).unlink()


def _replace_index(path: Path) -> None:
    index = path.with_name(f"{path.name}-shm")
    shutil.copy(index, path.with_name("other-shm"))
    os.replace(path.with_name("other-shm"), index)


def _put_a_link(path: Path) -> None:
    elsewhere = path.with_name("elsewhere.db")
    os.rename(path, elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_delete, "was deleted"),
        (_replace, "was replaced by another file"),
        (_overwrite, "was overwritten"),
        (partial(_delete_beside, end="-wal"), "has lost its log"),
        (partial(_delete_beside, end="-shm"), "has lost the index of its log"),
        (_replace_index, "has lost the index of its log"),
        (_put_a_link, "was replaced by another file"),
    ],
)
def test_a_store_without_its_file_takes_no_writes(
    path: Path, harm: Callable[[Path], None], words: str
) -> None:
    later = 0.0

    async def write() -> None:
        nonlocal later
        store = SqliteStore(path)
        store.watch._monotonic = lambda: time.monotonic() + later
        run, owner = await started(store)
        await store.append(run, owner, iteration(1))
        assert store.watch.fault() is None

        harm(path)
        later = 1.0

        for attempt in range(2):
            with pytest.raises(StoreError, match=words) as caught:
                await store.append(run, owner, iteration(2))
            assert (caught.value.code, repr(str(path)) in str(caught.value)) == ("R907", True)
            with pytest.raises(StoreError, match=words):
                await store.create(new_run(f"other-{attempt}"), event("run.started"))
        assert store.watch.fault() is not None
        store.close()

    asyncio.run(write())


def test_a_file_that_cannot_be_looked_at_for_a_moment_is_not_gone(path: Path) -> None:
    folder, away = path.parent / "inner", path.parent / "away"
    folder.mkdir(parents=True)
    later = 0.0

    async def write() -> int:
        nonlocal later
        store = SqliteStore(folder / path.name)
        store.watch._monotonic = lambda: time.monotonic() + later
        run, owner = await started(store)
        os.rename(folder, away)
        # A link to itself: the system says neither that the file is there nor that it is not.
        folder.symlink_to(folder)
        later = 1.0
        with pytest.raises(StoreError, match="cannot be looked at: Too many levels") as caught:
            await store.append(run, owner, iteration(1))
        # Whoever drives a run waits and tries again.
        assert caught.value.code == "R900"
        folder.unlink()
        os.rename(away, folder)
        last = await store.append(run, owner, iteration(1))
        store.close()
        return last

    assert asyncio.run(write()) == 4


def test_closing_leaves_the_file_that_took_its_place_alone(path: Path) -> None:
    async def work() -> None:
        old = SqliteStore(path)
        run, owner = await started(old)
        await old.append(run, owner, iteration(1))
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            os.rename(path.with_name(name), path.with_name(f"old-{name}"))
        new = SqliteStore(path)
        await started(new, "new")
        old.close()
        await started(new, "newer")
        new.close()

    asyncio.run(work())
    with closing(SqliteStore(path)) as store:
        assert [row.id for row in store.runs()] == ["newer", "new"]
        assert store.check() == []


def test_a_log_that_is_emptied_is_the_damage_of_a_good_store(path: Path) -> None:
    """Whoever moved the file away, as is advised for what is no store, would lose all of it."""

    async def write() -> None:
        store = SqliteStore(path)
        run, owner = await started(store)
        for number in range(20):
            await store.append(run, owner, iteration(number + 1, "x" * 3000))
        os.truncate(f"{path}-wal", 0)
        for _ in range(2):
            with pytest.raises(StoreError) as caught:
                list(store.read(run))
            assert caught.value.code == "R907"
            assert "lost its log or was damaged while it was open" in str(caught.value)
            assert "whorl project restore FILE" in caught.value.help
            with pytest.raises(StoreError) as caught:
                await store.append(run, owner, iteration(21))
            assert caught.value.code == "R907"
        store.close()

    asyncio.run(write())
