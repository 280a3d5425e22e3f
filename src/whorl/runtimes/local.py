"""The local runtime: runs of this process on one SQLite store that other processes share.

Another process may drive a run that this one does not drive; requests reach it through the
store's inbox. A run that sleeps or waits for long is dropped from memory, and folded again from
its journal when its time comes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import KW_ONLY, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from whorl.errors import StoreError
from whorl.interpreter.events import Event
from whorl.interpreter.requests import objection
from whorl.interpreter.state import ENDED
from whorl.lazily import dataclass, end_loading
from whorl.runtimes.driver import TROUBLE_PAUSE_S, WARN_EVERY, CommitTimer, Driver, end_of
from whorl.runtimes.journal.folding import fold, folding
from whorl.runtimes.journal.journal import (
    DRIVING,
    KEEPING,
    Entry,
    Message,
    NewRun,
    RunId,
    remembered,
)
from whorl.runtimes.journal.keys import CODE
from whorl.runtimes.journal.sealed_secrets import (
    opened,
    redaction_of,
    sealed,
    secrets_of,
    shown_sources,
    without_defaults,
)
from whorl.runtimes.replay_core import in_doubt
from whorl.runtimes.runtime import check_unmocked, raise_objection
from whorl.runtimes.sqlite.ownership import throughout
from whorl.runtimes.start_options import Pins, new_run_id, started, without_secrets
from whorl.runtimes.time_slices import CPU_MAX_S, CpuScheduler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from whorl.interpreter.plan import Plan
    from whorl.ir import Workflow
    from whorl.runtimes.driver import Workers
    from whorl.runtimes.journal.folding import Folded
    from whorl.runtimes.journal.forking import Fork
    from whorl.runtimes.runtime import Watcher
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.runtimes.start_options import Start

PATIENCE_S = 60.0
POLL_S = 0.15
NAP_S = 30.0
log = logging.getLogger("whorl")
# Commands let Python look for garbage with cycles once there are so many new objects.
OBJECTS = 20_000
# So many entries are replayed in milliseconds.
SHORT = 100
_SUSPENDED_MIN_S = 0.5
# A run with mocked answers may be ended anywhere.
_ENDING = frozenset({"run.paused", "run.cancelled"})


class RunClock:
    """The time of a run: the time of day at its `start`, counted on by the event loop.

    Waits do not depend on the system clock.
    """

    def __init__(self, start: float) -> None:
        self._passed = asyncio.get_running_loop().time
        # How long the machine has been suspended since it started.
        self._suspended_s = throughout() - time.monotonic()
        self._start = start - self._passed()

    def __call__(self) -> float:
        suspended_s = throughout() - time.monotonic() - self._suspended_s
        # A little is the time between reading two clocks.
        if suspended_s > _SUSPENDED_MIN_S:
            self._start += suspended_s
            self._suspended_s += suspended_s
        return self._start + self._passed()


@dataclass(eq=False)
class LocalRuntime:
    """Implements `Runtime`."""

    store: SqliteStore
    workers: Workers
    _: KW_ONLY
    clock: Callable[[], float] = time.time
    watcher: Watcher | None = None
    patience_s: float = PATIENCE_S
    check: Callable[[Sequence[Event]], None] = lambda requests: None
    # Who starts runs here: a server, a detached process, a terminal, or a Python program.
    origin: str = ""
    cpu_max_s: float = CPU_MAX_S
    # The address of a server of this store.
    url: str = ""
    # Whether the workers answer with mocks, so that runs with mocked answers may be driven.
    is_mocked: bool = False

    def __post_init__(self) -> None:
        self._drivers: dict[RunId, Driver] = {}
        end_loading(OBJECTS)
        self._sleepers: dict[RunId, asyncio.Event] = {}
        self._pins = Pins(self.store)
        self._inbox_task: asyncio.Task[None] | None = None
        self._delivered: set[int] = set()
        self._timer = CommitTimer()
        self.turns = CpuScheduler()
        self._stopping = asyncio.Event()
        self._is_stopped_by_person = False

    async def start(self, workflow: Workflow, start: Start) -> tuple[RunId, bool]:
        run = new_run_id(self.clock())
        workflow, given = without_defaults(workflow, start.input)
        pinned, digest, plan = self._pins.pin(workflow)
        start = without_secrets(start, workflow, given, self.workers.redacted)
        body = started(run, plan, start, self.url)
        if memory := {} if start.cold else remembered(workflow, self.store.memory):
            body["memory"] = memory
        about = (workflow.name, workflow.dialect, start.file, start.key)
        redaction = redaction_of(secrets_of(workflow, given))
        made = NewRun(
            *(run, pinned, digest, *about),
            sources=shown_sources(start.sources, redaction),
            origin=self.origin,
            is_owned=self.origin in DRIVING,
            labels=start.labels,
            at_once=start.at_once if self.origin in KEEPING else None,
        )
        first = Event("run.started", "", self.clock(), body)
        first = sealed(first, run, self.store.seals, redaction, workflow=workflow)
        stored, is_new = await self.store.create(made, first)
        if is_new:
            self._pins.keep(run, digest)
        return stored, is_new

    async def drive(
        self, run: RunId, requests: Sequence[Event] = (), *, at_least: float = 0.0
    ) -> str:
        self.check(requests)
        is_ending = bool(requests) and all(request.kind in _ENDING for request in requests)
        if not is_ending:
            check_unmocked(self.store, run, by_mocks=self.is_mocked)
        owner = await self.store.claim(run, keeps=self.origin in KEEPING)
        try:
            return await self._drive_owned(run, owner, list(requests), at_least)
        finally:
            await self._give_up(run, owner)

    async def fork(self, source: RunId, fork: Fork) -> tuple[RunId, bool]:
        from whorl.runtimes.journal.forking import new_run_of

        now = self.clock()
        work = partial(new_run_of, self.store, source, fork, run=new_run_id(now), now=now)
        made, events = await asyncio.to_thread(work)
        return await self.store.create(replace(made, is_owned=self.origin in DRIVING), *events)

    async def request(self, run: RunId, event: Event) -> bool:
        driver = self._drivers.get(run)
        if driver is not None:
            async with driver.computing.lock:
                raise_objection(objection(driver.machine, event))
            driver.request(event)
            return True
        row = self.store.run(run)
        is_idle = row.status != "running" or row.position is not None
        if is_idle and not self.store.is_owned(run):
            return False
        folded = await self._folded(run, to_drive=False)
        assert folded is not None
        raise_objection(objection(folded.machine, event))
        redaction = redaction_of(folded.machine.state.get("secrets", ()))
        await self.store.post(run, sealed(event, run, self.store.seals, redaction))
        return True

    def drain(self, *, by_person: bool = False) -> int:
        self._stopping.set()
        self._is_stopped_by_person = by_person
        for driver in self._drivers.values():
            driver.drain()
        for sleeper in self._sleepers.values():
            sleeper.set()
        return sum(driver.calls for driver in self._drivers.values())

    def stop(self) -> None:
        """Leaves all runs resumable at once; the outcome of open calls is unknown."""
        self._stopping.set()
        for driver in self._drivers.values():
            driver.stop()
        for sleeper in self._sleepers.values():
            sleeper.set()

    def is_asleep(self, run: RunId) -> bool:
        return run in self._sleepers

    async def follow(self, run: RunId, after: int = 0) -> AsyncIterator[Entry]:
        while True:
            version = self.store.version()
            status = self.store.run(run).status
            for entry in self.store.read(run, after=after):
                after = entry.seq
                yield entry
            if status != "running":
                return
            while self.store.version() == version and self.store.run(run).status == "running":
                await asyncio.sleep(POLL_S)

    def plan(self, run: RunId) -> Plan:
        return self._pins.plan(run)

    async def _drive_owned(
        self, run: RunId, owner: int, requests: list[Event], at_least: float
    ) -> str:
        clock: RunClock | None = None
        cpu_s = 0.0
        while True:
            try:
                folded = await self._folded(run, to_drive=True)
            except StoreError as fault:
                if fault.code != CODE or [event.kind for event in requests] != ["run.cancelled"]:
                    raise
                return await self._end_unread(run, owner, requests[0])
            if folded is None:
                return "stopped"
            for event in requests:
                raise_objection(objection(folded.machine, event))
            # Never earlier than what the run knows: a clock set back meanwhile holds nothing up.
            if clock is None:
                now = self.clock() - self.store.clock_step(run)
                clock = RunClock(max(now, folded.machine.now, at_least))
            whom = (self.store, self.workers, clock, self.watcher, self._timer, self.clock)
            driver = Driver(run, folded, owner, *whom, self.turns, self.cpu_max_s, cpu_s)
            self._drivers[run] = driver
            # Requests that no longer apply are dropped.
            messages, machine = self.store.take(run, owner), folded.machine
            late = [each for each in messages if objection(machine, each.event) is not None]
            if late:
                await self.store.discard(run, owner, [message.id for message in late])
            for message in messages:
                if message not in late:
                    # It was delivered before but not journaled, or it would not be here.
                    self._delivered.discard(message.id)
                    self._deliver(message)
            for event in requests:
                driver.deliver(event)
            requests = []
            self._inbox_task = self._inbox_task or asyncio.create_task(self._deliver_requests())
            if self._stopping.is_set():
                return "stopped"
            status = await driver.drive(patience_s=self.patience_s)
            if status != "asleep":
                return status
            cpu_s = driver.computing.cpu_s
            await self._sleep_until(run, clock, *driver.asleep_until)

    async def _end_unread(self, run: RunId, owner: int, cancelled: Event) -> str:
        """Ends a run without its secrets: performs nothing, and only writes the end.

        The outcome of open calls is unknown.
        """
        folded = await self._folded(run, to_drive=False)
        assert folded is not None
        if self.store.run(run).status not in ENDED:
            machine, at = folded.machine, cancelled.at
            doubts = [in_doubt(machine, address, at) for address in machine.in_flight()]
            ends = [*doubts, cancelled, end_of(cancelled)]
            await self.store.append(run, owner, ends, after=folded.seq)
        return self.store.run(run).status

    async def _folded(self, run: RunId, *, to_drive: bool) -> Folded | None:
        """Folds the run; a long journal is replayed beside the event loop.

        Returns None if the run was to be driven but this process is stopping.
        """
        plan = self.plan(run)
        if plan.is_light and self.store.run(run).last_seq <= SHORT:
            return fold(self.store, run, plan, to_drive=to_drive)
        steps = folding(self.store, run, plan, to_drive=to_drive)
        return await self.turns.go_through(steps, lambda: to_drive and self._stopping.is_set())

    async def _sleep_until(self, run: RunId, clock: RunClock, due: float, date: float) -> None:
        """Waits without the run in memory; a message for the run ends the wait."""
        self._sleepers[run] = awoken = asyncio.Event()
        del self._drivers[run]
        try:
            while not self._stopping.is_set():
                left = min(due - clock(), date - self.clock())
                if left <= 0:
                    return
                # Not in one go: time goes on while a machine is suspended, and clocks are set.
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, NAP_S)):
                        await awoken.wait()
                        return
        finally:
            del self._sleepers[run]

    async def _give_up(self, run: RunId, owner: int) -> None:
        self._drivers.pop(run, None)
        self._pins.drop(run)
        if not self._drivers and not self._sleepers and self._inbox_task is not None:
            self._inbox_task.cancel()
            self._inbox_task = None
        for attempt in count():
            try:
                await self.store.release(run, owner, is_stopped=self._is_stopped_by_person)
                return
            except StoreError as fault:
                if fault.code == "R902":
                    return
                if not fault.may_pass or self._stopping.is_set():
                    raise
                # While it is owned here, no other process can resume it.
                if self.watcher is not None and attempt % WARN_EVERY == 0:
                    self.watcher.trouble(run, fault)
            await asyncio.sleep(TROUBLE_PAUSE_S)

    async def _deliver_requests(self) -> None:
        """Polls for requests of other processes, and delivers each to its driver once."""
        while True:
            messages = self.store.mail()
            self._delivered.intersection_update(message.id for message in messages)
            for message in messages:
                self._deliver(message)
            await asyncio.sleep(POLL_S)

    def _deliver(self, message: Message) -> None:
        sleeper = self._sleepers.get(message.run)
        if sleeper is not None:
            sleeper.set()
        driver = self._drivers.get(message.run)
        if driver is not None and message.id not in self._delivered:
            self._delivered.add(message.id)
            try:
                event = opened(message.event, message.run, self.store.seals)
            except StoreError as fault:
                # Whoever asked has another key; the request waits for one who has it, too.
                log.error("run %s: a request cannot be read: %s", message.run, fault)
            else:
                driver.request(event, message.id)
