"""Writing to the journal, inside a transaction that the writer thread has begun.

Owner and last entry of a run are read in the transaction; what is kept in memory beside them is
derived from entries that only this owner can have written, and is dropped when they differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from whorl.errors import WhorlError
from whorl.runtimes.sqlite.connection import fenced, fetch, refused
from whorl.runtimes.sqlite.encoding import checksum, put_payload, to_text
from whorl.runtimes.sqlite.run_record import record_of
from whorl.runtimes.sqlite.schema import (
    CHANGING,
    INSERT_ENTRIES,
    ROW_COUNTS,
    SELECT_OWNERS,
    UPSERT_PROGRESS,
)
from whorl.runtimes.sqlite.shared_tables import delete, remember

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import apsw

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal import NewRun, Record, RunId
    from whorl.runtimes.sqlite.connection import Column
    from whorl.runtimes.sqlite.encoding import Encoded
    from whorl.runtimes.sqlite.ownership import Ownership
    from whorl.runtimes.sqlite.run_record import LoopChange, RunRecord

Outcome: TypeAlias = "tuple[Append, int | None, WhorlError | None]"

_KNOWN_RUNS_MAX: Final = 20_000
_SNAPSHOTS_KEPT: Final = 2
_ATTEMPT: Final = re.compile(r"#[0-9]+")
_LOAD: Final = f"""
SELECT number, owner, status, mark, {", ".join(CHANGING)}
FROM runs JOIN progress ON run = number WHERE id = ?
"""
_INSERT_RUN: Final = """
INSERT INTO runs(id, key, name, dialect, file, parent, created_at, workflow_hash, behaviour,
    workflow, sources, status) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, '')
"""
_INSERT_PROGRESS: Final = """
INSERT INTO progress VALUES(?, 0, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, '', '', '', 0, NULL, '', '', '')
"""
_LOOP_STARTED: Final = """
INSERT INTO loops(run, address, state, started, iterations_max) VALUES(?, ?, 'running', ?, ?)
ON CONFLICT(run, address) DO UPDATE SET state = 'running', finished = NULL, mark = '',
    iterations_max = excluded.iterations_max
"""
_LOOP_FINISHED: Final = """
INSERT INTO loops(run, address, state, started, finished, mark)
VALUES(?1, ?2, 'finished', ?3, ?3, ?4)
ON CONFLICT(run, address) DO UPDATE SET state = 'finished', finished = excluded.finished,
    mark = excluded.mark
"""
_LOOP_REOPENED: Final = """
UPDATE loops SET state = 'running', finished = NULL, mark = '',
    iterations_max = coalesce(?3, iterations_max) WHERE run = ?1 AND address = ?2
"""
# What an earlier attempt at a place came to no longer counts; '/', '[' and '#' open what is below.
_SUPERSEDED: Final = """
UPDATE loops SET mark = '' WHERE run = ?1 AND mark <> '' AND (address = ?2
    OR (address > ?2 || '/' AND address < ?2 || '0')
    OR (address > ?2 || '[' AND address < ?2 || '\\')
    OR (address > ?2 || '#' AND address < ?2 || '$'))
AND NOT (address = ?3 OR (address > ?3 || '/' AND address < ?3 || '0')
    OR (address > ?3 || '[' AND address < ?3 || '\\'))
"""
_MARK_OF: Final = "SELECT mark FROM loops WHERE run = ? AND address = ?"
# Of the marks of its loops a run has the first in the alphabet: a budget before a limit.
_MARKS_LEFT: Final = "SELECT min(mark) FROM loops WHERE run = ? AND mark <> ''"
_ADVANCE: Final = f"""
UPDATE progress SET {" = ?, ".join(CHANGING)} = ? WHERE run = ? AND owner = ? AND last_seq = ?
"""
_TRIM_SNAPSHOTS: Final = """
DELETE FROM snapshots WHERE run = ?1 AND seq NOT IN
    (SELECT seq FROM snapshots WHERE run = ?1 ORDER BY seq DESC LIMIT ?2)
