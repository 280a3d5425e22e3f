"""A worker: it drives runs, and makes their calls with the providers of its project."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from temporalio.api.enums.v1 import IndexedValueType, TaskQueueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest, RegisterNamespaceRequest
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from whorl.errors import StoreError
from whorl.interpreter import BEHAVIOUR
from whorl.runtimes.time_slices import CPU_MAX_S
from whorl.wings.cluster import messages
from whorl.wings.cluster.connection import answering, connect
from whorl.wings.cluster.memory import ClusterMemories, Memory
from whorl.wings.cluster.schedules import Fire
from whorl.wings.cluster.values.payload_storage import check_place
from whorl.wings.cluster.workers.activities import Activities
from whorl.wings.cluster.workers.concurrency import ConcurrencyQueue
from whorl.wings.cluster.workers.metering import Metering
from whorl.wings.cluster.workflow import PARENT, STATUS, WORKFLOW, Run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from temporalio.client import Client
    from temporalio.worker import WorkflowRunner

    from whorl.providers.settings import TemporalSettings
    from whorl.runtimes.performing import Workers


# The machine does for a run what the one did that began it, if that is one of these versions.
DRIVEN = tuple(range(BEHAVIOUR, 1, -1))
# How long a namespace that is made here keeps the histories of runs that have ended.
RETENTION_DAYS = 30
NAMESPACE_S = 60.0
NAMESPACE_POLL_S = 0.2
CACHED_MAX = 500
# Runs are driven by one processor of a worker: more tasks at once would each take longer, until
# the server takes them for lost. Those that wait for their turn wait on the server.
TASKS_MAX = 10
# How long the server waits for the worker that has a run in memory before it asks another one.
STICKY_S = 2.0
# Streamed text travels with heartbeats, which the SDK holds back for most of their timeout.
THROTTLE_S = 0.3


async def set_up(client: Client, *, is_needed: bool = False) -> list[str]:
    """Adds the search attributes of runs to the namespace, where it lacks them; gives what it did.

    A namespace that is not there is made. Unless it `is_needed`, who may not do so leaves it.
    """
    try:
        return await _set_up(client)
    except RPCError:
        if is_needed:
            raise
        return []


async def _set_up(client: Client) -> list[str]:
    made = []
    try:
        missing = await missing_attributes(client)
    except RPCError as fault:
        if fault.status != RPCStatusCode.NOT_FOUND:
            raise
        await _make_namespace(client)
        made.append(f"namespace {client.namespace}")
        missing = await missing_attributes(client)
    if missing:
        kind = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        attributes = dict.fromkeys(missing, kind)
        asked = AddSearchAttributesRequest(search_attributes=attributes, namespace=client.namespace)
        await client.operator_service.add_search_attributes(asked)
    return made + [f"search attribute {name}" for name in missing]


async def missing_attributes(client: Client) -> list[str]:
    about = ListSearchAttributesRequest(namespace=client.namespace)
    known = (await client.operator_service.list_search_attributes(about)).custom_attributes
    return [key.name for key in (STATUS, WORKFLOW, PARENT) if key.name not in known]


async def _make_namespace(client: Client) -> None:
    """Makes the namespace, and waits until the server knows it."""
    service = client.workflow_service
    retention: Any = timedelta(days=RETENTION_DAYS)
    await service.register_namespace(
        RegisterNamespaceRequest(
            namespace=client.namespace, workflow_execution_retention_period=retention
        )
    )
    async with asyncio.timeout(NAMESPACE_S):
        while True:
            with suppress(RPCError):
                await missing_attributes(client)
                return
            await asyncio.sleep(NAMESPACE_POLL_S)


async def has_pollers(client: Client, queue: str, *, is_of_calls: bool = False) -> bool:
    """Whether some worker takes what waits on a queue: runs, or calls."""
    kinds = TaskQueueType
    kind = kinds.TASK_QUEUE_TYPE_ACTIVITY if is_of_calls else kinds.TASK_QUEUE_TYPE_WORKFLOW
    asked = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind
    )
    return bool((await client.workflow_service.describe_task_queue(asked)).pollers)


async def findings(settings: TemporalSettings) -> AsyncIterator[tuple[str, bool, str]]:
    """What a cluster needs, whether it has it, and what to do: for those who look after it."""
    client = await connect(settings)
    place = f"{settings.address}, namespace {settings.namespace!r}"
    with answering(settings):
        missing = await missing_attributes(client)
        yield "Temporal", True, place
        words = f"{', '.join(missing)} missing: `whorl worker --setup`" if missing else "are there"
        yield "search attributes", not missing, words
        if settings.values:
            yield "values", *await _place_finding(settings)
        runs = messages.run_queue(settings.queue)
        queues = [(runs, False)] + [(each, True) for each in (runs, *settings.queues.values())]
        for queue, is_of_calls in dict.fromkeys(queues):
            has_any = await has_pollers(client, queue, is_of_calls=is_of_calls)
            what = "calls" if is_of_calls else f"runs of behaviour {BEHAVIOUR}"
            option = "" if queue in (runs, settings.queue) else f" --queue {queue} --calls-only"
            words = "workers poll it" if has_any else f"start a worker: `whorl worker{option}`"
            yield f"queue {queue}", has_any, f"{what}: {words}"


async def _place_finding(settings: TemporalSettings) -> tuple[bool, str]:
    """Whether a large value can be kept, and read again."""
    try:
        await check_place(settings)
    except StoreError as fault:
        return False, f"{fault}; {fault.help}"
    return True, f"{settings.values} can be written and read"


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
    """Works until it is left; then it takes nothing new, and waits for its calls (`grace`)."""
    memories, metering = ClusterMemories(client, settings), Metering(client, cpu_max_s)
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
        # What drives no machine waits for any version of us.
        workflows=[Fire, ConcurrencyQueue, Memory] if is_whole else [],
        workflow_runner=UnsandboxedWorkflowRunner(),
        **calls,
    )
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(served)
        for behaviour in () if calls_only and queue else DRIVEN:
            # A worker that makes the calls of the runs that it drives is given them at once.
            does: list[Callable[..., Any]] = [activities.prepare]
            does += [] if queue else [activities.perform]
            how = {"no_remote_activities": True} if queue else calls
            how = how if calls_only else how | runs
            name = messages.run_queue(settings.queue, behaviour)
            worker = Worker(client, task_queue=name, activities=does, **how)
            await stack.enter_async_context(worker)
        yield
