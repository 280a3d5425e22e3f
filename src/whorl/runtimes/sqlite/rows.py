"""Writes the rows of runs, inside a transaction that the writer has begun.

The owner and the last entry of a run are read in the transaction. The rest is cached in memory: it
is derived from entries that only this owner can write, and dropped if owner or entry differ.
"""

from __future__ import annotations

import json
from dataclasses import field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, cast

from whorl.errors import StoreError, WhorlError
from whorl.lazily import dataclass, regex
from whorl.runtimes.journal.journal import (
    KEEPING,
    Record,
    iteration_of,
    iterations_in,
    mark_of,
    text_of,
)
from whorl.runtimes.journal.projection import ChargeFold, LoopFold, RunFold, Spent, place_of
from whorl.runtimes.sqlite.connection import Column, fetch
from whorl.runtimes.sqlite.encoding import checksum, put_payload, remembered, to_text, whole
from whorl.runtimes.sqlite.faults import fenced, unknown
from whorl.runtimes.sqlite.ownership import (
    KEEP,
    Ownership,
    change_upkeep,
    check_owner,
    lane_of,
    throughout,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import apsw

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.language.libraries import Amendment
    from whorl.runtimes.journal.journal import NewRun, RunId
    from whorl.runtimes.journal.projection import SpendingKey
    from whorl.runtimes.sqlite.encoding import Encoded


# What runs remember for later ones: records under a key, in the order in which they came.

RECORDS_MAX: Final = 10_000
_REMEMBER: Final = """INSERT INTO memories(key, number, at, record)
    VALUES(?1, coalesce((SELECT max(number) FROM memories WHERE key = ?1), 0) + 1, ?2, ?3)"""
_TRIM_MEMORIES: Final = """DELETE FROM memories WHERE key = ?1
    AND number <= (SELECT max(number) FROM memories WHERE key = ?1) - ?2"""
_REMEMBERED: Final = """SELECT 1 FROM memories
    WHERE key = ?1 AND json_extract(record, '$.id') = ?2 LIMIT 1"""
_MEMORY: Final = "SELECT number, record FROM memories WHERE key = ? ORDER BY number"
_FORGET_RECORD: Final = "DELETE FROM memories WHERE key = ? AND number = ?"


# What a run shows of itself beside its entries: its row, its loops, their marks, its charges.
#
# It is updated in the transaction that adds the entries.

# The columns of `progress` that each append changes.
_COLUMNS: Final = """last_seq updated_at cost_usd calls input_tokens output_tokens in_doubt
    budget_usd error not_begun loop iteration score exit_reason stopped_by seconds"""
CHANGING: Final = _COLUMNS.split()
_NUMBERS: Final = attrgetter(*CHANGING[:8])
_ERROR_MAX: Final = 500
_ATTEMPT: Final = regex(r"#[0-9]+")
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
# Of the marks of its loops a run has the first in the alphabet: a budget before a limit. Without
# one, it has that of a warning of which a list tells: a text that was cut, left out or not clear.
_MARKED: Final = frozenset({"P118", "P123", "R113", "R117", "R118", "W023"})
_WARNING: Final = "warning"
_MARKS_LEFT: Final = "SELECT min(mark) FROM loops WHERE run = ? AND mark <> ''"
_RESERVED: Final = "INSERT OR REPLACE INTO doubts VALUES(?, ?)"
_WAKE_AT: Final = """INSERT INTO upkeep VALUES(?1, '', 0, ?2, '', '', 0)
    ON CONFLICT(run) DO UPDATE SET due = excluded.due"""


@dataclass(slots=True)
class LoopChange:
    """A loop that started (again) or finished at an entry, or else was reopened."""

    address: str
    started: int | None = None
    finished: int | None = None
    # How many iterations it may have from then on; None: as many as before.
    limit: int | None = None
    mark: str = ""
    exit_reason: str = ""


# Nothing is ever told of it, so that all runs without a loop may share it.
_NO_LOOP: Final = LoopFold("")


@dataclass(slots=True)
class RunRecord(ChargeFold):
    """The row of a run with the loop that it shows, and unwritten changes to loops."""

    number: int = 0
    owner: int = 0
    status_stored: str = ""
    due_stored: float | None = None
    reserved_stored: float = 0.0
    mark: str = ""
    is_warned: bool = False
    # The outermost loop that runs, or that ran last; nothing is kept of the others.
    shown: LoopFold = field(default_factory=lambda: _NO_LOOP)
    loop_changes: list[LoopChange] = field(default_factory=list)
    # What was charged and is not written yet.
    spending: dict[SpendingKey, Spent] = field(default_factory=dict)

    def charged(self, event: Event, model: str, sign: int) -> None:
        usage: Any = event.body["usage"]
        spent = self.spending.setdefault(place_of(event, model), Spent())
        spent.charge(usage, model, sign)

    def take(self, event: Event) -> bool:
        if event.kind == "warning" and event.body.get("code") in _MARKED:
            self.is_warned = True
        return ChargeFold.take(self, event)

    def fork(self, event: Event) -> None:
        ChargeFold.fork(self, event)
        self.spending.clear()

    def take_of_loop(self, event: Event) -> None:
        """Takes an event of a loop, and decides which loop the row shows."""
        shown = self.shown
        address, limit = event.address, event.body.get("limits")
        change: LoopChange | None = None
        match event.kind:
            case "loop.started":
                change = LoopChange(address, started=self.last_seq, limit=iterations_in(limit))
                if not shown.address or shown.is_over:
                    self.show(LoopFold(address))
            case "loop.continued":
                change = LoopChange(address, limit=iterations_in(limit))
            case "loop.finished":
                reason = text_of(event.body.get("exit_reason")) or "failed"
                change = LoopChange(address, finished=self.last_seq, exit_reason=reason)
                change.mark = mark_of(event.body.get("mark"))
            case "iteration.started" if shown.is_over:
                loop = iteration_of(event)[0]
                if loop == shown.address:
                    change = LoopChange(loop)
                else:
                    self.show(LoopFold(loop))
        if change is not None:
            self.loop_changes.append(change)
        RunFold.take_of_loop(self, event)

    def show(self, loop: LoopFold) -> None:
        self.shown = loop
        self.loops = {loop.address: loop}

    def take_charges(self) -> list[Column]:
        """Returns the charges of the run since its last write."""
        flat: list[Column] = []
        for (hour, loop, model), spent in self.spending.items():
            flat += (self.number, hour, whole(loop), whole(model), spent.calls, spent.input_tokens)
            flat += (spent.output_tokens, spent.cost_usd, spent.unpriced_calls, spent.in_doubt)
        self.spending.clear()
        return flat

    @property
    def wakes_at(self) -> float | None:
        """When a waiting run resumes by itself, or None."""
        return self.due if self.status == "waiting" else None

    def values(self) -> tuple[Column, ...]:
        shown = self.shown
        reason = shown.exit_reason or ("failed" if shown.is_over else "")
        return (
            *_NUMBERS(self),
            self.error and whole(self.error[:_ERROR_MAX]),
            "" if self.not_begun is None else json.dumps(self.not_begun),
            whole(shown.address),
            shown.number,
            shown.score,
            reason and whole(reason),
            shown.stopped_by and whole(shown.stopped_by),
            self.seconds,
        )


def record_of(row: tuple[Any, ...]) -> RunRecord:
    record = RunRecord(*row[5:-8])
    record.number, record.owner, record.status, record.mark, record.due = row[:5]
    record.due_stored, record.is_warned = record.due, record.mark == _WARNING
    not_begun, address, count, score, reason, stopped_by, record.seconds, reserved = row[-8:]
    record.reserved_usd = record.reserved_stored = reserved
    record.status_stored, record.not_begun = record.status, iterations_not_begun(not_begun)
    if address:
        shown = LoopFold(address, number=count, score=score, exit_reason=reason)
        shown.stopped_by, shown.is_over = stopped_by, bool(reason)
        record.show(shown)
    return record


def iterations_not_begun(text: str) -> tuple[str, ...] | None:
    """Returns the iterations that are held back, from their column; None if the run is not held."""
    return tuple(json.loads(text)) if text else None


def write_changes(connection: apsw.Connection, state: RunRecord) -> None:
    """Writes the status, the changes of loops, the mark, and when the run resumes."""
    if state.wakes_at != state.due_stored:
        state.due_stored = state.wakes_at
        connection.execute(_WAKE_AT, (state.number, state.wakes_at))
    if state.reserved_usd != state.reserved_stored:
        state.reserved_stored = state.reserved_usd
        connection.execute(_RESERVED, (state.number, round(state.reserved_usd, 9)))
    if state.status != state.status_stored:
        state.status_stored = state.status
        connection.execute(
            "UPDATE runs SET status = ? WHERE number = ?", (state.status, state.number)
        )
    before = state.mark
    for change in state.loop_changes:
        if _write_loop(connection, state, change):
            state.mark = connection.execute(_MARKS_LEFT, (state.number,)).get or ""
        elif change.mark:
            state.mark = min(change.mark, state.mark or change.mark)
    state.loop_changes.clear()
    if state.is_warned:
        state.mark = min(state.mark or _WARNING, _WARNING)
    if state.mark != before:
        marked = (state.mark, state.number)
        connection.execute("UPDATE progress SET mark = ? WHERE run = ?", marked)


def _write_loop(connection: apsw.Connection, state: RunRecord, change: LoopChange) -> bool:
    place = (state.number, change.address)
    mark = connection.execute(_MARK_OF, place).get if state.mark else ""
    is_gone = bool(mark) and mark != change.mark
    if change.finished is not None:
        ended = (change.finished, change.mark, whole(change.exit_reason))
        connection.execute(_LOOP_FINISHED, (*place, *ended))
    elif change.started is not None:
        began = (*place, change.started, change.limit or 0)
        connection.execute(_LOOP_STARTED, began)
        for attempt in _ATTEMPT.finditer(change.address) if state.mark else ():
            # A place that the loop is in, and the further attempt at it.
            around = (change.address[: attempt.start()], change.address[: attempt.end()])
            connection.execute(_SUPERSEDED, (state.number, *around))
            is_gone = is_gone or connection.changes() > 0
    else:
        connection.execute(_LOOP_REOPENED, (*place, change.limit))
    return is_gone


Outcome: TypeAlias = "tuple[Append, int | None, WhorlError | None]"

_KNOWN_RUNS_MAX: Final = 20_000
# Of older snapshots one is kept for so many entries, so that any iteration is near to one; of large
# ones so few that all of them take at most so many bytes for an entry.
SNAPSHOT_DISTANCE: Final = 4096
_SNAPSHOT_BYTES_AN_ENTRY: Final = 16
# Each call of SQLite gives up Python's lock, and a busy event loop is slow to give it back:
# statements that take up to 64 rows keep the number of calls per commit small.
ROW_COUNTS: Final = (64, 16, 8, 4, 3, 2, 1)


def _by_row_count(head: str, row: str, tail: str = "") -> dict[int, str]:
    """Returns one constant statement for each number of rows that is bound at once."""
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
    (SELECT due FROM upkeep WHERE upkeep.run = number), {", ".join(CHANGING)},
    coalesce((SELECT reserved_usd FROM doubts WHERE doubts.run = number), 0.0)
    FROM runs JOIN progress ON run = number WHERE id = ?"""
_INSERT_RUN: Final = """INSERT INTO runs(id, key, name, dialect, file, parent, created_at,
    workflow_hash, behaviour, workflow, sources, status)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, '')"""
_INSERT_PROGRESS: Final = """INSERT INTO progress
    VALUES(?, 0, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, '', '', '', 0, NULL, '', '', '', 0)"""
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
# A person who lets a run go on does not wait for its turn.
_BEGIN: Final = "UPDATE queue SET began = 1 WHERE run = (SELECT number FROM runs WHERE id = ?)"


@dataclass(slots=True, eq=False)
class Append:
    """Entries for one run, with the other changes of the same transaction."""

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
    """The tables for the writer."""

    connection: apsw.Connection
    ownership: Ownership
    clock: Callable[[], float]
    _records: dict[str, RunRecord] = field(default_factory=dict)

    def append_all(self, jobs: Sequence[Append]) -> list[Outcome]:
        """Appends the jobs that are allowed; each of the others gets its own refusal."""
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
            write_changes(self.connection, state)
            charges += state.take_charges()
        self._write_charges(charges)
        for part, count in in_chunks(progress, len(CHANGING) + 2):
            self.connection.execute(_UPSERT_PROGRESS[count], part)
        return outcomes

    def _append_one(self, job: Append) -> int | None:
        """Appends if the row is unchanged, which the update checks; otherwise returns None."""
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
        write_changes(self.connection, state)
        self._write_charges(state.take_charges())
        return state.last_seq

    def create(
        self, run: NewRun, past: Append, texts: tuple[str, str], state: bytes | None
    ) -> tuple[RunId, bool]:
        existing = self.connection.execute("SELECT id FROM runs WHERE key = ?", (run.key,)).get
        if run.key and existing is not None:
            return existing, False
        if self.connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).get is not None:
            words = f"the store has a run {run.id!r} already"
            raise StoreError(words, code="W905", help="give the run another id")
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
        if run.home:
            self.connection.execute("INSERT INTO homes VALUES(?, ?)", (number, run.home))
        if run.at_once is not None:
            waits = (number, lane_of(run.home, run.name), run.at_once)
            self.connection.execute("INSERT INTO queue VALUES(?, ?, ?, 0)", waits)
        self.append_all([past])
        self.connection.execute(_SHARE_SNAPSHOTS, (number, run.parent, run.shared))
        if state is not None:
            self.snapshot(run.id, past.owner, len(past.rows), state)
        if run.is_owned:
            self.claim(run.id, keeps=False)
            self.ownership.fresh.add(run.id)
        return run.id, True

    def claim(self, run: str, *, keeps: bool) -> int:
        self.forget(run)
        owner = self.ownership.claim(run)
        ahead = self.clock() - throughout()
        kept = (run, keeps, self.ownership.process.boot, ahead)
        self.connection.execute(KEEP, kept)
        self.connection.execute(_BEGIN, (run,))
        return owner

    def release(self, run: str, owner: int, *, is_stopped: bool) -> None:
        self.forget(run)
        if is_stopped and self.ownership.runs.get(run) == owner:
            change_upkeep(self.connection, "kept = ?2", run, 0)
        self.ownership.release(run, owner)

    def label(self, run: str, name: str, value: str) -> None:
        label = "INSERT OR REPLACE INTO labels SELECT number, ?2, ?3 FROM runs WHERE id = ?1"
        self.connection.execute(label, (run, name, value))

    def hold(self, run: str, reason: str) -> None:
        if not self.ownership.is_driven(run):
            change_upkeep(self.connection, "held = ?2", run, reason)

    def snapshot(self, run: str, owner: int, seq: int, state: bytes) -> None:
        record = self._load(run)
        if record is None:
            raise unknown(run)
        if record.owner != owner:
            raise fenced(run, owner, record.owner)
        if seq > record.last_seq:
            words = f"run {run!r} has no entry {seq} yet; its last one is {record.last_seq}"
            raise StoreError(words, code="I900")
        self.connection.execute(
            "INSERT OR REPLACE INTO snapshots(run, seq, state) VALUES(?, ?, ?)",
            (record.number, seq, state),
        )
        self.connection.execute(_THIN_SNAPSHOTS, (record.number,))

    def forget(self, run: str) -> None:
        self._records.pop(run, None)

    def settle(self, *, committed: bool) -> None:
        """Follows the database: a rollback clears the cache."""
        self.ownership.settle(committed=committed)
        if not committed or len(self._records) > _KNOWN_RUNS_MAX:
            self._records.clear()

    def post(self, run: str, row: Encoded) -> int:
        number = self.connection.execute("SELECT number FROM runs WHERE id = ?", (run,)).get
        if number is None:
            raise unknown(run)
        self.connection.execute(
            "INSERT INTO inbox(run, kind, at, address, body) VALUES(?, ?, ?, ?, ?)",
            (number, row.kind, row.at, row.address, row.body),
        )
        return self.connection.last_insert_rowid()

    def discard(self, run: str, owner: int, messages: Sequence[int]) -> None:
        check_owner(self.connection, run, owner)
        for message in messages:
            self.connection.execute("DELETE FROM inbox WHERE id = ?", (message,))

    def remember(self, record: Record, text: str, *, once: str | None = None) -> bool:
        """Adds a record, and deletes the oldest; returns False if the id `once` exists."""
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

    def forget_memory(self, key: str) -> int:
        self.connection.execute("DELETE FROM memories WHERE key = ?", (key,))
        return self.connection.changes()

    def _verified(self, jobs: Iterable[Append]) -> dict[RunId, RunRecord]:
        """Returns the records of runs in this transaction; runs may have been deleted."""
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
            raise unknown(job.run)
        if state.owner != job.owner:
            self.ownership.forget(job.run, job.owner)
            raise fenced(job.run, job.owner, state.owner)
        if job.after is not None and job.after != state.last_seq:
            words = f"run {job.run!r} is at entry {state.last_seq}, not at {job.after}"
            raise StoreError(words, code="W905", help="read the journal again from there")
        waiting = "SELECT 1 FROM inbox WHERE id = ? AND run = ?"
        for message in job.messages:
            if not fetch(self.connection, waiting, (message, state.number)):
                words = f"request {message} was delivered before"
                raise StoreError(words, code="W905", help="read the inbox again")
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
            self.remember(record, text)

    def _write_entries(self, flat: list[Column]) -> None:
        for part, count in in_chunks(flat, 8):
            self.connection.execute(_INSERT_ENTRIES[count], part)

    def _write_charges(self, flat: list[Column]) -> None:
        for part, count in in_chunks(flat, len(_CHARGED) + 4) if flat else ():
            self.connection.execute(_CHARGE[count], part)


def in_chunks(flat: Sequence[Column], width: int) -> Iterator[tuple[Sequence[Column], int]]:
    """Splits a flat list of values into parts that fit one statement."""
    start, left = 0, len(flat) // width
    if left in ROW_COUNTS:
        yield flat, left
        return
    for count in ROW_COUNTS:
        while left >= count:
            yield flat[start : start + count * width], count
            start += count * width
            left -= count
