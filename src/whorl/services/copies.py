"""Backups of a store that is in use, and putting one in its place: both are checked before.

A run that was under way when a backup was made may have gone on since, and nobody knows how far.
After a restore it is paused: going on repeats its calls, with the same idempotency keys, only when
a person says so.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from whorl.errors import StoreError, UsageError
from whorl.interpreter.events import Event
from whorl.lazily import dataclass
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.runtimes.journal.journal import RunId

_UNDER_WAY = ("running", "interrupted")
_FAULTS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Copied:
    """What a backup holds; `under_way` are the runs that went on while it was made."""

    file: str
    runs: int
    entries: int
    bytes: int
    under_way: tuple[RunId, ...]
    # Where the store lies that a restored backup has taken the place of.
    aside: str = ""


def back_up(store: SqliteStore, file: Path, *, force: bool = False) -> Copied:
    """Writes a copy of a store, as it is at this moment, to a file of its own."""
    if file.exists() and (not force or not file.is_file() or file.samefile(store.path)):
        raise UsageError(f"{str(file)!r} exists already", help="name another file, or --force")
    part = _part_beside(file)
    try:
        store.copy_to(str(part))
        with closing(SqliteStore(part, create=False)) as copy:
            rows = [row for status in _UNDER_WAY for row in copy.runs(status=status, limit=2**31)]
        copied = _checked(part, f"the backup {str(file)!r}")
        _put(part, file)
    finally:
        part.unlink(missing_ok=True)
    return Copied(str(file), *copied, tuple(row.id for row in rows))


def restore(file: Path, target: Path, *, force: bool = False) -> Copied:
    """Puts a backup in the place of a store, which is kept beside it."""
    if not file.is_file():
        raise UsageError(f"there is no backup {str(file)!r}", code="W902")
    if target.exists():
        _check_replaceable(file, target, force=force)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = _part_beside(target)
    try:
        with closing(SqliteStore(file, create=False)) as backup:
            _refuse_damaged(backup, f"the backup {str(file)!r}")
            backup.copy_to(str(part))
        paused = asyncio.run(_pause_all(part))
        copied = _checked(part, f"the copy of {str(file)!r}")
        aside = _put_aside(target) if target.exists() else ""
        _put(part, target)
    finally:
        part.unlink(missing_ok=True)
    return Copied(str(target), *copied, paused, aside)


def _check_replaceable(file: Path, target: Path, *, force: bool) -> None:
    if file.samefile(target):
        raise UsageError(f"{str(file)!r} is the store itself", help="name the file of a backup")
    if not force:
        advice = f"--force moves {target.name} aside and puts the backup in its place"
        raise UsageError(f"there is a store at {str(target)!r} already", help=advice)
    # A store that cannot be opened is what a backup is for.
    with suppress(StoreError), closing(SqliteStore(target, create=False)) as store:
        if pids := store.living():
            words = f"process {pids[0]} drives runs of the store {str(target)!r}"
            raise UsageError(words, help="end it first, then restore", code="W905")


async def _pause_all(part: Path) -> tuple[RunId, ...]:
    """Nothing that was under way goes on by itself: nobody knows what it has done since."""
    async with SqliteStore(part, create=False) as store:
        rows = [row for status in _UNDER_WAY for row in store.runs(status=status, limit=2**31)]
        for row in rows:
            owner = await store.claim(row.id)
            event = Event("run.paused", "", time.time(), {"by": "restore"})
            await store.append(row.id, owner, [event])
            await store.release(row.id, owner)
        return tuple(row.id for row in rows)


def _checked(part: Path, name: str) -> tuple[int, int, int]:
    with closing(SqliteStore(part, create=False)) as store:
        _refuse_damaged(store, name)
        sizes = store.sizes()
        return sizes.runs, sizes.entries, sizes.file_bytes


def _refuse_damaged(store: SqliteStore, name: str) -> None:
    faults = store.check()
    if faults:
        words = f"{name} is damaged: {'; '.join(faults[:_FAULTS_SHOWN])}"
        raise StoreError(words, code="R906", help="nothing was changed; use another backup")


def _part_beside(file: Path) -> Path:
    """Where a copy is written before it has its name, so that nobody takes half of one."""
    return file.with_name(f".{file.name}.{os.getpid()}-{time.time_ns()}.part")


def _put_aside(target: Path) -> str:
    """Gives a store another name, with the log beside it that may hold its newest entries."""
    aside = f"{target}.before-{time.strftime('%Y%m%d-%H%M%S')}"
    for ending in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            os.rename(f"{target}{ending}", f"{aside}{ending}")
    return aside


def _put(part: Path, file: Path) -> None:
    os.replace(part, file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
