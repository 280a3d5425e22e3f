"""A full disk, a limit on file sizes, a failing disk: a clear error, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

import apsw
import pytest
from journal_makers import iteration, started

from whorl.errors import StoreError
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.threat(row="T3")


def test_a_full_disk_stops_the_append_and_space_resumes_it(store: SqliteStore) -> None:
    run, owner = asyncio.run(started(store))
    assert store._writer is not None
    writing = store._writer._connection
    writing.pragma("max_page_count", writing.pragma("page_count") + 20)
    written = 0

    async def fill() -> None:
        nonlocal written
        while True:
            await store.append(run, owner, iteration(written + 1, os.urandom(1000).hex()))
            written += 1

    with pytest.raises(StoreError, match=r"runs\.db' has no room to grow") as caught:
        asyncio.run(fill())
    assert caught.value.code == "R900"
    assert "free some space" in caught.value.help
    assert store.run(run).last_seq == 1 + 3 * written

    # Each append of a commit that failed is told; none of them is there.
    async def several() -> list[int | BaseException]:
        value = os.urandom(30_000).hex()
        return await asyncio.gather(
            *(store.append(run, owner, iteration(n, value)) for n in range(5)),
            return_exceptions=True,
        )

    assert {type(outcome) for outcome in asyncio.run(several())} == {StoreError}
    assert store.run(run).last_seq == 1 + 3 * written

    writing.pragma("max_page_count", 1_000_000)
    assert asyncio.run(store.append(run, owner, iteration(written + 1))) == 4 + 3 * written
    assert [entry.seq for entry in store.read(run)] == list(range(1, 5 + 3 * written))
    assert store.check() == []


def test_a_probe_writes_every_other_second(store: SqliteStore, path: Path) -> None:
    later = 0.0
    store.watch._monotonic = store.monotonic = lambda: time.monotonic() + later
    run, owner = asyncio.run(started(store))
    log = path.with_name(f"{path.name}-wal")

    def written(*, fails: bool = False) -> int:
        before = log.stat().st_size
        if fails:
            with pytest.raises(StoreError, match="has no room to grow"):
                asyncio.run(store.probe())
        else:
            asyncio.run(store.probe())
        return log.stat().st_size - before

    assert written() > 0
    assert written() == 0
    later += 100
    assert written() > 0

    assert store._writer is not None
    writing = store._writer._connection
    writing.pragma("max_page_count", writing.pragma("page_count"))
    with pytest.raises(StoreError, match="has no room to grow"):
        asyncio.run(store.append(run, owner, iteration(1, os.urandom(30_000).hex())))
    # What was just refused is not tried again at once, and what is small may have room.
    assert written(fails=True) == 0
    asyncio.run(store.append(run, owner, iteration(1, "x")))
    assert written(fails=True) == 0
    writing.pragma("max_page_count", 1_000_000)
    later += 100
    assert written() > 0
    assert written() == 0


class FailingFile(apsw.VFSFile):
    """A file whose syncs fail once the disk is broken."""

    def __init__(self, disk: FailingDisk, name: str, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self.disk = disk
        self.is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.syncs += 1
        if self.disk.is_broken and not (self.is_log and self.disk.takes_logs):
            error = apsw.IOError("the disk is broken")
            vars(error)["extendedresult"] = apsw.SQLITE_IOERR_FSYNC
            raise error
        super().xSync(flags)


class FailingDisk(apsw.VFS):
    """The usual files, on a disk that can break."""

    def __init__(self) -> None:
        self.name = f"failing-{id(self)}"
        self.is_broken = self.takes_logs = False
        self.syncs = 0
        super().__init__(self.name, "")

    def xOpen(self, name: object, flags: list[int]) -> FailingFile:  # noqa: N802
        return FailingFile(self, name, flags)  # type: ignore[arg-type]


def test_a_failed_sync_is_never_tried_again(path: Path) -> None:
    disk = FailingDisk()
    store = SqliteStore(path, vfs=disk.name, exclusive=True)
    run, owner = asyncio.run(started(store))
    disk.is_broken = True

    with pytest.raises(StoreError, match="did not reach the disk"):
        asyncio.run(store.append(run, owner, iteration(1)))
    disk.is_broken = False
    fault = store.watch.fault()
    assert fault
    assert (fault.code, fault.may_pass) == ("R900", False)
    syncs = disk.syncs
    with pytest.raises(StoreError, match="did not reach the disk") as caught:
        asyncio.run(store.append(run, owner, iteration(1)))
    assert "until it is reopened" in caught.value.help
    store.close()
    assert disk.syncs == syncs

    # The broken store could not say that it has left: its lease has to run out.
    again = SqliteStore(path, monotonic=lambda: time.monotonic() + 30)
    owner = asyncio.run(again.claim(run))
    last = asyncio.run(again.append(run, owner, iteration(2)))
    assert [entry.seq for entry in again.read(run)] == list(range(1, last + 1))
    again.close()


def test_a_sync_that_failed_after_the_answer_ends_the_writing_too(path: Path) -> None:
    """What is in the log is safe; whether it has reached the file as well, nobody knows."""
    disk = FailingDisk()
    store = SqliteStore(path, vfs=disk.name, exclusive=True, checkpoint_pages=1)
    run, owner = asyncio.run(started(store))
    disk.is_broken = disk.takes_logs = True
    written = 0

    async def fill() -> None:
        nonlocal written
        while written < 1000:
            await store.append(run, owner, iteration(written + 1))
            written += 1

    with pytest.raises(StoreError, match="did not reach the disk") as caught:
        asyncio.run(fill())
    assert caught.value.code == "R900"
    fault = store.watch.fault()
    assert fault
    assert (fault.code, fault.may_pass) == ("R900", False)
    disk.is_broken = False
    store.close()

    again = SqliteStore(path)
    assert [entry.seq for entry in again.read(run)] == list(range(1, 2 + 3 * written))
    again.close()
