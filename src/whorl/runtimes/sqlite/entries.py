"""Reading the entries of a run, and the loops and iterations that they tell of."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import apsw

from whorl.errors import StoreError, UsageError
from whorl.interpreter.events import split_iteration
from whorl.runtimes.journal.fields import iteration_of, number_of, text_of
from whorl.runtimes.journal.journal import Entry, IterationRow, LoopRow
from whorl.runtimes.journal.projection import LoopFold
from whorl.runtimes.journal.working_time import KINDS, WorkingTime
from whorl.runtimes.sqlite import encoding
from whorl.runtimes.sqlite.checking import LOOP_TYPES, fits
from whorl.runtimes.sqlite.connection import fetch
from whorl.runtimes.sqlite.encoding import Unreadable
from whorl.runtimes.sqlite.faults import damaged
from whorl.runtimes.sqlite.listing import ROW_DAMAGED
from whorl.runtimes.sqlite.tables.progress import iterations_not_begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whorl.language import Json
    from whorl.runtimes.sqlite.change_watch import FileWatch
    from whorl.runtimes.sqlite.connection import Reader

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
_CHANGED: Final = "it is not what was written: its checksum differs"


class EntryReading:
    """What can be asked of the entries of a run."""

    path: str
    watch: FileWatch
    _reader: Reader

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
        """The entries of some kinds, the newest first."""
        return self._entries(run, _of_kinds(kinds, "< ?", "DESC"), SEQ_MAX)

    def entries_at(self, run: str, address: str, after: int = 0) -> Iterator[Entry]:
        return self._entries(run, _AT, after, address)

    def addresses(self, run: str, first: str, limit: int = 1000) -> list[str]:
        """Where anything happened below an address or beside it, in the order of the journal."""
        rows = self._reader.rows(_ADDRESSES, (self._number(run), first, limit))
        return [row[0] for row in rows]

    def loops(self, run: str) -> list[LoopRow]:
        number = self._number(run)
        rows = self._reader.rows(_LOOPS, (number,))
        if not all(fits(row, LOOP_TYPES) for row in rows):
            raise damaged(run, None, ROW_DAMAGED, "R906")
        return [self._loop(run, number, row) for row in rows]

    def iterations(
        self, run: str, loop: str, after: int = 0, limit: int = 1000
    ) -> list[IterationRow]:
        """The finished iterations of a loop whose number is above `after`, in order."""
        first = (self.loop_start(run, loop) or 1) - 1
        notes: dict[str, list[Entry]] = {}
        for entry in self._entries(run, _ITERATIONS, first, loop, after):
            address, number = iteration_of(entry.event)
            if address == loop and number > after:
                notes.setdefault(entry.event.address, []).append(entry)
            if len(notes) > limit:
                break
        return self._rows(run, loop, list(islice(notes.values(), limit)))

    def newest_iterations(self, run: str, loop: str, limit: int = 100) -> list[IterationRow]:
        return self._rows(run, loop, self._newest(run, loop, limit))

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

    def _rows(self, run: str, loop: str, notes: list[list[Entry]]) -> list[IterationRow]:
        """Iterations by their notes; of one that went on after it had ended, the last has all."""
        again = [entry for ends in notes if len(ends) > 1 for entry in ends]
        worked: dict[int, dict[str, Json]] = {}
        if again:
            others = self.read(run, kinds=KINDS - {"iteration.finished"})
            working = WorkingTime()
            for entry in sorted([*others, *again], key=lambda entry: entry.seq):
                worked[entry.seq] = working.take(entry.event)
        return [_iteration(loop, ends[-1], worked.get(ends[-1].seq)) for ends in notes]

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
            payload = partial(encoding.payload, connection)
            try:
                rows = fetch(connection, statement, values)
            except UnicodeDecodeError as error:
                raise _not_text(connection, statement, values, run) from error
            except apsw.CorruptError as error:
                self.watch.keep_damage(error, self.watch.fault_of(error))
                raise damaged(run, None, f"{self.path!r} is damaged: {error}", "R906") from error
            return [_entry(payload, run, *row) for row in rows]

    def _loop(self, run: str, number: int, row: tuple[Any, ...]) -> LoopRow:
        """A loop, folded from the entries that say all about it."""
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
        """The number by which the tables know a run. Raises UsageError W902."""
        rows = self._reader.rows("SELECT number FROM runs WHERE id = ?", (run,))
        if not rows:
            raise self._unknown(run)
        return int(rows[0][0])

    def _unknown(self, text: str) -> UsageError:
        import difflib

        newest = "SELECT id FROM runs ORDER BY number DESC LIMIT 1000"
        ids = [row[0] for row in self._reader.rows(newest)]
        near = difflib.get_close_matches(text, ids, n=3, cutoff=0.4) or ids[:3]
        remedy = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        words = f"there is no run {text!r} in the store"
        return UsageError(words, help=f"{remedy}`whorl ls` lists the runs", code="W902")


def _of_kinds(kinds: frozenset[str], bound: str = "> ?", order: str = "ASC") -> str:
    numbers = ", ".join(str(encoding.KIND_NUMBERS[kind]) for kind in sorted(kinds))
    chosen = f"WHERE run = ? AND seq {bound} AND kind IN ({numbers})"
    return f"{_ENTRY}{chosen} ORDER BY seq {order} LIMIT ?"


def _not_text(
    connection: apsw.Connection, statement: str, values: tuple[int | str, ...], run: str
) -> StoreError:
    """Names the entry whose text cannot be read."""
    numbers = "SELECT seq FROM journal "
    for (seq,) in fetch(connection, statement.replace(_ENTRY, numbers), values):
        try:
            fetch(connection, _ONE, (values[0], seq))
        except UnicodeDecodeError:
            return damaged(run, seq, _CHANGED, "R906")
    return damaged(run, None, _CHANGED, "R906")


def _entry(payload: Callable[[int], Json], run: str, seq: int, *row: Any) -> Entry:
    kind, at, address, body, large, written = row
    try:
        if encoding.checksum((seq, kind, at), address, body, large) != written:
            raise damaged(run, seq, _CHANGED, "R906")
        return Entry(seq, encoding.decode(kind, at, address, body, large, fetch=payload))
    except Unreadable as error:
        raise damaged(run, seq, str(error)) from error


def _iteration(loop: str, entry: Entry, worked: dict[str, Json] | None) -> IterationRow:
    event, note = entry.event, worked or entry.event.body
    status, score = text_of(note.get("status")), number_of(note.get("score"))
    return IterationRow(loop, iteration_of(event)[1], status, score, entry.seq, event.at, note)
