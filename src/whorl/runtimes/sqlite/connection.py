"""The tables of a store; how its file is made, checked and opened; errors of SQLite in our words.

The journal is one log for all runs, in the order in which things happened, so that a commit touches
few pages however many runs it serves; an index finds the entries of a run. The meaning of columns
never changes within a format version.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import quote

import apsw

from whorl.errors import Fenced, InternalError, StoreError
from whorl.lazily import dataclass
from whorl.runtimes.sqlite.service_tables import HOOK_TABLES, LABEL_TABLES, QUEUE_TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.runtimes.sqlite.file_watch import FileWatch


Column: TypeAlias = int | float | str | bytes | None

_DEFINITIONS: Final = """
CREATE TABLE runs(
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, key TEXT UNIQUE,
    name TEXT NOT NULL, dialect TEXT NOT NULL, file TEXT NOT NULL, parent TEXT NOT NULL,
    created_at REAL NOT NULL, workflow_hash TEXT NOT NULL, behaviour INTEGER NOT NULL,
    workflow INTEGER NOT NULL, sources INTEGER NOT NULL, status TEXT NOT NULL
);
CREATE INDEX runs_by_status ON runs(status);
CREATE TABLE progress(
    run INTEGER PRIMARY KEY, owner INTEGER NOT NULL, process INTEGER,
    last_seq INTEGER NOT NULL, updated_at REAL NOT NULL, cost_usd REAL NOT NULL,
    calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    in_doubt INTEGER NOT NULL, budget_usd REAL, error TEXT NOT NULL, not_begun TEXT NOT NULL,
    loop TEXT NOT NULL, iteration INTEGER NOT NULL, score REAL, exit_reason TEXT NOT NULL,
    stopped_by TEXT NOT NULL, mark TEXT NOT NULL, seconds REAL NOT NULL DEFAULT 0
);
CREATE TABLE processes(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL, started TEXT NOT NULL, boot TEXT NOT NULL, namespace TEXT NOT NULL,
    beat_at REAL NOT NULL, beat_monotonic REAL NOT NULL
);
CREATE TABLE journal(
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL,
    at REAL NOT NULL, address TEXT NOT NULL, body NOT NULL, large TEXT, checksum INTEGER NOT NULL
);
CREATE UNIQUE INDEX journal_by_run ON journal(run, seq);
CREATE INDEX iterations_by_run ON journal(run, seq) WHERE kind = 34;
CREATE TABLE loops(
    run INTEGER NOT NULL, address TEXT NOT NULL, state TEXT NOT NULL,
    started INTEGER NOT NULL, finished INTEGER,
    iterations_max INTEGER NOT NULL DEFAULT 0, mark TEXT NOT NULL DEFAULT '',
    exit_reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY(run, address)
) WITHOUT ROWID;
CREATE TABLE payloads(
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE,
    size INTEGER NOT NULL, deflated INTEGER NOT NULL, content BLOB NOT NULL
);
CREATE TABLE payload_uses(
    run INTEGER NOT NULL, payload INTEGER NOT NULL, PRIMARY KEY(run, payload)
) WITHOUT ROWID;
CREATE INDEX payload_uses_by_payload ON payload_uses(payload);
CREATE TABLE snapshots(
    run INTEGER NOT NULL, seq INTEGER NOT NULL, state BLOB NOT NULL, PRIMARY KEY(run, seq)
) WITHOUT ROWID;
CREATE TABLE inbox(
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL,
    kind INTEGER NOT NULL, at REAL NOT NULL, address TEXT NOT NULL, body NOT NULL
);
CREATE TABLE memories(
    key TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY(key, number)
) WITHOUT ROWID;
"""
# Columns that a store may lack that was made without them.
_MORE_COLUMNS: Final = {
    "progress": "seconds REAL NOT NULL DEFAULT 0",
    "loops": "exit_reason TEXT NOT NULL DEFAULT ''",
}
# Who started a run, whether servers keep it going, when it goes on by itself, why no server took
# it up; and in which boot the time of day was how much ahead of a clock that nobody sets.
# What calls were charged with, by hour, loop and model.
# A store that was made without the tables gets them when it is opened; runs may have no rows.
_UPKEEP: Final = """
CREATE TABLE IF NOT EXISTS upkeep(
    run INTEGER PRIMARY KEY, origin TEXT NOT NULL, kept INTEGER NOT NULL, due REAL,
    held TEXT NOT NULL, anchor TEXT NOT NULL, ahead REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS upkeep_by_due ON upkeep(due) WHERE due IS NOT NULL;
CREATE TABLE IF NOT EXISTS spending(
    run INTEGER NOT NULL, hour INTEGER NOT NULL, loop TEXT NOT NULL, model TEXT NOT NULL,
    calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL, unpriced INTEGER NOT NULL, in_doubt INTEGER NOT NULL,
    PRIMARY KEY(run, hour, loop, model)
) WITHOUT ROWID;
"""
# SQLite keeps the text of a definition: without the indentation it fits into one page.
_TABLES: Final = " ".join(_DEFINITIONS.split())
_MORE_TABLES: Final = " ".join(f"{_UPKEEP}{HOOK_TABLES}{QUEUE_TABLES}{LABEL_TABLES}".split())
_MORE_NAMES: Final = re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", _MORE_TABLES)

FORMAT_VERSION: Final = 3
BUSY_TIMEOUT_MS: Final = 5000
LOCK_WAIT_S_MAX: Final = 30.0
_APPLICATION_ID: Final = 0x57484F52  # "WHOR"
_WAL_BYTES_MAX: Final = 64 * 1024 * 1024
_COPIED_PAGES: Final = 2_000
_READ_ONLY: Final = apsw.SQLITE_OPEN_READONLY
_READ_WRITE: Final = apsw.SQLITE_OPEN_READWRITE
_FSYNC_FAULTS = frozenset({apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC})
_RETRY = "nothing of this write was stored; then go on with `whorl resume`"
DOCTOR = "`whorl doctor` names what is damaged; restore a backup with `whorl restore FILE`"
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
    apsw.SQLITE_CORRUPT: ("is damaged", DOCTOR),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Which file, and, for tests, how it is opened: by one connection alone, how long a log."""

    path: str
    vfs: str | None = None
    exclusive: bool = False
    checkpoint_pages: int = 4000
    # Nobody can write to it: it lies on a medium that can only be read.
    immutable: bool = False


def prepare(place: Place, *, create: bool) -> Place:
    """Makes the store's file; refuses another format and what is not ours, without a change.

    Gives the place as it has to be opened.
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
            place = replace(place, immutable=place.vfs is None and _is_unchangeable(path))
            try:
                version = _checked_version(place, _READ_ONLY)
            except apsw.ReadOnlyError:
                # The power went while the file was being made: SQLite has to roll that back first.
                version = _checked_version(place, _READ_WRITE)
            if version == FORMAT_VERSION:
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
        _make_tables(place)
        return place
    except apsw.Error as error:
        raise store_error(error, place.path) from error
    except OSError as error:
        raise StoreError(
            f"the store {place.path!r} cannot be made: {error}",
            help="check the rights of its folder, or name another place with --store",
        ) from error


def _is_unchangeable(path: Path) -> bool:
    """Whether nobody can write here, and nobody has left a log that would have to be read."""
    log = Path(f"{path}-wal")
    return not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)


def open_writer(place: Place) -> apsw.Connection:
    connection = _open(place, _READ_WRITE)
    # A backup has no log beside it until somebody writes to it.
    patiently(lambda: connection.pragma("journal_mode", "WAL"))
    connection.pragma("synchronous", "FULL")
    connection.pragma("journal_size_limit", _WAL_BYTES_MAX // 4)
    connection.wal_autocheckpoint(0)
    return connection


def copy_all(connection: apsw.Connection, path: str) -> None:
    """Copies all that is stored at this moment to a new file, for the user alone; no owners."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    target = apsw.Connection(path)
    connection.execute("BEGIN")
    try:
        # From the first reading on it sees one state of the store, whatever others write.
        fetch(connection, "SELECT count(*) FROM runs")
        with target.backup("main", connection, "main") as copy:
            while not copy.done:
                copy.step(_COPIED_PAGES)
        target.pragma("journal_mode", "DELETE")
        target.execute("BEGIN; UPDATE progress SET process = NULL; DELETE FROM processes; COMMIT")
    finally:
        connection.execute("ROLLBACK")
        target.close()


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


def _checked_version(place: Place, flags: int) -> int:
    """The format of an existing store, 0 where tables are missing; one not ours is refused."""
    connection = _connect(place, flags)
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
        if tables and stored["application_id"] != _APPLICATION_ID:
            raise StoreError(
                f"{place.path!r} is a database of another program",
                help="name another place with --store",
            )
        _refuse_other_formats(place.path, stored["user_version"])
        added = "SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view') LIMIT 1"
        for (name,) in connection.execute(added):
            raise StoreError(
                f"the store {place.path!r} holds {name!r}, a trigger or view that Whorl did not"
                " make",
                code="R903",
                help="restore the file from a backup, or name another place with --store",
            )
        known = {row[0] for row in fetch(connection, "SELECT name FROM sqlite_schema")}
        return stored["user_version"] if known.issuperset(_MORE_NAMES) else 0
    finally:
        connection.close()


def _refuse_other_formats(path: str, version: int) -> None:
    if version not in (0, FORMAT_VERSION):
        raise StoreError(
            f"the store {path!r} has format {version}; this version of Whorl knows format"
            f" {FORMAT_VERSION}",
            code="R901",
            help="use the version of Whorl that wrote it, or name another place with --store",
        )


def _make_tables(place: Place) -> None:
    connection = _open(place, _READ_WRITE)
    try:
        connection.pragma("page_size", 4096)
        connection.pragma("auto_vacuum", "INCREMENTAL")
        patiently(lambda: connection.pragma("journal_mode", "WAL"))
        connection.pragma("synchronous", "FULL")
        begin(connection)
        version = connection.pragma("user_version")
        _refuse_other_formats(place.path, version)
        if version == 0:
            connection.execute(_TABLES)
        for table, column in _MORE_COLUMNS.items():
            known = {row[1] for row in fetch(connection, f"PRAGMA table_info({table})")}
            if column.partition(" ")[0] not in known:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
        connection.execute(_MORE_TABLES)
        connection.pragma("application_id", _APPLICATION_ID)
        connection.pragma("user_version", FORMAT_VERSION)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _connect(place: Place, flags: int) -> apsw.Connection:
    if place.immutable:
        # SQLite would make files beside it even for reading.
        name = f"file:{quote(os.path.abspath(place.path))}?immutable=1"
        return apsw.Connection(name, flags=_READ_ONLY | apsw.SQLITE_OPEN_URI)
    return apsw.Connection(place.path, flags=flags, vfs=place.vfs)


def _open(place: Place, flags: int) -> apsw.Connection:
    connection = _connect(place, flags)
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

    def __init__(self, place: Place, watch: FileWatch) -> None:
        self._place = place
        self._watch = watch
        self._idle: deque[apsw.Connection] = deque()
        self._watching: apsw.Connection | None = None
        self._gate = threading.Lock()
        self._closed = False

    def lend(self) -> _Loan:
        return _Loan(self)

    def take(self) -> apsw.Connection:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self.open()
        try:
            self._watch.check_sometimes(connection)
        except BaseException:
            self._keep(connection)
            raise
        return connection

    def give_back(self, connection: apsw.Connection, fault: BaseException | None) -> None:
        self._keep(connection)
        if isinstance(fault, apsw.Error):
            raise self._fault(fault) from fault
        if isinstance(fault, UnicodeDecodeError):
            words = f"the store {self._place.path!r} is damaged: it holds text that is not UTF-8"
            raise StoreError(words, code="R906", help=DOCTOR) from fault

    def _keep(self, connection: apsw.Connection) -> None:
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
        fault = self._watch.fault() or store_error(error, self._place.path)
        self._watch.keep_damage(error, fault)
        return fault


class _Loan:
    """A connection of the pool, until the end of a `with`: there are several in each run."""

    __slots__ = ("_connection", "_reader")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __enter__(self) -> apsw.Connection:
        self._connection = self._reader.take()
        return self._connection

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        self._reader.give_back(self._connection, fault)


def _number(error: apsw.Error, name: str) -> int:
    """A result code; errors that APSW itself raises have none."""
    return int(vars(error).get(name, apsw.SQLITE_ERROR))


def is_fsync_fault(error: apsw.Error) -> bool:
    """Whether the disk may have dropped what it was given; such a write is never tried again."""
    return _number(error, "extendedresult") in _FSYNC_FAULTS


def store_error(error: apsw.Error, path: str, bytes_needed: int = 0) -> StoreError:
    usual = ("cannot be used", "run `whorl doctor` to look at the store")
    code, (what, remedy) = "R900", _WORDS.get(_number(error, "result") & 0xFF, usual)
    if is_fsync_fault(error):
        code, what = "R905", "did not reach the disk (fsync failed)"
        remedy = "check the disk, then start again: the store takes no writes until it is reopened"
    elif _number(error, "result") & 0xFF == apsw.SQLITE_CORRUPT:
        code = "R906"
    needed = f" ({bytes_needed} bytes are needed)" if bytes_needed else ""
    return StoreError(f"the store {path!r} {what}: {error}{needed}", code=code, help=remedy)


def copy_of(error: StoreError | InternalError) -> StoreError | InternalError:
    """The same error once more: each caller raises its own, with its own traceback."""
    if isinstance(error, InternalError):
        return InternalError(str(error))
    return type(error)(str(error), code=error.code, help=error.help)


def fenced(run: str, owner: int, current: int) -> Fenced:
    return Fenced(
        f"run {run!r} has another owner now (owner number {owner}, current {current})",
        code="R902",
        help="nothing was written; watch the run with `whorl watch`, or resume it later",
    )


def damaged(run: str, seq: int | None, what: str, code: str = "R903") -> StoreError:
    place = f"run {run!r}" if seq is None else f"run {run!r}, entry {seq}"
    words = f"{place}: {what}"
    advice = "use the version of Whorl that wrote it, or restore a backup: `whorl restore FILE`"
    return StoreError(words, help=DOCTOR if code == "R906" else advice, code=code)


def refused(what: str, remedy: str = "") -> StoreError:
    return StoreError(what, code="R904", help=remedy)
