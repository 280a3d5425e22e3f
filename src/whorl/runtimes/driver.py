"""The driver: takes what the machine wants, has it done, journals what happened, feeds it back.

The machine is fed in the order of the journal, so driving a run and replaying it are the same
thing. It may know a moment earlier than the journal does what has happened, but nothing leaves
the process, no call, no question, no news, before all that it follows from is written.
"""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import suppress
from dataclasses import InitVar, asdict, dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Protocol, cast

from whorl.errors import ProviderError, StoreError, UsageError
from whorl.interpreter.events import FED_KINDS, Cancel, Command, Event, Perform, Send, SetTimer
from whorl.providers.redaction import StreamedText
from whorl.providers.task import Effect, Request, TaskKind
from whorl.runtimes.journal import CommitTimer, Entry, Journal, RunId, WriteBuffer, throughout
from whorl.runtimes.replies import failed_body, finished_body
from whorl.runtimes.sealing import redaction_of, sealed, sealed_state

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.providers.redaction import Redaction
    from whorl.runtimes.folding import Folded


SNAPSHOT_EVERY = 256
GRACE_S = 0.5
# A store that cannot be written is tried again so often; a watcher is told each fourth time.
TROUBLE_PAUSE_S = 0.5
_WARN_EVERY = 4
# How often a wait for a time of day looks at the clock, which somebody may have set.
DATE_POLL_S = 1.0
# What a request has of the command that it is made of.
RESERVED = ("cost_usd", "tokens", "input_tokens", "calls")


class Workers(Protocol):
    """Who performs tasks; `whorl.providers.registry` has the real ones."""

    def kind(self, name: str) -> TaskKind:
        """The kind of task of a name."""

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        """What performing a task of this kind with these inputs does to the world."""

    def redacted(self, value: Json) -> Json:
        """The same value without the operator's secrets."""


class Watcher(Protocol):
    """Somebody who looks on."""

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """These entries are durable."""

    def text(self, run: RunId, address: str, text: str) -> None:
        """A task has streamed some text."""

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """The store cannot be written; the run waits until it can."""


class RunClock:
    """The time of a run: the time of day at its `start`, counted on by the event loop.

    Whoever sets the clock of the machine thereby changes no wait.
    """

    def __init__(self, start: float) -> None:
        self._passed = asyncio.get_running_loop().time
        self._start = start - self._passed() - _suspended_s()

    def __call__(self) -> float:
        return self._start + self._passed() + _suspended_s()


