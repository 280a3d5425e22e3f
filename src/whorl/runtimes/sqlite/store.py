"""The store: one SQLite file that holds the journals of all runs; and its one writer."""

from __future__ import annotations

import asyncio
import math
import os
import queue
import shlex
import threading
import time
import zlib
from copy import copy
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, TypeVar, cast

import apsw

from whorl.errors import InternalError, StoreError, UsageError, WhorlError
from whorl.language.chunked_json import is_large
from whorl.lazily import dataclass, regex
from whorl.providers.json_values import beside
from whorl.runtimes.journal.journal import NewRun, Record, RunId, records_in
from whorl.runtimes.journal.keys import Seals
from whorl.runtimes.sqlite import connection as connecting
from whorl.runtimes.sqlite.change_watch import TRY_EVERY_S
from whorl.runtimes.sqlite.connection import StoreFile, prepare
from whorl.runtimes.sqlite.encoding import encode, to_text, whole
from whorl.runtimes.sqlite.faults import check_log, closed, ended, is_fsync_fault, strange
from whorl.runtimes.sqlite.ownership import (
    BEAT_EVERY_S,
    ClockPair,
    Ownership,
    QueueTable,
    StorePart,
    this_process,
)
from whorl.runtimes.sqlite.pruning import Pruning
from whorl.runtimes.sqlite.reading import StoreReading
from whorl.runtimes.sqlite.rows import Append, JournalTables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.language.libraries import Amendment
    from whorl.runtimes.journal.keys import Registry
    from whorl.runtimes.sqlite.change_watch import FileWatch


# Addresses that start workflows: which workflow, and what calls of it are signed with.

_INSERT: Final = "INSERT OR IGNORE INTO hooks VALUES(?, ?, ?, ?, ?, ?, '', 0)"
_ROTATE: Final = """UPDATE hooks SET old_secret = secret, old_until = ?2, secret = ?3
    WHERE name = ?1"""


@dataclass(frozen=True, slots=True)
class HookRow:
    """One webhook. `workflow` names one of several in a file, `format` is how calls are signed."""

    name: str
    file: str
    workflow: str
    format: str
    created_at: float
    secret: str
    old_secret: str = ""
    old_until: float = 0.0


