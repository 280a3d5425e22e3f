"""The Temporal runtime: starts and steers runs through a client, and reads them in a mirror."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, field, replace
from functools import partial
from typing import TYPE_CHECKING

from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from whorl.errors import StoreError, UsageError
from whorl.interpreter.requests import objection
from whorl.ir import content_hash
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.forking import Fork, new_run_of
from whorl.runtimes.journal.sealed_secrets import opened, opened_state
from whorl.runtimes.runtime import raise_objection
from whorl.runtimes.start_options import Start, new_run_id
from whorl.wings.cluster import messages
from whorl.wings.cluster.connection import answering, described, execution_of
from whorl.wings.cluster.memory import ClusterMemories
from whorl.wings.cluster.messages import Beginning, check_runnable, id_of, program_of
from whorl.wings.cluster.mirror import Mirror
from whorl.wings.cluster.values import bound_to
from whorl.wings.cluster.worker import has_pollers
from whorl.wings.cluster.workflow import how_to_begin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionResponse
    from temporalio.client import Client

    from whorl.interpreter.events import Event
    from whorl.interpreter.plan import Plan
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.settings import TemporalSettings
    from whorl.runtimes.journal.journal import Entry, RunId
    from whorl.runtimes.runtime import Watcher
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.cluster.connection import Connection


# How long a client waits for a worker to confirm a start or a request.
PATIENCE_S = 30.0
# How long to watch a run that should have continued by now.
LATE_S = 2.0


@dataclass(eq=False)
class TemporalRuntime:
    """Implements `Runtime` on a client and a mirror; workers drive the runs."""

    client: Client
    store: SqliteStore
    settings: TemporalSettings
    _: KW_ONLY
    redacted: Callable[[Json], Json] = lambda value: value
    watcher: Watcher | None = None
    check: Callable[[Sequence[Event]], None] = lambda requests: None
    # Whether a client watches what the calls of a run stream.
    is_watched: Callable[[RunId], bool] = lambda run: True
    origin: str = ""
    url: str = ""
    patience_s: float = PATIENCE_S

    def __post_init__(self) -> None:
        heard = self.watcher.entries if self.watcher is not None else lambda run, entries: None
        self.mirror = Mirror(self.client, self.store, heard, self.redacted)
        self.following = Following(self.mirror, self.watcher, self.is_watched)
        self._memories = ClusterMemories(self.client, self.settings)
        self._stopping = asyncio.Event()

    async def start(self, workflow: Workflow, start: Start) -> tuple[RunId, bool]:
        """Creates a durable run for workers to drive; False if a run with this key exists."""
        run = id_of(start.key) if start.key else new_run_id(time.time())
        beginning = messages.new_beginning(
            run,
            workflow,
            start,
            self.settings,
            redacted=self.redacted,
            url=self.url,
            origin=self.origin,
        )
        with answering(self.settings):
            if not start.cold:
                beginning = await self._memories.begun(beginning)
            is_new = await self._begin(beginning)
            await self._await_start(beginning, run, is_new=is_new)
        return run, is_new

    async def _await_start(self, beginning: Beginning, run: RunId, *, is_new: bool) -> None:
        if not is_new:
            # It may have been deleted here; the new start brings it back.
            await self.store.forget_pruned([run])
        self.following.keep(run)
        begun = partial(self.mirror.last_seq, run)
        await self._await_entry(run, beginning.program, lambda: begun() > 0)

    async def _begin(self, beginning: Beginning, *, is_again: bool = False) -> bool:
        """Starts an execution; returns False if the run has, or had, one."""
        policy = WorkflowIDReusePolicy
        try:
            await self.client.start_workflow(
                messages.RUN,
                beginning.to_json(),
                id=beginning.run,
                id_reuse_policy=policy.ALLOW_DUPLICATE if is_again else policy.REJECT_DUPLICATE,
                **how_to_begin(beginning),
            )
        except WorkflowAlreadyStartedError:
            return False
        return True

    async def drive(
        self, run: RunId, requests: Sequence[Event] = (), *, at_least: float = 0.0
    ) -> str:
        """Sends these requests, then follows the run until it rests; returns its status."""
        self.check(requests)
        for event in requests:
            await self.request(run, event)
        before = self.store.run(run).last_seq
        deadline = time.monotonic() + (LATE_S if at_least else 0.0)
        async with self.following.followed(run) as following:
            while not self._stopping.is_set():
                row = self.store.run(run)
                is_late = row.last_seq == before and time.monotonic() < deadline
                # A paused run first finishes its calls.
                is_at_rest = row.status not in ("running", "paused") or (
                    row.status == "paused" and not fold(self.store, run).machine.in_flight()
                )
                if following.done() or (not is_late and is_at_rest):
                    return self.store.run(run).status
                await self.following.news(run)
        return "stopped"

    async def request(self, run: RunId, event: Event) -> bool:
        """Sends a request to a run; returns when the request is in the journal."""
        wanted = event.body.get("request")

        def is_there() -> bool:
            later = (entry.event for entry in self.store.read(run, after=before))
            return any(e.kind == event.kind and e.body.get("request") == wanted for e in later)

        with answering(self.settings):
            await self.refresh(run)
            raise_objection(objection(fold(self.store, run).machine, event))
            before = self.store.run(run).last_seq
            while not await self._signal(run, event) and not await self._reopen(run, event):
                continue
            self.following.keep(run)
            await self._await_entry(run, program_of(self.plan(run)), is_there)
        return True

    async def _signal(self, run: RunId, event: Event) -> bool:
        """Signals the execution of a run; returns False if it has ended."""
        try:
            handle = self.client.get_workflow_handle(run)
            await handle.signal(messages.ASK, messages.event_to_json(event))
        except RPCError as fault:
            if fault.status != RPCStatusCode.NOT_FOUND:
                raise
            return False
        return True

    async def _reopen(self, run: RunId, event: Event) -> bool:
        """Resumes a run that has ended; returns False if another client was quicker."""
        about = await execution_of(self.client, run)
        decoder = await self.mirror.bring(run)
        if about is None or decoder is None:
            words = f"the server has deleted the history of run {run!r}"
            raise UsageError(words, help="fork it, or start it again", code="W905")
        first = (replace(event, at=0.0),)
        again = decoder.beginning.go_on(decoder.pilot, before=about.execution, first=first)
        return await self._begin(again, is_again=True)

    async def fork(self, source: RunId, fork: Fork) -> tuple[RunId, bool]:
        """Creates a run that redoes an iteration of another one; False if its key exists."""
        now = time.time()
        run = id_of(fork.key) if fork.key else new_run_id(now)
        with answering(self.settings):
            await self.refresh(source)
            made, events = new_run_of(self.store, source, fork, run=run, now=now)
            check_runnable(messages.plan_of(made.workflow_hash, made.workflow), self.settings)
            seals = self.store.seals
            past = [messages.event_to_json(opened(event, run, seals)) for event in events]
            beginning = Beginning(
                run=run,
                workflow=made.workflow,
                digest=made.workflow_hash,
                name=made.name,
                dialect=made.dialect,
                file=made.file,
                key=made.key,
                parent=made.parent,
                origin=made.origin,
                sources=made.sources,
                past=past,
                state=opened_state((len(events), made.state), run, seals),
                seq=len(events),
                **messages.ways(self.settings),
            )
            is_new = await self._begin(beginning)
            await self._memories.keep(run, made.memories)
            await self._await_start(beginning, run, is_new=is_new)
        return run, is_new

    async def refresh(self, run: RunId | None = None) -> None:
        """Brings new entries of a run, or of all runs, into the store."""
        with answering(self.settings):
            await (self.mirror.bring_all() if run is None else self.mirror.bring_rest(run))

    async def follow(self, run: RunId, after: int = 0) -> AsyncIterator[Entry]:
        """Yields the entries of a run as they come, until it ends or waits for a person."""
        async with self.following.followed(run) as following:
            while not self._stopping.is_set():
                is_over, version = following.done(), self.store.version()
                status = self.store.run(run).status
                for entry in self.store.read(run, after=after):
                    after = entry.seq
                    yield entry
                if status != "running" or is_over:
                    return
                if self.store.version() == version:
                    await self.following.news(run)

    def plan(self, run: RunId) -> Plan:
        encoded = self.store.workflow(run)
        return messages.plan_of(content_hash(encoded), encoded)

    def is_asleep(self, run: RunId) -> bool:
        """Returns True: a run that is only followed uses no slot."""
        return True

    def drain(self, *, by_person: bool = False) -> int:
        """Stops following runs; workers keep driving them."""
        self._stopping.set()
        return 0

    def stop(self) -> None:
        self._stopping.set()

    async def _await_entry(self, run: RunId, program: str, is_there: Callable[[], bool]) -> None:
        """Waits until the request of this client shows in the mirror. Raises StoreError R922."""
        deadline = time.monotonic() + self.patience_s
        while not is_there():
            async with self.following.followed(run) as following:
                while not is_there() and not following.done():
                    if time.monotonic() > deadline:
                        queue = messages.run_queue(self.settings.queue, program=program)
                        has_any = await has_pollers(self.client, queue)
                        why = "none has answered" if has_any else f"none polls the queue {queue!r}"
                        words = f"run {run} waits for a worker: {why}"
                        advice = "start one with `whorl server worker`; the run continues then"
                        if program:
                            line = f'[workflows] python = ["{program}"]'
                            advice += f", if its whorl.toml has `{line}`"
                        raise StoreError(words, code="R922", help=advice)
                    await self.following.news(run)


# Following runs of a cluster: each is brought into the mirror once for all its followers.

# A waiting client also reads the store this often: other processes may have written to it.
NEWS_S = 0.5
# How often a server looks for runs of other clients, and how many it follows.
LOOK_S = 1.0
FOLLOWED_MAX = 500
# How often the streamed text of tasks is read.
STREAM_S = 0.2
# How late a server may report the end of a run.
LAG_S = 15.0
log = logging.getLogger("whorl")


@dataclass(eq=False)
class Following:
    """Brings new entries of runs; passes the text that their tasks stream to `watcher`."""

    mirror: Mirror
    watcher: Watcher | None
    is_watched: Callable[[RunId], bool]
    # The events to set when new entries of a run are brought.
    _news: dict[RunId, asyncio.Event] = field(default_factory=dict)
    _following: dict[RunId, tuple[int, asyncio.Task[None]]] = field(default_factory=dict)
    # The runs that `follow_all` has joined those who follow them; None: it is not asked to.
    _kept: set[RunId] | None = None
    _unreadable: set[RunId] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.mirror.brought = self._tell

    @asynccontextmanager
    async def followed(self, run: RunId) -> AsyncIterator[asyncio.Task[None]]:
        """Brings new entries of a run by one task for all callers, which ends with the run.

        Raises the fault that ended the task.
        """
        task = self._join(run)
        try:
            yield task
            if task.done():
                task.result()
        finally:
            await self._leave(run)

    async def news(self, run: RunId) -> None:
        """Waits briefly until new entries of a run are brought, or nothing follows it any more."""
        with suppress(TimeoutError):
            async with asyncio.timeout(NEWS_S):
                await self._news.setdefault(run, asyncio.Event()).wait()

    def _tell(self, run: RunId) -> None:
        if run in self._news:
            self._news.pop(run).set()

    async def follow_all(self) -> None:
        """Brings new entries of all runs, until it is cancelled."""
        kept = self._kept = set()
        since = 0.0
        try:
            while True:
                try:
                    now = time.time()
                    if not since:
                        await self.mirror.bring_all()
                    await self.mirror.bring_schedules()
                    for run in await self.mirror.stale_runs(FOLLOWED_MAX, since or now):
                        self.keep(run)
                    since = now - LAG_S
                except (RPCError, StoreError) as fault:
                    log.warning("the runs of the cluster cannot be followed: %s", fault)
                # Meanwhile others may have begun to follow one again that has ended.
                for run in [run for run in kept if self._following[run][1].done()]:
                    kept.discard(run)
                    if (lost := self._following[run][1].exception()) is not None:
                        self._unreadable.add(run)
                        log.warning("run %s cannot be followed: %s", run, lost)
                    await self._leave(run)
                await asyncio.sleep(LOOK_S)
        finally:
            self._kept = None
            await asyncio.gather(*map(self._leave, kept), return_exceptions=True)

    def keep(self, run: RunId) -> None:
        """Follows this run to its end, if all runs are followed."""
        if self._kept is not None and run not in self._kept | self._unreadable:
            self._kept.add(run)
            self._join(run)

    def _join(self, run: RunId) -> asyncio.Task[None]:
        count, task = self._following.get(run, (0, None))
        if task is None or task.done():
            task = asyncio.create_task(self._bring(run))
        self._following[run] = (count + 1, task)
        return task

    async def _leave(self, run: RunId) -> None:
        count, task = self._following[run]
        self._following[run] = (count - 1, task)
        if count == 1:
            del self._following[run]
            task.cancel()
            await asyncio.wait({task})

    async def _bring(self, run: RunId) -> None:
        streaming = asyncio.create_task(self._stream(run))
        try:
            while True:
                try:
                    await self.mirror.bring(run, wait=True)
                    return
                except RPCError as fault:
                    log.warning("run %s cannot be followed at present: %s", run, fault)
                    await asyncio.sleep(LOOK_S)
        finally:
            streaming.cancel()
            await asyncio.wait({streaming})
            self._tell(run)

    async def _stream(self, run: RunId) -> None:
        """Passes the text that tasks of a run stream to the watcher, until the run ends."""
        server, shown = self.mirror.server, dict[str, str]()
        while self.watcher is not None:
            await asyncio.sleep(STREAM_S)
            if not self.is_watched(run):
                continue
            with suppress(RPCError):
                about = await described(server, run)
                if about.workflow_execution_info.HasField("close_time"):
                    return
                texts = await _streamed(server, run, about)
                for address, text in texts.items():
                    if new := _new_part(shown.get(address, ""), text):
                        self.watcher.text(run, address, new)
                shown = texts


async def _streamed(
    server: Connection, run: RunId, about: DescribeWorkflowExecutionResponse
) -> dict[str, str]:
    """Returns the streamed texts of the running calls, by their addresses.

    Their heartbeats carry the end of the text, which adds nothing to the history.
    """
    texts = {}
    for call in about.pending_activities:
        if call.heartbeat_details.payloads:
            reader = bound_to(server.data_converter, server.namespace, run, call.activity_id)
            details = await reader.decode(call.heartbeat_details.payloads)
            if details and isinstance(details[0], str) and details[0]:
                texts[call.activity_id] = details[0]
    return texts


def _new_part(before: str, text: str) -> str:
    """Returns the text that is new since `before`; only the end of the text is known."""
    if text.startswith(before):
        return text[len(before) :]
    size = next((n for n in range(len(text), 0, -1) if before.endswith(text[:n])), 0)
    return text[size:]
