"""What loops remember from run to run: the newest records of each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import apsw

    from whorl.runtimes.journal import Record

RECORDS_MAX: Final = 10_000

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
