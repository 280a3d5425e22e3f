"""Backs up a store that is in use, and restores a backup; both files are checked before.

A restore creates a new store with the rows of the other file. A run that was running when the
backup was made may have continued since. So a restore pauses it; if a person resumes it, Whorl
repeats its calls with the same idempotency keys. If another user made the file, only its runs are
copied, as history that has ended.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from whorl.errors import StoreError, UsageError
from whorl.interpreter.events import Event
from whorl.interpreter.state import ENDED
from whorl.lazily import dataclass
from whorl.runtimes.driver import end_of
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite.faults import DOCTOR
from whorl.runtimes.sqlite.listing import RESTORED
from whorl.runtimes.sqlite.ownership import is_open_elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.journal.keys import Registry

_UNDER_WAY = ("running", "interrupted")
# The tables that are copied from any store, and those that are copied only from the user's own.
_HISTORY = (
    *("runs", "progress", "journal", "loops", "payloads", "payload_uses", "snapshots", "labels"),
    *("spending", "homes", "doubts"),
)
_ALL = (
    *(*_HISTORY, "inbox", "memories", "upkeep", "queue", "hooks", "tokens", "audit", "schedules"),
    *("firings", "experiments"),
)
_FAULTS_SHOWN = 3
_NO_COPY = "nothing was copied; free some space there, or name another file"
_NO_CHANGE = "nothing was changed; free some space there, then restore again"
_NO_USE = "nothing was changed; use another backup"
_DAMAGED = f"delete a damaged run with `whorl runs rm RUN`, or: {DOCTOR}"


@dataclass(frozen=True, slots=True)
class Copied:
    """The sizes of a backup; `under_way` are the runs that a restore has paused."""

    file: str
    runs: int
    entries: int
    bytes: int
    under_way: tuple[RunId, ...] = ()
    # Where the store lies that a restored backup has taken the place of.
    aside: str = ""
    # Of a backup: whether a restore takes more of it than history. Of a store: whether it has more.
    is_whole: bool = True


def back_up(store: SqliteStore, file: Path, registry: Registry, *, force: bool = False) -> Copied:
    """Writes a copy of a store's present state to a new file."""
    if file.exists() and file.samefile(store.path):
        raise UsageError(f"{str(file)!r} is the store itself", help="name another file")
    if file.exists() and not (force and file.is_file()):
        raise UsageError(f"{str(file)!r} exists already", help="name another file, or --force")
    is_whole = False
    with _part_of(file, f"the backup {str(file)!r}", _NO_COPY) as part:
        store.copy_to(str(part))
        # Where the copy is damaged, the store is.
        copied = _checked(part, f"the store {store.path!r}", f"nothing was copied; {_DAMAGED}")
        # Where it cannot be registered, it is a backup all the same.
        with suppress(StoreError):
            if not store.is_strange:
                registry.add(_digest(part), is_backup=True)
                is_whole = True
    return Copied(str(file), *copied, is_whole=is_whole)


def restore(file: Path, target: Path, registry: Registry, *, force: bool = False) -> Copied:
    """Replaces a store by a backup; the old store is kept beside it."""
    if not file.is_file() or not file.stat().st_size:
        raise UsageError(f"there is no backup {str(file)!r}", code="W902")
    if target.exists():
        if file.samefile(target):
            words = f"{str(file)!r} is the store itself"
            raise UsageError(words, help="name the file of a backup")
        if not force:
            advice = f"--force moves {target.name} aside and puts the backup in its place"
            raise UsageError(f"there is a store at {str(target)!r} already", help=advice)
        _refuse_open(target)
    return _replace(file, target, registry, is_whole=registry.knows_backup(_digest(file)))


def adopt(target: Path, registry: Registry, *, is_mirror: bool = False) -> Copied:
    """Replaces another user's store by a new one of this user, with the same runs as history.

    The next command that reads a mirror makes it again.
    """
    with closing(SqliteStore(target, create=False, registry=registry)) as store:
        if not store.is_strange:
            raise UsageError(f"the store {str(target)!r} is your own: there is nothing to adopt")
    _refuse_open(target)
    if is_mirror:
        return Copied(str(target), 0, 0, 0, aside=_put_aside(target), is_whole=False)
    return _replace(target, target, registry, is_whole=False)


