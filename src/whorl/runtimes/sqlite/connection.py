"""Creates, checks and opens the file of a store, for one writer and many readers."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import quote

import apsw

from whorl.errors import StoreError
from whorl.lazily import dataclass
from whorl.runtimes.sqlite.faults import DOCTOR, check_format, is_of_reading, store_error
from whorl.runtimes.sqlite.schema import FORMAT_VERSION, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whorl.runtimes.journal.keys import Registry
    from whorl.runtimes.sqlite.change_watch import FileWatch


Column: TypeAlias = int | float | str | bytes | None

BUSY_TIMEOUT_MS: Final = 5000
LOCK_WAIT_S_MAX: Final = 30.0
_APPLICATION_ID: Final = 0x57484F52  # "WHOR"
_WAL_BYTES_MAX: Final = 64 * 1024 * 1024
_COPIED_PAGES: Final = 2_000
_READ_ONLY: Final = apsw.SQLITE_OPEN_READONLY
_READ_WRITE: Final = apsw.SQLITE_OPEN_READWRITE
_MISSING: Final = """SELECT sql FROM other.sqlite_schema WHERE type = 'table' AND name = ?1
    AND name NOT IN (SELECT name FROM main.sqlite_schema)"""


@dataclass(frozen=True, slots=True)
class StoreFile:
    """The file of a store, and options for tests: a single connection, the size of the log."""

    path: str
    vfs: str | None = None
    exclusive: bool = False
    checkpoint_pages: int = 4000
    is_new: bool = False
    # Its user has not made it: it is read, and nothing in it counts.
    is_strange: bool = False


def prepare(place: StoreFile, *, create: bool, registry: Registry | None = None) -> StoreFile:
    """Makes the store's file; refuses another format and foreign files, without a change.

    A new store is registered; a store that the `registry` does not know is opened read-only.
    Returns the place with these options.
    """
    path = Path(place.path)
    if path.is_symlink():
        # Whoever gave us the folder could let us write to a file of ours somewhere else.
        raise StoreError(
            f"the store {place.path!r} is a symbolic link",
            code="R908",
            help=f"name the file itself: --store {os.path.realpath(path)}",
        )
    try:
        if path.exists() and path.stat().st_size:
            id_ = _look(place, may_roll_back=registry is None or registry.is_named)
            if id_ is not None and registry is not None:
                return replace(place, is_strange=not registry.admits(id_))
            if id_ is not None or place.is_strange:
                return place
        elif not create:
            raise StoreError(
                f"there is no store at {place.path!r}",
                help="start a run first, or name the store with --store",
            )
        else:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        return replace(place, is_new=_make_tables(place, registry))
    except (apsw.Error, UnicodeDecodeError) as error:
        raise store_error(error, place.path) from error
    except OSError as error:
        words = f"the store {place.path!r} cannot be made: {error}"
        remedy = "check the room and the rights of its folder, or name another place with --store"
        raise StoreError(words, help=remedy) from error


def open_writer(place: StoreFile) -> apsw.Connection:
    connection = _open(place, _READ_WRITE)
    # A backup has no log beside it until a process writes to it.
    patiently(lambda: connection.pragma("journal_mode", "WAL"))
    if connection.readonly("main"):
        # SQLite has opened what may only be read now: a writer that is made later may write.
        connection.pragma("user_version", connection.pragma("user_version"))
    connection.pragma("synchronous", "FULL")
    connection.pragma("journal_size_limit", _WAL_BYTES_MAX // 4)
    connection.wal_autocheckpoint(0)
    return connection


def copy_all(connection: apsw.Connection, path: str) -> None:
    """Copies the whole store to a new file that only the user can read, without owners."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    target = _open(StoreFile(path), _READ_WRITE)
    connection.execute("BEGIN")
    try:
        # From the first reading on it sees one state of the store, whatever others write.
        fetch(connection, "SELECT count(*) FROM runs")
        with target.backup("main", connection, "main") as copy:
            while not copy.done:
                copy.step(_COPIED_PAGES)
        target.pragma("journal_mode", "DELETE")
        target.execute("BEGIN; UPDATE progress SET process = NULL; DELETE FROM processes; COMMIT")
    except apsw.Error as error:
        if is_of_reading(error):
            raise
        raise store_error(error, path) from error
    finally:
        connection.execute("ROLLBACK")
        target.close()


