"""Drives runs in the background, and delivers requests to them.

Requests to one run are handled one after the other, each until it is in the journal. So if two
requests exclude each other, the second is refused.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from whorl.errors import CodeChanged, StoreError, UsageError, WhorlError, safe
from whorl.interpreter.requests import objection
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import fold
from whorl.services.runs import QUEUED_S, is_running

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.runtime import Runtime

PATIENCE_S = 5.0
OWNED_S = 1.0
POLL_S = 0.01
FAULTS_MAX = 1_000
_SEEN_MAX = 5_000
_STEERING = frozenset(
    {"run.paused", "run.resumed", "run.cancelled", "run.continued", "run.accepted", "gate.decided"}
)

log = logging.getLogger("whorl")


@dataclass(eq=False)
class Driving:
    """Drives runs in the background; calls `left` for each run that it no longer drives.

    With `has_alarms` it resumes the runs that it drove when the time for a person's decision is
    over; in a server, `Upkeep` does this. `check` refuses to resume a run that would fail because
    something is missing here.
    """

    runtime: Runtime
    left: Callable[[RunId], None] = lambda _: None
    has_alarms: bool = True
    check: Callable[[RunId, Sequence[Event]], None] = lambda run, requests: None
    is_closing: bool = False

    def __post_init__(self) -> None:
        self._tasks: dict[RunId, asyncio.Task[str]] = {}
        self._alarms: dict[RunId, asyncio.Task[None]] = {}
        self._faults: dict[RunId, BaseException] = {}
        self._locks: WeakValueDictionary[RunId, asyncio.Lock] = WeakValueDictionary()

    def __bool__(self) -> bool:
        return bool(self._tasks)

    @property
    def count(self) -> int:
        """The number of runs that are driven here."""
        return len(self._tasks)

    def is_driven(self, run: RunId) -> bool:
        return run in self._tasks

    def drive(self, run: RunId, *requests: Event, at_least: float = 0.0) -> asyncio.Task[str]:
        if alarm := self._alarms.pop(run, None):
            alarm.cancel()
        self._faults.pop(run, None)
        task = self._tasks[run] = asyncio.create_task(self._drive(run, requests, at_least))
        task.add_done_callback(lambda done: self._left(run, done))
        return task

    async def ask(self, run: RunId, make: Callable[[], Event], seen: int | None = None) -> None:
        """Delivers the request that `make` creates from the present state of the run.

        Returns when the request is in the journal or in the inbox of the run's owner. Raises
        UsageError if the run refuses it in its present state.
        """
        async with self._locks.setdefault(run, asyncio.Lock()):
            await self._bring(run, await asyncio.to_thread(self._made, run, make, seen))

    async def go_on(self, run: RunId) -> None:
        async with self._locks.setdefault(run, asyncio.Lock()):
            is_interrupted = self.runtime.store.run(run).status == "interrupted"
            if not is_interrupted or run in self._tasks:
                raise is_running(run)
            await asyncio.to_thread(self.check, run, ())
            task = self.drive(run)
            deadline = time.monotonic() + PATIENCE_S
            while not task.done() and time.monotonic() < deadline:
                if self.runtime.store.run(run).status != "interrupted":
                    return
                await asyncio.sleep(0.02)
            if task.done():
                self._raise(run, task)

    async def take_up(self, run: RunId) -> None:
        """Resumes a run that no process drives, unless it is paused or has ended."""
        if run in self._tasks:
            return
        self.runtime.check(())
        status = self.runtime.store.run(run).status
        if status == "waiting":
            # The time that a person was given to decide may be over, or about to be.
            with suppress(UsageError):
                await asyncio.to_thread(self.check, run, ())
                self.drive(run)
        if status != "interrupted":
            return
        try:
            await self.go_on(run)
        except (UsageError, StoreError):
            # If another process has just taken the run, that one resumes it.
            if self.runtime.store.run(run).status == "interrupted":
                raise

    async def settled(self, run: RunId) -> RunRow:
        """Waits until no process drives the run; returns its row. Raises the error of its drive."""
        store = self.runtime.store
        while True:
            task = self._tasks.get(run)
            if task is not None:
                await asyncio.wait({task})
                # The callbacks of its end get a turn.
                await asyncio.sleep(0)
                continue
            row = store.run(run)
            is_left = row.status == "interrupted"
            if run in self._faults and (is_left or isinstance(self._faults[run], CodeChanged)):
                raise self._faults[run]
            if row.status != "running":
                return row
            async for _ in self.runtime.follow(run, after=row.last_seq):
                continue

    async def drain(self, seconds: float) -> None:
        """Starts no new calls, and waits up to `seconds` for the open calls to end."""
        self.is_closing = True
        calls = self.runtime.drain()
        if calls and seconds:
            log.warning("waiting up to %g s for %d open calls", seconds, calls)
        if self._tasks:
            await asyncio.wait(set(self._tasks.values()), timeout=seconds)

    async def close(self) -> None:
        self.is_closing = True
        self.runtime.stop()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        for alarm in (alarms := [*self._alarms.values()]):
            alarm.cancel()
        await asyncio.gather(*alarms, return_exceptions=True)

    def _made(self, run: RunId, make: Callable[[], Event], seen: int | None) -> Event:
        """Returns the request; raises UsageError if it is outdated or the run refuses it.

        The driver of the run may not know yet of a request that is in the journal.
        """
        store = self.runtime.store
        for entry in store.read(run, after=seen, limit=_SEEN_MAX) if seen is not None else ():
            if entry.event.kind in _STEERING:
                words = f"run {run} has changed in the meantime: {entry.event.kind} at {entry.seq}"
                advice = "look at the run again, and repeat the request"
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
        # Counts turns of the event loop, not time: a blocked loop also blocks the driver.
        for _ in range(round(PATIENCE_S / POLL_S)):
            is_left = store.run(run).status != "running" if task is None else task.done()
            later = (entry.event for entry in store.read(run, after=before))
            if any(_named(e) == wanted for e in later):
                return
            if is_left:
                # Its driver had ended before the request came; it is carried out once.
                if not _is_lost(task):
                    self._raise(run, task)
                # If it is in the inbox, the next driver takes it.
                is_posted = any(_named(posted.event) == wanted for posted in store.inbox(run))
                task = await self._hand_over(run, *(() if is_posted else (event,)))
            await asyncio.sleep(POLL_S)
        if task is not None:
            raise StoreError(f"the request {event.kind!r} to run {run} cannot be written yet")

    async def _hand_over(self, run: RunId, *requests: Event) -> asyncio.Task[str] | None:
        """Gives requests to the run's driver; None if another process gets them by its inbox."""
        if requests and await self.runtime.request(run, *requests):
            return self._tasks.get(run)
        if self.is_closing:
            raise UsageError(f"the session is closing and no longer drives run {run}", code="W905")
        task = self._tasks.get(run)
        if task is not None:
            # The last drive of this run may be about to give it up.
            await asyncio.wait({task}, timeout=PATIENCE_S)
        if requests:
            await asyncio.to_thread(self.check, run, requests)
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
        """Takes a place for a run within its workflow's limit of concurrent runs.

        If no server looks after the runs of the store, waits for the place.
        """
        store = self.runtime.store
        while store.is_queued(run) and not await store.admit(run):
            if not self.has_alarms or self.is_closing:
                return False
            await asyncio.sleep(QUEUED_S)
        return True

    async def _wake_later(self, run: RunId) -> None:
        """Resumes a waiting run when the time for a person's decision is over."""
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
        is_refusal = isinstance(fault, UsageError) and not isinstance(fault, CodeChanged)
        if fault is not None and not is_refusal:
            words = safe(str(fault)) if isinstance(fault, WhorlError) else repr(fault)
            # The upkeep of runs reports a store that cannot be written, once.
            is_usual = _is_lost(task) or (isinstance(fault, StoreError) and fault.may_pass)
            log.log(logging.INFO if is_usual else logging.ERROR, "run %s is left: %s", run, words)
            self._faults[run] = fault
            if len(self._faults) > FAULTS_MAX:
                del self._faults[next(iter(self._faults))]

    def _raise(self, run: RunId, task: asyncio.Task[str] | None) -> None:
        """Raises to the caller why the run cannot be driven, and forgets the error."""
        fault = None if task is None else task.exception()
        if fault is not None:
            self._faults.pop(run, None)
            if _is_lost(task):
                raise is_running(run) from fault
            raise fault


def _is_lost(task: asyncio.Task[str] | None) -> bool:
    """Returns whether a run could not be driven because another process has just taken it."""
    fault = None if task is None or task.cancelled() else task.exception()
    return isinstance(fault, StoreError) and fault.code == "R902"


def _named(event: Event) -> tuple[str, str, Json]:
    """Returns the identity of a request: its name, or else its time."""
    return event.kind, event.address, event.body.get("request") or event.at
