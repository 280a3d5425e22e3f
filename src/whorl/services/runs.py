"""The runs of a project: the runtime with all who look on, driving, and requests to runs.

Requests to one run are carried out one after the other, each until it stands in the journal: so of
two that exclude each other the second one is refused.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from whorl.errors import StoreError, UsageError, WhorlError, nearest, safe
from whorl.interpreter.requests import objection
from whorl.ir import from_json
from whorl.lazily import dataclass
from whorl.providers.redaction import Secret, StreamedText, redact
from whorl.runtimes.journal.fields import tool_pins
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.sealing import opened, redaction_of, secrets_of, shown_sources
from whorl.services.configuration.trust import check_trusted
from whorl.services.inspecting.live_text import LiveText, folder_of
from whorl.services.inspecting.results import status_words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.providers.settings import Retention
    from whorl.runtimes.journal.journal import Entry, RunId
    from whorl.runtimes.runtime import Runtime, Watcher
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.runtimes.starting import Start
    from whorl.services.project import Project


# How many of the newest runs are looked through for a key or a name that is near.
RUNS_MAX = 10_000
# Where the next server will be, unless somebody says otherwise.
USUAL_URL = "http://127.0.0.1:7411"
# A shorter text is near to anything.
_HINT_LENGTH_MIN = 4
_STREAMS_MAX = 10_000
PATIENCE_S = 5.0
OWNED_S = 1.0
QUEUED_S = 0.5
POLL_S = 0.01
FAULTS_MAX = 1_000
RETIRED_AT_ONCE = 50
RETIRED_PAUSE_S = 0.5
RETIRED_EVERY_S = 30.0
_SEEN_MAX = 5_000
_STEERING = frozenset(
    {"run.paused", "run.resumed", "run.cancelled", "run.continued", "run.accepted", "gate.decided"}
)

log = logging.getLogger("whorl")


@asynccontextmanager
async def open_runtime(
    project: Project,
    providers: Providers,
    *,
    origin: str = "",
    watcher: Watcher | None = None,
    is_watched: Callable[[RunId], bool] = lambda run: True,
) -> AsyncIterator[Runtime]:
    """The runtime of a project; `origin` is who starts runs in it (see `NewRun`).

    `is_watched` tells of which runs the watcher wants what their tasks stream, where it costs.
    """
    from whorl.providers.tools.known import FILE_NAME, KnownTools
    from whorl.runtimes.local import LocalRuntime
    from whorl.runtimes.turns import CPU_MAX_S

    async with AsyncExitStack() as stack:
        watchers = [] if watcher is None else [watcher]
        if project.environment.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
            from whorl.services.serving.watchers import telemetry_from

            telemetry = telemetry_from(project.environment)
            stack.callback(telemetry.close)
            watchers.append(telemetry)
        stack.push_async_callback(providers.close)
        store = await stack.enter_async_context(project.open_store(create=True))
        if providers.settings.notify.url:
            from whorl.services.serving.watchers import Notifier

            notifier = Notifier(providers.settings.notify, store, providers.secrets)
            stack.push_async_callback(notifier.close)
            watchers.append(notifier)
        providers.memories = store
        providers.tool_pins = partial(tool_pins, store)
        providers.known_tools = KnownTools(project.store.with_name(FILE_NAME))
        workers, settings = ProviderWorkers(providers), providers.settings
        if settings.runtime.kind == "local":
            live_text = LiveText(folder_of(project.store))
            stack.callback(live_text.close)
            watchers.append(live_text)
        everybody = RedactedWatchers(watchers, providers.secrets) if watchers else None
        url = settings.server.url or USUAL_URL
        check = partial(check_trusted, settings)
        if settings.runtime.kind == "temporal":
            from whorl.services.serving.cluster import open_cluster

            yield await stack.enter_async_context(
                open_cluster(
                    providers,
                    store,
                    redacted=workers.redacted,
                    watcher=everybody,
                    is_watched=is_watched,
                    check=check,
                    origin=origin,
                    url=url,
                )
            )
            return
        yield LocalRuntime(
            store,
            workers,
            watcher=everybody,
            check=check,
            origin=origin,
            cpu_max_s=settings.limits.get("cpu", CPU_MAX_S),
            url=url,
        )


async def keep_to(retention: Retention, project: Project, store: SqliteStore) -> None:
    """Deletes by itself what the operator does not want to keep, a few runs at a time."""
    while True:
        try:
            gone = await store.retire(retention, RETIRED_AT_ONCE)
        except StoreError as fault:
            log.warning("old runs cannot be deleted: %s", safe(str(fault)))
            gone = None
        if gone is not None and gone.runs:
            project.remove_workspaces(gone.runs)
            log.info("deleted %d runs, as [retention] says", len(gone.runs))
        is_more = gone is not None and len(gone.runs) == RETIRED_AT_ONCE
        await asyncio.sleep(RETIRED_PAUSE_S if is_more else RETIRED_EVERY_S)


class ProviderWorkers:
    """Implements `Workers` with the configured providers."""

    def __init__(self, providers: Providers) -> None:
        self.kind = providers.kind
        self.effect = providers.effect
        self._secrets = providers.secrets

    def redacted(self, value: Json) -> Json:
        return redact(value, self._secrets)


@dataclass(slots=True, eq=False)
class RedactedWatchers:
    """Stands before watchers; what the journal tells has been cleared of secrets already."""

    watchers: Sequence[Watcher]
    secrets: Sequence[Secret]
    _streams: dict[tuple[RunId, str], StreamedText] = field(default_factory=dict)

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        for entry in entries:
            if entry.event.kind in ("task.finished", "task.failed"):
                stream = self._streams.pop((run, entry.event.address), None)
                self._show(run, entry.event.address, stream.rest() if stream is not None else "")
        for watcher in self.watchers:
            watcher.entries(run, entries)

    def text(self, run: RunId, address: str, text: str) -> None:
        key = (run, address)
        if key not in self._streams:
            if len(self._streams) >= _STREAMS_MAX:
                del self._streams[next(iter(self._streams))]
            self._streams[key] = StreamedText(self.secrets)
        self._show(run, address, self._streams[key].take(text))

    def trouble(self, run: RunId, fault: StoreError) -> None:
        for watcher in self.watchers:
            watcher.trouble(run, fault)

    def _show(self, run: RunId, address: str, text: str) -> None:
        for watcher in self.watchers if text else ():
            watcher.text(run, address, text)


def find_run(store: SqliteStore, text: str) -> RunId:
    """The run that a person means: by its id, the beginning of one, its key, or `last`.

    Raises UsageError W902, or W903 where it may be several.
    """
    try:
        return store.resolve(text)
    except UsageError as fault:
        if fault.code != "W902":
            raise
        rows = store.runs(limit=RUNS_MAX)
        keyed = next((row.id for row in rows if text and row.key == text), None)
        if keyed is not None:
            return keyed
        if sum(row.id.startswith(text) for row in rows) > 1 and text:
            raise UsageError(str(fault), help=fault.help, code="W903") from None
        names = [name for row in rows for name in (row.id, row.key) if name]
        hint = ""
        if len(text) >= _HINT_LENGTH_MIN:
            near = nearest(text, names) or nearest(text, [name[: len(text)] for name in names])
            hint = f"did you mean {near!r}? " if near else ""
        words = f"there is no run {text!r} in the store"
        raise UsageError(words, help=f"{hint}`whorl ls` lists the runs", code="W902") from None


def check_key(store: SqliteStore, run: RunId, start: Start) -> None:
    """Refuses a key whose run was started with other files or inputs: it is another request."""
    row = store.run(run)
    workflow = from_json(store.workflow(run))
    first = next(iter(store.read(run, limit=1))).event
    before: Any = opened(first, run, store.seals).body.get("input")
    # What the file has for secrets was given to the run.
    filled = {port.name: before.get(port.name) for port in workflow.inputs if port.secret}
    different = "other inputs" if before != filled | start.input else ""
    redaction = redaction_of(secrets_of(workflow, before))
    if sorted(store.sources(run).values()) != sorted(
        shown_sources(start.sources, redaction).values()
    ):
        different = f"another workflow ({row.name!r})"
    if different:
        raise UsageError(
            f"the key {start.key!r} belongs to run {run}, which {status_words(row.status)} "
            f"and was started with {different}",
            help=f"choose another key, or look at that run: `whorl show {run}`",
            code="W905",
        )


@dataclass(eq=False)
class Driving:
    """Drives runs in the background; `left` is told of each that is not driven any more.

    Unless somebody else does it for all runs of the store, it lets those that it drove go on when
    the time is over that a person was given to decide (`has_alarms`).
    """

    runtime: Runtime
    left: Callable[[RunId], None] = lambda _: None
    has_alarms: bool = True

    def __post_init__(self) -> None:
        self._tasks: dict[RunId, asyncio.Task[str]] = {}
        self._alarms: dict[RunId, asyncio.Task[None]] = {}
        self._faults: dict[RunId, BaseException] = {}
        self._closing = False
        self._locks: WeakValueDictionary[RunId, asyncio.Lock] = WeakValueDictionary()

    def __bool__(self) -> bool:
        return bool(self._tasks)

    @property
    def count(self) -> int:
        """How many runs are driven here."""
        return len(self._tasks)

    def is_driven(self, run: RunId) -> bool:
        return run in self._tasks

    @property
    def is_closing(self) -> bool:
        return self._closing

    def drive(self, run: RunId, *requests: Event, at_least: float = 0.0) -> asyncio.Task[str]:
        alarm = self._alarms.pop(run, None)
        if alarm is not None:
            alarm.cancel()
        self._faults.pop(run, None)
        task = self._tasks[run] = asyncio.create_task(self._drive(run, requests, at_least))
        task.add_done_callback(lambda done: self._left(run, done))
        return task

    async def ask(self, run: RunId, make: Callable[[], Event], seen: int | None = None) -> None:
        """Carries a request out: `make` looks at the run as it is and says what is asked.

        Returns once the request stands in the journal, or its owner has it in its inbox. Raises
        UsageError where the run as it is has something against it.
        """
        async with self._locks.setdefault(run, asyncio.Lock()):
            await self._bring(run, await asyncio.to_thread(self._made, run, make, seen))

    async def go_on(self, run: RunId) -> None:
        async with self._locks.setdefault(run, asyncio.Lock()):
            is_interrupted = self.runtime.store.run(run).status == "interrupted"
            if not is_interrupted or run in self._tasks:
                raise is_running(run)
            task = self.drive(run)
            deadline = time.monotonic() + PATIENCE_S
            while not task.done() and time.monotonic() < deadline:
                if self.runtime.store.run(run).status != "interrupted":
                    return
                await asyncio.sleep(0.02)
            if task.done():
                self._raise(run, task)

    async def take_up(self, run: RunId) -> None:
        """Drives a run that nobody drives, unless it is paused or has ended."""
        if run in self._tasks:
            return
        self.runtime.check(())
        status = self.runtime.store.run(run).status
        if status == "waiting":
            # The time that a person was given to decide may be over, or about to be.
            self.drive(run)
        if status != "interrupted":
            return
        try:
            await self.go_on(run)
        except (UsageError, StoreError):
            # Whoever takes it up at the same time goes on with it as well.
            if self.runtime.store.run(run).status == "interrupted":
                raise

    async def settled(self, run: RunId) -> None:
        """Waits until nobody drives the run. Raises what kept this process from driving it."""
        store = self.runtime.store
        while True:
            task = self._tasks.get(run)
            if task is not None:
                await asyncio.wait({task})
                # Whoever is told of its end has a turn.
                await asyncio.sleep(0)
                continue
            row = store.run(run)
            if row.status == "interrupted" and run in self._faults:
                raise self._faults[run]
            if row.status != "running":
                return
            async for _ in self.runtime.follow(run, after=row.last_seq):
                continue

    async def drain(self, seconds: float) -> None:
        """Lets calls that are under way end, for so long; nothing new begins, in no run."""
        self._closing = True
        calls = self.runtime.drain()
        if calls and seconds:
            log.warning("waiting %g s at most for %d calls that are under way", seconds, calls)
        if self._tasks:
            await asyncio.wait(set(self._tasks.values()), timeout=seconds)

    async def close(self) -> None:
        self._closing = True
        self.runtime.stop()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        alarms = list(self._alarms.values())
        for alarm in alarms:
            alarm.cancel()
        await asyncio.gather(*alarms, return_exceptions=True)

    def _made(self, run: RunId, make: Callable[[], Event], seen: int | None) -> Event:
        """The request, unless it comes too late, or the run has something against it.

        Whoever drives the run may not have heard yet of a request that stands in the journal.
        """
        store = self.runtime.store
        for entry in store.read(run, after=seen, limit=_SEEN_MAX) if seen is not None else ():
            if entry.event.kind in _STEERING:
                words = f"somebody has steered run {run} since: {entry.event.kind} at {entry.seq}"
                advice = "look at the run as it is now, and ask again"
                raise UsageError(words, help=advice, code="W905")
        event = make()
        refusal = objection(fold(store, run).machine, event)
        if refusal is not None:
            raise UsageError(str(refusal), facts=refusal.facts)
        return event

    async def _bring(self, run: RunId, event: Event) -> None:
        store = self.runtime.store
        before = store.run(run).last_seq
        wanted = _named(event)
        task = await self._hand_over(run, event)
        # Turns of the event loop are counted, not time: whoever holds it up holds up the driver.
        for _ in range(round(PATIENCE_S / POLL_S)):
            is_left = store.run(run).status != "running" if task is None else task.done()
            later = (entry.event for entry in store.read(run, after=before))
            if any(_named(e) == wanted for e in later):
                return
            if is_left:
                # Whoever drove it had ended before the request came; it is carried out once.
                if not _is_lost(task):
                    self._raise(run, task)
                # In the inbox it is there for whoever drives next.
                is_posted = any(_named(posted.event) == wanted for posted in store.inbox(run))
                task = await self._hand_over(run, *(() if is_posted else (event,)))
            await asyncio.sleep(POLL_S)
        if task is not None:
            raise StoreError(f"run {run} was asked {event.kind!r}, which cannot be written yet")

    async def _hand_over(self, run: RunId, *requests: Event) -> asyncio.Task[str] | None:
        """Gives a request to whoever drives the run; None: another process, by its inbox."""
        if self._closing:
            raise UsageError(f"run {run} is being left, since its session ends", code="W905")
        if requests and await self.runtime.request(run, *requests):
            return self._tasks.get(run)
        task = self._tasks.get(run)
        if task is not None:
            # The last drive of this run may be about to give it up.
            await asyncio.wait({task}, timeout=PATIENCE_S)
        return self.drive(run, *requests)

    async def _drive(self, run: RunId, requests: tuple[Event, ...], at_least: float) -> str:
        if not requests and not await self._has_turn(run):
            return "queued"
        deadline = time.monotonic() + OWNED_S
        while True:
            try:
                status = await self.runtime.drive(run, requests, at_least=at_least)
                break
            except StoreError as fault:
                # Another process may be about to give the run up.
                if fault.code != "R902" or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)
        if status == "waiting" and self.has_alarms:
            self._alarms[run] = asyncio.create_task(self._wake_later(run))
        return status

    async def _has_turn(self, run: RunId) -> bool:
        """Takes a place for a run among those of its workflow that run at once.

        Where nobody else looks after the runs of the store, it is waited for.
        """
        store = self.runtime.store
        while store.is_queued(run) and not await store.admit(run):
            if not self.has_alarms or self._closing:
                return False
            await asyncio.sleep(QUEUED_S)
        return True

    async def _wake_later(self, run: RunId) -> None:
        """A person may have been given a time to decide: the run goes on when it is over."""
        store = self.runtime.store
        try:
            due = store.run(run).due
            if due is None:
                return
            await asyncio.sleep(max(0.0, due - time.time()))
        finally:
            if self._alarms.get(run) is asyncio.current_task():
                del self._alarms[run]
        if store.run(run).status == "waiting" and run not in self._tasks:
            self.drive(run, at_least=due)

    def _left(self, run: RunId, task: asyncio.Task[str]) -> None:
        if self._tasks.get(run) is task:
            del self._tasks[run]
        self.left(run)
        fault = None if task.cancelled() else task.exception()
        is_lost = _is_lost(task)
        if fault is not None and not isinstance(fault, UsageError):
            words = safe(str(fault)) if isinstance(fault, WhorlError) else repr(fault)
            # A store that cannot be written is told of once, by whoever looks after the runs.
            is_usual = is_lost or (isinstance(fault, StoreError) and fault.code == "R900")
            log.log(logging.INFO if is_usual else logging.ERROR, "run %s is left: %s", run, words)
            self._faults[run] = fault
            if len(self._faults) > FAULTS_MAX:
                del self._faults[next(iter(self._faults))]

    def _raise(self, run: RunId, task: asyncio.Task[str] | None) -> None:
        """Tells the one who asked why the run cannot be driven; nobody else has to hear of it."""
        fault = None if task is None else task.exception()
        if fault is not None:
            self._faults.pop(run, None)
            if _is_lost(task):
                raise is_running(run) from fault
            raise fault


def _is_lost(task: asyncio.Task[str] | None) -> bool:
    """Whether a run could not be driven because another process has just taken it."""
    fault = None if task is None or task.cancelled() else task.exception()
    return isinstance(fault, StoreError) and fault.code == "R902"


def _named(event: Event) -> tuple[str, str, Json]:
    """What tells a request from all others: its name, or else its time."""
    return event.kind, event.address, event.body.get("request") or event.at


def is_running(run: RunId) -> UsageError:
    """What all but one are told who go on with the same run at the same time."""
    words, advice = f"run {run} is running already", f"watch it with `whorl watch {run}`"
    return UsageError(words, help=advice, code="W905")
