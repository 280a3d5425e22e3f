"""The journals of runs as they are sent, and the one watcher behind all streams.

The entries after a place are encoded once for all watchers, and kept as a batch. All readers at
the same place get the same batch. Each batch ends where the journal did, so readers from other
places soon share batches, too.

A preview names its value by the number of an entry and a path into its body. So it needs no memory,
and leads to values of that run only. A value of a record is derived again and has entry number 0.

The watcher passes on entries of runs of this process at once. For other processes, it reads the
version of the store, which takes microseconds, and reads entries only if the version has changed.
"""

import asyncio
import base64
import contextlib
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from whorl.errors import StoreError, safe
from whorl.interfaces.advice import advice
from whorl.interfaces.formatting import paragraphs, written
from whorl.interfaces.http.models import Closed, JsonValue
from whorl.interpreter.events import Event
from whorl.language import Json
from whorl.runtimes.journal.journal import Entry, RunId
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.serving.watchers import Metrics

if TYPE_CHECKING:
    from whorl.runtimes.runtime import Runtime

# How many entries are read at once.
PAGE = 500
# About how much is kept of a run.
_KEPT_MAX = 2_000_000
TASK_ENDS = ("task.finished", "task.failed")

BODY_MAX = 8_000
VALUE_MAX = 4_000
PREVIEW_MAX = 400
_PATH_MAX = 1_000
_ENTRIES_MAX = 200

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

_Path: TypeAlias = tuple[str | int, ...]


class JournalEvent(Closed):
    """An entry of the journal. A large value in `body` is `{"$ref", "size", "preview"}`."""

    run: str
    seq: int
    kind: str
    address: str
    at: float
    body: dict[str, JsonValue]


def journal_event(run: str, entry: Entry) -> JournalEvent:
    event = entry.event
    body = body_of(event)
    fault = body if event.kind == "warning" else body.get("error")
    if isinstance(fault, dict) and fault.get("facts"):
        words = advice(str(fault["code"]), cast("Any", fault["facts"]), run)
        fault = fault | {"help": words}
        body = fault if event.kind == "warning" else body | {"error": fault}
    return JournalEvent.from_row(event, run=run, seq=entry.seq, body=abridged(body, entry.seq))


def event_text(data: str, name: str = "", *, seq: int | None = None) -> str:
    """Returns the text of an event of a stream; `seq` is the number of its entry."""
    head = f"id: {seq}\n" if seq is not None else ""
    named = f"event: {name}\n" if name else ""
    return f"{head}{named}data: {data}\n\n"


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries as they are sent, the tasks that ended in them, and whether the run ended.

    It ends with the entry `last`; `is_all`: no entry after it is known.
    """

    last: int
    text: str = ""
    ended: frozenset[str] = frozenset()
    is_over: bool = False
    is_all: bool = True


class RunTail:
    """The end of a run's journal."""

    def __init__(self, store: SqliteStore, run: RunId) -> None:
        self._store, self._run = store, run
        # By the entry that they come after.
        self._batches: dict[int, Batch] = {}
        self._size = self._last = 0
        self._reading: asyncio.Task[None] | None = None
        self.status = ""
        # Something has been written since it was read.
        self.is_stale = True

    async def read(self, after: int) -> Batch:
        """Returns entries after one; if it has all, `status` is not newer than they are."""
        if after not in self._batches and (self.is_stale or after < self._last):
            if self._reading is None:
                self._reading = asyncio.create_task(self._load(after))
            # A reader that leaves does not cancel it for others.
            await asyncio.shield(self._reading)
        batch = self._batches.get(after, Batch(after))
        return replace(batch, is_all=batch.last >= self._last)

    async def _load(self, after: int) -> None:
        self.is_stale = False
        try:
            status, last, batch = await asyncio.to_thread(self._encoded, after)
        finally:
            self._reading = None
        self.status, self._last = status, last
        if batch.last > after:
            self._batches[after] = batch
            self._size += len(batch.text)
        while self._size > _KEPT_MAX and len(self._batches) > 1:
            self._size -= len(self._batches.pop(next(iter(self._batches))).text)

    def _encoded(self, after: int) -> tuple[str, int, Batch]:
        # The status is read first, so that an end is sent after all entries before it.
        row = self._store.run(self._run)
        entries = list(self._store.read(self._run, after=after, limit=PAGE))
        events = [entry.event for entry in entries]
        batch = Batch(
            last=entries[-1].seq if entries else after,
            text="".join(map(self._text, entries)),
            ended=frozenset(event.address for event in events if event.kind in TASK_ENDS),
            is_over=any(event.kind == "run.finished" for event in events),
        )
        return row.status, max(row.last_seq, batch.last), batch

    def _text(self, entry: Entry) -> str:
        return event_text(journal_event(self._run, entry).model_dump_json(), seq=entry.seq)


def body_of(event: Event) -> dict[str, Json]:
    """Returns the body of an entry without `callback`, which signs addresses and stays secret."""
    return {name: value for name, value in shown(event).items() if name != "callback"}


def abridged(body: dict[str, Json], seq: int) -> dict[str, Json]:
    if _size(body) <= BODY_MAX:
        return body
    return {name: shortened(value, seq, (name,)) for name, value in body.items()}


def shortened(value: Json, seq: int, path: _Path) -> Json:
    """Returns a value of an entry or a record, with previews of its large parts."""
    if (size := _size(value)) <= VALUE_MAX:
        return value
    ref = _encoded(path)
    if isinstance(value, dict | list) and len(value) <= _ENTRIES_MAX and len(ref) <= _PATH_MAX:
        if isinstance(value, dict):
            inner: Json = {k: shortened(v, seq, (*path, k)) for k, v in value.items()}
        else:
            inner = [shortened(v, seq, (*path, at)) for at, v in enumerate(value)]
        if _size(inner) <= BODY_MAX:
            return inner
    preview = paragraphs(written(value)[:PREVIEW_MAX])
    return {"$ref": f"{seq}.{ref}", "size": size, "preview": preview}


def _size(value: Json) -> int:
    return len(value) if isinstance(value, str) else len(json.dumps(value, ensure_ascii=False))


def _encoded(path: _Path) -> str:
    text = json.dumps(path, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "replace")).decode("ascii").rstrip("=")


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
        # By the addresses of the tasks of a run: the end of the text of each, the length of all.
        self._streamed: dict[RunId, dict[str, tuple[str, int]]] = {}
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
        before, length = tasks.get(address, ("", 0))
        tasks[address] = (before + text)[-_TEXT_MAX:], length + len(text)
        if len(tasks) > _STREAMING_MAX:
            del tasks[next(iter(tasks))]
        for listener in self._listeners.get(run, ()):
            listener.awake.set()

    def streamed(self, run: RunId) -> dict[str, tuple[str, int]]:
        """Returns the text of running tasks by address, each with the length of all of it."""
        return dict(self._streamed.get(run, {}))

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
