"""The mirror: the runs of a cluster in an ordinary store file, which people read.

All of it is derived from the histories that the server keeps, so it can be deleted at any time.
Several processes may bring the same entries at the same time: each is written once.
"""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from temporalio.api.workflowservice.v1 import ListSchedulesRequest

from whorl.errors import Fenced, StoreError, UsageError
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import SNAPSHOT_EVERY, Entry, NewRun, RunId, entries_between
from whorl.runtimes.journal.sealed_secrets import RunSealing
from whorl.wings.automation.table import ScheduleTable
from whorl.wings.cluster import messages
from whorl.wings.cluster.connection import client_of, execution_of, executions, history
from whorl.wings.cluster.decoder import Decoder, underivable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.wings.cluster.connection import Connection, Execution


# How long another process may take to write what both have read.
BUSY_S = 0.02
AT_ONCE = 16
# A value that is closed to those who read here, and a history that another version has made.
UNREADABLE = ("R901", "R920")
log = logging.getLogger("whorl")
_ENDED = frozenset({"succeeded", "failed", "cancelled"})
_RUNS = f"WorkflowType = '{messages.RUN}'"


@dataclass(eq=False)
class Mirror:
    """Brings runs into a store.

    `heard` receives the entries that are new in the store. `brought` receives a run after this or
    another process has written entries of it. `redacted` removes the operator's secrets.
    """

    server: Connection
    store: SqliteStore
    heard: Callable[[RunId, list[Entry]], None] = lambda run, entries: None
    redacted: Callable[[Json], Json] = lambda value: value
    brought: Callable[[RunId], None] = lambda run: None
    # How many entries a run may have until its next snapshot.
    _next: dict[RunId, int] = field(default_factory=dict)

    async def stale_runs(self, limit: int, since: float) -> list[RunId]:
        """Returns the newest runs that are open, or ended after `since`, and may have more."""
        ended = datetime.fromtimestamp(since, UTC).isoformat()
        query = f"{_RUNS} AND (ExecutionStatus = 'Running' OR CloseTime >= '{ended}')"
        found = executions(self.server, query, most=limit)
        return [each.run async for each in found if self._is_stale(each)]

    def _is_stale(self, execution: Execution) -> bool:
        """Whether the server may have more of a run than the store has, or had before deletion.

        A run that was deleted here returns when it resumes.
        """
        if execution.ended_at is None:
            return True
        try:
            row = self.store.run(execution.run)
        except UsageError:
            return not self._is_pruned(execution)
        return row.status not in _ENDED or row.updated_at < execution.started_at

    def _is_pruned(self, execution: Execution) -> bool:
        pruned = self.store.pruned_runs()
        return pruned.get(execution.run, -math.inf) >= execution.started_at

    async def lag(self) -> tuple[int, float]:
        """Returns how many ended runs are not complete here, and when the first of them ended.

        Runs that have not ended do not count.
        """
        query = f"{_RUNS} AND ExecutionStatus NOT IN ('Running', 'ContinuedAsNew')"
        listed = [each async for each in executions(self.server, query) if self._is_stale(each)]
        ends = [each.ended_at for each in listed if each.ended_at is not None]
        return len(ends), min(ends, default=0.0)

    async def bring_all(self) -> None:
        """Brings all new entries of all runs, and the schedules."""
        stale, pruned = [], self.store.pruned_runs()
        async for execution in executions(self.server, _RUNS):
            pruned.pop(execution.run, None)
            if self._is_stale(execution):
                stale.append((execution.started_at, execution.run))
        # The server has deleted these, too.
        await self.store.forget_pruned(pruned)
        places = asyncio.Semaphore(AT_ONCE)

        async def brought(run: RunId) -> StoreError | None:
            """Brings a run; returns the fault if it cannot be read with this key."""
            async with places:
                try:
                    await self.bring(run)
                except StoreError as fault:
                    if fault.code not in UNREADABLE:
                        raise
                    return fault
            return None

        runs = dict.fromkeys(run for _, run in sorted(stale))
        if faults := [fault for fault in await asyncio.gather(*map(brought, runs)) if fault]:
            words = "%d of the runs on the cluster cannot be read here, the first: %s"
            log.warning(words, len(faults), faults[0])
        await self.bring_schedules()

    async def bring_rest(self, run: RunId) -> None:
        """Brings the new entries of a run; a run that is complete here is not read again."""
        about = await execution_of(self.server, run)
        if about is not None and self._is_stale(about):
            await self.bring(run)

    async def bring(self, run: RunId, *, wait: bool = False) -> Decoder | None:
        """Brings all new entries of a run; with `wait`, also later ones, until it has ended.

        Returns the decoder of its last execution, or None if the server has no such run or the
        store has deleted it.
        """
        unread, decoder = await self._unread(run), None
        while unread:
            execution, decoder = unread.pop(0), self._decoder(run)
            async for events in history(self.server, run, execution, wait=wait):
                for event in events:
                    await decoder.take(event)
                    if decoder.pilot.seq >= self._next.get(run, SNAPSHOT_EVERY):
                        await self._keep(decoder)
                await self._keep(decoder)
                self.brought(run)
            if decoder.next and decoder.next not in unread:
                unread.append(decoder.next)
        return decoder

    def _decoder(self, run: RunId) -> Decoder:
        return Decoder(self.server.data_converter, self.server.namespace, run)

    async def bring_schedules(self) -> None:
        """Brings the schedules; imports their code only if there are or were any."""
        asked = ListSchedulesRequest(namespace=self.server.namespace, maximum_page_size=1)
        page = await self.server.workflow_service.list_schedules(asked, retry=True)
        if page.schedules or ScheduleTable(self.store).all():
            from whorl.wings.cluster import schedules

            await schedules.bring_schedules(client_of(self.server), self.store)

    async def _unread(self, run: RunId) -> list[str]:
        """Returns the executions from the one with the first missing entry on."""
        about, known = await execution_of(self.server, run), self.last_seq(run)
        if about is None or (not known and self._is_pruned(about)):
            return []
        unread, execution = list[str](), about.execution
        while execution:
            unread.insert(0, execution)
            decoder = self._decoder(run)
            async for events in history(self.server, run, execution, size=1):
                await decoder.take(events[0])
                before = events[0].workflow_execution_started_event_attributes
                break
            beginning = decoder.beginning
            earlier = before.continued_execution_run_id or beginning.before
            execution = earlier if beginning.seq > known else ""
        return unread

    async def _keep(self, decoder: Decoder) -> None:
        """Writes the entries that the store lacks.

        The end of a run with a memory is written after its execution has ended: by then its records
        are kept, and the next run finds them.
        """
        pilot, run = decoder.pilot, RunId(decoder.beginning.run)
        if pilot.machine.done and not decoder.is_ended and decoder.beginning.memory_keys():
            return
        sealing = RunSealing(run, pilot.machine, self.store.seals, self.redacted)
        events = []
        for event in pilot.take_entries():
            if event.kind == "task.started":
                # Workflows also make intents, and do not know the operator's secrets.
                event = replace(event, body=cast("dict[str, Json]", self.redacted(event.body)))
            events.append(sealing.entry(event))
        first = pilot.seq - len(events)
        while events:
            known = self.last_seq(run)
            if known + len(decoder.beginning.past) < first:
                # The server has deleted what came before.
                raise underivable(run)
            fresh = events[max(0, known - first) :]
            if not fresh:
                return
            try:
                await _to_its_end(self._write(decoder, fresh, known))
            except StoreError as fault:
                # Another process writes the same entries, or has done so.
                if fault.code not in ("R902", "W902", "W905") and not isinstance(fault, Fenced):
                    raise
                await asyncio.sleep(BUSY_S)
                continue
            start = pilot.seq - len(fresh) + 1
            self.heard(run, [Entry(start + index, event) for index, event in enumerate(fresh)])
            return

    async def _write(self, decoder: Decoder, events: list[Event], known: int) -> None:
        run = RunId(decoder.beginning.run)
        if known == 0:
            begun = decoder.beginning
            past = [messages.event_from_json(event) for event in begun.past]
            made = NewRun(
                run,
                begun.workflow,
                begun.digest,
                *(begun.name, begun.dialect, begun.file, begun.key, begun.parent),
                sources=begun.sources,
                behaviour=begun.behaviour,
                origin=begun.origin,
                labels=begun.labels,
                created_at=events[0].at,
            )
            with suppress(UsageError):  # another process has made it
                await self.store.create(made, *past, *events)
            return
        owner = await self.store.claim(run)
        try:
            await self.store.append(run, owner, events, after=known)
            pilot = decoder.pilot
            if pilot.seq >= self._next.get(run, SNAPSHOT_EVERY):
                sealing = RunSealing(run, pilot.machine, self.store.seals, self.redacted)
                size, state = sealing.state(pilot.seq, in_pieces=True)
                self._next[run] = pilot.seq + entries_between(size)
                await self.store.snapshot(run, owner, pilot.seq, state)
        finally:
            await self.store.release(run, owner)

    def last_seq(self, run: RunId) -> int:
        """Returns the number of a run's last entry in the store, or 0 if it has none."""
        try:
            return self.store.run(run).last_seq
        except UsageError:
            return 0


async def _to_its_end(work: Coroutine[None, None, None]) -> None:
    """Finishes the work even if its caller is cancelled: a claim must be released."""
    working = asyncio.ensure_future(work)
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise
