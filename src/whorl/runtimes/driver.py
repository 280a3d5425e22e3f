"""The driver: takes what the machine wants, has it done, journals what happened, feeds it back.

The machine is fed in the order of the journal, so driving a run and replaying it are the same
thing. It may know a moment earlier than the journal does what has happened, but nothing leaves
the process, no call, no question, no news, before all that it follows from is written.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from dataclasses import InitVar, field, replace
from functools import partial
from typing import TYPE_CHECKING

from whorl.errors import ProviderError, StoreError
from whorl.interpreter.events import Cancel, Command, Event, Perform, Send, SetTimer
from whorl.interpreter.machine import AT_REST
from whorl.language.chunked_json import is_large
from whorl.lazily import dataclass
from whorl.runtimes.clock import CLOCK, TICK_S, Timers
from whorl.runtimes.journal.sealed_secrets import RunSealing, finished_body
from whorl.runtimes.performing import Performing, Workers
from whorl.runtimes.replay_core import in_doubt
from whorl.runtimes.time_slices import CPU_MAX_S, Computing
from whorl.runtimes.write_buffer import Appending, CommitTimer, WriteBuffer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.interpreter.machine import Machine
    from whorl.runtimes.journal.folding import Folded
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.runtimes.runtime import Watcher
    from whorl.runtimes.time_slices import CpuScheduler


@dataclass(eq=False)
class Driver:
    """Drives one run in this process."""

    run: RunId
    folded: InitVar[Folded]
    owner: int
    journal: Journal
    workers: Workers
    # Gives the time of the run; waits for a time of day ask `wall`.
    clock: Callable[[], float]
    watcher: Watcher | None = None
    timer: CommitTimer = field(default_factory=CommitTimer)
    wall: Callable[[], float] | None = None
    turns: CpuScheduler | None = None
    # How many seconds the run may compute, and how many it has.
    cpu_max_s: float = CPU_MAX_S
    cpu_s: float = 0.0
    asleep_until: tuple[float, float] = (math.inf, math.inf)

    def __post_init__(self, folded: Folded) -> None:
        self.machine: Machine = folded.machine
        self._arrived: list[tuple[Event, int | None]] = []
        self._repeatable: list[Event] = []
        self._awake = asyncio.Event()
        self._buffer = WriteBuffer(list(folded.unsaid), self.timer, self._awake.set)
        self._asked: dict[str, Perform] = {}
        self._to_send: list[Send] = []
        self._work: dict[str, asyncio.Task[None]] = {}
        self._timers = Timers(self.clock, self.wall or self.clock, self.deliver)
        self._stopping = self._draining = self._started = False
        self.computing = Computing(self.machine, self.turns, self.cpu_s, self.cpu_max_s)
        sealing = RunSealing(self.run, self.machine, self.journal.seals, self.workers.redacted)
        self._performing = Performing(
            self.run, self.workers, sealing.redaction, self._hold, self._show
        )
        self._appending = Appending(
            folded,
            self.owner,
            self.journal,
            self._buffer,
            computing=self.computing,
            sealing=sealing,
            watcher=self.watcher,
        )

    def deliver(self, event: Event, message: int | None = None) -> None:
        self._arrived.append((event, message))
        self._awake.set()

    def request(self, event: Event, message: int | None = None) -> None:
        """Delivers what somebody asks, at the time of the run and not at that of their clock."""
        self.deliver(replace(event, at=min(event.at, self.clock())), message)

    def drain(self) -> None:
        """Leaves the run resumable, once what is under way has ended; nothing new begins."""
        self._draining = self.computing.is_draining = True
        self._awake.set()

    def stop(self) -> None:
        """Leaves the run resumable, as soon as possible."""
        self._stopping = self.computing.is_stopped = True
        self._awake.set()

    @property
    def calls(self) -> int:
        """How many tasks are under way."""
        return len(self._work)

    async def drive(self, *, patience_s: float | None = None) -> str:
        """Drives until the run ends, waits, is paused, or will be `asleep` for `patience_s`."""
        machine = self.machine
        for address in machine.in_flight():
            self.deliver(in_doubt(machine, address, self.clock()))
        if self._arrived:
            # Whoever pauses or cancels a run that nobody drives does not want its next call made.
            await self._take_arrived()
        try:
            while not self._stopping:
                if notes := machine.take_notes():
                    self._buffer.add(notes)
                if self._buffer.is_full:
                    await self._appending.write()
                    # A run that never waits for anything lets others have their turn.
                    await asyncio.sleep(0)
                commands = machine.poll()
                if commands and (intents := self._carry_out(commands)):
                    await self._feed(intents, now=True)
                elif self._buffer and (self._buffer.must_be_written() or self._is_over()):
                    await self._appending.write()
                    if self._to_send and not self._stopping:
                        self._send()
                elif self._to_send:
                    self._send()
                elif self._repeatable or (self._arrived and self._ready()):
                    await self._take_arrived()
                elif self._is_over():
                    return machine.status
                elif self._draining and not self._work:
                    break
                elif machine.is_busy and not self._draining:
                    await self._compute()
                elif self._sleeps_longer_than(patience_s):
                    self.asleep_until = self._timers.due()
                    return "asleep"
                elif self._is_stuck():
                    self.deliver(Event("run.paused", "", self.clock(), {"by": "stuck"}))
                else:
                    await self._wait()
            await self._save_the_rest()
            return "stopped"
        finally:
            await self._let_go()

    async def _wait(self) -> None:
        if self._started:
            # What was just started has its turn now and may be done at once: the event loop is
            # spared a turn with nothing else to do.
            self._started = False
            await asyncio.sleep(0)
        await self._awake.wait()
        self._awake.clear()

    async def _feed(self, events: list[Event], *, now: bool) -> None:
        """Tells the machine what has happened; `now` has it written before anything else."""
        for event in events:
            if self.machine.is_busy:
                self._place(event)
            self._buffer.add([event], now=now)
            if not self.computing.at_once(event):
                await self._compute(event)

    def _place(self, event: Event) -> None:
        """Notes the step of the machine's work that an event comes at, for whoever replays it."""
        if event.kind not in AT_REST:
            event.body = {**event.body, "step": self.machine.steps}

    async def _compute(self, event: Event | None = None) -> None:
        if event is None and (at := self.clock()) - self.machine.now >= TICK_S:
            event = Event("timer.fired", CLOCK, at)
            self._place(event)
            self._buffer.add([event])
        if await self.computing.in_turn(event) and not self.machine.done:
            self.deliver(Event("run.exhausted", "", self.clock(), {"cpu_s": self.cpu_max_s}))

    def _ready(self) -> list[tuple[Event, int | None]]:
        """What has come; what looks at a run as it stands waits until its work is done."""
        if not self.machine.is_busy:
            return self._arrived
        return [pair for pair in self._arrived if pair[0].kind not in AT_REST]

    async def _take_arrived(self) -> None:
        """Feeds what has come; only what can be had again may wait to be written."""
        ready = self._ready()
        if ready is not self._arrived:
            self._arrived = [pair for pair in self._arrived if pair[0].kind in AT_REST]
        is_urgent = bool(ready)
        await self._feed(self._opened(ready), now=is_urgent)

    def _opened(self, ready: list[tuple[Event, int | None]]) -> list[Event]:
        """The events that are ready; what came from outside leaves the inbox once it is written."""
        events, self._repeatable = self._repeatable, []
        for event, message in ready:
            events.append(event)
            if message is not None:
                self._appending.messages.append(message)
        ready.clear()
        return events

    def _send(self) -> None:
        for send in self._to_send:
            perform = self._asked.pop(send.address, None)
            if perform is not None:
                self._start(perform, send)
        self._to_send.clear()

    async def _save_the_rest(self) -> None:
        """Writes what has arrived when the run is stopped; it is fed when the run is resumed."""
        self._buffer.add(self.machine.take_notes())
        # What looks at the run as it stands comes after the rest, and after all of its work.
        for event in sorted(self._opened(self._arrived), key=lambda event: event.kind in AT_REST):
            if self.machine.is_busy:
                self._place(event)
            self._buffer.add([event])
            if event.kind not in AT_REST:
                self.machine.take(event)
        if not self._buffer:
            return
        try:
            await self._appending.write(snapshot=False)
        except StoreError as fault:
            if self.watcher is not None:
                self.watcher.trouble(self.run, fault)

    def _is_over(self) -> bool:
        if self._work or self._to_send or self._arrived or self._repeatable:
            return False
        status = self.machine.status
        if status == "waiting":
            # A timer may be about to fire: a person was given a time that is over.
            return self._timers.left_s() > 0
        return status != "running" and (self.machine.done or status == "paused")

    def _is_stuck(self) -> bool:
        """Whether nothing will ever come by itself, though the run has not ended: a mistake."""
        is_moving = self._work or self._timers or self._arrived or self._buffer
        return self.machine.status == "running" and not is_moving

    def _sleeps_longer_than(self, patience_s: float | None) -> bool:
        if patience_s is None or self._work or self._arrived or self._buffer:
            return False
        return bool(self._timers) and self._timers.left_s() > patience_s

    def _carry_out(self, commands: Iterable[Command]) -> list[Event]:
        """Starts what has no effect; gives the intents of all else, to be written before it."""
        intents: dict[str, Event] = {}
        for command in commands:
            match command:
                case Perform(address) if self._draining and not self.machine.is_sent(address):
                    # Whoever takes the run up next is asked for it again.
                    continue
                case Perform():
                    intent = self._prepare(command)
                    if intent is not None:
                        intents[command.address] = intent
                case Send(address):
                    if address in self._asked:
                        # Where it was held back, its intent stands in the journal.
                        intents.pop(address, None)
                    self._to_send.append(command)
                case SetTimer():
                    self._timers.set(command)
                case Cancel(address):
                    intents.pop(address, None)
                    self._asked.pop(address, None)
                    self._timers.drop(address)
                    task = self._work.pop(address, None)
                    if task is not None:
                        task.cancel()
        return list(intents.values())

    def _prepare(self, perform: Perform) -> Event | None:
        """Starts a task without effects; gives the intent of any other, or why there is none."""
        try:
            if not self._performing.has_effects(perform):
                self._start(perform)
                return None
            body = self._performing.intent(perform)
        except Exception as fault:  # noqa: BLE001 - whatever a task does must not end the driver
            return self._failed(perform, fault)
        self._asked[perform.address] = perform
        return Event("task.started", perform.address, self.clock(), body)

    def _hold(self, address: str, is_held: bool) -> None:
        """A call waits for its provider, or no longer; if that is lost, it is in doubt."""
        kind = "task.held" if is_held else "task.sent"
        self._deliver_repeatable(Event(kind, address, self.clock()))

    def _start(self, perform: Perform, send: Send | None = None) -> None:
        """Starts a task; without a `send` it has no effects, and its reply can be had again."""
        if perform.address not in self._work:
            self._work[perform.address] = asyncio.create_task(self._perform(perform, send))
            self._started = True

    def _deliver_repeatable(self, reply: Event) -> None:
        self._repeatable.append(reply)
        self._awake.set()

    async def _perform(self, perform: Perform, send: Send | None) -> None:
        address = perform.address
        try:
            reply = await self._performing.answer(perform, send.cap if send is not None else None)
            given = (perform, reply, self.workers.redacted)
            if is_large(getattr(reply, "value", None)):
                body = await self.computing.aside(partial(finished_body, *given), is_long=True)
            else:
                body = finished_body(*given)
            event = Event("task.finished", address, self.clock(), body)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as fault:  # whatever a task does must not end the driver
            if address not in self._work and not isinstance(fault, ProviderError):
                raise  # it was cancelled by us
            event = self._failed(perform, fault)
        if self._work.pop(address, None) is None:
            return
        if send is None:
            self._deliver_repeatable(event)
        else:
            self.deliver(event)

    def _show(self, perform: Perform, text: str) -> None:
        # Text is only shown: whoever cannot take it must not make a task fail that was paid.
        if self.watcher is not None and text and not perform.secure_outputs:
            with suppress(Exception):
                self.watcher.text(self.run, perform.address, text)

    def _failed(self, perform: Perform, fault: BaseException) -> Event:
        body = self._performing.failed(perform, fault, self.machine.held_for(perform.address))
        return Event("task.failed", perform.address, self.clock(), body)

    async def _let_go(self) -> None:
        self._timers.drop_all()
        tasks = list(self._work.values())
        self._work.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
