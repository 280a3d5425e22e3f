"""How the file is made, checked and opened; all settings of SQLite are here."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import apsw

from whorl.errors import StoreError
from whorl.runtimes.sqlite import schema
from whorl.runtimes.sqlite.faults import store_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Column: TypeAlias = int | float | str | bytes | None

BUSY_TIMEOUT_MS: Final = 5000
LOCK_WAIT_S_MAX: Final = 30.0
_READ_ONLY: Final = apsw.SQLITE_OPEN_READONLY
_READ_WRITE: Final = apsw.SQLITE_OPEN_READWRITE


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
    """Makes or migrates the store's file; refuses what is newer or not ours, without a change."""
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
        _migrate(place)
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
        found = dict.fromkeys(("application_id", "user_version"), 0)
        # In one transaction: another process may be making the store at this moment.
        patiently(lambda: connection.execute("BEGIN"))
        patiently(lambda: found.update({name: connection.pragma(name) for name in found}))
        tables = fetch(connection, "SELECT count(*) FROM sqlite_schema")[0][0]
        connection.execute("ROLLBACK")
        _refuse_strangers(place.path, found["application_id"], tables)
        _refuse_newer(place.path, found["user_version"])
        _refuse_additions(connection, place.path)
        return found["user_version"]
    finally:
        connection.close()


def _refuse_strangers(path: str, application: int, tables: int) -> None:
    if tables and application != schema.APPLICATION_ID:
        raise StoreError(
            f"{path!r} is a database of another program",
            help="name another place with --store",
        )


def _refuse_newer(path: str, version: int) -> None:
    if version > schema.FORMAT_VERSION:
        raise StoreError(
            f"the store {path!r} has format {version}; this version of Whorl knows formats up to"
            f" {schema.FORMAT_VERSION}",
            code="R901",
            help="use the newer Whorl that wrote it, or name another place with --store",
        )


def _refuse_additions(connection: apsw.Connection, path: str) -> None:
    added = "SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view') LIMIT 1"
    for (name,) in connection.execute(added):
        raise StoreError(
            f"the store {path!r} holds {name!r}, a trigger or view that Whorl did not make",
            code="R903",
            help="restore the file from a backup, or name another place with --store",
        )


def _migrate(place: Place) -> None:
    connection = _open(place, _READ_WRITE)
    try:
        connection.pragma("page_size", schema.PAGE_SIZE)
        connection.pragma("auto_vacuum", "INCREMENTAL")
        patiently(lambda: connection.pragma("journal_mode", "WAL"))
        connection.pragma("synchronous", "FULL")
        begin(connection)
        with_version = connection.pragma("user_version")
        _refuse_newer(place.path, with_version)
        for version in range(with_version + 1, schema.FORMAT_VERSION + 1):
            connection.execute(schema.MIGRATIONS[version])
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
