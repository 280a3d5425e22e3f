"""Derives journal entries from Temporal's history, with the same pilot as the run.

The workflow receives events in activations, one for each workflow task: signals first, then all
others. The decoder groups the events before each completed workflow task in the same way.
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
    from temporalio.api.history.v1 import HistoryEvent
    from temporalio.converter import DataConverter

    from whorl.language import Json
    from whorl.runtimes.replay_core import PureDriver

# How the SDK names the marker of a local activity.
_LOCAL = "core_local_activity"
# How it names the end of an activity whose worker leaves.
_LEFT = "WorkerShutdown"
_CUT_OFF = frozenset(
    f"WORKFLOW_EXECUTION_{how}" for how in ("FAILED", "TERMINATED", "TIMED_OUT", "CANCELED")
)


class Decoder:
    """Takes the events of one execution, in order; `pilot` has the entries."""

    def __init__(self, converter: DataConverter, namespace: str, run: str) -> None:
        self._of = partial(bound_to, converter, namespace, run)
        self._converter = self._of()
        self._signals: list[dict[str, Any]] = []
        self._arrived: list[Arrival] = []
        # The calls and timers that are waited for, by what later events name them.
        self._calls: dict[int, str] = {}
        self._timers: dict[str, tuple[int, str, float]] = {}
        self._now = 0.0
        self._has_begun = self._is_full = False
        self.beginning: Beginning
        self.pilot: PureDriver
        self.is_ended = False
        # The execution that continues the run.
        self.next = ""

    async def take(self, event: HistoryEvent) -> None:
        """Takes the next event; most kinds do not concern the run."""
        kind = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_")
        about: Any = getattr(event, f"{kind.lower()}_event_attributes")
        match kind:
            case "WORKFLOW_EXECUTION_STARTED":
                self.beginning = Beginning.from_json(await self._value(about.input))
                self.pilot = self.beginning.pilot()
            case "WORKFLOW_EXECUTION_SIGNALED" if about.signal_name == messages.ASK:
                self._signals.append(await self._value(about.input))
            case "WORKFLOW_TASK_STARTED":
                self._now = self.beginning.time(event.event_time.ToNanoseconds() / 1e9)
                is_long = event.event_id > self.beginning.events_max
                self._is_full = is_long or about.suggest_continue_as_new
            case "WORKFLOW_TASK_COMPLETED":
                self._activate()
            case "ACTIVITY_TASK_SCHEDULED":
                self._calls[event.event_id] = about.activity_id
            case "ACTIVITY_TASK_COMPLETED" | "ACTIVITY_TASK_FAILED" | "ACTIVITY_TASK_TIMED_OUT":
                await self._hear(about)
            case "TIMER_STARTED" if event.user_metadata.summary.data:  # others are the workflow's
                [name] = await self._converter.decode([event.user_metadata.summary])
                self._timers[about.timer_id] = (event.event_id, *messages.timer_of(name))
            case "TIMER_FIRED" if about.timer_id in self._timers:
                number, address, due = self._timers[about.timer_id]
                self._arrived.append(Arrival(number, Event("timer.fired", address, 0.0), due))
            case "TIMER_CANCELED":
                self._timers.pop(about.timer_id, None)
            case "MARKER_RECORDED" if about.marker_name == _LOCAL and "result" in about.details:
                intents = await self._value(about.details["result"])
                messages.take_prepared(self.pilot, intents, self._now)
                if intents:
                    self._carry_out(intents[-1]["at"])
            case "WORKFLOW_EXECUTION_COMPLETED":
                result = await self._value(about.result)
                self._end(result["seq"], result["hash"])
            case "WORKFLOW_EXECUTION_CONTINUED_AS_NEW":
                after = Beginning.from_json(await self._value(about.input))
                self.next = about.new_execution_run_id
                self._end(after.seq, after.hash)
            case _ if kind in _CUT_OFF:
                self.is_ended = True

    def _activate(self) -> None:
        signals, self._signals = self._signals, []
        arrived, self._arrived = self._arrived, []
        if not self._has_begun:
            self._has_begun = True
            for first in self.beginning.first:
                self.pilot.arrive(messages.event_from_json(first, self._now))
            self.pilot.take_over(self._now)
        dropped = set[int]()
        for signal in signals:
            self.pilot.arrive(messages.event_from_json(signal | {"at": 0.0}, self._now))
            # Results of what a request has ended are dropped, even if they came at the same time.
            dropped |= self._carry_out(self._now)
        timely = [each for each in arrived if each.number not in dropped]
        at = self._now
        for each in timely:
            each.event.at = at if each.due is None else max(each.due, at)
        self.pilot.arrive_together(timely)
        self._carry_out(self._now)

    def _carry_out(self, at: float) -> set[int]:
        """Drops what the machine no longer wants; returns the numbers of the events behind it."""
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

    async def _hear(self, about: Any) -> None:
        """Takes the outcome of a call, if the run still waits for it."""
        number = about.scheduled_event_id
        address = self._calls.get(number)
        if address is None:
            return
        if hasattr(about, "result"):
            reply = await self._value(about.result, address)
            event = Event(reply["kind"], address, 0.0, reply["body"])
        else:
            cause = await self._of(address).decode_failure(about.failure)
            event = lost(address, 0.0, cause)
        self._arrived.append(Arrival(number, event))

    def _end(self, seq: int, digest: str) -> None:
        self.is_ended = True
        if (seq, digest) != (self.pilot.seq, self.pilot.digest):
            raise underivable(self.beginning.run)

    async def _value(self, payloads: Any, call: str = "") -> Any:
        reader = self._of(call) if call else self._converter
        return (await reader.decode(payloads.payloads))[0]


def underivable(run: str) -> StoreError:
    """Returns the error for a history that another version of the machine made."""
    words = f"the journal of run {run!r} cannot be derived by this version of Whorl"
    advice = "read it with the version that its workers have; the run itself is not affected"
    return StoreError(words, code="R901", help=advice)


def lost(address: str, at: float, cause: BaseException | None) -> Event:
    """Returns the event for a call whose outcome is unknown, or in which a worker failed."""
    is_left = getattr(cause, "type", "") == _LEFT
    if is_left or isinstance(cause, OutOfTime | CancelledError):
        return Event("task.in_doubt", address, at)
    message = str(getattr(cause, "message", cause))
    error: dict[str, Json] = {"code": "I900", "message": message, "retryable": False}
    body: dict[str, Json] = {"error": error | {"retry_after_s": None, "detail": {}}}
    return Event("task.failed", address, at, body)
