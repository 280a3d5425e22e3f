"""Reading what happened in a run: entries, loops, iterations, snapshots, the pinned texts."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

from whorl.interpreter.events import Event
from whorl.runtimes.journal import Entry, IterationRow, LoopRow
from whorl.runtimes.sqlite import payloads
from whorl.runtimes.sqlite.bodies import (
    Unreadable,
    as_object,
    from_text,
    inflate,
    kind_name,
    restore,
)
from whorl.runtimes.sqlite.connection import fetch
from whorl.runtimes.sqlite.faults import damaged
from whorl.runtimes.sqlite.projections import (
    count_of,
    iteration_of,
    mark_of,
    number_of,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from whorl.language import Json
    from whorl.runtimes.sqlite.reading.pool import Reader
    from whorl.runtimes.sqlite.reading.runs import Runs

_ENTRY: Final = "SELECT seq, kind, at, address, body, large FROM journal "
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
_ITERATIONS_BACKWARDS: Final = (
    _ENTRY
    + """INDEXED BY iterations_by_run WHERE run = ?1 AND kind = 34 AND seq < ?2 AND (address = ?3
    OR (address >= ?3 || '[' AND address < ?3 || '\\')) ORDER BY seq DESC LIMIT ?4"""
)
_LOOPS: Final = """
SELECT address, state, started, finished, iterations_max FROM loops WHERE run = ? ORDER BY started
"""
_PAGE: Final = 256
_BEST_SOUGHT: Final = 100
_SEQ_MAX: Final = 2**62


class Entries:
    """The journal as it can be read while others write."""

    def __init__(self, reader: Reader, runs: Runs) -> None:
        self._reader = reader
        self._runs = runs

    def read(self, run: str, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries after a sequence number, in order; a gap is an error."""
        number = self._runs.number(run)
        left = _SEQ_MAX if limit is None else limit
        while left > 0:
            page = self._page(_AFTER, (number, after, min(left, _PAGE)), run)
            for entry in page:
                if entry.seq != after + 1:
                    raise damaged(run, after + 1, "the entry is missing")
                after = entry.seq
                yield entry
            left -= len(page)
            if len(page) < _PAGE:
                return

    def at(self, run: str, address: str, after: int = 0) -> Iterator[Entry]:
        """The entries at an address and below it, in order."""
        number = self._runs.number(run)
        while True:
            page = self._page(_AT, (number, after, address, _PAGE), run)
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    def loops(self, run: str) -> list[LoopRow]:
        """The loops of a run, in the order in which they started."""
        number = self._runs.number(run)
        with self._reader.lend() as connection:
            rows = fetch(connection, _LOOPS, (number,))
        return [self._loop(run, number, row) for row in rows]

    def iterations(
        self, run: str, loop: str, *, after: int = 0, limit: int = 1000
    ) -> list[IterationRow]:
        """The finished iterations of a loop whose number is above `after`, in order."""
        number = self._runs.number(run)
        found: list[IterationRow] = []
        seq = self._started(number, loop) - 1
        while len(found) < limit:
            page = self._page(_ITERATIONS, (number, seq, loop, after, _PAGE), run)
            found += [row for row in _iterations_of(loop, page) if row.number > after]
            if len(page) < _PAGE:
                break
            seq = page[-1].seq
        return found[:limit]

    def newest_iterations(self, run: str, loop: str, limit: int) -> list[IterationRow]:
        """The last finished iterations of a loop, in order."""
        number, seq = self._runs.number(run), _SEQ_MAX
        found: list[IterationRow] = []
        while len(found) < limit:
            page = self._page(_ITERATIONS_BACKWARDS, (number, seq, loop, min(limit, _PAGE)), run)
            found += _iterations_of(loop, page)
            if len(page) < min(limit, _PAGE):
                break
            seq = page[-1].seq
        return found[:limit][::-1]

    def last_snapshot(self, run: str) -> tuple[int, Json] | None:
        """The newest snapshot that can be read; an older one, or the journal alone, is as good."""
        number = self._runs.number(run)
        newest = "SELECT seq, state FROM snapshots WHERE run = ? ORDER BY seq DESC"
        with self._reader.lend() as connection:
            rows = fetch(connection, newest, (number,))
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
        self._runs.number(run)
        with self._reader.lend() as connection:
            payload = connection.execute(statement, (run,)).get
            try:
                return payloads.get(connection, payload)
            except Unreadable as error:
                raise damaged(run, None, str(error)) from error

    def _page(self, statement: str, values: tuple[int | str, ...], run: str) -> list[Entry]:
        with self._reader.lend() as connection:
            rows = fetch(connection, statement, values)
            return [_entry(connection, run, *row) for row in rows]

    def _started(self, number: int, loop: str) -> int:
        known = "SELECT started FROM loops WHERE run = ? AND address = ?"
        with self._reader.lend() as connection:
            return int(connection.execute(known, (number, loop)).get or 1)

    def _loop(self, run: str, number: int, row: tuple[Any, ...]) -> LoopRow:
        address, _, started, finished, _ = row
        first = self._page(_ONE, (number, started), run)
        last = self._page(_ONE, (number, finished), run) if finished is not None else []
        beginning = first[0].event.body if first else {}
        ending = last[0].event.body if last else self._so_far(run, number, address)
        return _loop_row(row, beginning, ending)

    def _so_far(self, run: str, number: int, loop: str) -> dict[str, Json]:
        """What a loop that still runs would say about itself."""
        shown = "SELECT iteration FROM progress WHERE run = ? AND loop = ?"
        with self._reader.lend() as connection:
            begun = int(connection.execute(shown, (number, loop)).get or 0)
        newest = self.newest_iterations(run, loop, _BEST_SOUGHT)
        if not newest:
            return {"iterations": begun}
        best = [row.number for row in newest if row.note.get("best") is True]
        return {
            "iterations": max(begun, newest[-1].number),
            "score": newest[-1].score,
            "best_iteration": best[-1] if best else None,
        }


