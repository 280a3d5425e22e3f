"""A server in memory: it hands activations of random sizes to the real workflow class.

It writes the history that a server would write, event by event, and gives it to a decoder at the
same time. What happens next follows from a seed. Now and then another worker continues the run:
it is given all activations again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from temporalio import workflow
from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.common import Priority, TypedSearchAttributes
from temporalio.worker import UnsandboxedWorkflowRunner, WorkflowInstanceDetails

from simulation.world import RESERVE, World
from whorl.interpreter.events import Event, Perform
from whorl.wings.cluster import messages
from whorl.wings.cluster.decoder import Decoder
from whorl.wings.cluster.values import converter
from whorl.wings.cluster.workflow import Run

if TYPE_CHECKING:
    from random import Random

    from whorl.wings.cluster.messages import Beginning

CONVERTER = converter()
TURNS_MAX = 400


@dataclass
class Simulated:
    """One execution, and the decoder that reads its history."""

    beginning: Beginning
    random: Random
    world: World
    now: float
    decoder: Decoder = field(default_factory=lambda: Decoder(CONVERTER, "", ""))
    after: Any = None
    is_ended: bool = False
    _count: int = 0
    _task: int = 0
    _calls: dict[int, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    _timers: dict[int, tuple[int, float]] = field(default_factory=dict)
    _past: list[tuple[WorkflowActivation, list[Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._instance = self._made()
        start = self._event("WORKFLOW_EXECUTION_STARTED")
        attributes = start.workflow_execution_started_event_attributes
        self._fill(attributes.input, self.beginning.to_json())
        self._decode(start)
        self._first = True

    def _made(self) -> Any:
        moment = datetime.fromtimestamp(self.now, UTC)
        nothing: dict[str, Any] = {}
        info = workflow.Info(
            attempt=1,
            continued_run_id=None,
            cron_schedule=None,
            execution_timeout=None,
            first_execution_run_id="e",
            headers={},
            namespace="default",
            original_execution_run_id="e",
            parent=None,
            root=None,
            raw_memo={},
            retry_policy=None,
            run_id="e",
            run_timeout=None,
            search_attributes=nothing,
            start_time=moment,
            workflow_start_time=moment,
            task_queue="q",
            task_timeout=timedelta(seconds=10),
            typed_search_attributes=TypedSearchAttributes([]),
            workflow_id=self.beginning.run,
            workflow_type=messages.RUN,
            priority=Priority.default,
        )
        details = WorkflowInstanceDetails(
            payload_converter_factory=CONVERTER.payload_converter_class,
            failure_converter_class=CONVERTER.failure_converter_class,
            interceptor_classes=[],
            defn=workflow._Definition.must_from_class(Run),
            info=info,
            randomness_seed=1,
            extern_functions={"__temporal_assert_local_activity_valid": lambda name: None},
            disable_eager_activity_execution=False,
            worker_level_failure_exception_types=[],
            patch_activation_callback=None,
            last_completion_result=Payloads(),
            last_failure=None,
        )

        async def made() -> Any:
            return UnsandboxedWorkflowRunner().create_instance(details)

        return asyncio.run(made())

    def move(self) -> None:
        """Gives all that has happened to another worker, which wants the same."""
        self._instance = self._made()
        for activation, commands in self._past:
            activation.is_replaying = True
            completion = self._instance.activate(activation)
            assert completion.HasField("successful"), completion.failed
            wanted = [(c.WhichOneof("variant"), self._named(c)) for c in commands]
            again = completion.successful.commands
            assert [(c.WhichOneof("variant"), self._named(c)) for c in again] == wanted

    def _named(self, command: Any) -> Any:
        given = getattr(command, command.WhichOneof("variant"))
        return getattr(given, "activity_id", ""), getattr(given, "activity_type", "")

    @property
    def pilot(self) -> Any:
        return self._instance._object._pilot

    def turn(self) -> None:
        """One workflow task: some of what could happen has happened."""
        self.now += self.random.choice((0.001, 0.5, 3.0))
        activation = self._activation()
        if self._first:
            self._first = False
            job = activation.jobs.add().initialize_workflow
            job.workflow_type, job.workflow_id = messages.RUN, self.beginning.run
            self._fill(job, self.beginning.to_json(), "arguments")
        else:
            self._happen(activation)
            activation.timestamp.FromNanoseconds(round(self.now * 1e9))
        for kind in ("SCHEDULED", "STARTED"):
            self._decode(self._event(f"WORKFLOW_TASK_{kind}"))
        self._task = activation.history_length = self._count
        commands = self._activate(activation)
        self._decode(self._event("WORKFLOW_TASK_COMPLETED"))
        while commands and not self.is_ended:
            later = self._activation()
            for command in commands:
                # What comes after the end of an execution is not carried out.
                if not self.is_ended:
                    self._carry_out(command, later)
            commands = self._activate(later) if later.jobs else []

    def _happen(self, activation: Any) -> None:
        """Signals come first, whatever their place in the history is."""
        calls = self.random.sample(list(self._calls), self.random.randint(0, len(self._calls)))
        timers = self.random.sample(list(self._timers), self.random.randint(0, len(self._timers)))
        if not calls and timers:
            # Time passes only where nothing else is to come.
            self.now = max(self.now, *(self._timers[seq][1] for seq in timers))
        timers = [seq for seq in timers if self._timers[seq][1] <= self.now]
        jobs = [(self._answer, seq) for seq in calls] + [(self._fire, seq) for seq in timers]
        self.random.shuffle(jobs)
        for happen, seq in jobs:
            happen(seq, activation)
        for request in self._requests():
            given = messages.event_to_json(request)
            signal = self._event("WORKFLOW_EXECUTION_SIGNALED")
            attributes = signal.workflow_execution_signaled_event_attributes
            job = activation.jobs.add().signal_workflow
            attributes.signal_name = job.signal_name = messages.ASK
            job.originating_event_id = signal.event_id
            self._fill(attributes.input, given)
            self._fill(job, given, "input")
            self._decode(signal)

    def _requests(self) -> list[Event]:
        machine = self.pilot.machine
        found = []
        for address, entry in machine.pending.items():
            if entry["what"] == "gate" and self.random.random() < 0.7:
                body = {"approved": self.world.luck(address) % 3 > 0}
                found.append(Event("gate.decided", address, 0.0, body))
        if machine.status == "paused":
            found.append(Event("run.resumed", "", 0.0, {"calls": 50, "cost_usd": 5, "tokens": 500}))
        elif self.random.random() < 0.05:
            found.append(Event("run.paused", "", 0.0, {}))
        elif self.random.random() < 0.02:
            found.append(Event("run.cancelled", "", 0.0, {}))
        return found

    def _answer(self, seq: int, activation: Any) -> None:
        number, call = self._calls.pop(seq)
        job = activation.jobs.add().resolve_activity
        job.seq = seq
        if self.random.random() < 0.05:
            event = self._event("ACTIVITY_TASK_TIMED_OUT")
            failure = Failure(message="it is silent")
            failure.timeout_failure_info.timeout_type = 1
            attributes = event.activity_task_timed_out_event_attributes
            attributes.failure.CopyFrom(failure)
            job.result.failed.failure.message = "activity"
            job.result.failed.failure.activity_failure_info.activity_id = "a"
            job.result.failed.failure.cause.CopyFrom(failure)
        else:
            answer = self.world.answer(Perform(**call["perform"]))
            reply = {"kind": answer.kind, "body": answer.body}
            event = self._event("ACTIVITY_TASK_COMPLETED")
            attributes = event.activity_task_completed_event_attributes
            self._fill(attributes.result, reply)
            job.result.completed.result.CopyFrom(attributes.result.payloads[0])
        attributes.scheduled_event_id = number
        self._decode(event)

    def _fire(self, seq: int, activation: Any) -> None:
        del self._timers[seq]
        event = self._event("TIMER_FIRED")
        event.timer_fired_event_attributes.timer_id = str(seq)
        self._decode(event)
        activation.jobs.add().fire_timer.seq = seq

    def _carry_out(self, command: Any, later: Any) -> None:
        kind = command.WhichOneof("variant")
        given = getattr(command, kind)
        if kind == "schedule_local_activity":
            _, performs, _, _, *code = self._values(given.arguments)
            told = [messages.event_to_json(self._intent(Perform(**each))) for each in performs]
            told += [each | {"at": self.now} for requested in code for each in requested]
            marker = self._event("MARKER_RECORDED")
            attributes = marker.marker_recorded_event_attributes
            attributes.marker_name = "core_local_activity"
            self._fill(attributes.details["result"], told)
            self._decode(marker)
            job = later.jobs.add().resolve_activity
            job.seq, job.is_local = given.seq, True
            job.result.completed.result.CopyFrom(attributes.details["result"].payloads[0])
        elif kind == "schedule_activity":
            event = self._event("ACTIVITY_TASK_SCHEDULED")
            event.activity_task_scheduled_event_attributes.activity_id = given.activity_id
            self._decode(event)
            self._calls[given.seq] = (event.event_id, self._values(given.arguments)[0])
        elif kind == "request_cancel_activity":
            if given.seq not in self._calls:
                return  # its answer came at the same time
            number, _ = self._calls.pop(given.seq)
            event = self._event("ACTIVITY_TASK_CANCEL_REQUESTED")
            attributes = event.activity_task_cancel_requested_event_attributes
            attributes.scheduled_event_id = number
            self._decode(event)
            job = later.jobs.add().resolve_activity
            job.seq = given.seq
            failure = job.result.cancelled.failure
            failure.activity_failure_info.activity_id = "a"
            failure.cause.canceled_failure_info.SetInParent()
        elif kind == "start_timer":
            event = self._event("TIMER_STARTED")
            event.timer_started_event_attributes.timer_id = str(given.seq)
            event.user_metadata.CopyFrom(command.user_metadata)
            self._decode(event)
            due = self.now + given.start_to_fire_timeout.ToTimedelta().total_seconds()
            self._timers[given.seq] = (event.event_id, due)
        elif kind == "cancel_timer":
            self._timers.pop(given.seq, None)
            event = self._event("TIMER_CANCELED")
            event.timer_canceled_event_attributes.timer_id = str(given.seq)
            self._decode(event)
        elif kind == "complete_workflow_execution":
            event = self._event("WORKFLOW_EXECUTION_COMPLETED")
            attributes = event.workflow_execution_completed_event_attributes
            attributes.result.payloads.append(given.result)
            self.is_ended = True
            self._decode(event)
        elif kind == "continue_as_new_workflow_execution":
            event = self._event("WORKFLOW_EXECUTION_CONTINUED_AS_NEW")
            attributes = event.workflow_execution_continued_as_new_event_attributes
            attributes.new_execution_run_id = "next"
            attributes.input.payloads.extend(given.arguments)
            self.is_ended, self.after = True, self._values(given.arguments)[0]
            self._decode(event)
        elif kind == "start_child_workflow_execution":
            job = later.jobs.add().resolve_child_workflow_execution_start
            job.seq, job.succeeded.run_id = given.seq, "lane"
        elif kind == "signal_external_workflow_execution":
            later.jobs.add().resolve_signal_external_workflow.seq = given.seq
        else:
            assert kind == "upsert_workflow_search_attributes", kind

    def _intent(self, perform: Perform) -> Event:
        if perform.kind == "use":
            answer = self.world.answer(perform)
            return Event(answer.kind, perform.address, self.now, answer.body)
        body: dict[str, Any] = {"kind": perform.kind, "reserve": RESERVE}
        return Event("task.started", perform.address, self.now, body)

    def _activation(self) -> Any:
        activation = WorkflowActivation(run_id="e", history_length=self._task)
        activation.timestamp.FromNanoseconds(round(self.now * 1e9))
        return activation

    def _activate(self, activation: Any) -> list[Any]:
        completion = self._instance.activate(activation)
        assert completion.HasField("successful"), completion.failed
        commands = list(completion.successful.commands)
        self._past.append((activation, commands))
        return commands

    def _event(self, name: str) -> Any:
        self._count += 1
        kind = EventType.Value(f"EVENT_TYPE_{name}")
        event = HistoryEvent(event_id=self._count, event_type=kind)
        event.event_time.FromNanoseconds(round(self.now * 1e9))
        return event

    def _decode(self, event: Any) -> None:
        asyncio.run(self.decoder.take(event))

    def _fill(self, target: Any, value: Any, name: str = "payloads") -> None:
        payloads = CONVERTER.payload_converter.to_payloads([value])
        getattr(target, name).extend(payloads)

    def _values(self, payloads: Any) -> list[Any]:
        return CONVERTER.payload_converter.from_payloads(list(payloads))
