"""A worker: it drives runs and makes their calls with the providers of its project."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from temporalio import activity
from temporalio.api.enums.v1 import IndexedValueType, TaskQueueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from whorl.errors import UsageError
from whorl.interpreter import BEHAVIOUR
from whorl.interpreter.events import Event, Perform
from whorl.lazily import dataclass
from whorl.runtimes.driver import Performing
from whorl.runtimes.host import Host
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.journal.sealed_secrets import finished_body, redaction_of
from whorl.runtimes.time_slices import CPU_MAX_S
from whorl.wings.cluster import messages
from whorl.wings.cluster.connection import answering, connect
from whorl.wings.cluster.memory import ClusterMemories, Memory
from whorl.wings.cluster.messages import Beginning
from whorl.wings.cluster.schedules import Fire
from whorl.wings.cluster.values import place_finding, place_of
from whorl.wings.cluster.workflow import PARENT, STATUS, WORKFLOW, Run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from temporalio.client import Client
    from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner

    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.providers.functions import Tasks
    from whorl.providers.settings import TemporalSettings
    from whorl.runtimes.driver import Workers


# The machine does for a run what the one did that began it, if that is one of these versions.
DRIVEN = tuple(range(BEHAVIOUR, 1, -1))
CACHED_MAX = 500
# Runs are driven by one processor of a worker: more tasks at once would each take longer, until
# the server takes them for lost. Those that wait for their turn wait on the server.
TASKS_MAX = 10
# How long the server waits for the worker that has a run in memory before it asks another one.
STICKY_S = 2.0
# Streamed text travels with heartbeats, which the SDK holds back for most of their timeout.
THROTTLE_S = 0.3


async def set_up(client: Client) -> list[str]:
    """Adds the search attributes that the namespace lacks; returns their names."""
    missing = await missing_attributes(client)
    if missing:
        kind = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        attributes = dict.fromkeys(missing, kind)
        asked = AddSearchAttributesRequest(search_attributes=attributes, namespace=client.namespace)
        await client.operator_service.add_search_attributes(asked)
    return missing


async def missing_attributes(client: Client) -> list[str]:
    about = ListSearchAttributesRequest(namespace=client.namespace)
    known = (await client.operator_service.list_search_attributes(about)).custom_attributes
    return [key.name for key in (STATUS, WORKFLOW, PARENT) if key.name not in known]


async def has_pollers(client: Client, queue: str, *, is_of_calls: bool = False) -> bool:
    """Whether some worker polls a queue for runs, or for calls."""
    kinds = TaskQueueType
    kind = kinds.TASK_QUEUE_TYPE_ACTIVITY if is_of_calls else kinds.TASK_QUEUE_TYPE_WORKFLOW
    asked = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind
    )
    return bool((await client.workflow_service.describe_task_queue(asked)).pollers)


async def findings(settings: TemporalSettings) -> AsyncIterator[tuple[str, bool, str]]:
    """Yields the requirements of a cluster, whether each is met, and what to do."""
    client = await connect(settings)
    with answering(settings):
        missing = await missing_attributes(client)
        yield "Temporal", True, f"{settings.address}, namespace {settings.namespace!r}"
        words = (
            f"{', '.join(missing)} missing: `whorl server worker --setup`" if missing else "exist"
        )
        yield "search attributes", not missing, words
        if (storage := place_of(settings)) is not None:
            yield "values", *await place_finding(storage, settings.values)
        runs = messages.run_queue(settings.queue)
        queues = [(runs, False)] + [(each, True) for each in (runs, *settings.queues.values())]
        for queue, is_of_calls in dict.fromkeys(queues):
            has_any = await has_pollers(client, queue, is_of_calls=is_of_calls)
            what = "calls" if is_of_calls else f"runs of behaviour {BEHAVIOUR}"
            option = "" if queue in (runs, settings.queue) else f" --queue {queue} --calls-only"
            words = (
                "workers poll it" if has_any else f"start a worker: `whorl server worker{option}`"
            )
            yield f"queue {queue}", has_any, f"{what}: {words}"


@asynccontextmanager
async def working(
    client: Client,
    settings: TemporalSettings,
    workers: Workers,
    *,
    queue: str = "",
    calls_only: bool = False,
    runner: WorkflowRunner | None = None,
    cpu_max_s: float = CPU_MAX_S,
    fired: Callable[[dict[str, Any], float], dict[str, Any]] = lambda schedule, due: {},
) -> AsyncIterator[None]:
    """Works until the block ends; then it takes no new work and waits `grace` for its calls."""
    code = Code(workers, is_encrypted=bool(settings.encrypt_with))
    memories, metering = ClusterMemories(client, settings), Metering(client, cpu_max_s, code)
    activities, is_whole = Activities(workers, fired, memories), not calls_only and not queue
    calls: dict[str, Any] = {
        "max_concurrent_activities": settings.calls_at_once,
        "graceful_shutdown_timeout": timedelta(seconds=settings.grace_s),
        "max_heartbeat_throttle_interval": timedelta(seconds=THROTTLE_S),
        "default_heartbeat_throttle_interval": timedelta(seconds=THROTTLE_S),
    }
    runs: dict[str, Any] = {
        "workflows": [Run],
        "workflow_runner": runner or metering,
        # No task of a run fails because the machine that it is on is busy for two seconds.
        "debug_mode": True,
        "max_cached_workflows": CACHED_MAX,
        "max_concurrent_workflow_tasks": TASKS_MAX,
        "sticky_queue_schedule_to_start_timeout": timedelta(seconds=STICKY_S),
    }
    # Calls of runs that an earlier release began wait on the queue itself.
    served = Worker(
        client,
        task_queue=queue or settings.queue,
        activities=[activities.perform, activities.fire],
        # Workflows that drive no machine run on workers of any version.
        workflows=[Fire, Memory] if is_whole else [],
        workflow_runner=UnsandboxedWorkflowRunner(),
        **calls,
    )
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(served)
        names = [messages.run_queue(settings.queue, each) for each in DRIVEN]
        names += [messages.run_queue(settings.queue, program=each) for each in code.places()]
        for name in () if calls_only and queue else names:
            # A worker that makes the calls of the runs that it drives is given them at once.
            does: list[Callable[..., Any]] = [activities.prepare]
            does += [] if queue else [activities.perform]
            how = {"no_remote_activities": True} if queue else calls
            how = how if calls_only else how | runs
            worker = Worker(client, task_queue=name, activities=does, **how)
            await stack.enter_async_context(worker)
        yield


@dataclass(frozen=True, slots=True)
class Code:
    """The workflow functions that a worker has, and what runs them."""

    workers: Workers
    is_encrypted: bool

    def places(self) -> tuple[str, ...]:
        functions = getattr(self.workers, "functions", None)
        if functions is None:
            return ()
        places: tuple[str, ...] = functions.programs()
        if places:
            _keep_steps(functions)
        return places

    def host(self, machine: Machine, clock: Callable[[], float]) -> Host:
        functions = getattr(self.workers, "functions", None)
        return Host(machine, clock, functions=functions, redacted=self._redacted)

    def _redacted(self, value: Json) -> Json:
        shown = self.workers.redacted(value)
        if shown != value and not self.is_encrypted:
            words = "a request has a secret of whorl.toml, which Temporal would keep readable"
            advice = 'set [runtime.temporal] encrypt_with = "env:WHORL_KEY"'
            raise UsageError(words, help=advice, code="W920")
        return shown


def _keep_steps(functions: Tasks) -> None:
    """Registers the steps of all modules: another worker may run the code that calls them."""
    from whorl.interfaces.python.writing.workflows import Step

    modules = [getattr(module, "__dict__", {}) for module in [*sys.modules.values()]]
    things = [thing for names in modules for thing in [*names.values()]]
    steps = {id(thing): thing.task for thing in things if isinstance(thing, Step)}
    named = Counter(task.name for task in steps.values())
    for task in steps.values():
        if named[task.name] == 1 and functions.get(task.name) is None:
            functions.keep(task.name, task.call, pure=task.pure)


# The computing time of runs on a worker: a run that exceeds the limit is asked to end.
#
# A workflow must not measure its own time, which differs in each replay. So the worker measures
# it, and sends the run a request, as a local driver does.

# The number of runs whose time is kept; the latest ones.
RUNS_MAX = 10_000
log = logging.getLogger("whorl")


class Metering(UnsandboxedWorkflowRunner):
    """Runs workflows as they are; `most_s` is how long a run may compute on this worker."""

    def __init__(self, client: Client, most_s: float, code: Code) -> None:
        self._client = client
        self._most_s = most_s
        self._code = code
        self._used_s: dict[str, float] = {}
        self._loop = asyncio.get_running_loop()
        self._telling: set[asyncio.Task[None]] = set()

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        outside = {**det.extern_functions, messages.CODE: self._code.host}
        instance: Any = super().create_instance(replace(det, extern_functions=outside))
        run, activate = det.info.workflow_id, instance.activate
        self._loop.call_soon_threadsafe(self._begin, run)

        def measured(activation: Any) -> Any:
            begun = time.thread_time()
            try:
                return activate(activation)
            finally:
                if not activation.is_replaying:
                    seconds = time.thread_time() - begun
                    self._loop.call_soon_threadsafe(self._count, run, seconds)

        instance.activate = measured
        return instance

    def _begin(self, run: str) -> None:
        """Resets the time of a run that was stopped for computing too long and is resumed."""
        if self._used_s.get(run) == -math.inf:
            del self._used_s[run]

    def _count(self, run: str, seconds: float) -> None:
        # The one that has computed last is the last one.
        self._used_s[run] = self._used_s.pop(run, 0.0) + seconds
        if self._used_s[run] > self._most_s:
            self._used_s[run] = -math.inf
            telling = self._loop.create_task(self._tell(run))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)
        if len(self._used_s) > RUNS_MAX:
            del self._used_s[next(iter(self._used_s))]

    async def _tell(self, run: str) -> None:
        event = Event("run.exhausted", "", 0.0, {"cpu_s": self._most_s})
        try:
            handle = self._client.get_workflow_handle(run)
            await handle.signal(messages.ASK, messages.event_to_json(event))
        except RPCError as fault:
            if fault.status != RPCStatusCode.NOT_FOUND:
                log.warning("run %s computes too long, and could not be notified: %s", run, fault)


# The activities of a worker: intents of tasks, performing one of them, firing schedules.

# How many characters of a task's streamed text watchers see.
SHOWN_MAX = 4_000
STREAM_S = 0.3
BEAT_S = 1.0
# The hashes of tool descriptions that the current task's run has received.
_PINS: ContextVar[Mapping[str, str]] = ContextVar("pins")


def tool_pins(run: str) -> Mapping[str, str]:
    return _PINS.get({})


@dataclass(frozen=True, slots=True)
class Activities:
    """The activities of a worker; `fired` returns the runs that a schedule starts at a time."""

    workers: Workers
    fired: Callable[[dict[str, Any], float], dict[str, Any]]
    memories: ClusterMemories

    @activity.defn(name=messages.FIRE)
    async def fire(self, schedule: dict[str, Any], due: float) -> dict[str, Any]:
        """Returns the runs that a schedule starts at a time, as its file is now."""
        made = await asyncio.to_thread(self.fired, schedule, due)
        begun = [Beginning.from_json(each) for each in made.get("runs", ())]
        return made | {"runs": [(await self.memories.begun(each)).to_json() for each in begun]}

    @activity.defn(name=messages.PREPARE)
    async def prepare(
        self,
        run: str,
        performs: list[dict[str, Any]],
        secrets: list[Any],
        now: float,
        requested: list[dict[str, Any]] | None = None,
    ) -> list[dict[str, Any]]:
        """Returns the intents of tasks for the journal; performs tasks without effects at once.

        After them comes what the code of the run has requested. All times are those of the run: it
        is `now` when the activity begins.
        """
        performing, begun = self._performing(run, secrets, []), time.monotonic()
        prepared = []
        for each in performs:
            event = await self._prepared(performing, Perform(**each))
            event.at = now + time.monotonic() - begun
            prepared.append(messages.event_to_json(event))
        later = {"at": now + time.monotonic() - begun}
        return [*prepared, *(each | later for each in requested or ())]

    async def _prepared(self, performing: Performing, perform: Perform) -> Event:
        try:
            if not performing.has_effects(perform):
                return await self._performed(performing, perform, None, {})
            body = performing.intent(perform)
        except Exception as fault:  # noqa: BLE001 - whatever a task does must not end the run
            body = performing.failed(perform, fault, {})
            return Event("task.failed", perform.address, 0.0, body)
        return Event("task.started", perform.address, 0.0, body)

    @activity.defn(name=messages.PERFORM)
    async def perform(self, call: dict[str, Any]) -> dict[str, Any]:
        """Makes one call. Faults of providers are results: the machine decides about them."""
        texts: list[str] = []
        performing = self._performing(call["run"], call.get("secrets", ()), texts)
        _PINS.set(call.get("pins", {}))
        perform, held = Perform(**call["perform"]), call.get("held", {})
        if call.get("is_refused"):
            fault = messages.needs_queue(perform.address, perform.kind)
            failed = performing.failed(perform, fault, {})
            return {"kind": "task.failed", "body": failed}
        beating = asyncio.create_task(_beat(texts))
        try:
            event = await self._performed(performing, perform, call.get("cap"), held)
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating
        return {"kind": event.kind, "body": event.body}

    async def _performed(
        self, performing: Performing, perform: Perform, cap: int | None, held: dict[str, Json]
    ) -> Event:
        try:
            reply = await performing.answer(perform, cap)
            body = finished_body(perform, reply, self.workers.redacted)
            return Event("task.finished", perform.address, 0.0, body)
        except Exception as fault:  # noqa: BLE001 - whatever a task does must not end the worker
            body = performing.failed(perform, fault, _estimated(performing, perform, held))
            return Event("task.failed", perform.address, 0.0, body)

    def _performing(self, run: str, secrets: list[Any], texts: list[str]) -> Performing:
        redaction = redaction_of(secrets)

        def show(perform: Perform, text: str) -> None:
            if text and not perform.secure_outputs:
                texts.append(text)

        return Performing(RunId(run), self.workers, lambda: redaction, lambda *_: None, show)


def _estimated(performing: Performing, perform: Perform, held: dict[str, Json]) -> dict[str, Json]:
    """Returns the reserve of a call; without a budget, the task's own estimate is used."""
    if held.keys() - {"calls"}:
        return held
    reserve: Any = {}
    with suppress(Exception):  # what is wrong with the task is told already
        reserve = performing.intent(perform).get("reserve", {})
    return reserve


async def _beat(texts: list[str]) -> None:
    """Sends heartbeats while the call runs, with the end of the streamed text."""
    shown, text, is_new = 0, "", True
    while True:
        # A call that is answered at once costs no message.
        await asyncio.sleep(STREAM_S if is_new else BEAT_S)
        is_new = len(texts) > shown
        text = (text + "".join(texts[shown:]))[-SHOWN_MAX:]
        shown = len(texts)
        activity.heartbeat(text)
