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
from collections.abc import Iterator
from dataclasses import field
from itertools import islice

from whorl.errors import StoreError, safe
from whorl.interfaces.http.views.journal import TASK_ENDS, RunTail
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import Entry, RunId
from whorl.runtimes.runtime import Runtime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import created_at
from whorl.services.serving.metrics import Metrics

POLL_S = 0.04
IDLE_S = 1.0
INTERRUPTED_EVERY_S = 2.0
LISTENERS_MAX = 256
_DELTA_MAX = 64_000
_STREAMING_MAX = 64
_PIECES_MAX = 1_000
_PIECES_SIZE_MAX = 1_000_000
_INTERRUPTED_MAX = 200
_END = 2**62
# The more listen, the longer each is left alone after news: so much is sent to all in a second.
_NEWS_PER_S = 500
_SIZE_PER_S = 40_000_000
_FEW = 4

log = logging.getLogger("whorl.http")


@dataclass(frozen=True, slots=True)
class Delta:
    """Text that a task has streamed: what is new of it, or (`is_whole`) all that there is."""

    text: str
    is_whole: bool = False

    def then(self, text: str) -> "Delta":
        return Delta((self.text + text)[-_DELTA_MAX:], self.is_whole)


class RunText:
    """What the tasks of a run have streamed, kept once for all who listen.

    `so_far` has what those under way have said; pieces are numbered, and the last ones are kept.
    """

    def __init__(self) -> None:
        self.so_far: dict[str, Delta] = {}
        self.count = 0
        self._pieces: deque[tuple[str, str]] = deque()
        self._size = 0

    def add(self, address: str, text: str, *, is_heard: bool) -> None:
        self.so_far[address] = self.so_far.get(address, Delta("", is_whole=True)).then(text)
        if len(self.so_far) > _STREAMING_MAX:
            del self.so_far[next(iter(self.so_far))]
        if not is_heard:
            return
        self.count += 1
        self._pieces.append((address, text))
        self._size += len(text)
        while self._size > _PIECES_SIZE_MAX or len(self._pieces) > _PIECES_MAX:
            self._size -= len(self._pieces.popleft()[1])

    def after(self, place: int, *, under_way: bool) -> dict[str, Delta]:
        """What came after a piece; `under_way`: of tasks that have not ended."""
        first = self.count - len(self._pieces)
        if place < first:
            # Whoever is that late gets all that is still being said.
            return dict(self.so_far)
        deltas: dict[str, Delta] = {}
        for address, text in islice(self._pieces, place - first, None):
            if not under_way or address in self.so_far:
                earlier = deltas.get(address)
                deltas[address] = Delta(text) if earlier is None else earlier.then(text)
        return deltas


def _joined(deltas: dict[str, Delta], newer: dict[str, Delta]) -> dict[str, Delta]:
    for address, delta in newer.items():
        if address in deltas and not delta.is_whole:
            deltas[address] = deltas[address].then(delta.text)
        else:
            deltas[address] = delta
    return deltas


@dataclass(slots=True, eq=False)
class Listener:
    """Somebody who wants to know of one run, or of all; `awake` is set when there is news.

    `deltas` is text that only this one was told; of `text`, which all of the run's listeners
    share, it has heard what stands before `place`.
    """

    is_over: bool = False
    touched: set[RunId] = field(default_factory=set)
    deltas: dict[str, Delta] = field(default_factory=dict)
    awake: asyncio.Event = field(default_factory=asyncio.Event)
    text: RunText = field(default_factory=RunText)
    place: int = 0

    async def wait(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.awake.wait()
            self.awake.clear()

    def hear(self, address: str, text: str, *, is_new: bool = False) -> None:
        """Takes text of a step; `is_new`: nothing of it was heard before."""
        self.deltas[address] = self.deltas.get(address, Delta("", is_whole=is_new)).then(text)
        self.awake.set()

    def take(self, *, under_way: bool) -> dict[str, Delta]:
        """What is new of text; `under_way`: of the shared one, only that of such tasks."""
        deltas, self.deltas = self.deltas, {}
        newer = self.text.after(self.place, under_way=under_way)
        self.place = self.text.count
        return _joined(deltas, newer)

    def hold(self, deltas: dict[str, Delta]) -> None:
        self.deltas = _joined(deltas, self.deltas)


class StreamWatcher:
    """Implements `Watcher` for the runs of this process, and follows the store for all others."""

    def __init__(self) -> None:
        self._of_runs: dict[RunId, list[Listener]] = {}
        self._of_all: list[Listener] = []
        self._tails: dict[RunId, RunTail] = {}
        self._texts: dict[RunId, RunText] = {}
        self._count = 0
        self._called = asyncio.Event()
        self._is_over = False
        self.metrics = Metrics()
        self.about: DrivenRuns | None = None

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        if self.about is not None:
            self.metrics.take(run, entries, self.about)
        text = self._texts.get(run)
        so_far = text.so_far if text is not None else {}
        for entry in entries:
            # The replies of tasks that have ended are in the journal.
            if entry.event.kind in TASK_ENDS:
                so_far.pop(entry.event.address, None)
            elif entry.event.kind == "run.finished":
                log.info("run %s has ended: %s", run, entry.event.body.get("status"))
                so_far.clear()
        if not so_far and run not in self._of_runs:
            self._texts.pop(run, None)
        self.touch(run)

    def text(self, run: RunId, address: str, text: str) -> None:
        listeners = self._of_runs.get(run, ())
        self._texts.setdefault(run, RunText()).add(address, text, is_heard=bool(listeners))
        for listener in listeners:
            listener.awake.set()

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
    def is_crowded(self) -> bool:
        return self._count > _FEW

    def pause_s(self, size: int) -> float | None:
        """For how long somebody who has just been sent so much gets no more; None: not at all."""
        if not size or not self.is_crowded:
            return None
        return self._count * (1 / _NEWS_PER_S + size / _SIZE_PER_S)

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
            listener.text = self._texts.setdefault(run, RunText())
            listener.deltas = dict(listener.text.so_far)
            listener.place = listener.text.count
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
                if not listener.text.so_far:
                    self._texts.pop(run, None)

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
        # Whoever reads the store waits for all that computes, and so would all who are served.
        known = created_at(run)
        return self.runtime.store.run(run).created_at if known is None else known


def _interrupted(store: SqliteStore) -> set[tuple[RunId, int]]:
    rows = store.runs(status="interrupted", limit=_INTERRUPTED_MAX)
    return {(row.id, row.last_seq) for row in rows}
