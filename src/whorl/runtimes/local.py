"""The local runtime: runs of this process on one SQLite store that other processes share.

A run that nobody in this process drives may be driven by another one: requests reach it through
the store's inbox. A run that sleeps or waits for long is dropped from memory and folded again from
its journal when its time comes.
"""

from __future__ import annotations

import asyncio
import gc
import secrets
import time
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from whorl.errors import StoreError, UsageError
from whorl.interpreter.events import Event
from whorl.interpreter.plan import Plan
from whorl.interpreter.requests import Refused, objection
from whorl.ir import Workflow, content_hash, from_json, to_json
from whorl.runtimes.driver import Driver, Watcher, Workers
from whorl.runtimes.folding import fold
from whorl.runtimes.journal import CommitTimer, Entry, Message, NewRun, RunId, remembered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.runtimes.sqlite import SqliteStore

PATIENCE_S = 60.0
POLL_S = 0.15
NAP_S = 30.0
PINNED_MAX = 64
# Commands let Python look for garbage with cycles once there are so many new objects, and so many
# more for each run: a run holds about as many while it waits, and next to none of them is garbage.
OBJECTS = 20_000
OBJECTS_PER_RUN = 100
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


@dataclass(frozen=True, slots=True)
class Start:
    """How a run is started: its input, its limits, and the key under which it is started once."""

    input: dict[str, Json] = field(default_factory=dict)
    limits: dict[str, Json] = field(default_factory=dict)
    iterations: int | None = None
    key: str = ""
    file: str = ""
    sources: dict[str, str] = field(default_factory=dict)
    cold: bool = False
    refused: dict[str, Json] | None = None


def new_run_id(now: float) -> RunId:
    """An id that sorts by time and says nothing else."""
    number = int(now * 1000) << 40 | secrets.randbits(40)
    return RunId("".join([ALPHABET[number >> shift & 31] for shift in range(80, -1, -5)]))


