"""The driver performs the machine's commands, journals the events and feeds them to the machine.

The machine is fed in the order of the journal, so driving a run and replaying it are the same.
The machine may know an event shortly before the journal does. But no call, question or
notification leaves the process before the events that caused it are written.
"""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import suppress
from dataclasses import InitVar, asdict, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Protocol, TypeVar

from whorl.errors import ProviderError, StoreError, UsageError
from whorl.interpreter.events import Cancel, Command, Event, Give, Perform, Send, SetTimer
from whorl.interpreter.machine import AT_REST
from whorl.language.chunked_json import is_large
from whorl.lazily import dataclass
from whorl.providers.redaction import StreamedText
from whorl.providers.task import Effect, Request, TaskKind
from whorl.runtimes.host import Host, refused
from whorl.runtimes.journal.journal import Entry, entries_between
from whorl.runtimes.journal.sealed_secrets import RunSealing, failed_body, finished_body
from whorl.runtimes.program_log import reading
from whorl.runtimes.replay_core import in_doubt
from whorl.runtimes.time_slices import CPU_MAX_S, SLICE_S, Computing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterable

    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.providers.redaction import Redaction
    from whorl.runtimes.journal.folding import Folded
    from whorl.runtimes.journal.journal import Journal, RunId
    from whorl.runtimes.runtime import Watcher
    from whorl.runtimes.time_slices import CpuScheduler


Made = TypeVar("Made")

# Performing a task: what it is expected to use, the call itself, and what came of it.

GRACE_S = 0.5
# What an estimate says of a call, and a reservation holds for it.
RESERVED = ("cost_usd", "tokens", "input_tokens", "calls")


class Workers(Protocol):
    """The interface that performs tasks; `whorl.providers.registry` implements it."""

    def kind(self, name: str) -> TaskKind:
        """The kind of task of a name."""

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        """Returns the effect of a task of this kind with these inputs."""

    def redacted(self, value: Json) -> Json:
        """The same value without the operator's secrets."""


def end_of(cancelled: Event) -> Event:
    """Returns the event with which a machine ends a cancelled run."""
    error: Json = {"code": "R107", "message": "cancelled", "path": "", "iteration": None}
    body: dict[str, Json] = {"status": "cancelled", "output": None, "outputs": {}, "error": error}
    return Event("run.finished", "", cancelled.at, body | {"usage": {}})


@dataclass(frozen=True, slots=True)
class Performing:
    """Performs the tasks of one run.

    `hold` is called for calls that wait for their provider, `show` with text that tasks stream.
    """

    run: RunId
    workers: Workers
    redaction: Callable[[], Redaction | None]
    hold: Callable[[str, bool], None]
    show: Callable[[Perform, str], None]

    def has_effects(self, perform: Perform) -> bool:
        return self.workers.effect(perform.kind, perform.inputs) != "none"

    def intent(self, perform: Perform) -> dict[str, Json]:
        """Returns the entry to write before a call: its inputs and its expected usage."""
        request = self._request(perform, self.redaction())
        estimate = self.workers.kind(perform.kind).estimate(request)
        reserve = {name: amount for name in RESERVED if (amount := getattr(estimate, name))}
        body: dict[str, Json] = {"kind": perform.kind}
        if reserve:
            body["reserve"] = reserve
        if estimate.cap is not None:
            body["cap"] = asdict(estimate.cap)
        if estimate.at_worst is not None:
            body["at_worst"] = asdict(estimate.at_worst)
        if not perform.secure:
            body["inputs"] = self.workers.redacted(perform.inputs)
        return body

    async def answer(self, perform: Perform, cap: int | None) -> object:
        """Makes the call; returns the output of the task, or raises its error."""
        kind, show = self.workers.kind(perform.kind), partial(self.show, perform)
        redaction = self.redaction()
        request = self._request(perform, redaction, cap)
        if redaction is None:
            return await _in_time(kind.perform(request, show), perform.timeout_s)
        stream = StreamedText((), redaction)
        call = kind.perform(request, lambda text: show(stream.take(text)))
        answer = await _in_time(call, perform.timeout_s)
        show(stream.rest())
        return answer

    def failed(
        self, perform: Perform, fault: BaseException, held: dict[str, Json]
    ) -> dict[str, Json]:
        """Returns the entry of an error: of the provider, the user, or the code of a task."""
        if isinstance(fault, UsageError):
            fault = ProviderError(str(fault), code=fault.code)
        elif not isinstance(fault, ProviderError):
            fault = ProviderError(_words_of(fault), code="I900")
        is_priced = bool(held) and self.workers.effect(perform.kind, perform.inputs) == "priced"
        return failed_body(perform, fault, held, self.workers.redacted, is_priced=is_priced)

    def _request(
        self, perform: Perform, redaction: Redaction | None, cap: int | None = None
    ) -> Request:
        return Request(
            self.run,
            perform.address,
            perform.kind,
            perform.inputs,
            perform.attempt,
            f"{self.run}:{perform.key or perform.address}",
            perform.timeout_s,
            perform.returns,
            perform.session,
            perform.repair,
            cap,
            partial(self.hold, perform.address),
            *(() if redaction is None else (redaction.value,)),
        )


