"""The one watcher that looks on for all streams, and those who listen to it.

Entries of runs of this process are told at once. For those of other processes the store is asked
for its version, which costs microseconds, and only when that has changed for what is new. What is
new of a run is read once for all who listen to it.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import field
from itertools import islice

from whorl.errors import StoreError, safe
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import Entry, RunId
from whorl.runtimes.runtime import Runtime
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.serving.metrics import Metrics

POLL_S = 0.04
IDLE_S = 1.0
INTERRUPTED_EVERY_S = 2.0
LISTENERS_MAX = 256
# How many entries are read at once, and kept of the end of a run that somebody listens to.
PAGE = 500
_DELTA_MAX = 64_000
_STREAMING_MAX = 64
_INTERRUPTED_MAX = 200
_END = 2**62
# The more listen, the longer each is left alone after news: all of them together get 500 a second.
_NEWS_EVERY_S = 0.002
_FEW = 4
_TASK_ENDS = ("task.finished", "task.failed")

log = logging.getLogger("whorl.http")


@dataclass(frozen=True, slots=True)
class Delta:
    """Text that a task has streamed: what is new of it, or (`is_whole`) all that there is."""

    text: str
    is_whole: bool = False

    def then(self, text: str) -> "Delta":
        return Delta((self.text + text)[-_DELTA_MAX:], self.is_whole)


@dataclass(slots=True, eq=False)
class Listener:
    """Somebody who wants to know of one run, or of all; `awake` is set when there is news."""

    is_over: bool = False
    touched: set[RunId] = field(default_factory=set)
    deltas: dict[str, Delta] = field(default_factory=dict)
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.awake.wait()
            self.awake.clear()

    def hear(self, address: str, text: str, *, is_new: bool = False) -> None:
        """Takes text of a step; `is_new`: nothing of it was heard before."""
        self.deltas[address] = self.deltas.get(address, Delta("", is_whole=is_new)).then(text)
        self.awake.set()

    def hold(self, deltas: dict[str, Delta]) -> None:
        for address, newer in self.deltas.items():
            earlier = deltas.get(address)
            deltas[address] = earlier.then(newer.text) if earlier is not None else newer
        self.deltas = deltas


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries as they are sent, the tasks that ended in them, and whether the run did."""

    text: str = ""
    ended: frozenset[str] = frozenset()
    is_over: bool = False

    @classmethod
    def of(cls, entries: list[Entry], texts: Callable[[Entry], Iterator[str]]) -> "Batch":
        text = "".join(text for entry in entries for text in texts(entry))
        kinds = {entry.event.kind for entry in entries}
        ended = (entry.event.address for entry in entries if entry.event.kind in _TASK_ENDS)
        return cls(text, frozenset(ended), "run.finished" in kinds)


class RunTail:
    """The end of a run's journal, read once for all who listen to the run."""

    def __init__(self, store: SqliteStore, run: RunId) -> None:
        self._store, self._run = store, run
        self._entries: deque[Entry] = deque(maxlen=PAGE)
        self._status = ""
        self._reading: asyncio.Task[None] | None = None
        self._batch: tuple[tuple[int, int], Batch] = ((0, 0), Batch())
        # Something has been written since it was read.
        self.is_stale = True

    async def read(self, after: int) -> tuple[list[Entry], str] | None:
        """The entries after one, and a status that is no newer; None: its reader is far behind."""
        # What is under way may have begun before the last change; what begins now has not.
        for _ in range(2):
            if self._reading is None:
                if not self.is_stale:
                    break
                self.is_stale = False
                self._reading = asyncio.create_task(self._refresh())
            # Whoever leaves meanwhile does not end it for others.
            await asyncio.shield(self._reading)
        if not self._entries:
            return [], self._status
        first = self._entries[0].seq
        if after + 1 < first:
            return None
        return list(islice(self._entries, after + 1 - first, None)), self._status

    def batch(self, entries: list[Entry], texts: Callable[[Entry], Iterator[str]]) -> Batch:
        """Some entries as they are sent; most listeners are at the same place."""
        key = (entries[0].seq, entries[-1].seq) if entries else (0, 0)
        if key != self._batch[0]:
            self._batch = (key, Batch.of(entries, texts))
        return self._batch[1]

    async def _refresh(self) -> None:
        try:
            entries, self._status = await asyncio.to_thread(self._load)
            self._entries.extend(entries)
            self.is_stale |= len(entries) == PAGE
        finally:
            self._reading = None

    def _load(self) -> tuple[list[Entry], str]:
        # The status is read first: an end is told after all that led to it.
        row = self._store.run(self._run)
        after = self._entries[-1].seq if self._entries else max(0, row.last_seq - PAGE)
        return list(self._store.read(self._run, after=after, limit=PAGE)), row.status


