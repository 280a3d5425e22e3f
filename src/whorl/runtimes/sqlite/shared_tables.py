"""The tables beside the journal: requests in the inbox, memories of loops, deleting old runs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import apsw

from whorl.runtimes.journal import Message, RunId
from whorl.runtimes.sqlite.connection import damaged, fenced, fetch, refused
from whorl.runtimes.sqlite.encoding import Unreadable, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.runtimes.journal import Record
    from whorl.runtimes.sqlite.encoding import Encoded
    from whorl.runtimes.sqlite.ownership import Identity

RECORDS_MAX: Final = 10_000
FINISHED: Final = ("succeeded", "failed", "cancelled")

_MESSAGE: Final = """
SELECT inbox.id, runs.id, kind, at, address, body
FROM inbox JOIN runs ON runs.number = inbox.run
"""
_OF_RUN: Final = _MESSAGE + "WHERE runs.id = ? ORDER BY inbox.id"
_OF_PROCESS: Final = (
    _MESSAGE
    + """JOIN progress ON progress.run = inbox.run JOIN processes ON processes.id = process
    WHERE pid = ? AND started = ? AND boot = ? AND namespace = ? ORDER BY inbox.id"""
)
_INSERT: Final = """
INSERT INTO memories(key, number, at, record)
VALUES(?1, coalesce((SELECT max(number) FROM memories WHERE key = ?1), 0) + 1, ?2, ?3)
"""
_TRIM: Final = """
DELETE FROM memories WHERE key = ?1
    AND number <= (SELECT max(number) FROM memories WHERE key = ?1) - ?2
"""
_KNOWN: Final = """
SELECT 1 FROM memories WHERE key = ?1 AND json_extract(record, '$.id') = ?2 LIMIT 1
"""
_SIZE: Final = """
SELECT coalesce(sum(octet_length(body) + octet_length(address) + 32), 0), count(*)
FROM journal WHERE run = (SELECT number FROM runs WHERE id = ?)
"""
_UNUSED: Final = """
DELETE FROM payloads WHERE id IN (SELECT payload FROM payload_uses WHERE run = ?1)
AND NOT EXISTS (SELECT 1 FROM payload_uses WHERE payload = payloads.id AND run <> ?1)
"""
_DELETES: Final = (
    _UNUSED,
    "DELETE FROM payload_uses WHERE run = ?1",
    "DELETE FROM journal WHERE run = ?1",
    "DELETE FROM loops WHERE run = ?1",
    "DELETE FROM snapshots WHERE run = ?1",
    "DELETE FROM inbox WHERE run = ?1",
    "DELETE FROM progress WHERE run = ?1",
    "DELETE FROM runs WHERE number = ?1",
)
_STILL_OLD: Final = """
SELECT number FROM runs JOIN progress ON run = number
WHERE id = ? AND status = ? AND updated_at < ?
"""
# A run is interrupted when the process that drove it is gone; its row does not know.
_STORED: Final = {"interrupted": "running"}


def post(connection: apsw.Connection, run: str, row: Encoded) -> int:
    """Leaves a request for whoever owns the run, or will own it."""
    number = connection.execute("SELECT number FROM runs WHERE id = ?", (run,)).get
    if number is None:
        raise refused(f"there is no run {run!r} in the store", "`whorl ls` lists the runs")
    connection.execute(
        "INSERT INTO inbox(run, kind, at, address, body) VALUES(?, ?, ?, ?, ?)",
        (number, row.kind, row.at, row.address, row.body),
    )
    return connection.last_insert_rowid()


def messages_of(connection: apsw.Connection, run: str, owner: int) -> list[Message]:
    """The requests to a run, oldest first. Raises Fenced."""
    _check_owner(connection, run, owner)
    return [_message(*row) for row in fetch(connection, _OF_RUN, (run,))]


def discard(connection: apsw.Connection, run: str, owner: int, messages: Sequence[int]) -> None:
    """Deletes requests to a run. Raises Fenced."""
    _check_owner(connection, run, owner)
    for message in messages:
        connection.execute("DELETE FROM inbox WHERE id = ?", (message,))


def _check_owner(connection: apsw.Connection, run: str, owner: int) -> None:
    current = "SELECT owner FROM progress JOIN runs ON number = run WHERE id = ?"
    holder = connection.execute(current, (run,)).get
    if holder != owner:
        raise fenced(run, owner, holder or 0)


def messages_of_process(connection: apsw.Connection, here: Identity) -> list[Message]:
    """The requests to all runs that a process owns, oldest first."""
    process = (here.pid, here.started, here.boot, here.namespace)
    return [_message(*row) for row in fetch(connection, _OF_PROCESS, process)]


def _message(number: int, run: str, *row: Any) -> Message:
    try:
        return Message(number, RunId(run), decode(*row))
    except Unreadable as error:
        raise damaged(run, None, f"request {number}: {error}") from error


def remember(connection: apsw.Connection, record: Record, text: str, at: float) -> None:
    """Adds a record and lets go of the oldest ones above its limit."""
    connection.execute(_INSERT, (record.key, at, text))
    connection.execute(_TRIM, (record.key, min(max(0, record.keep), RECORDS_MAX)))


def remember_once(
    connection: apsw.Connection, record: Record, text: str, *, once: str, at: float
) -> bool:
    """Adds a record unless one with this id is there: a repeated task remembers nothing twice."""
    if connection.execute(_KNOWN, (record.key, once)).fetchone() is not None:
        return False
    remember(connection, record, text, at)
    return True


def forget(connection: apsw.Connection, key: str) -> int:
    """Deletes all records of a key; gives their number."""
    connection.execute("DELETE FROM memories WHERE key = ?", (key,))
    return connection.changes()


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted, or would be. `bytes` counts the journal, without shared payloads."""

    runs: tuple[RunId, ...]
    entries: int
    bytes: int
    dry_run: bool


def size_of(connection: apsw.Connection, run: str) -> tuple[int, int]:
    """About how many bytes and how many entries a run's journal has."""
    size, entries = fetch(connection, _SIZE, (run,))[0]
    return size, entries


def delete(connection: apsw.Connection, run: str, status: str, older_than: float) -> bool:
    """Deletes a run with all that only it uses, if it is still as old."""
    stored = _STORED.get(status, status)
    number = connection.execute(_STILL_OLD, (run, stored, older_than)).get
    if number is None:
        return False
    for statement in _DELETES:
        connection.execute(statement, (number,))
    return True


def give_back(connection: apsw.Connection) -> bool:
    """Returns up to a thousand free pages to the file system; tells whether there are more."""
    before = connection.pragma("freelist_count")
    fetch(connection, "PRAGMA incremental_vacuum(1000)")
    left = connection.pragma("freelist_count")
    return bool(0 < left < before)


def empty_log(connection: apsw.Connection) -> None:
    """Moves all that is in the log into the file, unless a reader is in the way."""
    with contextlib.suppress(apsw.BusyError):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