@dataclass(eq=False)
class LocalRuntime:
    """Starts, drives and steers runs."""

    store: SqliteStore
    workers: Workers
    _: KW_ONLY
    clock: Callable[[], float] = time.time
    watcher: Watcher | None = None
    patience_s: float = PATIENCE_S

    def __post_init__(self) -> None:
        self._drivers: dict[RunId, Driver] = {}
        self._driven = 0
        self._objects = gc.get_threshold()[0]
        self._sleepers: dict[RunId, asyncio.Event] = {}
        self._plans: dict[str, Plan] = {}
        self._digests: dict[RunId, str] = {}
        self._pinned: dict[int, tuple[Workflow, Json, str]] = {}
        self._inbox_task: asyncio.Task[None] | None = None
        self._delivered: set[int] = set()
        self._timer = CommitTimer()
        self._stopping = asyncio.Event()

    async def start(self, workflow: Workflow, start: Start) -> tuple[RunId, bool]:
        """Makes a run, durably; `drive` drives it. False: a run with this key exists already."""
        run = new_run_id(self.clock())
        own = workflow.limits.cost_usd
        limits = ({} if own is None else {"cost_usd": own}) | start.limits
        options: dict[str, Json] = {
            "run": run,
            "seed": secrets.token_hex(8),
            "input": self.workers.redacted(start.input),
            "limits": limits or None,
            "iterations": start.iterations,
            "refused": start.refused,
            "memory": (not start.cold and remembered(workflow, self.store.memory)) or None,
        }
        body: dict[str, Json] = {k: value for k, value in options.items() if value is not None}
        pinned, digest = self._pin(workflow)
        about = (workflow.name, workflow.dialect, start.file, start.key)
        made = NewRun(run, pinned, digest, *about, sources=start.sources)
        first = Event("run.started", "", self.clock(), body)
        stored, is_new = await self.store.create(made, first)
        if is_new:
            self._digests[run] = digest
        return stored, is_new

    async def drive(self, run: RunId, requests: Sequence[Event] = ()) -> str:
        """Drives a run, after these requests, until it ends or waits; gives its status."""
        owner = await self.store.claim(run)
        self._count_driven(1)
        try:
            return await self._drive_owned(run, owner, list(requests))
        finally:
            self._count_driven(-1)
            await self._give_up(run, owner)

    async def request(self, run: RunId, event: Event) -> bool:
        """Brings a request to a run that is being driven; False: nobody drives it."""
        driver = self._drivers.get(run)
        if driver is not None:
            _object(objection(driver.machine, event))
            driver.deliver(event)
            return True
        if self.store.run(run).status != "running" and not self.store.is_owned(run):
            return False
        _object(objection(fold(self.store, run, self.plan(run)).machine, event))
        await self.store.post(run, event)
        return True

    def stop(self) -> None:
        self._stopping.set()
        for driver in self._drivers.values():
            driver.stop()
        for sleeper in self._sleepers.values():
            sleeper.set()

    async def follow(self, run: RunId, after: int = 0) -> AsyncIterator[Entry]:
        """The entries of a run as they come, also those of other processes, until it ends."""
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
        if run not in self._digests:
            workflow = from_json(self.store.workflow(run))
            digest = content_hash(workflow)
            self._plans.setdefault(digest, Plan(workflow))
            self._digests[run] = digest
        return self._plans[self._digests[run]]

    def _pin(self, workflow: Workflow) -> tuple[Json, str]:
        """The workflow as it is stored; many runs of one workflow compute this once."""
        pinned = self._pinned.get(id(workflow))
        if pinned is None or pinned[0] is not workflow:
            if len(self._pinned) >= PINNED_MAX:
                self._pinned.clear()
            pinned = (workflow, to_json(workflow), content_hash(workflow))
            self._pinned[id(workflow)] = pinned
        if pinned[2] not in self._plans:
            self._plans[pinned[2]] = Plan(workflow)
        return pinned[1], pinned[2]

    def _count_driven(self, step: int) -> None:
        """Has Python look for garbage the less often the more runs there are that hold none.

        A program that has left it as it is, unlike our commands, is left alone.
        """
        self._driven += step
        if self._objects >= OBJECTS:
            more = OBJECTS_PER_RUN * self._driven
            gc.set_threshold(self._objects + more, *gc.get_threshold()[1:])

    async def _drive_owned(self, run: RunId, owner: int, requests: list[Event]) -> str:
        while True:
            folded = fold(self.store, run, self.plan(run))
            for event in requests:
                _object(objection(folded.machine, event))
            whom = (self.store, self.workers, self.clock, self.watcher, self._timer)
            driver = Driver(run, folded, owner, *whom)
            self._drivers[run] = driver
            for message in await self._requests_for(folded.machine, run, owner):
                # Whoever was brought it before has not journaled it, or it would be gone.
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
            await self._sleep_until(run, driver.asleep_until or 0.0)

    async def _requests_for(self, machine: Machine, run: RunId, owner: int) -> list[Message]:
        """What was asked while nobody listened; a cancel that came too late must not count."""
        messages = self.store.take(run, owner)
        late = [message for message in messages if objection(machine, message.event) is not None]
        if late:
            await self.store.discard(run, owner, [message.id for message in late])
        return [message for message in messages if message not in late]

    async def _sleep_until(self, run: RunId, due: float) -> None:
        """Waits with nothing in memory but this; a message for the run ends the wait."""
        self._sleepers[run] = awoken = asyncio.Event()
        del self._drivers[run]
        try:
            while (left := due - self.clock()) > 0 and not self._stopping.is_set():
                # Not in one go: the time of day goes on while a machine is suspended.
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, NAP_S)):
                        await awoken.wait()
                        return
        finally:
            del self._sleepers[run]

    async def _give_up(self, run: RunId, owner: int) -> None:
        self._drivers.pop(run, None)
        self._digests.pop(run, None)
        if not self._drivers and not self._sleepers and self._inbox_task is not None:
            self._inbox_task.cancel()
            self._inbox_task = None
        if len(self._plans) > PINNED_MAX:
            needed = set(self._digests.values())
            self._plans = {digest: plan for digest, plan in self._plans.items() if digest in needed}
        try:
            await self.store.release(run, owner)
        except StoreError as fault:
            if fault.code != "R902":
                raise

    async def _deliver_requests(self) -> None:
        """Looks for requests of other processes, cheaply, and brings each to its driver once."""
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
            driver.deliver(message.event, message.id)


def _object(refusal: Refused | None) -> None:
    if refusal is not None:
        raise UsageError(str(refusal), facts=refusal.facts)