def _entry(connection: apsw.Connection, run: str, seq: int, *row: Any) -> Entry:
    kind, at, address, body, large = row
    try:
        name = kind_name(kind)
        value = from_text(inflate(body))
        if large is not None:
            value = restore(value, large, lambda number: payloads.get(connection, number))
        return Entry(seq, Event(name, address, at, as_object(value)))
    except Unreadable as error:
        raise damaged(run, seq, str(error)) from error


def _iterations_of(loop: str, entries: list[Entry]) -> Iterator[IterationRow]:
    # One that went on after it was cut short has been told of before: its last note has all.
    for entry in {entry.event.address: entry for entry in entries}.values():
        note = entry.event.body
        found, number = iteration_of(entry.event.address, note)
        if found == loop:
            yield IterationRow(
                loop=loop,
                number=number,
                status=text_of(note.get("status")),
                score=number_of(note.get("score")),
                seq=entry.seq,
                at=entry.event.at,
                note=note,
            )


def _loop_row(row: tuple[Any, ...], first: dict[str, Json], last: dict[str, Json]) -> LoopRow:
    address, state, started, finished, limit = row
    failures = last.get("failed_iterations")
    limits = first.get("limits")
    if isinstance(limits, dict) and limit:
        limits = limits | {"iterations": limit}
    return LoopRow(
        address=address,
        path=text_of(last.get("path")) or text_of(first.get("path")) or address,
        state="finished" if state == "finished" else "running",
        iterations=count_of(last.get("iterations")),
        exit_reason=text_of(last.get("exit_reason")),
        stopped_by=text_of(last.get("stopped_by")),
        score=number_of(last.get("score")),
        best_iteration=count_of(last.get("best_iteration")) or None,
        returned_iteration=count_of(last.get("returned_iteration")) or None,
        failed_iterations=tuple(map(count_of, failures)) if isinstance(failures, list) else (),
        usage=last.get("usage"),
        limits=limits,
        until=first.get("until"),
        started_seq=started,
        finished_seq=finished,
        mark=mark_of(last.get("mark")),
    )