class StreamWatcher:
    """Implements `Watcher` for the runs of this process, and follows the store for all others."""

    def __init__(self) -> None:
        self._of_runs: dict[RunId, list[Listener]] = {}
        self._of_all: list[Listener] = []
        self._tails: dict[RunId, RunTail] = {}
        # What tasks have streamed so far, for late readers.
        self._texts: dict[RunId, dict[str, Delta]] = {}
        self._count = 0
        self._called = asyncio.Event()
        self._is_over = False
        self.metrics = Metrics()
        self.about: DrivenRuns | None = None

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        if self.about is not None:
            self.metrics.take(run, entries, self.about)
        texts = self._texts.get(run, {})
        for entry in entries:
            # The replies of tasks that have ended are in the journal.
            if entry.event.kind in _TASK_ENDS:
                texts.pop(entry.event.address, None)
            elif entry.event.kind == "run.finished":
                log.info("run %s has ended: %s", run, entry.event.body.get("status"))
                texts.clear()
        if not texts:
            self._texts.pop(run, None)
        self.touch(run)

    def text(self, run: RunId, address: str, text: str) -> None:
        texts = self._texts.setdefault(run, {})
        texts[address] = texts.get(address, Delta("", is_whole=True)).then(text)
        if len(texts) > _STREAMING_MAX:
            del texts[next(iter(texts))]
        for listener in self._of_runs.get(run, ()):
            listener.hear(address, text)

    def trouble(self, run: RunId, fault: StoreError) -> None:
        log.warning("run %s waits, since the store cannot be written: %s", run, safe(str(fault)))

    def touch(self, run: RunId) -> None:
        if (tail := self._tails.get(run)) is not None:
            tail.is_stale = True
        for listener in self._of_all:
            listener.touched.add(run)
        for listener in (*self._of_runs.get(run, ()), *self._of_all):
            listener.awake.set()

    @property
    def is_full(self) -> bool:
        return self._count >= LISTENERS_MAX

    @property
    def pause_s(self) -> float | None:
        """For how long somebody who has just been sent news gets no more; None: not at all."""
        return self._count * _NEWS_EVERY_S if self._count > _FEW else None

    def tail(self, run: RunId, store: SqliteStore) -> RunTail:
        """The end of a run that somebody listens to."""
        if run not in self._tails:
            self._tails[run] = RunTail(store, run)
        return self._tails[run]

    def is_watched(self, run: RunId) -> bool:
        return run in self._of_runs

    @contextlib.contextmanager
    def listening(self, run: RunId | None) -> Iterator[Listener]:
        listener = Listener(self._is_over)
        if run is not None:
            listener.deltas = dict(self._texts.get(run, {}))
        self._count += 1
        self._called.set()
        group = self._of_all if run is None else self._of_runs.setdefault(run, [])
        group.append(listener)
        try:
            yield listener
        finally:
            group.remove(listener)
            self._count -= 1
            if run is not None and not group:
                self._of_runs.pop(run, None)
                self._tails.pop(run, None)

    def end(self) -> None:
        self._is_over = True
        for group in (self._of_all, *self._of_runs.values()):
            for listener in group:
                listener.is_over = True
                listener.awake.set()

    async def follow(self, store: SqliteStore) -> None:
        version = store.version()
        place, _ = store.touched(_END)
        known_interrupted = await asyncio.to_thread(_interrupted, store)
        looked = time.monotonic()
        while True:
            await self._pause()
            try:
                now = store.version()
                if now != version:
                    version = now
                    # Where nobody listens, only the place is kept, so that the first who does is
                    # not told of all that has happened before.
                    place, runs = store.touched(place if self._count else _END)
                    for run in runs:
                        self.touch(run)
                if self._count and time.monotonic() - looked >= INTERRUPTED_EVERY_S:
                    # A process that was killed leaves nothing in the journal.
                    looked = time.monotonic()
                    interrupted = await asyncio.to_thread(_interrupted, store)
                    for run, _ in interrupted - known_interrupted:
                        self.touch(run)
                    known_interrupted = interrupted
            except StoreError as fault:
                log.warning("the store cannot be read: %s", safe(str(fault)))
                await asyncio.sleep(INTERRUPTED_EVERY_S)

    async def _pause(self) -> None:
        if self._count:
            await asyncio.sleep(POLL_S)
            return
        self._called.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(IDLE_S):
                await self._called.wait()


@dataclass(frozen=True, slots=True)
class DrivenRuns:
    """Tells about runs that this process drives."""

    runtime: Runtime

    def name(self, run: RunId) -> str:
        return self.runtime.plan(run).workflow.name

    def created_at(self, run: RunId) -> float:
        return self.runtime.store.run(run).created_at


def _interrupted(store: SqliteStore) -> set[tuple[RunId, int]]:
    rows = store.runs(status="interrupted", limit=_INTERRUPTED_MAX)
    return {(row.id, row.last_seq) for row in rows}
