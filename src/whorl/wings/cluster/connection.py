"""The connection to a Temporal server; processes that only read load little of its SDK."""

from __future__ import annotations

import asyncio
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    DescribeWorkflowExecutionResponse,
    GetWorkflowExecutionHistoryRequest,
    ListWorkflowExecutionsRequest,
)
from temporalio.service import ConnectConfig, RPCError, RPCStatusCode, ServiceClient

from whorl.errors import StoreError
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import RunId
from whorl.wings.cluster.values import converter, place_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from temporalio.api.history.v1 import HistoryEvent
    from temporalio.api.workflow.v1 import WorkflowExecutionInfo
    from temporalio.client import Client
    from temporalio.converter import DataConverter
    from temporalio.service import WorkflowService

    from whorl.providers.settings import TemporalSettings


CONNECT_S = 10.0
PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Reader:
    """A read-only connection: all that reading histories from the server requires."""

    service_client: ServiceClient
    namespace: str
    data_converter: DataConverter

    @property
    def workflow_service(self) -> WorkflowService:
        return self.service_client.workflow_service


# A client has the same.
Connection: TypeAlias = "Reader | Client"


async def connect_to_read(settings: TemporalSettings) -> Connection:
    """Opens a connection without a client. Raises StoreError R922 if the server does not answer.

    Raises UsageError W908 if the cluster comes from the configuration of an untrusted folder.
    """
    if settings.refused is not None:
        raise settings.refused
    place = place_of(settings)
    key = settings.encrypt_with.reveal() if settings.encrypt_with is not None else ""
    config = ConnectConfig(
        settings.address,
        api_key=None if settings.api_key is None else settings.api_key.reveal(),
        tls=settings.tls,
    )
    try:
        async with asyncio.timeout(CONNECT_S):
            service = await ServiceClient.connect(config)
    except (RuntimeError, TimeoutError) as fault:
        words = f"Temporal does not answer at {settings.address!r}: {fault or 'no answer in time'}"
        advice = "check [runtime.temporal] address; `temporal server start-dev` starts one to try"
        raise StoreError(words, code="R922", help=advice) from fault
    return Reader(service, settings.namespace, converter(place, key))


async def connect(settings: TemporalSettings) -> Client:
    """Connects a client to the server. Raises StoreError R922 if the server does not answer."""
    return client_of(await connect_to_read(settings))


def client_of(connection: Connection) -> Client:
    """Returns a client that uses a connection."""
    from temporalio.client import Client

    service, namespace = connection.service_client, connection.namespace
    return Client(service, namespace=namespace, data_converter=connection.data_converter)


class Execution(NamedTuple):
    """A part of a run that has its own history."""

    run: RunId
    execution: str
    started_at: float
    ended_at: float | None


def _execution(info: WorkflowExecutionInfo) -> Execution:
    started_at, own = info.start_time.ToMicroseconds() / 1e6, info.execution
    ended_at = info.close_time.ToMicroseconds() / 1e6 if info.HasField("close_time") else None
    return Execution(RunId(own.workflow_id), own.run_id, started_at, ended_at)


async def described(connection: Connection, run: RunId) -> DescribeWorkflowExecutionResponse:
    """Returns the server's description of the newest execution of a run."""
    asked = DescribeWorkflowExecutionRequest(
        namespace=connection.namespace, execution=WorkflowExecution(workflow_id=run)
    )
    return await connection.workflow_service.describe_workflow_execution(asked, retry=True)


async def execution_of(connection: Connection, run: RunId) -> Execution | None:
    """Returns the newest execution of a run, or None if the server has none."""
    try:
        return _execution((await described(connection, run)).workflow_execution_info)
    except RPCError as fault:
        if fault.status == RPCStatusCode.NOT_FOUND:
            return None
        raise


async def executions(
    connection: Connection, query: str, *, most: float = math.inf
) -> AsyncIterator[Execution]:
    """Yields the executions that a query finds, the newest first, at most `most`."""
    asked = ListWorkflowExecutionsRequest(
        namespace=connection.namespace, query=query, page_size=int(min(most, PAGE))
    )
    while most > 0:
        page = await connection.workflow_service.list_workflow_executions(asked, retry=True)
        for each in page.executions:
            yield _execution(each)
        most -= len(page.executions)
        asked.next_page_token = page.next_page_token
        if not page.next_page_token:
            return


async def history(
    connection: Connection, run: str, execution: str, *, wait: bool = False, size: int = PAGE
) -> AsyncIterator[list[HistoryEvent]]:
    """Yields the events of an execution by pages; with `wait`, also those that arrive later."""
    token = b""
    while True:
        asked = GetWorkflowExecutionHistoryRequest(
            namespace=connection.namespace,
            execution=WorkflowExecution(workflow_id=run, run_id=execution),
            maximum_page_size=size,
            next_page_token=token,
            wait_new_event=wait,
            skip_archival=True,
        )
        page = await connection.workflow_service.get_workflow_execution_history(asked, retry=True)
        if page.history.events:
            yield list(page.history.events)
        token = page.next_page_token
        if not token:
            return


@contextmanager
def answering(settings: TemporalSettings) -> Iterator[None]:
    """Turns faults of the server into errors with the right code."""
    try:
        yield
    except RPCError as fault:
        words = f"Temporal at {settings.address!r} refused the request: {fault}"
        advice = (
            "check [runtime.temporal]; a `whorl server worker` sets up what the namespace lacks"
        )
        raise StoreError(words, code="R922", help=advice) from fault