class HookTable(StorePart):
    def hooks(self) -> list[HookRow]:
        return [HookRow(*row) for row in self._reader.rows("SELECT * FROM hooks ORDER BY name")]

    def hook(self, name: str) -> HookRow | None:
        return next((hook for hook in self.hooks() if hook.name == name), None)

    def keyed(self, key: str) -> RunId | None:
        """Returns the run that was started with a key, or None."""
        rows = self._reader.rows("SELECT id FROM runs WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    async def add_hook(self, hook: HookRow) -> bool:
        """Adds a webhook; returns False if the name exists."""
        row = (hook.name, hook.file, hook.workflow, hook.format, hook.created_at, hook.secret)
        return await self._changed(_INSERT, row)

    async def rotate_hook(self, name: str, secret: str, old_until: float) -> bool:
        """Gives a webhook another secret; returns False if the name is unknown."""
        return await self._changed(_ROTATE, (name, old_until, secret))

    async def remove_hook(self, name: str) -> bool:
        return await self._changed("DELETE FROM hooks WHERE name = ?", (name,))

    async def _changed(self, statement: str, values: tuple[str | float, ...]) -> bool:
        def change(tables: JournalTables) -> bool:
            tables.connection.execute(statement, values)
            return tables.connection.changes() > 0

        return bool(await self._ask(change))


T = TypeVar("T")

_HOME: Final = "SELECT home FROM homes JOIN runs ON number = run WHERE id = ?"
_ID: Final = regex(r"[A-Za-z0-9_-]{1,128}")
REASON_MAX: Final = 500
_TEXTS_OF_RUNS: Final = ("key", "name", "dialect", "file", "parent")
# More of them are made ready beside the event loop.
_FEW_EVENTS: Final = 500


class SqliteStore(StoreReading, HookTable, QueueTable, Pruning):
    """Implements `Journal`. An append whose task is cancelled may or may not have been written."""

    def __init__(
        self,
        path: str | Path,
        *,
        create: bool = True,
        vfs: str | None = None,
        exclusive: bool = False,
        checkpoint_pages: int = 4000,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        crash_hook: CrashHook | None = None,
        seals: Seals | None = None,
        is_mirror: bool = False,
        registry: Registry | None = None,
        is_strange: bool = False,
        home: str = "",
    ) -> None:
        if create:
            check_log(str(path))
        place = StoreFile(str(path), vfs, exclusive, checkpoint_pages, is_strange=is_strange)
        place = prepare(place, create=create, registry=registry)
        super().__init__(place, clock, monotonic, is_mirror=is_mirror)
        self.seals = seals or Seals()
        self.is_new, self.is_strange = place.is_new, place.is_strange
        # Whose runs are made and taken up here: `Project.home`.
        self.home = home
        self._crash_hook = crash_hook
        self._gate = threading.Lock()
        self._writer: Writer | None = None
        self._waiting: dict[asyncio.AbstractEventLoop, list[Job]] = {}
        self._written_down: tuple[Json, str] = (None, "null")
        self._probed_at = -math.inf

    async def create(self, run: NewRun, *events: Event) -> tuple[RunId, bool]:
        _check_id(run.id)
        if self._written_down[0] is not run.workflow:
            # Many runs of one workflow write it down once.
            self._written_down = (run.workflow, to_text(run.workflow))
        texts = (self._written_down[1], to_text(cast("Json", run.sources)))
        mended: dict[str, Any] = {name: whole(getattr(run, name)) for name in _TEXTS_OF_RUNS}
        labels = {whole(name): whole(text) for name, text in run.labels.items()}
        clean = replace(run, home=whole(self.home), labels=labels, **mended)
        if len(events) > _FEW_EVENTS:
            rows = await beside(lambda: [encode(event) for event in events])
        else:
            rows = [encode(event) for event in events]
        past = Append(run.id, 0, events, rows, memories=self._written(run.memories))
        packed = None if run.state is None else _packed(run.state)
        job = Change(lambda tables: tables.create(clean, past, texts, packed), run.id, events)
        return cast("tuple[RunId, bool]", await self._change(job))

    async def probe(self) -> None:
        """Raises StoreError if the store cannot be written.

        Only a write can tell: it is small, and happens every other second at most.
        """
        if (fault := self.watch.fault() or self.watch.refusal) is not None:
            raise fault
        if (now := self.monotonic()) - self._probed_at >= TRY_EVERY_S:
            self._probed_at = now

            def touch(tables: JournalTables) -> None:
                version = tables.connection.pragma("user_version")
                tables.connection.pragma("user_version", version)

            await self._ask(touch)

    async def claim(self, run: RunId, *, keeps: bool = False, is_driven: bool = True) -> int:
        """Makes this process the owner; with `keeps`, servers resume the run after it.

        Raises UsageError W905 for a run of another project, whose configuration is not here.
        """

        def claim(tables: JournalTables) -> int:
            if is_driven:
                self._check_home(run, tables.connection.execute(_HOME, (run,)).get or "")
            return tables.claim(run, keeps=keeps)

        return await self._ask(claim, run)

    def _check_home(self, run: RunId, home: str) -> None:
        folder = self.folder_of(home)
        is_own = folder in ("", self.folder_of(self.home))
        if is_own or not os.path.isfile(os.path.join(folder, "whorl.toml")):
            return
        store = f", with `--store {shlex.quote(os.path.abspath(self.path))}`" if home else ""
        advice = f"do this there: `cd {shlex.quote(folder)}`{store}"
        raise UsageError(f"run {run} belongs to the project {folder!r}", help=advice, code="W905")

    async def release(self, run: RunId, owner: int, *, is_stopped: bool = False) -> None:
        """Releases the run; if a person has stopped it, no server resumes it."""
        await self._ask(lambda tables: tables.release(run, owner, is_stopped=is_stopped), run)

    async def label(self, run: RunId, name: str, value: str) -> None:
        """Adds a label to a run, by which lists find it."""
        await self._ask(lambda tables: tables.label(run, name, value), run)

    async def hold(self, run: RunId, reason: str) -> None:
        """Stores why a server did not resume a run, for people."""
        words = whole(reason[:REASON_MAX])
        await self._ask(lambda tables: tables.hold(run, words), run)

    async def append(
        self,
        run: RunId,
        owner: int,
        events: Sequence[Event],
        *,
        messages: Sequence[int] = (),
        after: int | None = None,
        is_large: bool = False,
    ) -> int:
        _check_id(run)
        if is_large:
            rows = await beside(lambda: [encode(event, is_large=True) for event in events])
        else:
            rows = [encode(event) for event in events]
        records = records_in(events)
        memories = self._written(records) if records else ()
        job = Append(run, owner, events, rows, after, messages, memories)
        writer = self._started()
        if writer.is_for_one_run and not self._waiting:
            outcomes = writer.commit_now([job])
            if outcomes is not None:
                _, last, fault = outcomes[0]
                if fault is not None:
                    raise fault
                return cast("int", last)
        return cast("int", await self._change(job))

    def _written(self, memories: Sequence[Record]) -> list[tuple[Record, str]]:
        """Returns the encoded memories to write; none in a mirror: its cluster keeps them."""
        kept = () if self.is_mirror else memories
        return [(replace(each, key=whole(each.key)), to_text(each.record)) for each in kept]

    async def snapshot(self, run: RunId, owner: int, seq: int, state: Json) -> None:
        # A large one takes long to pack: the writer does it.
        await self._ask(lambda tables: tables.snapshot(run, owner, seq, _packed(state)), run)

    async def post(self, run: RunId, event: Event) -> int:
        row = encode(event, is_split=False)
        return await self._ask(lambda tables: tables.post(run, row), run)

    async def discard(self, run: RunId, owner: int, messages: Sequence[int]) -> None:
        await self._ask(lambda tables: tables.discard(run, owner, messages), run)

    async def memory_records(self, key: str) -> list[Json]:
        return self.memory(key)

    async def remember(self, key: str, record: Json, *, once: str, keep: int) -> bool:
        kept, text = Record(whole(key), record, keep), to_text(record)
        return await self._ask(lambda tables: tables.remember(kept, text, once=once))

    async def amend(
        self, key: str, change: Callable[[list[Json]], Amendment], *, keep: int
    ) -> Amendment:
        stored = whole(key)
        return await self._ask(lambda tables: tables.amend(stored, change, keep))

    async def forget(self, key: str) -> int:
        stored = whole(key)
        return await self._ask(lambda tables: tables.forget_memory(stored))

    def close(self) -> None:
        for loop in list(self._waiting):
            self._hand_over(loop)
        super().close()
        if self._writer is not None:
            self._writer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for loop in list(self._waiting):
            self._hand_over(loop)
        await asyncio.to_thread(self.close)

    async def change(self, apply: Callable[[apsw.Connection], T]) -> T:
        """Changes other tables in a transaction (see `runtimes/service`)."""
        return await self._ask(lambda tables: apply(tables.connection))

    async def _ask(
        self, apply: Callable[[JournalTables], T], run: RunId | None = None, *, alone: bool = False
    ) -> T:
        """Runs a change in a transaction, or with `alone` outside of one; `run` is checked."""
        if run is not None:
            _check_id(run)
        return cast("T", await self._change(Change(apply, alone=alone)))

    async def _change(self, job: Job) -> object:
        """Waits for a job. All jobs of one turn of the event loop are committed together."""
        if self.is_strange:
            raise strange(self.path)
        loop = asyncio.get_running_loop()
        job.loop = loop
        job.answer = loop.create_future()
        waiting = self._waiting.get(loop)
        if waiting is None:
            self._waiting[loop] = [job]
            loop.call_soon(self._hand_over, loop)
        else:
            waiting.append(job)
        return await job.answer

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        jobs = self._waiting.pop(loop, None)
        if not jobs:
            return
        try:
            writer = self._started()
        except StoreError as fault:
            settle([(job, None, copy(fault)) for job in jobs], own_loop=loop)
            return
        outcomes = writer.commit_now(jobs)
        if outcomes is None:
            writer.submit(jobs)
        else:
            settle(outcomes, own_loop=loop)

    def _started(self) -> Writer:
        """Returns the writer; a store that is only read never starts it."""
        if self._writer is not None:
            return self._writer
        if self.is_strange:
            raise strange(self.path)
        with self._gate:
            if self.is_closed and self._writer is None:
                raise closed(self._place.path)
            try:
                self._writer = self._writer or Writer(
                    self._place, self.watch, self.clock, self.monotonic, self._crash_hook
                )
            except apsw.Error as error:
                fault = self.watch.fault_of(error)
                self.watch.note_failure(error, fault)
                raise fault from error
            return self._writer


# A run is written to again and again.
@lru_cache(maxsize=1024)
def _check_id(run: str) -> None:
    if _ID.fullmatch(run) is None:
        words = f"{run[:140]!r} cannot be the id of a run"
        raise UsageError(words, help="use 1 to 128 letters, digits, '_' and '-'", code="W902")


def _packed(state: Json) -> bytes:
    # In pieces: other threads wait for each of them.
    return zlib.compress(to_text(state, is_large=is_large(state)).encode(), 1)


# The one writer of a process to a store: it commits all that waits at once.
#
# An append is acknowledged after the commit that holds it has reached the disk, never before.
# Commits are made by a thread. A few appends on a quick disk take the fast lane: the same commit,
# made by the event loop itself, which takes half the CPU, unless that would hold the loop up.

CrashHook: TypeAlias = "Callable[[str, str, Sequence[Event]], None]"
Outcome: TypeAlias = "tuple[Job, object, WhorlError | None]"

JOBS_PER_COMMIT_MAX: Final = 4096
RESTART_PAGES: Final = 12_000
_RESTART_WAIT_MS: Final = 1000
_FEW: Final = 4
_QUICK_S: Final = 0.002
# Where a run is alone, a commit may take so many times as long: hardly anybody is held up by it.
_ALONE: Final = 10
# What is larger is deflated beside the event loop.
_SMALL_BYTES: Final = 65_536


@dataclass(slots=True, eq=False)
class Change:
    """Any other change. `apply` raises WhorlError only before it has written anything."""

    apply: Callable[[JournalTables], object]
    run: RunId | None = None
    events: Sequence[Event] = ()
    alone: bool = False  # outside of a transaction, as vacuum needs it
    answer: asyncio.Future[object] | None = None
    loop: asyncio.AbstractEventLoop | None = None


Job: TypeAlias = Append | Change


class Writer:
    """Owns the writing connection. `submit` may be called from any thread."""

    def __init__(
        self,
        place: StoreFile,
        watch: FileWatch,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        crash_hook: CrashHook | None,
    ) -> None:
        self._path = place.path
        self._watch = watch
        self._checkpoint_pages = place.checkpoint_pages
        self._hook = crash_hook
        self._queue: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._connection = connecting.open_writer(place)
        self._connection.set_wal_hook(self._count_pages)
        ownership = Ownership(
            self._connection, this_process(), lambda: ClockPair(clock(), monotonic())
        )
        self._tables = JournalTables(self._connection, ownership, clock)
        self._wal_pages = self._checkpointed = 0
        self._broken: StoreError | None = None
        self._in_hand: list[Job] = []
        self._gate = threading.Lock()
        self._turn = threading.Lock()
        self._monotonic = monotonic
        self._commit_s = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="whorl-writer", daemon=True)
        self._thread.start()

    def submit(self, jobs: list[Job]) -> None:
        with self._gate:
            if not self._closed:
                self._queue.put(jobs)
                return
        settle((job, None, self._stopped()) for job in jobs)

    @property
    def is_for_one_run(self) -> bool:
        """Whether this process owns one run, so that no other run could share a commit."""
        return len(self._tables.ownership.runs) == 1

    def commit_now(self, jobs: list[Job]) -> list[Outcome] | None:
        """Commits a few appends in the caller's thread; None if the writer has to do it."""
        quick_s = _QUICK_S * _ALONE if self.is_for_one_run else _QUICK_S
        if len(jobs) > _FEW or self._commit_s > quick_s or self._closed:
            return None
        for job in jobs:
            if not isinstance(job, Append) or job.size >= _SMALL_BYTES:
                return None
        if not self._turn.acquire(blocking=False):
            return None
        try:
            if self._fault() is not None or not self._queue.empty() or not self._begin_at_once():
                return None
            outcomes = self._commit(jobs, begun=True)
        except BaseException:
            # A thread that is not ours, perhaps with a transaction open.
            self._broken = ended(f"writing to the store {self._path!r} was interrupted")
            # An event loop may only log what a callback of it raises: nobody may wait for ever.
            settle([(job, None, self._stopped()) for job in jobs], own_loop=jobs[0].loop)
            raise
        finally:
            self._turn.release()
        if self._is_log_long():
            self._queue.put([])
        return outcomes

    def close(self) -> None:
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _stopped(self) -> StoreError | InternalError:
        if self._broken is not None:
            return copy(self._broken)
        return closed(self._path)

    def _work(self) -> None:
        try:
            is_open = True
            while is_open:
                jobs, is_open = self._collect()
                if jobs or self._tables.ownership.is_beat_due(self._monotonic()):
                    self._serve(jobs)
                if self._is_log_long():
                    with self._turn:
                        self._checkpoint()
            self._leave()
        finally:
            # Reached early only by a mistake of ours (or a test's crash): nobody may wait for ever.
            self._give_up()

    def _collect(self) -> tuple[list[Job], bool]:
        """Returns all waiting jobs, and whether more may come; waits for a job or a heartbeat."""
        jobs: list[Job] = []
        timeout = BEAT_EVERY_S if self._tables.ownership.runs else None
        try:
            more = self._queue.get(timeout=timeout)
            while more is not None:
                jobs += more
                if len(jobs) >= JOBS_PER_COMMIT_MAX:
                    return jobs, True
                more = self._queue.get_nowait()
        except queue.Empty:
            return jobs, True
        return jobs, False

    def _serve(self, jobs: list[Job]) -> None:
        self._in_hand = jobs
        with self._turn:
            outcomes = self._commit([job for job in jobs if not job.alone])
        settle(outcomes)  # the tasks that continue now find the fast lane free
        for job in jobs:
            if isinstance(job, Change) and job.alone:
                with self._turn:
                    outcomes = [self._perform(job)]
                settle(outcomes)
        self._in_hand = []

    def _begin_at_once(self) -> bool:
        """Begins a transaction unless another process is writing, or something is wrong."""
        self._connection.set_busy_timeout(0)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except apsw.Error:
            return False  # the thread waits for the other process, or tells what is wrong
        finally:
            self._connection.set_busy_timeout(connecting.BUSY_TIMEOUT_MS)
        return True

    def _commit(self, jobs: list[Job], *, begun: bool = False) -> list[Outcome]:
        # What is begun was looked at before.
        if not begun and (wrong := self._fault()) is not None:
            return [(job, None, copy(wrong)) for job in jobs]
        self._announce("before", jobs)
        started = self._monotonic()
        try:
            if not begun:
                connecting.begin(self._connection)
            outcomes = self._apply(jobs)
            if self._tables.ownership.is_beat_due(started):
                self._tables.ownership.beat()
            self._announce("inside", jobs)
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - a mistake with one run must not end all others
            fault = self._rolled_back(error)
            self._tables.settle(committed=False)
            if isinstance(fault, InternalError) and len(jobs) > 1:
                # One of these cannot be written; it is unknown which one.
                return [outcome for job in jobs for outcome in self._commit([job])]
            return [(job, None, copy(fault)) for job in jobs]
        self._tables.settle(committed=True)
        self._watch.note_commit()
        self._announce("after", jobs)
        if len(jobs) <= _FEW:
            self._commit_s += (self._monotonic() - started - self._commit_s) * 0.25
        return outcomes

    def _apply(self, jobs: list[Job]) -> list[Outcome]:
        """Applies the jobs in order; consecutive appends are written together."""
        outcomes: list[Outcome] = []
        for kind, group in groupby(jobs, key=type):
            if kind is Append:
                outcomes += self._tables.append_all(cast("list[Append]", list(group)))
            else:
                outcomes += map(self._perform, cast("Iterable[Change]", group))
        return outcomes

    def _perform(self, job: Change) -> Outcome:
        if job.alone and (wrong := self._fault()) is not None:
            return job, None, copy(wrong)
        try:
            return job, job.apply(self._tables), None
        except WhorlError as error:
            return job, None, error
        except apsw.Error as error:
            if not job.alone:
                raise
            return job, None, self._rolled_back(error)

    def _rolled_back(self, error: Exception) -> StoreError | InternalError:
        fault: StoreError | InternalError
        if isinstance(error, apsw.Error):
            fault = self._watch.fault_of(error)
            self._watch.note_failure(error, fault)
            if is_fsync_fault(error):
                self._broken = fault
        else:
            fault = InternalError(f"writing to the store failed: {type(error).__name__}: {error}")
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error as second:
            fatal = self._watch.fault_of(second)
            self._broken = StoreError(str(fatal), help=fatal.help, is_final=True)
        return fault

    def _announce(self, point: str, jobs: Iterable[Job]) -> None:
        if self._hook is not None:
            for job in jobs:
                if job.events and job.run is not None:
                    self._hook(point, job.run, job.events)

    def _count_pages(self, connection: apsw.Connection, name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _checkpoint(self) -> None:
        """Shortens the log, after the answers are sent, so that no caller waits for it."""
        if self._fault() is not None:
            return
        self._checkpointed = self._wal_pages
        try:
            if self._wal_pages < RESTART_PAGES:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            else:
                self._connection.set_busy_timeout(_RESTART_WAIT_MS)
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            # The entries are safe in the log; only a failed fsync leaves doubt about the file.
            if is_fsync_fault(error):
                self._watch.note_failure(error, self._watch.fault_of(error))
        finally:
            self._connection.set_busy_timeout(connecting.BUSY_TIMEOUT_MS)

    def _is_log_long(self) -> bool:
        if self._wal_pages < self._checkpointed:
            self._checkpointed = 0
        return self._wal_pages - self._checkpointed >= self._checkpoint_pages

    def _fault(self) -> StoreError | None:
        """Returns why nothing may be written: a permanent failure, or a change of the file."""
        return self._broken or self._watch.fault(self._connection)

    def _leave(self) -> None:
        if self._fault() is not None:
            return
        try:
            connecting.begin(self._connection)
            self._tables.ownership.leave()
            self._connection.execute("COMMIT")
        except apsw.Error as error:
            self._rolled_back(error)

    def _give_up(self) -> None:
        with self._gate:
            if not self._closed:
                self._closed = True
                words = f"the thread that writes the store {self._path!r} has ended"
                self._broken = self._broken or ended(words)
        if self._fault() is not None:
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connection.close(True)
        settle([(job, None, self._stopped()) for job in self._in_hand])
        while not self._queue.empty():
            settle([(job, None, self._stopped()) for job in self._queue.get_nowait() or ()])


def settle(outcomes: Iterable[Outcome], own_loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Gives every outcome to the task that waits; `own_loop` is the event loop of this thread."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
    for outcome in outcomes:
        loop = outcome[0].loop
        if loop is None or loop is own_loop:
            _answer((outcome,))
        else:
            by_loop.setdefault(loop, []).append(outcome)
    for loop, group in by_loop.items():
        try:
            loop.call_soon_threadsafe(_answer, group)
        except RuntimeError:  # the loop is closed: no task waits any more
            continue


def _answer(outcomes: Iterable[Outcome]) -> None:
    for job, value, error in outcomes:
        if job.answer is not None and not job.answer.done():
            if error is None:
                job.answer.set_result(value)
            else:
                job.answer.set_exception(error)
