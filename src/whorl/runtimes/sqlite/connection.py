"""How the file is made, checked and opened, and what SQLite reports, said in our words."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import apsw

from whorl.errors import Fenced, InternalError, StoreError
from whorl.runtimes.sqlite import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Column: TypeAlias = int | float | str | bytes | None

BUSY_TIMEOUT_MS: Final = 5000
LOCK_WAIT_S_MAX: Final = 30.0
_READ_ONLY: Final = apsw.SQLITE_OPEN_READONLY
_READ_WRITE: Final = apsw.SQLITE_OPEN_READWRITE
_FSYNC_FAULTS = frozenset({apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC})
_RETRY = "nothing of this write was stored; then go on with `whorl resume`"
_WORDS: dict[int, tuple[str, str]] = {
    apsw.SQLITE_FULL: ("has no room to grow: the disk is full", f"free some space; {_RETRY}"),
    apsw.SQLITE_IOERR: (
        "cannot be read or written",
        f"check the disk, its quota and the limit on file sizes; {_RETRY}",
    ),
    apsw.SQLITE_BUSY: (
        "is locked by another process",
        "look for a stopped or hanging process that has it open, end it, and try again",
    ),
    apsw.SQLITE_READONLY: (
        "may not be written",
        "check the rights of the file and its folder, or name another place with --store",
    ),
    apsw.SQLITE_CANTOPEN: (
        "cannot be opened",
        "check that its folder exists and may be written, or name another place with --store",
    ),
    apsw.SQLITE_PERM: ("may not be opened", "check the rights of the file and its folder"),
    apsw.SQLITE_NOTADB: (
        "is not a store of Whorl",
        "name another place with --store, or move the file away",
    ),
    apsw.SQLITE_CORRUPT: (
        "is damaged",
        "run `whorl doctor`, and restore the file from a backup",
    ),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Which file, and how it is opened; all but the path is for tests.

    `exclusive` keeps the file to one connection; the log is emptied every `checkpoint_pages`.
    """

    path: str
    vfs: str | None = None
    exclusive: bool = False
    checkpoint_pages: int = 4000

    def exists(self) -> bool:
        """Whether there is a file with something in it."""
        return os.path.exists(self.path) and os.path.getsize(self.path) > 0


def prepare(place: Place, *, create: bool) -> None:
    """Makes the store's file; refuses another format and what is not ours, without a change."""
    try:
        if place.exists():
            if _stored_version(place) == schema.FORMAT_VERSION:
                return
        elif not create:
            raise StoreError(
                f"there is no store at {place.path!r}",
                help="start a run first, or name the store with --store",
            )
        else:
            _make_file(Path(place.path))
        _make_tables(place)
    except apsw.Error as error:
        raise store_error(error, place.path) from error
    except OSError as error:
        raise StoreError(
            f"the store {place.path!r} cannot be made: {error}",
            help="check the rights of its folder, or name another place with --store",
        ) from error


def open_writer(place: Place) -> apsw.Connection:
    """The connection of the writer thread."""
    connection = _open(place, _READ_WRITE)
    connection.pragma("synchronous", "FULL")
    connection.pragma("journal_size_limit", schema.WAL_BYTES_MAX // 4)
    connection.wal_autocheckpoint(0)
    return connection


def open_reader(place: Place) -> apsw.Connection:
    """A connection that cannot write."""
    connection = _open(place, _READ_ONLY)
    connection.pragma("query_only", True)
    return connection


def fetch(
    connection: apsw.Connection, statement: str, values: Sequence[Column] = ()
) -> list[tuple[Any, ...]]:
    """All rows of a query. What a file holds is checked where it is used."""
    try:
        return connection.execute(statement, values).fetchall()
    except (UnicodeEncodeError, OverflowError):
        # A text with lone surrogates, or a number beyond 64 bits: nothing like it is stored.
        return []


def begin(connection: apsw.Connection) -> None:
    """Begins a write transaction, waiting for other processes with jitter between attempts."""
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"))


def patiently(action: Callable[[], object]) -> None:
    """Repeats what other processes' locks prevent, for half a minute at most."""
    deadline = time.monotonic() + LOCK_WAIT_S_MAX
    while True:
        try:
            action()
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.002, 0.05))
        else:
            return


