"""The reading side of a store: entries, loops, iterations, snapshots, and what lies beside them."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from whorl.errors import StoreError
from whorl.interpreter.events import Event, split_iteration
from whorl.runtimes.journal import Entry, IterationRow
from whorl.runtimes.projection import LoopFold, iteration_of, number_of, text_of
from whorl.runtimes.sqlite.connection import damaged, fetch
from whorl.runtimes.sqlite.encoding import (
    Unreadable,
    as_object,
    checksum,
    from_text,
    inflate,
    kind_name,
    payload,
    restore,
)
from whorl.runtimes.sqlite.read_runs import RunReading
from whorl.runtimes.sqlite.run_record import iterations_not_begun
from whorl.runtimes.sqlite.shared_tables import messages_of, messages_of_process, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from whorl.language import Json
    from whorl.runtimes.journal import LoopRow, Message, RunId

_ENTRY: Final = "SELECT seq, kind, at, address, body, large, checksum FROM journal "
_AFTER: Final = _ENTRY + "WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?"
_ONE: Final = _ENTRY + "WHERE run = ? AND seq = ?"
# '/', '[' and '#' open what lies below an address; the next character ends each range.
_AT: Final = (
    _ENTRY
    + """WHERE run = ?1 AND seq > ?2 AND (?3 = '' OR address = ?3
    OR (address >= ?3 || '/' AND address < ?3 || '0')
    OR (address >= ?3 || '[' AND address < ?3 || '\\')
    OR (address >= ?3 || '#' AND address < ?3 || '$')) ORDER BY seq LIMIT ?4"""
)
# The number of an iteration follows the bracket: rows of earlier ones are not even decoded.
_ITERATIONS: Final = (
    _ENTRY
    + """INDEXED BY iterations_by_run WHERE run = ?1 AND kind = 34 AND seq > ?2 AND (address = ?3
    OR (address >= ?3 || '[' AND address < ?3 || '\\'
        AND CAST(substr(address, length(?3) + 2) AS INTEGER) > ?4)) ORDER BY seq LIMIT ?5"""
)
_BACKWARDS: Final = (
    _ENTRY
    + """INDEXED BY iterations_by_run WHERE run = ?1 AND kind = 34 AND seq < ?2 AND (address = ?3
    OR (address >= ?3 || '[' AND address < ?3 || '\\')) ORDER BY seq DESC LIMIT ?4"""
)
_BEGUN: Final = (
    _ENTRY
    + """WHERE run = ?1 AND seq > ?2 AND kind = 33 AND address >= ?3 || '[' AND address < ?3 || '\\'
    AND instr(substr(address, length(?3) + 1), '/') = 0 ORDER BY seq DESC LIMIT 1"""
)
_LOOPS: Final = """
SELECT address, iterations_max, started, finished, not_begun
FROM loops JOIN progress ON progress.run = loops.run WHERE loops.run = ? ORDER BY started
"""
_PAGE: Final = 256
_BEST_SOUGHT: Final = 100
_SEQ_MAX: Final = 2**62
_SIZES: Final = """
SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM journal), (SELECT count(*) FROM payloads),
    (SELECT coalesce(sum(size), 0) FROM payloads),
    (SELECT coalesce(sum(octet_length(content)), 0) FROM payloads)
"""
_MEMORIES: Final = """
SELECT key, count(*), max(at), sum(octet_length(record)) FROM memories GROUP BY key ORDER BY key
"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much a store holds; payloads are counted as they are and as they are stored."""

    file_bytes: int
    log_bytes: int
    free_bytes: int
    runs: int
    entries: int
    payloads: int
    payload_bytes: int
    payload_bytes_stored: int


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """What is remembered under one key."""

    key: str
    records: int
    updated_at: float
    bytes: int


