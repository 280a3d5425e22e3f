"""What runs remember for later ones: records under a key, in the order in which they came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import Record
from whorl.runtimes.sqlite.encoding import remembered, to_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from whorl.language import Json
    from whorl.language.libraries import Amendment

RECORDS_MAX: Final = 10_000
_REMEMBER: Final = """INSERT INTO memories(key, number, at, record)
    VALUES(?1, coalesce((SELECT max(number) FROM memories WHERE key = ?1), 0) + 1, ?2, ?3)"""
_TRIM_MEMORIES: Final = """DELETE FROM memories WHERE key = ?1
    AND number <= (SELECT max(number) FROM memories WHERE key = ?1) - ?2"""
_REMEMBERED: Final = """SELECT 1 FROM memories
    WHERE key = ?1 AND json_extract(record, '$.id') = ?2 LIMIT 1"""
_MEMORY: Final = "SELECT number, record FROM memories WHERE key = ? ORDER BY number"
_FORGET_RECORD: Final = "DELETE FROM memories WHERE key = ? AND number = ?"


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """The table as the writer sees it."""

    connection: apsw.Connection
    clock: Callable[[], float]

    def remember(self, record: Record, text: str, *, once: str | None = None) -> bool:
        """Adds a record, and lets the oldest go; False: one with the id `once` is there already."""
        stored = once is not None and self.connection.execute(_REMEMBERED, (record.key, once)).get
        if not stored:
            self.connection.execute(_REMEMBER, (record.key, self.clock(), text))
            keep = min(max(0, record.keep), RECORDS_MAX)
            self.connection.execute(_TRIM_MEMORIES, (record.key, keep))
        return not stored

    def amend(self, key: str, change: Callable[[list[Json]], Amendment], keep: int) -> Amendment:
        """Changes the records under a key as they are in this transaction."""
        rows = self.connection.execute(_MEMORY, (key,)).fetchall()
        records = remembered(key, (str(text) for _, text in rows))
        amendment = change(records)
        gone = set(amendment.drops)
        if amendment.record is not None:
            gone.add(str(amendment.record["id"]))
        for (number, _), record in zip(rows, records, strict=True):
            if isinstance(record, dict) and record.get("id") in gone:
                self.connection.execute(_FORGET_RECORD, (key, number))
        if amendment.record is not None:
            self.remember(Record(key, None, keep), to_text(amendment.record))
        return amendment

    def forget(self, key: str) -> int:
        self.connection.execute("DELETE FROM memories WHERE key = ?", (key,))
        return self.connection.changes()