def _make_file(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return


def _stored_version(place: Place) -> int:
    """The format of an existing store; looks without writing wherever that is possible."""
    try:
        return _examined(place, _READ_ONLY)
    except apsw.ReadOnlyError:
        # The power went while the file was being made: SQLite has to roll that back first.
        return _examined(place, _READ_WRITE)


def _examined(place: Place, flags: int) -> int:
    connection = apsw.Connection(place.path, flags=flags, vfs=place.vfs)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        if place.exclusive:
            connection.pragma("locking_mode", "EXCLUSIVE")
        stored = dict.fromkeys(("application_id", "user_version"), 0)
        # In one transaction: another process may be making the store at this moment.
        patiently(lambda: connection.execute("BEGIN"))
        patiently(lambda: stored.update({name: connection.pragma(name) for name in stored}))
        tables = fetch(connection, "SELECT count(*) FROM sqlite_schema")[0][0]
        connection.execute("ROLLBACK")
        _refuse_strangers(place.path, stored["application_id"], tables)
        _refuse_other_formats(place.path, stored["user_version"])
        _refuse_additions(connection, place.path)
        return stored["user_version"]
    finally:
        connection.close()


def _refuse_strangers(path: str, application: int, tables: int) -> None:
    if tables and application != schema.APPLICATION_ID:
        raise StoreError(
            f"{path!r} is a database of another program",
            help="name another place with --store",
        )


def _refuse_other_formats(path: str, version: int) -> None:
    if version not in (0, schema.FORMAT_VERSION):
        raise StoreError(
            f"the store {path!r} has format {version}; this version of Whorl knows format"
            f" {schema.FORMAT_VERSION}",
            code="R901",
            help="use the version of Whorl that wrote it, or name another place with --store",
        )


def _refuse_additions(connection: apsw.Connection, path: str) -> None:
    added = "SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view') LIMIT 1"
    for (name,) in connection.execute(added):
        raise StoreError(
            f"the store {path!r} holds {name!r}, a trigger or view that Whorl did not make",
            code="R903",
            help="restore the file from a backup, or name another place with --store",
        )


def _make_tables(place: Place) -> None:
    connection = _open(place, _READ_WRITE)
    try:
        connection.pragma("page_size", schema.PAGE_SIZE)
        connection.pragma("auto_vacuum", "INCREMENTAL")
        patiently(lambda: connection.pragma("journal_mode", "WAL"))
        connection.pragma("synchronous", "FULL")
        begin(connection)
        version = connection.pragma("user_version")
        _refuse_other_formats(place.path, version)
        if version == 0:
            connection.execute(schema.TABLES)
        connection.pragma("application_id", schema.APPLICATION_ID)
        connection.pragma("user_version", schema.FORMAT_VERSION)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _open(place: Place, flags: int) -> apsw.Connection:
    connection = apsw.Connection(place.path, flags=flags, vfs=place.vfs)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
    connection.pragma("trusted_schema", False)
    connection.pragma("cell_size_check", True)
    connection.pragma("mmap_size", 0)
    if place.exclusive:
        connection.pragma("locking_mode", "EXCLUSIVE")
    return connection


class Reader:
    """A pool of connections that cannot write; usable from any thread, without an event loop."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._idle: deque[apsw.Connection] = deque()
        self._watching: apsw.Connection | None = None
        self._gate = threading.Lock()
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[apsw.Connection]:
        """A connection for one query or a few; errors of SQLite come out as StoreError."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._open()
        try:
            yield connection
        except apsw.Error as error:
            raise store_error(error, self._place.path) from error
        finally:
            if self._closed:
                connection.close(True)
            else:
                self._idle.append(connection)

    def rows(self, statement: str, values: Sequence[Column] = ()) -> list[tuple[Any, ...]]:
        """All rows of one query."""
        with self.lend() as connection:
            return fetch(connection, statement, values)

    def version(self) -> int:
        """A number that changes whenever anybody has committed something to the store."""
        with self._gate:
            if self._watching is None:
                self._watching = self._open()
            try:
                return int(self._watching.pragma("data_version"))
            except apsw.Error as error:
                raise store_error(error, self._place.path) from error

    def close(self) -> None:
        """Closes all connections that are not lent out; those follow when they come back."""
        self._closed = True
        with self._gate:
            if self._watching is not None:
                self._watching.close(True)
        while self._idle:
            self._idle.pop().close(True)

    def _open(self) -> apsw.Connection:
        if self._closed:
            raise StoreError(f"the store {self._place.path!r} is closed", help="open it again")
        try:
            return open_reader(self._place)
        except apsw.Error as error:
            raise store_error(error, self._place.path) from error


def _number(error: apsw.Error, name: str) -> int:
    """A result code; errors that APSW itself raises have none."""
    return int(vars(error).get(name, apsw.SQLITE_ERROR))


def is_fsync_fault(error: apsw.Error) -> bool:
    """Whether the disk may have dropped what it was given; such a write is never tried again."""
    return _number(error, "extendedresult") in _FSYNC_FAULTS


def store_error(error: apsw.Error, path: str, bytes_needed: int = 0) -> StoreError:
    """The StoreError that stands for an error of SQLite."""
    what, remedy = _WORDS.get(
        _number(error, "result") & 0xFF,
        ("cannot be used", "run `whorl doctor` to look at the store"),
    )
    if is_fsync_fault(error):
        what = "did not reach the disk (fsync failed)"
        remedy = "check the disk, then start again: the store takes no writes until it is reopened"
    needed = f" ({bytes_needed} bytes are needed)" if bytes_needed else ""
    code = "R905" if is_fsync_fault(error) else "R900"
    return StoreError(f"the store {path!r} {what}: {error}{needed}", code=code, help=remedy)


def broken(error: StoreError) -> StoreError:
    """The same error for a store that takes no writes any more until it is reopened."""
    return StoreError(str(error), code="R905", help=error.help)


def copy_of(error: StoreError | InternalError) -> StoreError | InternalError:
    """The same error once more: each caller raises its own, with its own traceback."""
    if isinstance(error, InternalError):
        return InternalError(str(error))
    return type(error)(str(error), code=error.code, help=error.help)


def fenced(run: str, owner: int, current: int) -> Fenced:
    """Tells an owner that it is no longer the owner."""
    return Fenced(
        f"run {run!r} has another owner by now (owner number {owner}, current {current})",
        code="R902",
        help="nothing was written; watch the run with `whorl watch`, or resume it later",
    )


def damaged(run: str, seq: int | None, what: str, code: str = "R903") -> StoreError:
    """Tells which entry of which run cannot be read; other runs are not affected."""
    place = f"run {run!r}" if seq is None else f"run {run!r}, entry {seq}"
    return StoreError(
        f"{place}: {what}",
        code=code,
        help="use the version of Whorl that wrote it, or restore the store from a backup",
    )


def refused(what: str, remedy: str = "") -> StoreError:
    """A request that does not fit what is stored."""
    return StoreError(what, code="R904", help=remedy)