class JournalReading(RunReading):
    """Everything that can be asked of a store while others write."""

    def read(self, run: str, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries of a run after a sequence number, in order. Raises StoreError R903."""
        size = min(limit or _PAGE, _PAGE)
        for entry in islice(self._entries(run, _AFTER, after, size=size), limit):
            if entry.seq != after + 1:
                raise damaged(run, after + 1, "the entry is missing")
            after = entry.seq
            yield entry

    def entries_at(self, run: str, address: str, after: int = 0) -> Iterator[Entry]:
        """The entries at an address and below it, in order."""
        return self._entries(run, _AT, after, address)

    def loops(self, run: str) -> list[LoopRow]:
        """The loops of a run, in the order in which they started."""
        number = self._number(run)
        rows = self._reader.rows(_LOOPS, (number,))
        return [self._loop(run, number, row) for row in rows]

    def iterations(
        self, run: str, loop: str, after: int = 0, limit: int = 1000
    ) -> list[IterationRow]:
        """The finished iterations of a loop whose number is above `after`, in order."""
        first = self._first_seq(self._number(run), loop) - 1
        notes: dict[str, Entry] = {}
        for entry in self._entries(run, _ITERATIONS, first, loop, after):
            address, number = iteration_of(entry.event)
            if address == loop and number > after:
                # One that went on after it was cut short has been told of before: its last note
                # has all.
                notes[entry.event.address] = entry
            if len(notes) > limit:
                break
        return [_iteration(loop, entry) for entry in islice(notes.values(), limit)]

    def newest_iterations(self, run: str, loop: str, limit: int = 100) -> list[IterationRow]:
        """The last finished iterations of a loop, in order."""
        return [_iteration(loop, entry) for entry in self._newest(run, loop, limit)]

    def _newest(self, run: str, loop: str, limit: int) -> list[Entry]:
        """The last notes of finished iterations of a loop, in order."""
        notes: dict[str, Entry] = {}
        for entry in self._entries(run, _BACKWARDS, _SEQ_MAX, loop, size=min(limit, _PAGE)):
            if split_iteration(entry.event.address)[0] == loop:
                notes.setdefault(entry.event.address, entry)
            if len(notes) == limit:
                break
        return list(notes.values())[::-1]

    def last_snapshot(self, run: str) -> tuple[int, Json] | None:
        """The newest snapshot that can be read; an older one, or the journal alone, is as good."""
        number = self._number(run)
        newest = "SELECT seq, state FROM snapshots WHERE run = ? ORDER BY seq DESC"
        rows = self._reader.rows(newest, (number,))
        for seq, state in rows:
            try:
                return seq, from_text(inflate(state, zlib.MAX_WBITS))
            except Unreadable:
                continue
        return None

    def workflow(self, run: str) -> Json:
        """The workflow that the run pins."""
        return self._pinned(run, "SELECT workflow FROM runs WHERE id = ?")

    def sources(self, run: str) -> dict[str, str]:
        """The source texts that the run pins, by file."""
        texts = self._pinned(run, "SELECT sources FROM runs WHERE id = ?")
        if not isinstance(texts, dict):
            raise damaged(run, None, "its source texts are damaged")
        return {name: text for name, text in texts.items() if isinstance(text, str)}

    def _pinned(self, run: str, statement: str) -> Json:
        self._number(run)
        with self._reader.lend() as connection:
            pinned = connection.execute(statement, (run,)).get
            try:
                return payload(connection, pinned)
            except Unreadable as error:
                raise damaged(run, None, str(error)) from error

    def _entries(
        self, run: str, statement: str, seq: int, *values: int | str, size: int = _PAGE
    ) -> Iterator[Entry]:
        """The entries that a statement gives beyond `seq`, page by page."""
        number = self._number(run)
        while True:
            page = self._page(statement, (number, seq, *values, size), run)
            yield from page
            if len(page) < size:
                return
            seq = page[-1].seq

    def _page(self, statement: str, values: tuple[int | str, ...], run: str) -> list[Entry]:
        with self._reader.lend() as connection:
            rows = fetch(connection, statement, values)
            return [_entry(connection, run, *row) for row in rows]

    def _first_seq(self, number: int, loop: str) -> int:
        started = "SELECT started FROM loops WHERE run = ? AND address = ?"
        rows = self._reader.rows(started, (number, loop))
        return int(rows[0][0]) if rows else 1

    def _loop(self, run: str, number: int, row: tuple[Any, ...]) -> LoopRow:
        """A loop, folded from the entries that say all about it."""
        address, limit, started, finished, not_begun = row
        entries = self._page(_ONE, (number, started), run)
        if finished is not None:
            entries += self._page(_ONE, (number, finished), run)
        else:
            entries += self._newest(run, address, _BEST_SOUGHT)
            entries += self._page(_BEGUN, (number, entries[-1].seq if entries else 0, address), run)
        loop = LoopFold(address, started_seq=started)
        for entry in entries:
            loop.take(entry.event, entry.seq)
        loop.limit, loop.is_over = limit or loop.limit, finished is not None
        held = iterations_not_begun(not_begun) or ()
        loop.number -= sum(split_iteration(one)[0] == address for one in held)
        return loop.row()

    def file(self, run: RunId) -> str:
        """The file that the run was started from."""
        return self.run(run).file

    def take(self, run: RunId, owner: int) -> list[Message]:
        """The requests to a run, oldest first; each stays until an append names it."""
        with self._reader.lend() as connection:
            return messages_of(connection, run, owner)

    def mail(self) -> list[Message]:
        """The requests to all runs that this process owns, oldest first."""
        with self._reader.lend() as connection:
            return messages_of_process(connection, self._here)

    def memory(self, key: str) -> list[Json]:
        """What loops remember under a key, oldest first."""
        records = "SELECT record FROM memories WHERE key = ? ORDER BY number"
        try:
            return [from_text(row[0]) for row in self._reader.rows(records, (key,))]
        except Unreadable as error:
            raise StoreError(
                f"what is remembered under {key!r} cannot be read: {error}",
                code="R903",
                help=f"delete it with `whorl memory rm {key}`",
            ) from error

    def memories(self) -> list[MemoryRow]:
        """All keys under which something is remembered."""
        return [MemoryRow(*row) for row in self._reader.rows(_MEMORIES)]

    def version(self) -> int:
        """A number that differs from the last one when anybody has committed something since."""
        return self._reader.version()

    def sizes(self) -> Sizes:
        """How much the store holds."""
        with self._reader.lend() as connection:
            counts = fetch(connection, _SIZES)[0]
            free = connection.pragma("freelist_count") * connection.pragma("page_size")
        log = self.path + "-wal"
        log_bytes = os.path.getsize(log) if os.path.exists(log) else 0
        return Sizes(os.path.getsize(self.path), log_bytes, free, *counts)

    def check(self) -> list[str]:
        """What is wrong with the file, by SQLite's own examination; empty when nothing is."""
        faults = [row[0] for row in self._reader.rows("PRAGMA integrity_check(20)")]
        return [] if faults == ["ok"] else faults

    def close(self) -> None:
        """Closes the reading connections."""
        self.is_closed = True
        self._reader.close()

    def _ended_before(self, limit: float, statuses: Sequence[str]) -> list[tuple[RunId, str]]:
        rows = [row for status in statuses for row in self.runs(status=status, limit=2**31)]
        return [(row.id, row.status) for row in rows if row.updated_at < limit]

    def _size_of(self, run: RunId) -> tuple[int, int]:
        with self._reader.lend() as connection:
            return size_of(connection, run)


def _entry(connection: apsw.Connection, run: str, seq: int, *row: Any) -> Entry:
    kind, at, address, body, large, written = row
    try:
        if checksum(seq, kind, at, address, body, large) != written:
            raise damaged(run, seq, "it is not what was written: its checksum differs", "R906")
        name = kind_name(kind)
        value = from_text(inflate(body))
        if large is not None:
            value = restore(value, large, lambda number: payload(connection, number))
        return Entry(seq, Event(name, address, at, as_object(value)))
    except Unreadable as error:
        raise damaged(run, seq, str(error)) from error


def _iteration(loop: str, entry: Entry) -> IterationRow:
    note = entry.event.body
    return IterationRow(
        loop=loop,
        number=iteration_of(entry.event)[1],
        status=text_of(note.get("status")),
        score=number_of(note.get("score")),
        seq=entry.seq,
        at=entry.event.at,
        note=note,
    )