def _replace(file: Path, target: Path, registry: Registry, *, is_whole: bool) -> Copied:
    with _part_of(target, f"the store {str(target)!r}", _NO_CHANGE) as part:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        SqliteStore(part, registry=registry).close()
        with (
            _renamed(f"the backup {str(file)!r}", file, _NO_USE),
            closing(SqliteStore(file, create=False, is_strange=True)) as backup,
        ):
            kind = "store" if file == target else "backup"
            _refuse_damaged(backup, f"the {kind} {str(file)!r}", _NO_USE)
            backup.copy_rows_to(str(part), _ALL if is_whole else _HISTORY, is_own=is_whole)
        stopped = asyncio.run(_stop_all(part, is_whole=is_whole))
        copied = _checked(part, f"the copy of {str(file)!r}", _NO_USE)
        aside = _put_aside(target)
    return Copied(str(target), *copied, stopped, aside, is_whole)


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


@contextmanager
def _part_of(file: Path, name: str, advice: str) -> Iterator[Path]:
    """Yields a temporary name, so that no process reads an incomplete copy; then gives it its own.

    An incomplete copy is removed, with the files that SQLite makes beside it.
    """
    part = file.with_name(f".{file.name}.{os.getpid()}-{time.time_ns()}.part")
    try:
        with _renamed(name, part, advice):
            yield part
            os.replace(part, file)
            folder = os.open(file.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        for ending in ("", "-shm", "-wal"):
            with suppress(FileNotFoundError):
                os.unlink(f"{part}{ending}")


@contextmanager
def _renamed(name: str, file: Path, advice: str) -> Iterator[None]:
    """Renames the file in errors, with an advice of their own."""
    try:
        yield
    except OSError as fault:
        words = f"{name} cannot be written: {fault.strerror or fault}"
        raise StoreError(words, help=advice) from fault
    except StoreError as fault:
        if str(file) not in str(fault):
            raise
        words = str(fault).replace(f"the store {str(file)!r}", name)
        raise StoreError(words, code=fault.code, help=advice) from fault


def _refuse_open(target: Path) -> None:
    """Refuses if a process has the store open, since its later writes would be lost."""
    process = None
    # A store that cannot be opened is what a backup is for.
    with suppress(StoreError), closing(SqliteStore(target, create=False, is_strange=True)) as store:
        process = next(iter(store.living().values()), None)
    if process is not None or is_open_elsewhere(str(target)):
        who = "a process" if process is None else f"process {process}"
        words = f"{who} has the store {str(target)!r} open"
        raise UsageError(words, help="end it first, then restore", code="R902")


async def _stop_all(part: Path, *, is_whole: bool) -> tuple[RunId, ...]:
    """Pauses the runs that were running, since it is unknown what they have done since.

    In a store that another user has made, cancels all runs that have not ended.
    """
    async with SqliteStore(part, create=False) as store:
        rows = [row for row in store.runs(limit=2**31) if row.status not in ENDED]
        if is_whole:
            # Of those who are asked something, time may go on with the run, whatever was answered.
            rows = [row for row in rows if row.status in _UNDER_WAY or row.due is not None]
        newest = max((row.updated_at for row in rows), default=0.0)
        backup = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(newest))
        for row in rows:
            owner = await store.claim(row.id, is_driven=False)
            kind = "run.paused" if is_whole else "run.cancelled"
            body: dict[str, Any] = {"by": "restore", "backup": backup} if is_whole else {}
            event = Event(kind, "", time.time(), body)
            await store.append(row.id, owner, [event] if is_whole else [event, end_of(event)])
            if is_whole:
                await store.label(row.id, RESTORED, backup)
            await store.release(row.id, owner)
        return tuple(row.id for row in rows)


def _checked(part: Path, name: str, advice: str) -> tuple[int, int, int]:
    with closing(SqliteStore(part, create=False)) as store:
        _refuse_damaged(store, name, advice)
        sizes = store.sizes()
        return sizes.runs, sizes.entries, sizes.file_bytes


def _refuse_damaged(store: SqliteStore, name: str, advice: str) -> None:
    if faults := store.check():
        words = f"{name} is damaged: {'; '.join(faults[:_FAULTS_SHOWN])}"
        raise StoreError(words, code="R906", help=advice)


def _put_aside(target: Path) -> str:
    """Renames a store together with its log, which may hold its newest entries.

    A log that is left behind would be merged into the next store of that name.
    """
    aside, kept = f"{target}.before-{time.strftime('%Y%m%d-%H%M%S')}", ""
    for ending in ("-shm", "-wal", ""):
        with suppress(FileNotFoundError):
            os.rename(f"{target}{ending}", f"{aside}{ending}")
            kept = f"{aside}{ending}"
    return kept