def _words_of(fault: BaseException) -> str:
    try:
        return f"{type(fault).__name__}: {fault}"
    except Exception:  # noqa: BLE001 - an error that cannot even be printed
        return type(fault).__name__


async def _in_time(call: Awaitable[object], limit_s: float | None) -> object:
    """Awaits a call with a timeout; most kinds have their own timeout with a better message."""
    if limit_s is None:
        return await call
    try:
        async with asyncio.timeout(limit_s + GRACE_S) as deadline:
            return await call
    except TimeoutError:
        if not deadline.expired():
            raise
    message = f"no answer within {limit_s:g} s; raise the timeout of the step"
    raise ProviderError(message, code="P108", retryable=True)


# Appending to the journal of a run: what may wait for company does, and snapshots stand behind it.
#
# What can be had again may wait in the buffer for company: the machine's own notes, and replies of
# tasks without effects. All else is written at once. Nothing leaves the process before all of it is
# written, so a crash that loses it is a crash that came a moment earlier.

WAIT_S = 0.1
# A busy process writes less often: each commit would hold it up even more.
LATE_S = 0.02
WAIT_MAX_S = 1.0
ENTRIES_MAX = 64
SNAPSHOT_CPU_S = 0.5
# A store that cannot be written is tried again so often; a watcher is told each fourth time.
TROUBLE_PAUSE_S = 0.5
WARN_EVERY = 4


# How often a wait for a time of day reads the clock, since the clock may be set.
DATE_POLL_S = 1.0
# A machine learns the time from events alone. While one only computes, the driver has a timer fire
# at this address, which nobody waits for, once the run is so far behind its clock.
CLOCK = ":clock"
TICK_S = 0.02


