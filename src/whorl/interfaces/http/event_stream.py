"""The one watcher behind all streams, and its listeners.

It passes on entries of runs of this process at once. For other processes, it reads the version of
the store, which takes microseconds, and reads entries only if the version has changed. The new
entries of a run are read once for all its listeners.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.errors import StoreError, safe
from whorl.interfaces.http.journal import TASK_ENDS, RunTail
from whorl.runtimes.journal.journal import Entry, RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.serving.watchers import Metrics

if TYPE_CHECKING:
    from whorl.runtimes.runtime import Runtime

POLL_S = 0.04
IDLE_S = 1.0
INTERRUPTED_EVERY_S = 2.0
LISTENERS_MAX = 256
_TEXT_MAX = 64_000
_STREAMING_MAX = 64
_INTERRUPTED_MAX = 200
_END = 2**62
# The more listen, the longer each is left alone after news: so much is sent to all in a second.
_NEWS_PER_S = 500
_SIZE_PER_S = 40_000_000
_FEW = 4

log = logging.getLogger("whorl.http")


@dataclass(slots=True)
class Streamed:
    """The end of the text that a running task has streamed, and the length of all of it."""

    text: str = ""
    length: int = 0


@dataclass(slots=True, eq=False)
class Listener:
    """A listener to one run, or to all; `awake` is set when there is news."""

    is_over: bool = False
    touched: set[RunId] = field(default_factory=set)
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.awake.wait()
            self.awake.clear()


class StreamWatcher:
    """Implements `Watcher` for the runs of this process, and follows the store for all others."""

    def __init__(self) -> None:
        # By run; None: those to all runs.
        self._listeners: dict[RunId | None, list[Listener]] = {}
        self._tails: dict[RunId, RunTail] = {}
        # By the addresses of the tasks of a run.
        self._streamed: dict[RunId, dict[str, Streamed]] = {}
        self._count = 0
        self._called = asyncio.Event()
        self._is_over = False
        self.metrics = Metrics()
        # Of the runs that are counted.
        self.runtime: Runtime | None = None

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        if self.runtime is not None:
            self.metrics.take(run, entries, self.runtime)
        for entry in entries:
            # The replies of tasks that have ended are in the journal.
            if entry.event.kind in TASK_ENDS:
                self._streamed.get(run, {}).pop(entry.event.address, None)
            elif entry.event.kind == "run.finished":
                log.info("run %s has ended: %s", run, entry.event.body.get("status"))
                self._streamed.pop(run, None)
        self.touch(run)

    def text(self, run: RunId, address: str, text: str) -> None:
        tasks = self._streamed.setdefault(run, {})
        streamed = tasks.setdefault(address, Streamed())
        streamed.text = (streamed.text + text)[-_TEXT_MAX:]
        streamed.length += len(text)
        if len(tasks) > _STREAMING_MAX:
            del tasks[next(iter(tasks))]
        for listener in self._listeners.get(run, ()):
            listener.awake.set()

    def streamed(self, run: RunId) -> dict[str, tuple[str, int]]:
        """Returns the text of running tasks by address, each with the length of all of it."""
        tasks = self._streamed.get(run, {})
        return {address: (each.text, each.length) for address, each in tasks.items()}

    def trouble(self, run: RunId, fault: StoreError) -> None:
        log.warning("run %s waits, since the store cannot be written: %s", run, safe(str(fault)))

    def touch(self, run: RunId) -> None:
        if (tail := self._tails.get(run)) is not None:
            tail.is_stale = True
        for listener in (*self._listeners.get(run, ()), *self._listeners.get(None, ())):
            listener.touched.add(run)
            listener.awake.set()

    @property
    def is_full(self) -> bool:
        return self._count >= LISTENERS_MAX

    def pause_s(self, size: int) -> float | None:
        """Returns for how long a listener that received so much waits; None if not at all."""
        if not size or self._count <= _FEW:
            return None
        return self._count * (1 / _NEWS_PER_S + size / _SIZE_PER_S)

    def tail(self, run: RunId, store: SqliteStore) -> RunTail:
        """Returns the end of a run's journal, which all its listeners share."""
        if run not in self._tails:
            self._tails[run] = RunTail(store, run)
        return self._tails[run]

    def is_watched(self, run: RunId) -> bool:
        return run in self._listeners

    @contextlib.contextmanager
    def listening(self, run: RunId | None) -> Iterator[Listener]:
        listener = Listener(self._is_over)
        self._count += 1
        self._called.set()
        group = self._listeners.setdefault(run, [])
        group.append(listener)
        try:
            yield listener
        finally:
            group.remove(listener)
            self._count -= 1
            if not group:
                del self._listeners[run]
            if run is not None and not group:
                self._tails.pop(run, None)

    def end(self) -> None:
        self._is_over = True
        for group in self._listeners.values():
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
                    # Without listeners, only the place is kept, so that the first one does not
                    # receive all that has happened before.
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
        """Waits until the next look; without a listener, until one comes or a second is over."""
        if self._count:
            await asyncio.sleep(POLL_S)
            return
        self._called.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(IDLE_S):
                await self._called.wait()


def _interrupted(store: SqliteStore) -> set[tuple[RunId, int]]:
    rows = store.runs(status="interrupted", limit=_INTERRUPTED_MAX)
    return {(row.id, row.last_seq) for row in rows}
