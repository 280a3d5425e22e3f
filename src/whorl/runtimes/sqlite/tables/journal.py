"""Writing to the tables, inside a transaction that the writer has begun.

Owner and last entry of a run are read in the transaction; what is kept in memory beside them is
derived from entries that only this owner can have written, and is dropped when they differ.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

import apsw

from whorl.errors import WhorlError
from whorl.lazily import dataclass, regex
from whorl.runtimes.clock import throughout
from whorl.runtimes.journal.journal import KEEPING
from whorl.runtimes.sqlite.connection import Column, fenced, fetch, refused
from whorl.runtimes.sqlite.encoding import (
    CHANGING,
    checksum,
    put_payload,
    record_of,
    to_text,
    whole,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal.journal import NewRun, Record, RunId
    from whorl.runtimes.sqlite.encoding import Encoded, LoopChange, RunRecord
    from whorl.runtimes.sqlite.ownership import Ownership
    from whorl.runtimes.sqlite.tables.memory import MemoryTable


Outcome: TypeAlias = "tuple[Append, int | None, WhorlError | None]"

_KNOWN_RUNS_MAX: Final = 20_000
# Of older snapshots one is kept for so many entries, so that any iteration is near to one; of large
# ones so few that all of them take at most so many bytes for an entry.
SNAPSHOT_DISTANCE: Final = 4096
_SNAPSHOT_BYTES_AN_ENTRY: Final = 16
# What is deleted in one transaction.
SWEPT_ENTRIES: Final = 2_000
_SWEPT_PAYLOADS: Final = 200
_ATTEMPT: Final = regex(r"#[0-9]+")
# Each call of SQLite gives up Python's lock, and a busy event loop is slow to give it back:
# statements that take up to 64 rows keep the number of calls per commit small.
ROW_COUNTS: Final = (64, 16, 8, 4, 3, 2, 1)


def _by_row_count(head: str, row: str, tail: str = "") -> dict[int, str]:
    """One constant statement for each number of rows that is bound at once."""
    return {count: head + ",".join([row] * count) + tail for count in ROW_COUNTS}


_INSERT_ENTRIES: Final = _by_row_count(
    "INSERT INTO journal(run, seq, kind, at, address, body, large, checksum) VALUES",
    "(?,?,?,?,?,?,?,?)",
)
_SELECT_OWNERS: Final = _by_row_count(
    "SELECT run, owner, last_seq FROM progress WHERE run IN (", "?", ")"
)
_UPSERT_PROGRESS: Final = _by_row_count(
    f"INSERT INTO progress(run, owner, {', '.join(CHANGING)}, mark) VALUES",
    f"({'?,' * (len(CHANGING) + 2)}'')",
    f" ON CONFLICT(run) DO UPDATE SET {', '.join(f'{name}=excluded.{name}' for name in CHANGING)}",
)
_CHARGED: Final = ("calls", "input_tokens", "output_tokens", "cost_usd", "unpriced", "in_doubt")
_CHARGE: Final = _by_row_count(
    f"INSERT INTO spending(run, hour, loop, model, {', '.join(_CHARGED)}) VALUES",
    f"({'?,' * (len(_CHARGED) + 3)}?)",
    " ON CONFLICT(run, hour, loop, model) DO UPDATE SET "
    + ", ".join(f"{name} = {name} + excluded.{name}" for name in _CHARGED),
)
_LOAD: Final = f"""SELECT number, owner, status, mark,
    (SELECT due FROM upkeep WHERE upkeep.run = number), {", ".join(CHANGING)}
    FROM runs JOIN progress ON run = number WHERE id = ?"""
_INSERT_RUN: Final = """INSERT INTO runs(id, key, name, dialect, file, parent, created_at,
    workflow_hash, behaviour, workflow, sources, status)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, '')"""
_INSERT_PROGRESS: Final = """INSERT INTO progress
    VALUES(?, 0, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, '', '', '', 0, NULL, '', '', '', 0)"""
_LOOP_STARTED: Final = """INSERT INTO loops(run, address, state, started, iterations_max)
    VALUES(?, ?, 'running', ?, ?) ON CONFLICT(run, address) DO UPDATE SET state = 'running',
    finished = NULL, mark = '', exit_reason = '', iterations_max = excluded.iterations_max"""
_LOOP_FINISHED: Final = """INSERT INTO loops(run, address, state, started, finished, mark,
    exit_reason) VALUES(?1, ?2, 'finished', ?3, ?3, ?4, ?5)
    ON CONFLICT(run, address) DO UPDATE SET state = 'finished', finished = excluded.finished,
    mark = excluded.mark, exit_reason = excluded.exit_reason"""
_LOOP_REOPENED: Final = """UPDATE loops SET state = 'running', finished = NULL, mark = '',
    exit_reason = '', iterations_max = coalesce(?3, iterations_max)
    WHERE run = ?1 AND address = ?2"""
# What an earlier attempt at a place came to no longer counts; '/', '[' and '#' open what is below.
_SUPERSEDED: Final = """UPDATE loops SET mark = '' WHERE run = ?1 AND mark <> '' AND (address = ?2
    OR (address > ?2 || '/' AND address < ?2 || '0')
    OR (address > ?2 || '[' AND address < ?2 || '\\')
    OR (address > ?2 || '#' AND address < ?2 || '$'))
    AND NOT (address = ?3 OR (address > ?3 || '/' AND address < ?3 || '0')
    OR (address > ?3 || '[' AND address < ?3 || '\\'))"""
_MARK_OF: Final = "SELECT mark FROM loops WHERE run = ? AND address = ?"
# Of the marks of its loops a run has the first in the alphabet: a budget before a limit.
_MARKS_LEFT: Final = "SELECT min(mark) FROM loops WHERE run = ? AND mark <> ''"
_ADVANCE: Final = f"""UPDATE progress SET {" = ?, ".join(CHANGING)} = ?
    WHERE run = ? AND owner = ? AND last_seq = ?"""
# The newest two stay; the one before them stays if it is far enough from those that stay for good.
_THIN_SNAPSHOTS: Final = f"""DELETE FROM snapshots WHERE run = ?1
    AND seq = (SELECT seq FROM snapshots WHERE run = ?1 ORDER BY seq DESC LIMIT 1 OFFSET 2)
    AND seq - coalesce((SELECT seq FROM snapshots WHERE run = ?1
        ORDER BY seq DESC LIMIT 1 OFFSET 3), 0)
    < max({SNAPSHOT_DISTANCE}, octet_length(state) / {_SNAPSHOT_BYTES_AN_ENTRY})"""
_SHARE_SNAPSHOTS: Final = """INSERT INTO snapshots SELECT ?1, seq, state FROM snapshots
    WHERE run = (SELECT number FROM runs WHERE id = ?2) AND seq <= ?3"""
_STILL_OLD: Final = """SELECT number FROM runs JOIN progress ON run = number
    WHERE id = ? AND status = ? AND updated_at < ?"""
_SWEEP_ENTRIES: Final = f"""DELETE FROM journal WHERE id IN
    (SELECT id FROM journal WHERE run = ? ORDER BY seq LIMIT {SWEPT_ENTRIES})"""
_SOME_USES: Final = f"""SELECT payload FROM payload_uses WHERE run = ?1
    ORDER BY payload LIMIT {_SWEPT_PAYLOADS}"""
_SWEEP_PAYLOADS: Final = f"""DELETE FROM payloads WHERE id IN ({_SOME_USES})
    AND NOT EXISTS (SELECT 1 FROM payload_uses WHERE payload = payloads.id AND run <> ?1)"""
_SWEEP_USES: Final = f"DELETE FROM payload_uses WHERE run = ?1 AND payload IN ({_SOME_USES})"
_OF_RUNS: Final = (
    "loops",
    "snapshots",
    "inbox",
    "upkeep",
    "spending",
    "queue",
    "labels",
    "progress",
)
_WAKE_AT: Final = """INSERT INTO upkeep VALUES(?1, '', 0, ?2, '', '', 0)
    ON CONFLICT(run) DO UPDATE SET due = excluded.due"""
# Within one boot a run keeps its time.
_KEEP: Final = """INSERT INTO upkeep SELECT number, '', ?2, NULL, '', ?3, ?4 FROM runs WHERE id = ?1
    ON CONFLICT(run) DO UPDATE SET kept = max(kept, excluded.kept), held = '',
    ahead = iif(anchor = excluded.anchor, ahead, excluded.ahead), anchor = excluded.anchor"""

# A person who lets a run go on does not wait for its turn.
_BEGIN: Final = "UPDATE queue SET began = 1 WHERE run = (SELECT number FROM runs WHERE id = ?)"


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
        size = 64 * len(self.rows)
        for row in self.rows:
            size += len(row.body)
            for _, text in row.large:
                size += len(text)
        return size


@dataclass(slots=True, eq=False)
class JournalTables:
    """The tables as the writer sees them."""

    connection: apsw.Connection
    ownership: Ownership
    clock: Callable[[], float]
    memories: MemoryTable
    _records: dict[str, RunRecord] = field(default_factory=dict)

    def append_all(self, jobs: Sequence[Append]) -> list[Outcome]:
        """Appends what may be appended; each job that may not gets its own refusal."""
        if len(jobs) == 1 and (last := self._append_one(jobs[0])) is not None:
            return [(jobs[0], last, None)]
        states = self._verified(jobs)
        touched: dict[int, RunRecord] = {}
        flat: list[Column] = []
        outcomes: list[Outcome] = []
        for job in jobs:
            try:
                state = self._admitted(job, states.get(job.run))
            except WhorlError as error:
                outcomes.append((job, None, error))
                continue
            touched[state.number] = state
            before = state.last_seq
            for event in job.events:
                state.take(event)
            self._take(job, state, flat, before)
            outcomes.append((job, state.last_seq, None))
        self._write_entries(flat)
        progress: list[Column] = []
        charges: list[Column] = []
        for state in touched.values():
            progress += (state.number, state.owner, *state.values())
            self._write_changes(state)
            charges += _charges_of(state)
        self._write_charges(charges)
        for part, count in in_chunks(progress, len(CHANGING) + 2):
            self.connection.execute(_UPSERT_PROGRESS[count], part)
        return outcomes

    def _append_one(self, job: Append) -> int | None:
        """Appends if the row is as it is known, which changing it checks; None: it is not."""
        state = self._records.get(job.run)
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
            del self._records[job.run]
            return None
        flat: list[Column] = []
        self._take(job, state, flat, before)
        self._write_entries(flat)
        self._write_changes(state)
        self._write_charges(_charges_of(state))
        return state.last_seq

    def create(
        self, run: NewRun, past: Append, texts: tuple[str, str], state: bytes | None
    ) -> tuple[RunId, bool]:
        existing = self.connection.execute("SELECT id FROM runs WHERE key = ?", (run.key,)).get
        if run.key and existing is not None:
            return existing, False
        if self.connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).get is not None:
            raise refused(f"the store has a run {run.id!r} already", "give the run another id")
        row = (run.id, run.key or None, run.name, run.dialect, run.file, run.parent)
        at = self.clock() if run.created_at is None else run.created_at
        self.connection.execute(_INSERT_RUN, (*row, at, run.workflow_hash, run.behaviour))
        number = self.connection.last_insert_rowid()
        workflow, sources = (put_payload(self.connection, number, text) for text in texts)
        self.connection.execute(
            "UPDATE runs SET workflow = ?, sources = ? WHERE number = ?",
            (workflow, sources, number),
        )
        self.connection.execute(_INSERT_PROGRESS, (number,))
        kept = (number, run.origin, run.origin in KEEPING)
        self.connection.execute("INSERT INTO upkeep VALUES(?, ?, ?, NULL, '', '', 0)", kept)
        for label in run.labels.items():
            self.connection.execute("INSERT INTO labels VALUES(?, ?, ?)", (number, *label))
        if run.at_once is not None:
            waits = (number, run.name, run.at_once)
            self.connection.execute("INSERT INTO queue VALUES(?, ?, ?, 0)", waits)
        self.append_all([past])
        self.connection.execute(_SHARE_SNAPSHOTS, (number, run.parent, run.shared))
        if state is not None:
            self.snapshot(run.id, past.owner, len(past.rows), state)
        return run.id, True

    def claim(self, run: str, *, keeps: bool) -> int:
        self._records.pop(run, None)
        owner = self.ownership.claim(run)
        ahead = self.clock() - throughout()
        self.connection.execute(_KEEP, (run, keeps, self.ownership.process.boot, ahead))
        self.connection.execute(_BEGIN, (run,))
        return owner

    def release(self, run: str, owner: int, *, is_stopped: bool) -> None:
        self._records.pop(run, None)
        if is_stopped and self.ownership.runs.get(run) == owner:
            self._change_upkeep("kept = ?2", run, 0)
        self.ownership.release(run, owner)

    def hold(self, run: str, reason: str) -> None:
        if not self.ownership.is_driven(run):
            self._change_upkeep("held = ?2", run, reason)

    def _change_upkeep(self, change: str, run: str, value: Column) -> None:
        chosen = "WHERE run = (SELECT number FROM runs WHERE id = ?1)"
        self.connection.execute(f"UPDATE upkeep SET {change} {chosen}", (run, value))

    def snapshot(self, run: str, owner: int, seq: int, state: bytes) -> None:
        record = self._load(run)
        if record is None:
            raise refused(f"there is no run {run!r} in the store")
        if record.owner != owner:
            raise fenced(run, owner, record.owner)
        if seq > record.last_seq:
            raise refused(f"run {run!r} has no entry {seq} yet; its last one is {record.last_seq}")
        self.connection.execute(
            "INSERT OR REPLACE INTO snapshots(run, seq, state) VALUES(?, ?, ?)",
            (record.number, seq, state),
        )
        self.connection.execute(_THIN_SNAPSHOTS, (record.number,))

    def settle(self, *, committed: bool) -> None:
        """Follows the database: after a rollback nothing that is kept in memory is believed."""
        self.ownership.settle(committed=committed)
        if not committed or len(self._records) > _KNOWN_RUNS_MAX:
            self._records.clear()

    def delete(self, run: str, status: str, older_than: float) -> int:
        """Deletes a run, if it is still as old and nobody drives it; gives its number, or 0.

        Of a long one entries remain, which `sweep` deletes: nobody waits long for a transaction.
        """
        # A run is interrupted when the process that drove it is gone; its row does not know.
        stored = "running" if status == "interrupted" else status
        number = self.connection.execute(_STILL_OLD, (run, stored, older_than)).get
        if number is None or self.ownership.is_driven(run):
            return 0
        for table in _OF_RUNS:
            self.connection.execute(f"DELETE FROM {table} WHERE run = ?", (number,))
        self.connection.execute("DELETE FROM runs WHERE number = ?", (number,))
        self._records.pop(run, None)
        self.sweep(number)
        return int(number)

    def sweep(self, number: int) -> bool:
        """Deletes some of what is left of a deleted run; tells whether there may be more."""
        self.connection.execute(_SWEEP_ENTRIES, (number,))
        entries = self.connection.changes()
        self.connection.execute(_SWEEP_PAYLOADS, (number,))
        self.connection.execute(_SWEEP_USES, (number,))
        return entries == SWEPT_ENTRIES or self.connection.changes() == _SWEPT_PAYLOADS

    def post(self, run: str, row: Encoded) -> int:
        number = self.connection.execute("SELECT number FROM runs WHERE id = ?", (run,)).get
        if number is None:
            raise refused(f"there is no run {run!r} in the store", "`whorl ls` lists the runs")
        self.connection.execute(
            "INSERT INTO inbox(run, kind, at, address, body) VALUES(?, ?, ?, ?, ?)",
            (number, row.kind, row.at, row.address, row.body),
        )
        return self.connection.last_insert_rowid()

    def discard(self, run: str, owner: int, messages: Sequence[int]) -> None:
        check_owner(self.connection, run, owner)
        for message in messages:
            self.connection.execute("DELETE FROM inbox WHERE id = ?", (message,))

    def give_back(self) -> bool:
        """Returns up to a thousand free pages to the file system; tells whether there are more."""
        before = self.connection.pragma("freelist_count")
        fetch(self.connection, "PRAGMA incremental_vacuum(1000)")
        return bool(0 < self.connection.pragma("freelist_count") < before)

    def empty_log(self) -> None:
        """Moves all that is in the log into the file, unless a reader is in the way."""
        with suppress(apsw.BusyError):
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _verified(self, jobs: Iterable[Append]) -> dict[RunId, RunRecord]:
        """The records of runs as they are in this transaction; they may have been deleted."""
        runs = dict.fromkeys(job.run for job in jobs)
        numbers = {self._records[run].number: run for run in runs if run in self._records}
        states: dict[RunId, RunRecord] = {}
        for part, count in in_chunks(list(numbers), 1):
            for number, owner, last_seq in self.connection.execute(_SELECT_OWNERS[count], part):
                state = self._records[numbers[number]]
                if (owner, last_seq) == (state.owner, state.last_seq):
                    states[numbers[number]] = state
        for run in runs:
            if run not in states:
                self._records.pop(run, None)
                if (loaded := self._load(run)) is not None:
                    self._records[run] = states[run] = loaded
        return states

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
        waiting = "SELECT 1 FROM inbox WHERE id = ? AND run = ?"
        for message in job.messages:
            if not fetch(self.connection, waiting, (message, state.number)):
                raise refused(f"request {message} was delivered before", "read the inbox again")
        for message in job.messages:
            self.connection.execute("DELETE FROM inbox WHERE id = ?", (message,))
        return state

    def _take(self, job: Append, state: RunRecord, flat: list[Column], seq: int) -> None:
        """Adds the rows of a job, which come after the entry `seq`."""
        number = state.number
        for kind, at, address, body, texts in job.rows:
            seq += 1
            large = None
            if texts:
                kept = [(path, put_payload(self.connection, number, text)) for path, text in texts]
                large = to_text(cast("Json", kept))
            crc = checksum((seq, kind, at), address, body, large)
            flat += (number, seq, kind, at, address, body, large, crc)
        for record, text in job.memories:
            self.memories.remember(record, text)

    def _write_entries(self, flat: list[Column]) -> None:
        for part, count in in_chunks(flat, 8):
            self.connection.execute(_INSERT_ENTRIES[count], part)

    def _write_charges(self, flat: list[Column]) -> None:
        for part, count in in_chunks(flat, len(_CHARGED) + 4) if flat else ():
            self.connection.execute(_CHARGE[count], part)

    def _write_changes(self, state: RunRecord) -> None:
        """Writes the status, what became of loops, the mark by them, and when it goes on."""
        if state.wakes_at != state.due_stored:
            state.due_stored = state.wakes_at
            self.connection.execute(_WAKE_AT, (state.number, state.wakes_at))
        if state.status == state.status_stored and not state.loop_changes:
            return
        if state.status != state.status_stored:
            state.status_stored = state.status
            self.connection.execute(
                "UPDATE runs SET status = ? WHERE number = ?", (state.status, state.number)
            )
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
        place = (state.number, change.address)
        mark = self.connection.execute(_MARK_OF, place).get if state.mark else ""
        is_gone = bool(mark) and mark != change.mark
        if change.finished is not None:
            ended = (change.finished, change.mark, whole(change.exit_reason))
            self.connection.execute(_LOOP_FINISHED, (*place, *ended))
        elif change.started is not None:
            began = (*place, change.started, change.limit or 0)
            self.connection.execute(_LOOP_STARTED, began)
            for attempt in _ATTEMPT.finditer(change.address) if state.mark else ():
                # A place that the loop lies in, and the further attempt at it.
                around = (change.address[: attempt.start()], change.address[: attempt.end()])
                self.connection.execute(_SUPERSEDED, (state.number, *around))
                is_gone = is_gone or self.connection.changes() > 0
        else:
            self.connection.execute(_LOOP_REOPENED, (*place, change.limit))
        return is_gone


def _charges_of(state: RunRecord) -> list[Column]:
    """What a run was charged with since it was written last."""
    flat: list[Column] = []
    for (hour, loop, model), spent in state.spending.items():
        flat += (state.number, hour, whole(loop), whole(model), spent.calls, spent.input_tokens)
        flat += (spent.output_tokens, spent.cost_usd, spent.unpriced_calls, spent.in_doubt)
    state.spending.clear()
    return flat


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


def check_owner(connection: apsw.Connection, run: str, owner: int) -> None:
    current = "SELECT owner FROM progress JOIN runs ON number = run WHERE id = ?"
    holder = connection.execute(current, (run,)).get
    if holder != owner:
        raise fenced(run, owner, holder or 0)
