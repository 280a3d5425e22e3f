"""Writing to the tables, inside a transaction that the writer has begun.

Owner and last entry of a run are read in the transaction; what is kept in memory beside them is
derived from entries that only this owner can have written, and is dropped when they differ.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

from whorl.errors import WhorlError
from whorl.lazily import dataclass
from whorl.runtimes.clock import throughout
from whorl.runtimes.journal.journal import KEEPING
from whorl.runtimes.sqlite.connection import Column, fetch
from whorl.runtimes.sqlite.encoding import checksum, put_payload, to_text
from whorl.runtimes.sqlite.faults import fenced, refused
from whorl.runtimes.sqlite.ownership import LEASE_S, Ownership, check_owner
from whorl.runtimes.sqlite.tables.progress import CHANGING, record_of, write_changes
from whorl.runtimes.sqlite.tables.upkeep import change_upkeep, keep, lane_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import apsw

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal.journal import NewRun, Record, RunId
    from whorl.runtimes.sqlite.encoding import Encoded
    from whorl.runtimes.sqlite.tables.memory import MemoryTable
    from whorl.runtimes.sqlite.tables.progress import RunRecord

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
            write_changes(self.connection, state)
            charges += state.take_charges()
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
            raise refused(f"the store has a run {run.id!r} already", "give the run another id")
        row = (run.id, run.key or None, run.name, run.dialect, run.file, run.parent)
        at = self._made_at(past) if run.created_at is None else run.created_at
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

    def _made_at(self, past: Append) -> float:
        """Now, or the moment before in which its news were made: none are older than the run."""
        at = self.clock()
        news = past.events[-1].at if past.events else at
        return news if 0 < at - news < LEASE_S / 2 else at

    def claim(self, run: str, *, keeps: bool) -> int:
        self.forget(run)
        owner = self.ownership.claim(run)
        ahead = self.clock() - throughout()
        keep(self.connection, run, (keeps, self.ownership.process.boot, ahead))
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

    def forget(self, run: str) -> None:
        """Drops what is kept in memory of a run."""
        self._records.pop(run, None)

    def settle(self, *, committed: bool) -> None:
        """Follows the database: after a rollback nothing that is kept in memory is believed."""
        self.ownership.settle(committed=committed)
        if not committed or len(self._records) > _KNOWN_RUNS_MAX:
            self._records.clear()

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