def copy_rows(source: StoreFile, path: str, tables: Sequence[str], *, is_own: bool) -> None:
    """Copies only rows of these tables into a new store.

    If the other store `is_own`, tables that the new store lacks are created as they are there.
    Tables and columns that the other store lacks are left out.
    """
    connection = _open(StoreFile(path), _READ_WRITE | apsw.SQLITE_OPEN_URI)
    try:
        other = f"file:{quote(os.path.abspath(source.path))}?mode=ro"
        connection.execute("ATTACH ? AS other", (other,))
        begin(connection)
        for table in tables:
            for (definition,) in fetch(connection, _MISSING, (table,)) if is_own else ():
                connection.execute(definition)
            own, others = (
                [row[1] for row in fetch(connection, f"PRAGMA {schema}.table_info({table})")]
                for schema in ("main", "other")
            )
            if columns := ", ".join(column for column in own if column in others):
                select = f"SELECT {columns} FROM other.{table}"
                connection.execute(f"INSERT INTO main.{table}({columns}) {select}")
        connection.execute("UPDATE progress SET process = NULL")
        connection.execute("COMMIT")
    except apsw.Error as error:
        raise store_error(error, source.path if is_of_reading(error) else path) from error
    finally:
        connection.close()


def fetch(
    connection: apsw.Connection, statement: str, values: Sequence[Column] = ()
) -> list[tuple[Any, ...]]:
    """Returns all rows of a query. Callers check the values."""
    try:
        return connection.execute(statement, values).fetchall()
    except (UnicodeEncodeError, OverflowError):
        # A text with lone surrogates, or a number beyond 64 bits: nothing like it is stored.
        return []


def fetch_readable(
    connection: apsw.Connection, statement: str, values: Sequence[Column], key: str
) -> list[tuple[Any, ...]]:
    """Returns all rows of a query; only the columns `key` for rows with text that is not UTF-8."""
    try:
        return fetch(connection, statement, values)
    except UnicodeDecodeError:
        rows: list[tuple[Any, ...]] = []
        for index, keys in enumerate(fetch(connection, f"SELECT {key} FROM ({statement})", values)):
            one = f"SELECT * FROM ({statement}) LIMIT 1 OFFSET {index}"
            try:
                rows += fetch(connection, one, values)
            except UnicodeDecodeError:
                rows.append(keys)
        return rows


def begin(connection: apsw.Connection) -> None:
    patiently(lambda: connection.execute("BEGIN IMMEDIATE"))


def patiently(action: Callable[[], object]) -> None:
    """Retries while other processes hold locks, for half a minute at most."""
    deadline = time.monotonic() + LOCK_WAIT_S_MAX
    while True:
        try:
            action()
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.002 + os.urandom(1)[0] / 5_000)
        else:
            return


def _look(place: StoreFile, *, may_roll_back: bool) -> str | None:
    """Returns the id of a store, or None if the file is empty; refuses a foreign file."""
    for flags in (_READ_ONLY, _READ_WRITE):
        connection = _open(place, flags)
        try:
            return _id_of(place, connection)
        except apsw.ReadOnlyError:
            # The power went while the file was being made: SQLite has to roll that back first. By
            # what a stranger has written there it would delete other files.
            if place.is_strange or not may_roll_back:
                raise
        finally:
            connection.close()
    raise AssertionError