"""


@dataclass(slots=True, eq=False)
class Append:
    """Entries for one run, with what has to happen in the same transaction."""

    run: RunId
    owner: int
    events: Sequence[Event]
    rows: Sequence[Encoded]
    after: int | None = None
    messages: Sequence[int] = ()
    memories: Sequence[tuple[Record, str]] = ()
    answer: asyncio.Future[object] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    alone: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """About how many bytes it adds to the file."""
        bodies = sum(len(row.body) + sum(len(text) for _, text in row.large) for row in self.rows)
        return bodies + 64 * len(self.rows)


class JournalTables:
    """The tables as the writer thread sees them."""

    def __init__(
        self, connection: apsw.Connection, ownership: Ownership, clock: Callable[[], float]
    ) -> None:
        self.connection = connection
        self.ownership = ownership
        self.clock = clock
        self._known: dict[str, RunRecord] = {}

    def append_all(self, jobs: Sequence[Append]) -> list[Outcome]:
        """Appends what may be appended; each job that may not gets its own refusal."""
        if len(jobs) == 1 and (last := self._append_one(jobs[0])) is not None:
            return [(jobs[0], last, None)]
        states = self._verified(jobs)
        touched: dict[int, RunRecord] = {}
        flat: list[Column] = []
        outcomes: list[Outcome] = []
        for job in jobs:
            state = states.get(job.run)
            try:
                state = self._admitted(job, state)
            except WhorlError as error:
                outcomes.append((job, None, error))
                continue
            touched[state.number] = state
            before = state.last_seq
            for event in job.events:
                state.take(event)
            self._take(job, state, flat, before)
            outcomes.append((job, state.last_seq, None))
        self._write(touched.values(), flat)
        return outcomes

    def _append_one(self, job: Append) -> int | None:
        """Appends for a run whose row is as it is known; None: nothing was written.

        Changing the row only where it has this owner and last entry is the check of both.
        """
        state = self._known.get(job.run)
        if state is None or state.owner != job.owner or job.messages:
            return None
        before = state.last_seq
        if job.after is not None and job.after != before:
            return None
        for event in job.events:
            state.take(event)
        guard = (state.number, state.owner, before)
        self.connection.execute(_ADVANCE, (*state.values(), *guard))
        if self.connection.changes() != 1:
            del self._known[job.run]
            return None
        flat: list[Column] = []
        self._take(job, state, flat, before)
        self._write_entries(flat)
        if state.status != state.status_stored or state.loop_changes:
            self._write_changes(state)
        return state.last_seq

    def create(
        self, run: NewRun, past: Append, texts: tuple[str, str], state: bytes | None
    ) -> tuple[RunId, bool]:
        """Stores a run with its first entries and what they lead to, unless a run has its key."""
        known = self.connection.execute("SELECT id FROM runs WHERE key = ?", (run.key,)).get
        if run.key and known is not None:
            return known, False
        if self.connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).get is not None:
            raise refused(f"the store has a run {run.id!r} already", "give the run another id")
        row = (run.id, run.key or None, run.name, run.dialect, run.file, run.parent)
        self.connection.execute(_INSERT_RUN, (*row, self.clock(), run.workflow_hash, run.behaviour))
        number = self.connection.last_insert_rowid()
        workflow, sources = (put_payload(self.connection, number, text) for text in texts)
        self.connection.execute(
            "UPDATE runs SET workflow = ?, sources = ? WHERE number = ?",
            (workflow, sources, number),
        )
        self.connection.execute(_INSERT_PROGRESS, (number,))
        self.append_all([past])
        if state is not None:
            self.snapshot(run.id, past.owner, len(past.rows), state)
        return run.id, True

    def claim(self, run: str) -> int:
        """Makes this process the owner of a run."""
        self._known.pop(run, None)
        return self.ownership.claim(run)

    def release(self, run: str, owner: int) -> None:
        """Gives a run up."""
        self._known.pop(run, None)
        self.ownership.release(run, owner)

    def snapshot(self, run: str, owner: int, seq: int, state: bytes) -> None:
        """Keeps the newest snapshot and the one before it."""
        number = self.owned(run, owner, seq)
        self.connection.execute(
            "INSERT OR REPLACE INTO snapshots(run, seq, state) VALUES(?, ?, ?)",
            (number, seq, state),
        )
        self.connection.execute(_TRIM_SNAPSHOTS, (number, _SNAPSHOTS_KEPT))

    def owned(self, run: str, owner: int, seq: int) -> int:
        """The number of a run that this owner has, and that has an entry `seq`."""
        state = self._load(run)
        if state is None:
            raise refused(f"there is no run {run!r} in the store")
        if state.owner != owner:
            raise fenced(run, owner, state.owner)
        if seq > state.last_seq:
            raise refused(f"run {run!r} has no entry {seq} yet; its last one is {state.last_seq}")
        return state.number

    def settle(self, *, committed: bool) -> None:
        """Follows the database: after a rollback nothing that is kept in memory is believed."""
        self.ownership.settle(committed=committed)
        if not committed or len(self._known) > _KNOWN_RUNS_MAX:
            self._known.clear()

    def delete(self, run: str, status: str, older_than: float) -> bool:
        """Deletes a run, if it is still as old and nobody drives it."""
        if self.ownership.is_driven(run) or not delete(self.connection, run, status, older_than):
            return False
        self._known.pop(run, None)
        return True

    def _verified(self, jobs: Iterable[Append]) -> dict[RunId, RunRecord]:
        states: dict[RunId, RunRecord] = {}
        cached: dict[int, RunId] = {}
        for run in dict.fromkeys(job.run for job in jobs):
            state = self._known.get(run)
            if state is not None:
                cached[state.number] = run
                states[run] = state
            elif (state := self._load(run)) is not None:
                self._known[run] = states[run] = state
        for part, count in in_chunks(list(cached), 1):
            for number, owner, last_seq in self.connection.execute(SELECT_OWNERS[count], part):
                run = cached.pop(number)
                if (owner, last_seq) != (states[run].owner, states[run].last_seq):
                    self._reload(run, states)
        for run in cached.values():  # deleted meanwhile
            self._reload(run, states)
        return states

    def _reload(self, run: RunId, states: dict[RunId, RunRecord]) -> None:
        states.pop(run, None)
        self._known.pop(run, None)
        state = self._load(run)
        if state is not None:
            self._known[run] = states[run] = state

    def _load(self, run: str) -> RunRecord | None:
        rows = fetch(self.connection, _LOAD, (run,))
        return record_of(rows[0]) if rows else None

    def _admitted(self, job: Append, state: RunRecord | None) -> RunRecord:
        if state is None:
            raise refused(f"there is no run {job.run!r} in the store")
        if state.owner != job.owner:
            self.ownership.forget(job.run, job.owner)
            raise fenced(job.run, job.owner, state.owner)
        if job.after is not None and job.after != state.last_seq:
            raise refused(
                f"run {job.run!r} is at entry {state.last_seq}, not at {job.after}",
                "read the journal again from there",
            )
        if job.messages:
            self._empty_inbox(job.messages, state.number)
        return state

    def _empty_inbox(self, messages: Sequence[int], run: int) -> None:
        waiting = "SELECT 1 FROM inbox WHERE id = ? AND run = ?"
        for message in messages:
            if not fetch(self.connection, waiting, (message, run)):
                raise refused(f"request {message} was delivered before", "read the inbox again")
        for message in messages:
            self.connection.execute("DELETE FROM inbox WHERE id = ?", (message,))

    def _take(self, job: Append, state: RunRecord, flat: list[Column], seq: int) -> None:
        """Adds the rows of a job, which come after the entry `seq`."""
        number = state.number
        for row in job.rows:
            seq += 1
            large = self._keep_large(number, row) if row.large else None
            stored = (row.kind, row.at, row.address, row.body, large)
            flat += (number, seq, *stored, checksum(seq, *stored))
        for record, text in job.memories:
            remember(self.connection, record, text, self.clock())

    def _keep_large(self, run: int, row: Encoded) -> str:
        kept: list[Json] = [
            [list(path), put_payload(self.connection, run, text)] for path, text in row.large
        ]
        return to_text(kept)

    def _write_entries(self, flat: list[Column]) -> None:
        for part, count in in_chunks(flat, 8):
            self.connection.execute(INSERT_ENTRIES[count], part)

    def _write(self, states: Iterable[RunRecord], flat: list[Column]) -> None:
        self._write_entries(flat)
        progress: list[Column] = []
        for state in states:
            progress += (state.number, state.owner, *state.values())
            if state.status != state.status_stored or state.loop_changes:
                self._write_changes(state)
        for part, count in in_chunks(progress, len(CHANGING) + 2):
            self.connection.execute(UPSERT_PROGRESS[count], part)

    def _write_changes(self, state: RunRecord) -> None:
        if state.status != state.status_stored:
            state.status_stored = state.status
            self.connection.execute(
                "UPDATE runs SET status = ? WHERE number = ?", (state.status, state.number)
            )
        if state.loop_changes:
            self._write_loops(state)

    def _write_loops(self, state: RunRecord) -> None:
        """Writes what became of loops, and the mark that the run has by them."""
        before = state.mark
        for change in state.loop_changes:
            if self._write_loop(state, change):
                state.mark = self.connection.execute(_MARKS_LEFT, (state.number,)).get or ""
            elif change.mark:
                state.mark = min(change.mark, state.mark or change.mark)
        state.loop_changes.clear()
        if state.mark != before:
            marked = (state.mark, state.number)
            self.connection.execute("UPDATE progress SET mark = ? WHERE run = ?", marked)

    def _write_loop(self, state: RunRecord, change: LoopChange) -> bool:
        """Writes what became of a loop; true: a mark that was there is gone."""
        place = (state.number, change.address)
        known = self.connection.execute(_MARK_OF, place).get if state.mark else ""
        is_gone = bool(known) and known != change.mark
        if change.finished is not None:
            self.connection.execute(_LOOP_FINISHED, (*place, change.finished, change.mark))
        elif change.started is not None:
            began = (*place, change.started, change.limit or 0)
            self.connection.execute(_LOOP_STARTED, began)
            for earlier, attempt in attempts_around(change.address) if state.mark else ():
                self.connection.execute(_SUPERSEDED, (state.number, earlier, attempt))
                is_gone = is_gone or self.connection.changes() > 0
        else:
            self.connection.execute(_LOOP_REOPENED, (*place, change.limit))
        return is_gone


def in_chunks(flat: Sequence[Column], width: int) -> Iterator[tuple[Sequence[Column], int]]:
    """Cuts a flat list of values into parts of as many rows as a statement takes."""
    start, left = 0, len(flat) // width
    if left in ROW_COUNTS:
        yield flat, left
        return
    for count in ROW_COUNTS:
        while left >= count:
            yield flat[start : start + count * width], count
            start += count * width
            left -= count


def attempts_around(address: str) -> Iterator[tuple[str, str]]:
    """The places that an address lies in a further attempt at, each with that attempt."""
    for attempt in _ATTEMPT.finditer(address):
        yield address[: attempt.start()], address[: attempt.end()]