class CommitTimer:
    """Wakes all runs of a process that have entries to write, so that they share a commit."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = self._late = 0.0

    def wait(self, wake: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Runs that waited in an event loop that has ended are dropped.
            self._loop, self._waiting, self._late = loop, [], 0.0
        self._waiting.append(wake)
        if len(self._waiting) == 1:
            wait_s = WAIT_S if self._late < LATE_S else WAIT_S + 4 * self._late
            self._due = loop.time() + min(wait_s, WAIT_MAX_S)
            loop.call_at(self._due, self._wake_all, loop)

    def _wake_all(self, loop: asyncio.AbstractEventLoop) -> None:
        self._late = loop.time() - self._due
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()


@dataclass(slots=True, eq=False)
class WriteBuffer:
    """The unwritten entries of a run, in journal order, and when they must be written."""

    _entries: list[Event]
    _timer: CommitTimer
    _wake: Callable[[], None]
    _is_due: bool = False
    _is_waiting: bool = False

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, entries: list[Event], *, now: bool = False) -> None:
        """Appends entries to the buffer; with `now` they must be written at once."""
        self._entries += entries
        self._is_due |= now

    def take(self) -> list[Event]:
        entries, self._entries = self._entries, []
        self._is_due = False
        return entries

    @property
    def is_full(self) -> bool:
        return len(self._entries) >= ENTRIES_MAX

    def must_be_written(self) -> bool:
        """Returns whether the buffer must be written now; if not, wakes the driver when it must."""
        if self._is_due:
            return True
        if not self._is_waiting:
            self._is_waiting = True
            self._timer.wait(self._time_is_up)
        return False

    def _time_is_up(self) -> None:
        self._is_waiting = False
        if self._entries:
            self._is_due = True
            self._wake()


class Timers:
    """The timers of a run that is driven; `clock` tells its time, `wall` the time of day."""

    def __init__(
        self,
        clock: Callable[[], float],
        wall: Callable[[], float],
        deliver: Callable[[Event], None],
    ) -> None:
        self._clock = clock
        self._wall = wall
        self._deliver = deliver
        self._timers: dict[str, tuple[SetTimer, asyncio.TimerHandle]] = {}

    def __bool__(self) -> bool:
        return bool(self._timers)

    def set(self, timer: SetTimer) -> None:
        """Sets a timer, which replaces the timer of its address."""
        self.drop(timer.address)
        delay = timer.due - (self._wall() if timer.is_date else self._clock())
        if timer.is_date:
            delay = min(delay, DATE_POLL_S)
        later = asyncio.get_running_loop().call_later(max(0.0, delay), self._fire, timer.address)
        self._timers[timer.address] = (timer, later)

    def drop(self, address: str) -> None:
        timer = self._timers.pop(address, None)
        if timer is not None:
            timer[1].cancel()

    def drop_all(self) -> None:
        for address in list(self._timers):
            self.drop(address)

    def due(self) -> tuple[float, float]:
        """Returns when the next timer fires: by the run's clock and by the time of day."""
        timers = [timer for timer, _ in self._timers.values()]
        due = min((timer.due for timer in timers if not timer.is_date), default=math.inf)
        return due, min((timer.due for timer in timers if timer.is_date), default=math.inf)

    def left_s(self) -> float:
        """Returns the seconds until the next timer fires."""
        due, date = self.due()
        return min(due - self._clock(), date - self._wall())

    def _fire(self, address: str) -> None:
        timer, _ = self._timers.pop(address)
        if timer.is_date and self._wall() < timer.due:
            self.set(timer)
            return
        at = self._clock() if timer.is_date else max(timer.due, self._clock())
        self._deliver(Event("timer.fired", address, at))


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
        self._sealing = RunSealing(
            self.run, self.machine, self.journal.seals, self.workers.redacted
        )
        self._performing = Performing(
            self.run, self.workers, self._sealing.redaction, self._hold, self._show
        )
        # The requests that leave the inbox with the next entries.
        self._messages: list[int] = []
        self._seq = self._snapshot_seq = folded.seq
        self._snapshot_size, self._snapshot_cpu_s = 0, self.cpu_s
        # Without the secrets of a run, its state cannot be continued.
        self._is_open = folded.seals is not None
        # Runs the code, of a program; why it cannot.
        self._host: Host | None = None
        self._refusal: UsageError | None = None
        if self.machine.plan.has_program:
            functions = getattr(self.workers, "functions", None)
            given = (self.machine, self.clock)
            self._host = Host(*given, functions=functions, redacted=self.workers.redacted)

    def deliver(self, event: Event, message: int | None = None) -> None:
        self._arrived.append((event, message))
        self._awake.set()

    def request(self, event: Event, message: int | None = None) -> None:
        """Delivers a request; its time is at most the run's, if the sender's clock is ahead."""
        self.deliver(replace(event, at=min(event.at, self.clock())), message)

    def drain(self) -> None:
        """Starts no new calls, and leaves the run resumable when its open calls have ended."""
        self._draining = self.computing.is_draining = True
        self._awake.set()

    def stop(self) -> None:
        """Leaves the run resumable, as soon as possible."""
        self._stopping = self.computing.is_stopped = True
        self._awake.set()

    @property
    def calls(self) -> int:
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
                    await self._write()
                    # A run that never waits for anything lets others have their turn.
                    await asyncio.sleep(0)
                commands = machine.poll()
                if commands and (intents := self._carry_out(commands)):
                    await self._feed(intents, now=True)
                elif self._host is not None and (stepped := await self._stepped(self._host)):
                    await self._feed([stepped], now=False)
                elif self._buffer and (self._buffer.must_be_written() or self._is_over()):
                    await self._write()
                    if self._to_send and not self._stopping:
                        self._send()
                elif self._to_send:
                    self._send()
                elif self._repeatable or (self._arrived and self._ready()):
                    await self._take_arrived()
                elif self._is_over():
                    if self._refusal is not None:
                        raise self._refusal
                    return machine.status
                elif self._draining and not self._work:
                    break
                elif machine.is_busy and not self._draining:
                    await self._compute()
                elif self._sleeps_longer_than(patience_s):
                    self.asleep_until = self._timers.due()
                    return "asleep"
                elif machine.status == "running" and not (
                    self._work or self._timers or self._arrived or self._buffer
                ):
                    # No event can come, which is a bug.
                    self.deliver(Event("run.paused", "", self.clock(), {"by": "stuck"}))
                else:
                    await self._wait()
            await self._save_the_rest()
            return "stopped"
        finally:
            await self._let_go()

    async def _stepped(self, host: Host) -> Event | None:
        """Runs the code as far as it goes; returns what it requests."""
        machine = self.machine
        if machine.is_busy or machine.done or machine.status == "paused" or self._draining:
            return None
        if not host.is_outdated:
            return host.step()
        if self._buffer:
            # The log of the code is read from the journal.
            await self._write()
        try:
            seals = self.journal.seals if self._is_open else None
            log = await self._in_turns(reading(self.journal, self.run, machine, seals))
            await self._in_turns(host.begin_again(log))
        except UsageError as fault:
            self._refusal, self._host = fault, None
            host.close()
            self.deliver(refused(fault, self.clock()))
            return None
        return host.step()

    async def _in_turns(self, steps: Generator[None, None, Made]) -> Made:
        """Does work of many steps in the event loop, between those of other runs."""
        end = time.monotonic() + SLICE_S
        while True:
            try:
                next(steps)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            if time.monotonic() >= end:
                await asyncio.sleep(0)
                end = time.monotonic() + SLICE_S

    async def _wait(self) -> None:
        if self._started:
            # What was just started has its turn now and may be done at once: the event loop is
            # spared a turn with nothing else to do.
            self._started = False
            await asyncio.sleep(0)
        await self._awake.wait()
        self._awake.clear()

    async def _feed(self, events: list[Event], *, now: bool) -> None:
        """Feeds events to the machine; `now` has them written before anything else."""
        for event in events:
            if self.machine.is_busy:
                self._place(event)
            self._buffer.add([event], now=now)
            if not self.computing.at_once(event):
                await self._compute(event)

    def _place(self, event: Event) -> None:
        """Notes the step of the machine's work at which an event comes; a replay needs it."""
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
        """Returns the events to feed; those of AT_REST wait until the machine is not busy."""
        if not self.machine.is_busy:
            return self._arrived
        return [pair for pair in self._arrived if pair[0].kind not in AT_REST]

    async def _take_arrived(self) -> None:
        """Feeds the arrived events; only events that can be repeated may be written later."""
        ready = self._ready()
        if ready is not self._arrived:
            self._arrived = [pair for pair in self._arrived if pair[0].kind in AT_REST]
        is_urgent = bool(ready)
        await self._feed(self._opened(ready), now=is_urgent)

    def _opened(self, ready: list[tuple[Event, int | None]]) -> list[Event]:
        """The events that are ready; requests leave the inbox when they have been written."""
        events, self._repeatable = self._repeatable, []
        for event, message in ready:
            events.append(event)
            if message is not None:
                self._messages.append(message)
        ready.clear()
        return events

    def _send(self) -> None:
        for send in self._to_send:
            perform = self._asked.pop(send.address, None)
            if perform is not None:
                self._start(perform, send)
        self._to_send.clear()

    async def _save_the_rest(self) -> None:
        """Writes the events that arrived while the run stopped; a resume feeds them."""
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
            await self._write(snapshot=False)
        except StoreError as fault:
            if self.watcher is not None:
                self.watcher.trouble(self.run, fault)

    async def _write(self, *, snapshot: bool = True) -> None:
        """Writes the buffer until it is durable; waits while the store cannot be written."""
        taken = self._buffer.take()
        if self.computing.is_light:
            events, has_large = self._sealed(taken)
        else:
            events, has_large = await self.computing.aside(partial(self._sealed, taken))
        messages, self._messages = self._messages, []
        for attempt in count():
            try:
                last = await self.journal.append(
                    self.run,
                    self.owner,
                    events,
                    messages=messages,
                    after=self._seq,
                    is_large=has_large,
                )
                break
            except StoreError as fault:
                if fault.code != "R900" or self.computing.is_stopped:
                    raise
                if self.watcher is not None and attempt % WARN_EVERY == 0:
                    self.watcher.trouble(self.run, fault)
                await asyncio.sleep(TROUBLE_PAUSE_S)
        if self.watcher is not None:
            first = last - len(events) + 1
            entries = [Entry(first + index, event) for index, event in enumerate(events)]
            self.watcher.entries(self.run, entries)
        self._seq = last
        # Whether loading a new snapshot would be faster than replaying the entries.
        cpu_s = self.computing.cpu_s - self._snapshot_cpu_s
        is_due = last - self._snapshot_seq >= entries_between(self._snapshot_size)
        is_due = is_due or cpu_s > SNAPSHOT_CPU_S * (1 + self._snapshot_size / 250_000)
        if not (snapshot and self._is_open and is_due and self.machine.is_whole):
            return
        # The state of the machine, whose events and notes are all in the journal.
        work = partial(self._sealing.state, last, in_pieces=not self.computing.is_light)
        size, state = await self.computing.aside(work)
        self._snapshot_seq, self._snapshot_size = last, size
        self._snapshot_cpu_s = self.computing.cpu_s
        try:
            await self.journal.snapshot(self.run, self.owner, last, state)
        except StoreError as fault:
            # A snapshot only saves time; the next entry finds out whether the disk is full.
            if fault.code != "R900":
                raise

    def _sealed(self, events: list[Event]) -> tuple[list[Event], bool]:
        """Returns the entries of events, and whether some of them are large."""
        entries = [self._sealing.entry(event) for event in events]
        return entries, not self.computing.is_light and any(is_large(e.body) for e in entries)

    def _is_over(self) -> bool:
        if self._work or self._to_send or self._arrived or self._repeatable:
            return False
        status = self.machine.status
        if status == "waiting":
            # A timer may be about to fire: a person was given a time that is over.
            return self._timers.left_s() > 0
        return status != "running" and (self.machine.done or status == "paused")

    def _sleeps_longer_than(self, patience_s: float | None) -> bool:
        if patience_s is None or self._work or self._arrived or self._buffer:
            return False
        return bool(self._timers) and self._timers.left_s() > patience_s

    def _carry_out(self, commands: Iterable[Command]) -> list[Event]:
        """Starts tasks without effects; returns the intents of others, to be written first."""
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
                        # If it was held back, its intent is in the journal.
                        intents.pop(address, None)
                    self._to_send.append(command)
                case SetTimer():
                    self._timers.set(command)
                case Give():
                    # One that begins again finds it in the state.
                    if self._host is not None and not self._host.is_outdated:
                        self._host.give(command)
                case Cancel(address):
                    intents.pop(address, None)
                    self._asked.pop(address, None)
                    self._timers.drop(address)
                    task = self._work.pop(address, None)
                    if task is not None:
                        task.cancel()
        return list(intents.values())

    def _prepare(self, perform: Perform) -> Event | None:
        """Starts a task without effects; returns the intent of any other, or its failure."""
        if self._host is not None:
            perform = replace(perform, inputs=self._host.real_inputs(perform))
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
        """Notes that a call waits for its provider or was sent; if the note is lost: in doubt."""
        kind = "task.held" if is_held else "task.sent"
        self._deliver_repeatable(Event(kind, address, self.clock()))

    def _start(self, perform: Perform, send: Send | None = None) -> None:
        """Starts a task; without a `send` it has no effects, and can be repeated."""
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
        # Text is only shown: a watcher that cannot take it must not make a paid task fail.
        if self.watcher is not None and text and not perform.secure_outputs:
            with suppress(Exception):
                self.watcher.text(self.run, perform.address, text)

    def _failed(self, perform: Perform, fault: BaseException) -> Event:
        body = self._performing.failed(perform, fault, self.machine.held_for(perform.address))
        return Event("task.failed", perform.address, self.clock(), body)

    async def _let_go(self) -> None:
        self._timers.drop_all()
        if self._host is not None:
            self._host.close()
        tasks = list(self._work.values())
        self._work.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