def _id_of(place: StoreFile, connection: apsw.Connection) -> str | None:
    stored = dict.fromkeys(("application_id", "user_version"), 0)
    # In one transaction: another process may be making the store at this moment.
    patiently(lambda: connection.execute("BEGIN"))
    patiently(lambda: stored.update({name: connection.pragma(name) for name in stored}))
    known = {row[0] for row in fetch(connection, "SELECT name FROM sqlite_schema")}
    if known and stored["application_id"] != _APPLICATION_ID:
        raise StoreError(
            f"{place.path!r} is a database of another program",
            help="name another place with --store",
        )
    check_format(place.path, stored["user_version"])
    if not known:
        return None
    ids = fetch(connection, "SELECT id FROM identity LIMIT 1") if "identity" in known else []
    return str(ids[0][0]) if ids else ""


def _make_tables(place: StoreFile, registry: Registry | None) -> bool:
    """Makes and registers a store; returns False if another process was faster."""
    connection = _open(place, _READ_WRITE)
    try:
        connection.pragma("page_size", 4096)
        connection.pragma("auto_vacuum", "INCREMENTAL")
        patiently(lambda: connection.pragma("journal_mode", "WAL"))
        connection.pragma("synchronous", "FULL")
        begin(connection)
        if fetch(connection, "SELECT 1 FROM sqlite_schema LIMIT 1"):
            check_format(place.path, connection.pragma("user_version"))
            return False
        own = os.urandom(16).hex()
        if registry is not None:
            # What the operator names counts without.
            with suppress(*[StoreError] if registry.is_named else []):
                registry.add(own)
        connection.execute(TABLES)
        connection.execute("INSERT INTO identity VALUES(?)", (own,))
        connection.pragma("application_id", _APPLICATION_ID)
        connection.pragma("user_version", FORMAT_VERSION)
        connection.execute("COMMIT")
        return True
    finally:
        connection.close()


def _open(place: StoreFile, flags: int) -> apsw.Connection:
    connection = apsw.Connection(place.path, flags=flags, vfs=place.vfs)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
    # A store has none; those that somebody has put into one do nothing.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    connection.pragma("trusted_schema", False)
    connection.pragma("cell_size_check", True)
    connection.pragma("mmap_size", 0)
    if place.exclusive:
        connection.pragma("locking_mode", "EXCLUSIVE")
    return connection


class Reader:
    """A pool of connections that cannot write; usable from any thread, without an event loop."""

    def __init__(self, place: StoreFile, watch: FileWatch) -> None:
        self._place = place
        self._watch = watch
        self._idle: deque[apsw.Connection] = deque()
        self._watching: apsw.Connection | None = None
        self._gate = threading.Lock()
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[apsw.Connection]:
        """Lends a connection of the pool until the end of a `with`."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self.open()
        try:
            self._watch.check_sometimes(connection)
            yield connection
        except apsw.Error as fault:
            raise self._fault(fault) from fault
        except UnicodeDecodeError as fault:
            words = f"the store {self._place.path!r} is damaged: it holds text that is not UTF-8"
            raise StoreError(words, code="R906", help=DOCTOR) from fault
        finally:
            if self._closed:
                connection.close(True)
            else:
                self._idle.append(connection)

    def rows(self, statement: str, values: Sequence[Column] = ()) -> list[tuple[Any, ...]]:
        with self.lend() as connection:
            return fetch(connection, statement, values)

    def version(self) -> int:
        with self._gate:
            if self._watching is None:
                self._watching = self.open()
            try:
                self._watch.check_sometimes(self._watching)
                return int(self._watching.pragma("data_version"))
            except apsw.Error as error:
                raise self._fault(error) from error

    def close(self) -> None:
        self._closed = True
        with self._gate:
            if self._watching is not None:
                self._watching.close(True)
        while self._idle:
            self._idle.pop().close(True)

    def open(self) -> apsw.Connection:
        if self._closed:
            raise StoreError(f"the store {self._place.path!r} is closed", help="open it again")
        try:
            connection = _open(self._place, _READ_ONLY)
            connection.pragma("query_only", True)
        except apsw.Error as error:
            raise self._fault(error) from error
        return connection

    def _fault(self, error: apsw.Error) -> StoreError:
        fault = self._watch.fault() or self._watch.fault_of(error)
        self._watch.keep_damage(error, fault)
        return fault
