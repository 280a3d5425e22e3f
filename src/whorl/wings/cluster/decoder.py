"""From Temporal's history of an execution to journal entries, by the pilot that the run has, too.

The workflow is told what happened in activations, one for each workflow task: signals first, then
all else. Here the same is made of the events before each workflow task that was completed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from temporalio.api.enums.v1 import EventType
from temporalio.exceptions import CancelledError
from temporalio.exceptions import TimeoutError as OutOfTime

from whorl.errors import StoreError
from whorl.interpreter.events import Cancel, Event, SetTimer
from whorl.runtimes.replay_core import Arrival
from whorl.wings.cluster import messages
from whorl.wings.cluster.messages import Beginning
from whorl.wings.cluster.values import bound_to

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from temporalio.api.history.v1 import HistoryEvent
    from temporalio.converter import DataConverter

    from whorl.runtimes.replay_core import PureDriver

_PREFIX = "EVENT_TYPE_"
# How the SDK names the marker of a local activity.
_LOCAL = "core_local_activity"
# How it names the end of an activity whose worker leaves.
_LEFT = "WorkerShutdown"


class Decoder:
    """Takes the events of one execution, in order; `pilot` has the entries."""

    def __init__(self, converter: DataConverter, namespace: str, run: str) -> None:
        self._of = partial(bound_to, converter, namespace, run)
        self._converter = self._of()
        # What was asked; None: the run has its turn.
        self._signals: list[dict[str, Any] | None] = []
        self._arrived: list[Arrival] = []
        # The calls and timers that are waited for, by what later events name them.
        self._calls: dict[int, str] = {}
        self._timers: dict[str, tuple[int, str, float]] = {}
        self._now = 0.0
        self._has_begun = self._is_full = self._is_queued = False
        self.beginning: Beginning
        self.pilot: PureDriver
        self.is_ended = False
        # The execution that goes on with the run.
        self.next = ""
        # How many records of the run no memory has taken.
        self.lost_records = 0

    async def take(self, event: HistoryEvent) -> None:
        name = EventType.Name(event.event_type)
        take = _TAKEN.get(name)
        if take is not None:
            part = name.removeprefix(_PREFIX).lower()
            await take(self, event, getattr(event, f"{part}_event_attributes"))

    async def _begin(self, event: HistoryEvent, attributes: Any) -> None:
        self.beginning = Beginning.from_json(await self._value(attributes.input))
        self.pilot = self.beginning.pilot()
        self._is_queued = bool(self.beginning.at_once) and not self.beginning.has_place

    async def _ask(self, event: HistoryEvent, attributes: Any) -> None:
        if attributes.signal_name == messages.ASK:
            self._signals.append(await self._value(attributes.input))
        elif attributes.signal_name == messages.TURN:
            self._signals.append(None)

    async def _start_task(self, event: HistoryEvent, attributes: Any) -> None:
        self._now = self.beginning.time(event.event_time.ToNanoseconds() / 1e9)
        is_long = event.event_id > self.beginning.events_max
        self._is_full = is_long or attributes.suggest_continue_as_new

    async def _activate(self, event: HistoryEvent, attributes: Any) -> None:
        signals, self._signals = self._signals, []
        arrived, self._arrived = self._arrived, []
        if not self._has_begun:
            self._has_begun = True
            # A turn counts before the run begins, and what is asked of it after that.
            self._is_queued = self._is_queued and None not in signals
            for first in self.beginning.first:
                self.pilot.arrive(messages.event_from_json(first, self._now))
            self.pilot.take_over(self._now)
        dropped = set[int]()
        for signal in signals:
            if signal is None:
                self._is_queued = False
                continue
            self.pilot.arrive(messages.event_from_json(signal | {"at": 0.0}, self._now))
            # What a request has ended is not heard any more, though it came at the same time.
            dropped |= self._carry_out(self._now)
        timely = [each for each in arrived if each.number not in dropped]
        at = self._now
        for each in timely:
            each.event.at = at if each.due is None else max(each.due, at)
        self.pilot.arrive_together(timely)
        self._carry_out(self._now)

    def _carry_out(self, at: float) -> set[int]:
        """Forgets what the machine wants no more; gives the events with which that was begun."""
        if self._is_queued and not self.pilot.machine.done:
            return set()
        _, others = self.pilot.commands(at, is_full=self._is_full)
        ended = {c.address for c in others if isinstance(c, Cancel)}
        reset = ended | {c.address for c in others if isinstance(c, SetTimer)}
        calls = {number for number, address in self._calls.items() if address in ended}
        for number in calls:
            del self._calls[number]
        timers = {name: each[0] for name, each in self._timers.items() if each[1] in reset}
        for name in timers:
            del self._timers[name]
        return calls | set(timers.values())

    async def _schedule(self, event: HistoryEvent, attributes: Any) -> None:
        self._calls[event.event_id] = attributes.activity_id

    async def _complete(self, event: HistoryEvent, attributes: Any) -> None:
        number = attributes.scheduled_event_id
        if number in self._calls:
            reply = await self._value(attributes.result, self._calls[number])
            self._hear(number, Event(reply["kind"], self._calls[number], 0.0, reply["body"]))

    async def _fail(self, event: HistoryEvent, attributes: Any) -> None:
        number = attributes.scheduled_event_id
        if number in self._calls:
            cause = await self._of(self._calls[number]).decode_failure(attributes.failure)
            self._hear(number, lost(self._calls[number], 0.0, cause))

    def _hear(self, number: int, event: Event) -> None:
        self._arrived.append(Arrival(number, event))

    async def _set_timer(self, event: HistoryEvent, attributes: Any) -> None:
        if not event.user_metadata.summary.data:
            return  # the workflow's own
        [name] = await self._converter.decode([event.user_metadata.summary])
        self._timers[attributes.timer_id] = (event.event_id, *messages.timer_of(name))

    async def _fire(self, event: HistoryEvent, attributes: Any) -> None:
        timer = self._timers.get(attributes.timer_id)
        if timer is not None:
            number, address, due = timer
            self._arrived.append(Arrival(number, Event("timer.fired", address, 0.0), due))

    async def _drop_timer(self, event: HistoryEvent, attributes: Any) -> None:
        self._timers.pop(attributes.timer_id, None)

    async def _take_intents(self, event: HistoryEvent, attributes: Any) -> None:
        if attributes.marker_name == _LOCAL and "result" in attributes.details:
            intents = await self._value(attributes.details["result"])
            for intent in intents:
                self.pilot.arrive(messages.event_from_json(intent, self._now))
            self._carry_out(intents[-1]["at"])

    async def _end(self, event: HistoryEvent, attributes: Any) -> None:
        self.is_ended = True
        result = await self._value(attributes.result)
        self.lost_records = result.get("lost_records", 0)
        if (result["seq"], result["hash"]) != (self.pilot.seq, self.pilot.digest):
            raise underivable(self.beginning.run)

    async def _hand_on(self, event: HistoryEvent, attributes: Any) -> None:
        self.is_ended, self.next = True, attributes.new_execution_run_id
        after = Beginning.from_json(await self._value(attributes.input))
        if (after.seq, after.hash) != (self.pilot.seq, self.pilot.digest):
            raise underivable(self.beginning.run)

    async def _cut_off(self, event: HistoryEvent, attributes: Any) -> None:
        self.is_ended = True

    async def _value(self, payloads: Any, call: str = "") -> Any:
        reader = self._of(call) if call else self._converter
        return (await reader.decode(payloads.payloads))[0]


def underivable(run: str) -> StoreError:
    """The history was made by another machine than the one that reads it."""
    words = f"the journal of run {run!r} cannot be derived by this version of Whorl"
    advice = "read it with the version that its workers have; the run itself is not affected"
    return StoreError(words, code="R921", help=advice)


_TAKEN: dict[str, Callable[[Decoder, HistoryEvent, Any], Awaitable[None]]] = {
    f"{_PREFIX}{name}": take
    for name, take in {
        "WORKFLOW_EXECUTION_STARTED": Decoder._begin,
        "WORKFLOW_EXECUTION_SIGNALED": Decoder._ask,
        "WORKFLOW_TASK_STARTED": Decoder._start_task,
        "WORKFLOW_TASK_COMPLETED": Decoder._activate,
        "ACTIVITY_TASK_SCHEDULED": Decoder._schedule,
        "ACTIVITY_TASK_COMPLETED": Decoder._complete,
        "ACTIVITY_TASK_FAILED": Decoder._fail,
        "ACTIVITY_TASK_TIMED_OUT": Decoder._fail,
        "TIMER_STARTED": Decoder._set_timer,
        "TIMER_FIRED": Decoder._fire,
        "TIMER_CANCELED": Decoder._drop_timer,
        "MARKER_RECORDED": Decoder._take_intents,
        "WORKFLOW_EXECUTION_COMPLETED": Decoder._end,
        "WORKFLOW_EXECUTION_CONTINUED_AS_NEW": Decoder._hand_on,
        "WORKFLOW_EXECUTION_FAILED": Decoder._cut_off,
        "WORKFLOW_EXECUTION_TERMINATED": Decoder._cut_off,
        "WORKFLOW_EXECUTION_TIMED_OUT": Decoder._cut_off,
        "WORKFLOW_EXECUTION_CANCELED": Decoder._cut_off,
    }.items()
}


def lost(address: str, at: float, cause: BaseException | None) -> Event:
    """A call of which no worker has told what came of it, or one that a worker got wrong."""
    is_left = getattr(cause, "type", "") == _LEFT
    if is_left or isinstance(cause, OutOfTime | CancelledError):
        return Event("task.in_doubt", address, at)
    message = str(getattr(cause, "message", cause))
    return Event("task.failed", address, at, messages.fault_of_worker(message))
