"""The one writer of a process to a store: it commits all that waits at once.

An append is acknowledged after the commit that holds it has reached the disk, never before.
Commits are made by a thread. A few appends on a quick disk take the fast lane: the same commit,
made by the event loop itself, which takes half the CPU, unless that would hold the loop up.
"""

from __future__ import annotations

import queue
import threading
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

import apsw

from whorl.errors import InternalError, StoreError, WhorlError
from whorl.lazily import dataclass
from whorl.runtimes.sqlite import connection as connecting
from whorl.runtimes.sqlite.faults import closed, copy_of, ended, is_fsync_fault
from whorl.runtimes.sqlite.ownership import BEAT_EVERY_S, ClockPair, Ownership, this_process
from whorl.runtimes.sqlite.tables.journal import Append, JournalTables
from whorl.runtimes.sqlite.tables.memory import MemoryTable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Sequence

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite.change_watch import FileWatch
    from whorl.runtimes.sqlite.connection import Place

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
    size: ClassVar[int] = 0


Job: TypeAlias = Append | Change


class Writer:
    """Owns the writing connection. `submit` may be called from any thread."""

    def __init__(
        self,
        place: Place,
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
        memory = MemoryTable(self._connection, clock)
        self._tables = JournalTables(self._connection, ownership, clock, memory)
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
        """Whether nobody else could share a commit."""
        return len(self._tables.ownership.runs) == 1

    def commit_now(self, jobs: list[Job]) -> list[Outcome] | None:
        """The fast lane: commits a few appends in the caller's thread; None: hand them over."""
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
            return copy_of(self._broken)
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
        """All jobs that wait, and whether more may come; waits for the first one or a heartbeat."""
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
        settle(outcomes)  # whoever hears of it finds the fast lane free
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
            return [(job, None, copy_of(wrong)) for job in jobs]
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
            fault = self._rolled_back(error, sum(job.size for job in jobs))
            self._tables.settle(committed=False)
            if isinstance(fault, InternalError) and len(jobs) > 1:
                # One of these cannot be written, and nobody knows which.
                return [outcome for job in jobs for outcome in self._commit([job])]
            return [(job, None, copy_of(fault)) for job in jobs]
        self._tables.settle(committed=True)
        self._watch.note_commit()
        self._announce("after", jobs)
        if len(jobs) <= _FEW:
            self._commit_s += (self._monotonic() - started - self._commit_s) * 0.25
        return outcomes

    def _apply(self, jobs: list[Job]) -> list[Outcome]:
        """Runs of appends are written together; everything else keeps its place between them."""
        outcomes: list[Outcome] = []
        for kind, group in groupby(jobs, key=type):
            if kind is Append:
                outcomes += self._tables.append_all(cast("list[Append]", list(group)))
            else:
                outcomes += map(self._perform, cast("Iterable[Change]", group))
        return outcomes

    def _perform(self, job: Change) -> Outcome:
        if job.alone and (wrong := self._fault()) is not None:
            return job, None, copy_of(wrong)
        try:
            return job, job.apply(self._tables), None
        except WhorlError as error:
            return job, None, error
        except apsw.Error as error:
            if not job.alone:
                raise
            return job, None, self._rolled_back(error)

    def _rolled_back(self, error: Exception, bytes_needed: int = 0) -> StoreError | InternalError:
        fault: StoreError | InternalError
        if isinstance(error, apsw.Error):
            fault = self._watch.fault_of(error, bytes_needed)
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
            self._broken = StoreError(str(fatal), code="R905", help=fatal.help)
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
        """Keeps the log short, after the answers are out: nobody waits for it."""
        if self._fault() is not None:
            return
        self._checkpointed = self._wal_pages
        try:
            if self._wal_pages < RESTART_PAGES:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            else:
                self._connection.set_busy_timeout(_RESTART_WAIT_MS)
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._watch.note_written()
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
        """Why nothing may be written: a write that failed for good, or what became of the file."""
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
    """Gives every outcome to whoever waits for it; `own_loop` is the event loop of this thread."""
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
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _answer(outcomes: Iterable[Outcome]) -> None:
    for job, value, error in outcomes:
        if job.answer is not None and not job.answer.done():
            if error is None:
                job.answer.set_result(value)
            else:
                job.answer.set_exception(error)
