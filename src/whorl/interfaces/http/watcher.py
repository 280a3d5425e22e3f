"""The one that looks on for all streams: what this process does, and what others have committed.

Entries of runs of this process are told at once. For those of other processes the store is asked
for its version, which costs microseconds, and only when that has changed for what is new.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.errors import StoreError, safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.runtimes.journal import Entry, RunId
    from whorl.runtimes.sqlite import SqliteStore

POLL_S = 0.04
IDLE_S = 1.0
INTERRUPTED_EVERY_S = 2.0
LISTENERS_MAX = 256
_DELTA_MAX = 64_000
_STREAMING_MAX = 64
_INTERRUPTED_MAX = 200
_END = 2**62

log = logging.getLogger("whorl.http")


@dataclass(frozen=True, slots=True)
class Delta:
    """Text that a task has streamed: what is new of it, or (`is_whole`) all that there is."""

    text: str
    is_whole: bool = False

    def then(self, text: str) -> Delta:
        """The same with more text behind it; of very much, the end."""
        return Delta((self.text + text)[-_DELTA_MAX:], self.is_whole)


class Streaming:
    """What the tasks of this process have streamed so far, for those who come late."""

    def __init__(self) -> None:
        self._texts: dict[RunId, dict[str, Delta]] = {}

    def add(self, run: RunId, address: str, text: str) -> None:
        """A task has streamed some text."""
        texts = self._texts.setdefault(run, {})
        texts[address] = texts.get(address, Delta("", is_whole=True)).then(text)
        if len(texts) > _STREAMING_MAX:
            del texts[next(iter(texts))]

    def settle(self, run: RunId, entries: list[Entry]) -> None:
        """Tasks have ended: their replies are in the journal."""
        texts = self._texts.get(run)
        if texts is None:
            return
        for entry in entries:
            if entry.event.kind in ("task.finished", "task.failed"):
                texts.pop(entry.event.address, None)
            elif entry.event.kind == "run.finished":
                texts.clear()
        if not texts:
            del self._texts[run]

    def so_far(self, run: RunId) -> dict[str, Delta]:
        """The texts of tasks that have not ended."""
        return dict(self._texts.get(run, {}))


class Listener:
    """Somebody who wants to know: of one run, or (`run` is None) of all."""

    def __init__(self, run: RunId | None) -> None:
        self.run = run
        self.touched: set[RunId] = set()
        self.deltas: dict[str, Delta] = {}
        self.is_over = False
        self._awake = asyncio.Event()

    def wake(self) -> None:
        """Something has happened."""
        self._awake.set()

    async def wait(self, timeout_s: float) -> None:
        """Waits until something has happened, or for as long as this."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._awake.wait()
        except TimeoutError:
            return
        self._awake.clear()

    def take_deltas(self) -> dict[str, Delta]:
        """The streamed text since the last time, by address."""
        taken, self.deltas = self.deltas, {}
        return taken

    def hold(self, deltas: dict[str, Delta]) -> None:
        """Gives deltas back that are to be told later, before those that have come since."""
        for address, newer in self.deltas.items():
            known = deltas.get(address)
            deltas[address] = known.then(newer.text) if known is not None else newer
        self.deltas = deltas

    def take_touched(self) -> set[RunId]:
        """The runs that have changed since the last time."""
        taken, self.touched = self.touched, set()
        return taken


class StreamWatcher:
    """Implements `Watcher` for the runs of this process, and follows the store for all others."""

    def __init__(self) -> None:
        self._of_runs: dict[RunId, list[Listener]] = {}
        self._of_all: list[Listener] = []
        self._streaming = Streaming()
        self._count = 0
        self._called = asyncio.Event()
        self._is_over = False

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """These entries of a run of this process are durable."""
        self._streaming.settle(run, entries)
        self.touch(run)

    def text(self, run: RunId, address: str, text: str) -> None:
        """A task of this process has streamed some text."""
        self._streaming.add(run, address, text)
        for listener in self._of_runs.get(run, ()):
            listener.deltas[address] = listener.deltas.get(address, Delta("")).then(text)
            listener.wake()

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """The store cannot be written; the run waits until it can."""
        log.warning("run %s waits, since the store cannot be written: %s", run, safe(str(fault)))

    def touch(self, run: RunId) -> None:
        """A run has changed."""
        for listener in self._of_runs.get(run, ()):
            listener.wake()
        for listener in self._of_all:
            listener.touched.add(run)
            listener.wake()

    @property
    def is_full(self) -> bool:
        """Whether no more listeners are taken."""
        return self._count >= LISTENERS_MAX

    @contextlib.contextmanager
    def listening(self, run: RunId | None) -> Iterator[Listener]:
        """A listener, for as long as it listens."""
        listener = Listener(run)
        listener.is_over = self._is_over
        if run is not None:
            listener.deltas = self._streaming.so_far(run)
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

    def end(self) -> None:
        """The server is about to stop: everybody goes home."""
        self._is_over = True
        for listener in [
            *self._of_all,
            *(one for group in self._of_runs.values() for one in group),
        ]:
            listener.is_over = True
            listener.wake()

    async def _pause(self) -> None:
        """Until it is time to look again; where nobody listens that is seldom."""
        if self._count:
            await asyncio.sleep(POLL_S)
            return
        self._called.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(IDLE_S):
                await self._called.wait()

    async def follow(self, store: SqliteStore) -> None:
        """Tells of what other processes commit, until it is cancelled."""
        version = store.version()
        place, _ = store.touched(_END)
        known_interrupted = await asyncio.to_thread(_interrupted, store)
        looked = asyncio.get_running_loop().time()
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
                if not self._count:
                    continue
                if asyncio.get_running_loop().time() - looked >= INTERRUPTED_EVERY_S:
                    # A process that was killed leaves nothing in the journal.
                    looked = asyncio.get_running_loop().time()
                    interrupted = await asyncio.to_thread(_interrupted, store)
                    for run, _ in interrupted - known_interrupted:
                        self.touch(run)
                    known_interrupted = interrupted
            except StoreError as fault:
                log.warning("the store cannot be read: %s", safe(str(fault)))
                await asyncio.sleep(INTERRUPTED_EVERY_S)


def _interrupted(store: SqliteStore) -> set[tuple[RunId, int]]:
    rows = store.runs(status="interrupted", limit=_INTERRUPTED_MAX)
    return {(row.id, row.last_seq) for row in rows}