def _suspended_s() -> float:
    """How long the machine has been suspended since it started."""
    return throughout() - time.monotonic()


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
    asleep_until: tuple[float, float] = (math.inf, math.inf)

    def __post_init__(self, folded: Folded) -> None:
        self.machine: Machine = folded.machine
        self._seq = self._snapshot_seq = folded.seq
        self._snapshot_size = 0
        self._arrived: list[tuple[Event, int | None]] = []
        self._repeatable: list[Event] = []
        self._awake = asyncio.Event()
        self._buffer = WriteBuffer(list(folded.unsaid), self.timer, self._awake.set)
        self._messages: list[int] = []
        self._asked: dict[str, Perform] = {}
        self._to_send: list[Send] = []
        self._work: dict[str, asyncio.Task[None]] = {}
        self._wall = self.wall or self.clock
        self._timers: dict[str, tuple[SetTimer, asyncio.TimerHandle]] = {}
        self._stopping = self._draining = self._started = False
        self._redaction: Redaction | None = None
        self._secrets_known = 0

    def deliver(self, event: Event, message: int | None = None) -> None:
        self._arrived.append((event, message))
        self._awake.set()

    def request(self, event: Event, message: int | None = None) -> None:
        """Delivers what somebody asks, at the time of the run and not at that of their clock."""
        self.deliver(replace(event, at=min(event.at, self.clock())), message)

    def drain(self) -> None:
        """Leaves the run resumable, once what is under way has ended; nothing new begins."""
        self._draining = True
        self._awake.set()

    def stop(self) -> None:
        """Leaves the run resumable, as soon as possible."""
        self._stopping = True
        self._awake.set()

    @property
    def calls(self) -> int:
        """How many tasks are under way."""
        return len(self._work)

    async def drive(self, *, patience_s: float | None = None) -> str:
        """Drives until the run ends, waits, is paused, or will be `asleep` for `patience_s`."""
        machine = self.machine
        for address in machine.in_flight():
            body: dict[str, Json] = {"reserve": machine.held_for(address)}
            self.deliver(Event("task.in_doubt", address, self.clock(), body))
        if self._arrived:
            # Whoever pauses or cancels a run that nobody drives does not want its next call made.
            self._take_arrived()
        try:
            while not self._stopping:
                self._buffer.add(machine.take_notes())
                if self._buffer.is_full:
                    await self._write()
                    # A run that never waits for anything lets others have their turn.
                    await asyncio.sleep(0)
                intents = self._carry_out(machine.poll())
                if intents:
                    self._feed(intents, now=True)
                elif self._buffer and (self._buffer.must_be_written() or self._is_over()):
                    await self._write()
                elif self._to_send:
                    self._send()
                elif self._arrived or self._repeatable:
                    self._take_arrived()
                elif self._is_over():
                    return machine.status
                elif self._draining and not self._work:
                    break
                elif self._sleeps_longer_than(patience_s):
                    self.asleep_until = self._wakes_at()
                    return "asleep"
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

    def _feed(self, events: list[Event], *, now: bool) -> None:
        """Tells the machine what has happened; `now` has it written before anything else."""
        self._buffer.add(events, now=now)
        for event in events:
            self.machine.feed(event)

    def _take_arrived(self) -> None:
        """Feeds what has come; only what can be had again may wait to be written."""
        is_urgent = bool(self._arrived)
        self._feed(self._open_arrived(), now=is_urgent)

    def _open_arrived(self) -> list[Event]:
        """All that has come; what came from outside leaves the inbox once it is written."""
        events, self._repeatable = self._repeatable, []
        for event, message in self._arrived:
            events.append(event)
            if message is not None:
                self._messages.append(message)
        self._arrived.clear()
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
        self._buffer.add(self._open_arrived())
        if not self._buffer:
            return
        try:
            await self._write(snapshot=False)
        except StoreError as fault:
            if self.watcher is not None:
                self.watcher.trouble(self.run, fault)

    def _wakes_at(self) -> tuple[float, float]:
        """The time of the run, and the time of day, at which a timer fires next."""
        timers = [timer for timer, _ in self._timers.values()]
        due = min((timer.due for timer in timers if not timer.is_date), default=math.inf)
        return due, min((timer.due for timer in timers if timer.is_date), default=math.inf)

    def _left_s(self) -> float:
        due, date = self._wakes_at()
        return min(due - self.clock(), date - self._wall())

    def _is_over(self) -> bool:
        if self._work or self._to_send or self._arrived or self._repeatable:
            return False
        status = self.machine.status
        if status == "waiting":
            # A timer may be about to fire: a person was given a time that is over.
            return self._left_s() > 0
        return status != "running" and (self.machine.done or status == "paused")

    def _sleeps_longer_than(self, patience_s: float | None) -> bool:
        if patience_s is None or self._work or self._arrived or self._buffer:
            return False
        return bool(self._timers) and self._left_s() > patience_s

    def _carry_out(self, commands: Iterable[Command]) -> list[Event]:
        """Starts what has no effect; gives the intents of all else, to be written before it."""
        intents: dict[str, Event] = {}
        for command in commands:
            match command:
                case Perform() if self._draining:
                    # Whoever takes the run up next is asked for it again.
                    continue
                case Perform():
                    intent = self._prepare(command)
                    if intent is not None:
                        intents[command.address] = intent
                case Send():
                    self._to_send.append(command)
                case SetTimer(address):
                    self._drop_timer(address)
                    self._set_timer(command)
                case Cancel(address):
                    intents.pop(address, None)
                    self._asked.pop(address, None)
                    self._drop_timer(address)
                    task = self._work.pop(address, None)
                    if task is not None:
                        task.cancel()
        return list(intents.values())

    def _prepare(self, perform: Perform) -> Event | None:
        """Starts a task without effects; gives the intent of any other, or why there is none."""
        try:
            if self.workers.effect(perform.kind, perform.inputs) == "none":
                self._start(perform)
                return None
            intent = self._intent(perform)
        except ProviderError as fault:
            return self._failed(perform, fault)
        except UsageError as fault:
            return self._failed(perform, ProviderError(str(fault), code=fault.code))
        except Exception as fault:  # noqa: BLE001 - whatever a task does must not end the driver
            return self._failed(perform, ProviderError(_words_of(fault), code="I900"))
        self._asked[perform.address] = perform
        return intent

    def _intent(self, perform: Perform) -> Event:
        estimate = self.workers.kind(perform.kind).estimate(self._request(perform))
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
        return Event("task.started", perform.address, self.clock(), body)

    def _request(self, perform: Perform, cap: int | None = None) -> Request:
        redaction = self._known_redaction()
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
            partial(self._hold, perform.address),
            *(() if redaction is None else (redaction.value,)),
        )

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
            reply = await self._answer(perform, send.cap if send is not None else None)
            body = finished_body(perform, reply, self.workers.redacted)
            event = Event("task.finished", address, self.clock(), body)
        except ProviderError as fault:
            event = self._failed(perform, fault)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as fault:  # whatever a task does must not end the driver
            if address not in self._work:
                raise  # it was cancelled by us
            event = self._failed(perform, ProviderError(_words_of(fault), code="I900"))
        if self._work.pop(address, None) is None:
            return
        if send is None:
            self._deliver_repeatable(event)
        else:
            self.deliver(event)

    async def _answer(self, perform: Perform, cap: int | None) -> object:
        kind, show = self.workers.kind(perform.kind), partial(self._show, perform)
        request, redaction = self._request(perform, cap), self._known_redaction()
        if redaction is None:
            return await _in_time(kind.perform(request, show), perform.timeout_s)
        stream = StreamedText((), redaction)
        call = kind.perform(request, lambda text: show(stream.take(text)))
        answer = await _in_time(call, perform.timeout_s)
        show(stream.rest())
        return answer

    def _show(self, perform: Perform, text: str) -> None:
        # Text is only shown: whoever cannot take it must not make a task fail that was paid.
        if self.watcher is not None and text and not perform.secure_outputs:
            with suppress(Exception):
                self.watcher.text(self.run, perform.address, text)

    def _failed(self, perform: Perform, fault: ProviderError) -> Event:
        held = self.machine.held_for(perform.address)
        body = failed_body(perform, fault, held, self.workers.redacted)
        return Event("task.failed", perform.address, self.clock(), body)

    def _set_timer(self, timer: SetTimer) -> None:
        delay = timer.due - (self._wall() if timer.is_date else self.clock())
        if timer.is_date:
            delay = min(delay, DATE_POLL_S)
        later = asyncio.get_running_loop().call_later(max(0.0, delay), self._fire, timer.address)
        self._timers[timer.address] = (timer, later)

    def _fire(self, address: str) -> None:
        timer, _ = self._timers.pop(address)
        if timer.is_date and self._wall() < timer.due:
            self._set_timer(timer)
            return
        at = self.clock() if timer.is_date else max(timer.due, self.clock())
        self.deliver(Event("timer.fired", address, at))

    def _drop_timer(self, address: str) -> None:
        timer = self._timers.pop(address, None)
        if timer is not None:
            timer[1].cancel()

    async def _write(self, *, snapshot: bool = True) -> None:
        events = [self._sealed(event) for event in self._buffer.take()]
        messages, self._messages = self._messages, []
        for attempt in count():
            try:
                last = await self.journal.append(
                    self.run, self.owner, events, messages=messages, after=self._seq
                )
                break
            except StoreError as fault:
                if fault.code != "R900" or self._stopping:
                    raise
                if self.watcher is not None and attempt % _WARN_EVERY == 0:
                    self.watcher.trouble(self.run, fault)
                await asyncio.sleep(TROUBLE_PAUSE_S)
        if self.watcher is not None:
            first = last - len(events) + 1
            entries = [Entry(first + index, event) for index, event in enumerate(events)]
            self.watcher.entries(self.run, entries)
        self._seq = last
        # Reading the state back is the shorter way only once enough has happened.
        if snapshot and last - self._snapshot_seq >= SNAPSHOT_EVERY + self._snapshot_size // 64:
            await self._snapshot(last)

    def _sealed(self, event: Event) -> Event:
        """The entry of an event. What the machine was fed is without the operator's secrets."""
        if event.kind not in FED_KINDS:
            body = cast("dict[str, Json]", self.workers.redacted(event.body))
            if body is not event.body:
                event = Event(event.kind, event.address, event.at, body)
        if not self.machine.plan.is_confidential:
            return event
        return sealed(event, self.run, self.journal.seals, self._known_redaction())

    def _known_redaction(self) -> Redaction | None:
        """What takes the run's own secrets out; a workflow that is called may bring more."""
        secrets = self.machine.state.get("secrets", ())
        if len(secrets) != self._secrets_known:
            self._secrets_known, self._redaction = len(secrets), redaction_of(secrets)
        return self._redaction

    async def _snapshot(self, seq: int) -> None:
        """Stores the state: all that it was fed, and all that it said, is in the journal."""
        state: Json = self.machine.snapshot()
        self._snapshot_seq, self._snapshot_size = seq, len(str(state))
        if self.machine.plan.is_confidential:
            state = sealed_state(str(state), self.run, seq, self.journal.seals)
        try:
            await self.journal.snapshot(self.run, self.owner, seq, state)
        except StoreError as fault:
            # A snapshot only saves time; the next entry finds out whether the disk is full.
            if fault.code != "R900":
                raise

    async def _let_go(self) -> None:
        for address in list(self._timers):
            self._drop_timer(address)
        tasks = list(self._work.values())
        self._work.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _words_of(fault: BaseException) -> str:
    try:
        return f"{type(fault).__name__}: {fault}"
    except Exception:  # noqa: BLE001 - an error that cannot even be printed
        return type(fault).__name__


async def _in_time(call: Awaitable[object], limit_s: float | None) -> object:
    """What a call gives; most kinds keep to the time by themselves, and say more of it."""
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
