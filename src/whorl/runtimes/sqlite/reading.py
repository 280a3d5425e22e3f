"""The reading side of a store: runs, entries, loops, snapshots and the other tables."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import apsw

from whorl.errors import UsageError
from whorl.interpreter.events import split_iteration
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import (
    Entry,
    IterationRow,
    LoopRow,
    Message,
    RunId,
    RunRow,
    iteration_of,
    number_of,
    text_of,
)
from whorl.runtimes.journal.projection import LoopFold
from whorl.runtimes.sqlite import checking, encoding
from whorl.runtimes.sqlite.change_watch import FileWatch
from whorl.runtimes.sqlite.checking import LOOP_TYPES, SIZES, Sizes, fits
from whorl.runtimes.sqlite.connection import (
    Reader,
    StoreFile,
    copy_all,
    copy_rows,
    fetch,
    fetch_readable,
)
from whorl.runtimes.sqlite.encoding import Unreadable, from_text, inflate
from whorl.runtimes.sqlite.faults import damaged
from whorl.runtimes.sqlite.listing import COLUMNS, ROW_DAMAGED, SHOWN_FIELDS, RunListing
from whorl.runtimes.sqlite.ownership import (
    ClockPair,
    StorePart,
    UpkeepReading,
    check_owner,
    has_living,
    this_process,
)
from whorl.runtimes.sqlite.rows import iterations_not_begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whorl.language import Json
    from whorl.runtimes.sqlite.connection import Column


# Reading the entries of a run, and the loops and iterations that they tell of.

_ENTRY: Final = "SELECT seq, kind, at, address, body, large, checksum FROM journal "
_AFTER: Final = _ENTRY + "WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?"
_ONE: Final = _ENTRY + "WHERE run = ? AND seq = ?"
# '/', '[' and '#' open what lies below an address; the next character ends each range.
_AT: Final = f"""{_ENTRY}
    WHERE run = ?1 AND seq > ?2 AND (?3 = '' OR address = ?3
    OR (address >= ?3 || '/' AND address < ?3 || '0')
    OR (address >= ?3 || '[' AND address < ?3 || '\\')
    OR (address >= ?3 || '#' AND address < ?3 || '$')) ORDER BY seq LIMIT ?4"""
_ADDRESSES: Final = """SELECT address FROM journal WHERE run = ?1 AND address >= ?2
    AND substr(address, 1, length(?2)) = ?2 GROUP BY address ORDER BY min(seq) LIMIT ?3"""
# The number of an iteration follows the bracket: rows of earlier ones are not even decoded.
_ITERATIONS: Final = f"""{_ENTRY}
    INDEXED BY iterations_by_run WHERE run = ?1 AND kind = 34 AND seq > ?2 AND (address = ?3
    OR (address >= ?3 || '[' AND address < ?3 || '\\'
        AND CAST(substr(address, length(?3) + 2) AS INTEGER) > ?4)) ORDER BY seq LIMIT ?5"""
_BACKWARDS: Final = f"""{_ENTRY}
    INDEXED BY iterations_by_run WHERE run = ?1 AND kind = 34 AND seq < ?2 AND (address = ?3
    OR (address >= ?3 || '[' AND address < ?3 || '\\')) ORDER BY seq DESC LIMIT ?4"""
# A further attempt at an iteration has a number behind its address: `polish[3]#2`.
_ITERATION_ENDS: Final = """SELECT rtrim(rtrim(address, '0123456789'), '#') AS iteration, min(seq)
    FROM journal INDEXED BY iterations_by_run WHERE run = ? AND kind = 34 AND iteration IN"""
_BEGUN: Final = f"""{_ENTRY}
    WHERE run = ?1 AND seq > ?2 AND kind = 33 AND address >= ?3 || '[' AND address < ?3 || '\\'
    AND instr(substr(address, length(?3) + 1), '/') = 0 ORDER BY seq DESC LIMIT 1"""
_LOOPS: Final = """SELECT address, iterations_max, started, finished, not_begun
    FROM loops JOIN progress ON progress.run = loops.run WHERE loops.run = ? ORDER BY started"""
_LOOP_START: Final = "SELECT started FROM loops WHERE run = ? AND address = ?"
_PAGE: Final = 256
_BEST_SOUGHT: Final = 100
SEQ_MAX: Final = 2**62
_CHANGED: Final = "it has changed since it was written: its checksum differs"


class EntryReading(StorePart):
    def read(
        self,
        run: str,
        after: int = 0,
        limit: int | None = None,
        *,
        kinds: frozenset[str] = frozenset(),
    ) -> Iterator[Entry]:
        size = min(limit or _PAGE, _PAGE)
        if kinds:
            yield from islice(self._entries(run, _of_kinds(kinds), after, size=size), limit)
            return
        for entry in islice(self._entries(run, _AFTER, after, size=size), limit):
            if entry.seq != after + 1:
                raise damaged(run, after + 1, "the entry is missing")
            after = entry.seq
            yield entry

    def read_back(self, run: str, kinds: frozenset[str]) -> Iterator[Entry]:
        """Yields the entries of some kinds, the newest first."""
        return self._entries(run, _of_kinds(kinds, "< ?", "DESC"), SEQ_MAX)

    def entries_at(self, run: str, address: str, after: int = 0) -> Iterator[Entry]:
        return self._entries(run, _AT, after, address)

    def addresses(self, run: str, first: str, limit: int = 1000) -> list[str]:
        """Returns the addresses of entries below or beside an address, in journal order."""
        rows = self._reader.rows(_ADDRESSES, (self._number(run), first, limit))
        return [row[0] for row in rows]

    def loops(self, run: str) -> list[LoopRow]:
        number = self._number(run)
        rows = self._reader.rows(_LOOPS, (number,))
        if not all(fits(row, LOOP_TYPES) for row in rows):
            raise damaged(run, None, ROW_DAMAGED)
        return [self._loop(run, number, row) for row in rows]

    def iterations(
        self, run: str, loop: str, after: int = 0, limit: int = 1000
    ) -> list[IterationRow]:
        """Returns a loop's finished iterations with numbers above `after`, in order."""
        first = (self.loop_start(run, loop) or 1) - 1
        notes: dict[str, list[Entry]] = {}
        for entry in self._entries(run, _ITERATIONS, first, loop, after):
            address, number = iteration_of(entry.event)
            if address == loop and number > after:
                notes.setdefault(entry.event.address, []).append(entry)
            if len(notes) > limit:
                break
        return [_iteration(loop, ends[-1]) for ends in islice(notes.values(), limit)]

    def newest_iterations(self, run: str, loop: str, limit: int = 100) -> list[IterationRow]:
        return [_iteration(loop, ends[-1]) for ends in self._newest(run, loop, limit)]

    def _newest(self, run: str, loop: str, limit: int) -> list[list[Entry]]:
        notes: dict[str, list[Entry]] = {}
        for entry in self._entries(run, _BACKWARDS, SEQ_MAX, loop, size=min(limit + 1, _PAGE)):
            address = entry.event.address
            if split_iteration(address)[0] != loop:
                continue
            if len(notes) == limit and address not in notes:
                break
            notes.setdefault(address, []).insert(0, entry)
        return list(notes.values())[::-1]

    def loop_start(self, run: str, loop: str) -> int | None:
        rows = self._reader.rows(_LOOP_START, (self._number(run), loop))
        return rows[0][0] if rows else None

    def iteration_ends(self, run: str, iterations: Iterable[str]) -> dict[str, int]:
        # Where nothing is asked for, SQLite cannot use the index that the statement names.
        if not (wanted := list(iterations)):
            return {}
        statement = f"{_ITERATION_ENDS} ({', '.join('?' * len(wanted))}) GROUP BY iteration"
        return dict(self._reader.rows(statement, (self._number(run), *wanted)))

    def _entries(
        self, run: str, statement: str, seq: int, *values: int | str, size: int = _PAGE
    ) -> Iterator[Entry]:
        """Yields the entries of a statement after `seq`, page by page."""
        number = self._number(run)
        while True:
            page = self._page(statement, (number, seq, *values, size), run)
            yield from page
            if len(page) < size:
                return
            seq = page[-1].seq

    def _page(self, statement: str, values: tuple[int | str, ...], run: str) -> list[Entry]:
        with self._reader.lend() as connection:
            payload = partial(encoding.payload, connection)
            try:
                rows = fetch_readable(connection, statement, values, "seq")
            except apsw.CorruptError as error:
                self.watch.keep_damage(error, self.watch.fault_of(error))
                raise damaged(run, None, f"{self.path!r} is damaged: {error}") from error
            return [_entry(payload, run, *row) for row in rows]

    def _loop(self, run: str, number: int, row: tuple[Any, ...]) -> LoopRow:
        """Returns a loop, folded from its entries."""
        address, limit, started, finished, not_begun = row
        entries = self._page(_ONE, (number, started), run)
        if finished is not None:
            entries += self._page(_ONE, (number, finished), run)
        else:
            entries += [ends[-1] for ends in self._newest(run, address, _BEST_SOUGHT)]
            entries += self._page(_BEGUN, (number, entries[-1].seq if entries else 0, address), run)
        loop = LoopFold(address, started_seq=started)
        for entry in entries:
            loop.take(entry.event, entry.seq)
        loop.limit, loop.is_over = limit or loop.limit, finished is not None
        held = iterations_not_begun(not_begun) or ()
        loop.number -= sum(split_iteration(iteration)[0] == address for iteration in held)
        return loop.row()

    def _number(self, run: str) -> int:
        """Returns the row number of a run. Raises UsageError W902."""
        rows = self._reader.rows("SELECT number FROM runs WHERE id = ?", (run,))
        if not rows:
            raise self._unknown(run)
        return int(rows[0][0])

    def _unknown(self, text: str) -> UsageError:
        words = f"there is no run {text!r} in the store"
        return UsageError(words, help="`whorl ls` lists the runs", code="W902")


