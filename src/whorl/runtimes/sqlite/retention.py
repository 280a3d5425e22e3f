"""Deleting old runs, on request only, and giving the space back."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import apsw

from whorl.runtimes.sqlite.connection import fetch

if TYPE_CHECKING:
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite.writing.ledger import Ledger

FINISHED: Final = ("succeeded", "failed", "cancelled")

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
    "DELETE FROM letters WHERE run = ?1",
    "DELETE FROM progress WHERE run = ?1",
    "DELETE FROM runs WHERE number = ?1",
)
_STILL_OLD: Final = """
SELECT number FROM runs JOIN progress ON run = number
WHERE id = ? AND status = ? AND updated_at < ?
"""
# A run is interrupted when the process that drove it is gone; its row does not know.
_STORED: Final = {"interrupted": "running"}


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


def delete(ledger: Ledger, run: str, status: str, older_than: float) -> bool:
    """Deletes a run with all that only it uses, if it is still as old and nobody drives it."""
    connection = ledger.connection
    stored = _STORED.get(status, status)
    number = connection.execute(_STILL_OLD, (run, stored, older_than)).get
    if number is None or ledger.ownership.is_driven(run):
        return False
    for statement in _DELETES:
        connection.execute(statement, (number,))
    ledger.drop(run)
    return True


def give_back(ledger: Ledger) -> bool:
    """Returns up to a thousand free pages to the file system; tells whether there are more."""
    connection = ledger.connection
    before = connection.pragma("freelist_count")
    fetch(connection, "PRAGMA incremental_vacuum(1000)")
    left = connection.pragma("freelist_count")
    return bool(0 < left < before)


def empty_log(ledger: Ledger) -> None:
    """Moves all that is in the log into the file, unless a reader is in the way."""
    with contextlib.suppress(apsw.BusyError):
        ledger.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