def _of_kinds(kinds: frozenset[str], bound: str = "> ?", order: str = "ASC") -> str:
    numbers = ", ".join(str(encoding.KIND_NUMBERS[kind]) for kind in sorted(kinds))
    chosen = f"WHERE run = ? AND seq {bound} AND kind IN ({numbers})"
    return f"{_ENTRY}{chosen} ORDER BY seq {order} LIMIT ?"


def _entry(payload: Callable[[int], Json], run: str, seq: int, *row: Any) -> Entry:
    if not row:
        raise damaged(run, seq, _CHANGED)
    kind, at, address, body, large, written = row
    try:
        if encoding.checksum((seq, kind, at), address, body, large) != written:
            raise damaged(run, seq, _CHANGED)
        return Entry(seq, encoding.decode(kind, at, address, body, large, fetch=payload))
    except Unreadable as error:
        raise damaged(run, seq, str(error), error.code) from error


def _iteration(loop: str, entry: Entry) -> IterationRow:
    event, note = entry.event, entry.event.body
    status, score = text_of(note.get("status")), number_of(note.get("score"))
    return IterationRow(loop, iteration_of(event)[1], status, score, entry.seq, event.at, note)


_RUN: Final = f"{COLUMNS} WHERE runs.id = ?"
# The journal is one log of all runs, so its own numbers tell what is new in it.
_TOUCHED: Final = """SELECT DISTINCT runs.id FROM journal JOIN runs ON runs.number = journal.run
    WHERE journal.id > ? AND journal.id <= ?"""
_SNAPSHOTS: Final = """SELECT seq, state FROM snapshots
    WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT 1"""
_MESSAGES: Final = """SELECT inbox.id, runs.id, kind, at, address, body
    FROM inbox JOIN runs ON runs.number = inbox.run JOIN progress ON progress.run = inbox.run
    LEFT JOIN processes ON processes.id = process"""
_MEMORIES: Final = """SELECT key, count(*), max(at), sum(octet_length(record)) FROM memories
    GROUP BY key ORDER BY key"""


@dataclass(frozen=True, slots=True)
class MemoryRow:
    key: str
    records: int
    updated_at: float
    bytes: int


class StoreReading(EntryReading, RunListing, UpkeepReading):
    """All queries of a store; they need no event loop, and other processes may write."""

    def __init__(
        self,
        place: StoreFile,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        *,
        is_mirror: bool = False,
    ) -> None:
        # No process here drives the runs of a mirror, so none can leave them.
        self.is_mirror = is_mirror
        self.clock = clock
        self.monotonic = monotonic
        self.path, self._place = place.path, place
        self.is_closed = False
        self.watch = FileWatch(place.path, is_real=place.vfs is None)
        self._reader = Reader(place, self.watch)
        self._process = this_process()

    def run(self, run: str) -> RunRow:
        rows = self._reader.rows(_RUN, (run,))
        if not rows:
            raise self._unknown(run)
        return self._shown(rows[0])

    def resolve(self, text: str) -> RunId:
        """Returns the run of an id, of the beginning of an id, or of `last` (see `last`)."""
        # '{' follows the last letter that an id may hold.
        matching = "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"
        ids = [row[0] for row in self._reader.rows(matching, (text, text + "{"))] if text else []
        if text == "last":
            ids = list(map(str, self.last()))
        if text in ids:
            return RunId(text)
        if not ids:
            raise self._unknown(text)
        if len(ids) > 1:
            words = f"{text!r} is the beginning of more than one run: {', '.join(ids)}"
            raise UsageError(words, help="write more of the id", code="W903")
        return RunId(ids[0])

    def touched(self, after: int) -> tuple[int, list[RunId]]:
        """Returns the journal's last place, and the runs with entries after a given place."""
        with self._reader.lend() as connection:
            last = int(connection.execute("SELECT max(id) FROM journal").get or 0)
            rows = fetch(connection, _TOUCHED, (after, last)) if last > after else []
        return last, [RunId(row[0]) for row in rows]

    def forks(self, run: str, limit: int = 100) -> list[RunId]:
        made = "SELECT id FROM runs WHERE parent = ? ORDER BY number LIMIT ?"
        return [RunId(row[0]) for row in self._reader.rows(made, (run, limit))]

    def is_owned(self, run: str) -> bool:
        rows, now = self._reader.rows(_RUN, (run,)), ClockPair(self.clock(), self.monotonic())
        return bool(rows) and has_living(rows[0][SHOWN_FIELDS + 1 :], self._process, now)

    def last_snapshot(
        self, run: str, after: int = 0, before: int | None = None
    ) -> tuple[int, Json] | None:
        """Returns the newest readable snapshot; if one is damaged, an older one will do."""
        number, before = self._number(run), SEQ_MAX if before is None else before
        while rows := self._reader.rows(_SNAPSHOTS, (number, after, before)):
            seq, state = rows[0]
            with suppress(Unreadable):
                return seq, from_text(inflate(state, zlib.MAX_WBITS))
            before = seq - 1
        return None

    def workflow(self, run: str) -> Json:
        return self._pinned(run, "workflow")

    def sources(self, run: str) -> dict[str, str]:
        texts = self._pinned(run, "sources")
        if not isinstance(texts, dict):
            raise damaged(run, None, "its source texts are damaged")
        return {name: text for name, text in texts.items() if isinstance(text, str)}

    def _pinned(self, run: str, column: str) -> Json:
        number = self._number(run)
        with self._reader.lend() as connection:
            pinned = f"SELECT {column} FROM runs WHERE number = ?"
            try:
                return encoding.payload(connection, connection.execute(pinned, (number,)).get)
            except Unreadable as error:
                raise damaged(run, None, str(error)) from error

    def file(self, run: RunId) -> str:
        return self.run(run).file

    def take(self, run: RunId, owner: int) -> list[Message]:
        """Returns the requests to a run, oldest first; each stays until an append names it."""
        with self._reader.lend() as connection:
            check_owner(connection, run, owner)
        return self.inbox(run)

    def inbox(self, run: RunId) -> list[Message]:
        """Returns the same, for a process that does not own the run."""
        return self._messages("runs.id = ?", run)

    def mail(self) -> list[Message]:
        """Returns the requests to all runs that this process owns, oldest first."""
        owned = "pid = ? AND started = ? AND boot = ? AND namespace = ?"
        process = self._process
        key = (process.pid, process.started, process.boot, process.namespace)
        return self._messages(owned, *key)

    def _messages(self, chosen: str, *values: str | int) -> list[Message]:
        messages = []
        statement = f"{_MESSAGES} WHERE {chosen} ORDER BY inbox.id"
        for number, run, *row in self._reader.rows(statement, values):
            try:
                messages.append(Message(number, RunId(run), encoding.decode(*row)))
            except Unreadable as error:
                raise damaged(run, None, f"request {number}: {error}", error.code) from error
        return messages

    def memory(self, key: str) -> list[Json]:
        records = "SELECT record FROM memories WHERE key = ? ORDER BY number"
        return encoding.remembered(key, (row[0] for row in self._reader.rows(records, (key,))))

    def memories(self) -> list[MemoryRow]:
        return [MemoryRow(*row) for row in self._reader.rows(_MEMORIES)]

    def rows(self, statement: str, values: Sequence[Column] = ()) -> list[tuple[Any, ...]]:
        """Returns the rows of a constant query of other tables (see `runtimes/service`)."""
        return self._reader.rows(statement, values)

    def version(self) -> int:
        return self._reader.version()

    def sizes(self) -> Sizes:
        return Sizes(os.path.getsize(self.path), *self._reader.rows(SIZES)[0])

    def used_bytes(self) -> int:
        """Returns the size of the file without its free pages, as far as SQLite knows it."""
        with self._reader.lend() as connection:
            pages = connection.pragma("page_count") - connection.pragma("freelist_count")
            return int(pages * connection.pragma("page_size"))

    def check(self) -> list[str]:
        """Returns each damage with its run and entry."""
        with self._reader.lend() as connection:
            return checking.faults(connection)

    def copy_to(self, path: str) -> None:
        with self._reader.lend() as connection:
            copy_all(connection, path)

    def copy_rows_to(self, path: str, tables: Sequence[str], *, is_own: bool) -> None:
        copy_rows(self._place, path, tables, is_own=is_own)

    def close(self) -> None:
        self.is_closed = True
        self._reader.close()
