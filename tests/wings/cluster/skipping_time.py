"""Time that is skipped on a real server whenever a run has nothing under way.

The server jumps to the next timer, or to the next attempt of an activity. A call that takes long
is therefore made at once, and its answer kept until the next attempt.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextvars import ContextVar
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from temporalio import activity, client, worker
from temporalio.api.common.v1 import TimeSkippingConfig
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.testing import TimeSkipper

from whorl.errors import ProviderError
from whorl.runtimes.driver import GRACE_S
from whorl.wings.cluster.messages import Beginning

if TYPE_CHECKING:
    from whorl.runtimes.journal.journal import RunId
    from whorl.wings.cluster.runtime import TemporalRuntime

# A busy machine may take seconds for a step: the time of runs hardly passes meanwhile.
RATE = 0.001
# One more than is needed: on a busy machine a worker may never hear of a task that it was given.
ATTEMPTS = RetryPolicy(maximum_attempts=3)
_TAKEN_S: ContextVar[list[float]] = ContextVar("taken_s")


async def take_time(seconds: float) -> None:
    """The call that is made takes so much longer."""
    _TAKEN_S.get().append(seconds)


def cut_off(limit_s: float | None) -> None:
    """Raises what is raised where a call takes longer than it may."""
    taken_s = _TAKEN_S.get()
    if limit_s is not None and sum(taken_s) > limit_s + GRACE_S:
        taken_s[:] = [limit_s + GRACE_S]
        message = f"no answer within {limit_s:g} s; raise the timeout of the step"
        raise ProviderError(message, code="P108", retryable=True)


async def skip(runtime: TemporalRuntime, run: RunId, seconds: float) -> None:
    """Lets so much time of a run pass; of one that has ended, none does."""
    handle = runtime.client.get_workflow_handle(run)
    if (await handle.describe()).status == client.WorkflowExecutionStatus.RUNNING:
        await TimeSkipper(runtime.client).fast_forward(handle, seconds / RATE)
        while (await handle.describe()).raw_description.HasField("pending_workflow_task"):
            await asyncio.sleep(0.02)
        await runtime.refresh(run)


class SkippingTime(client.Interceptor, worker.Interceptor):
    """Makes runs skip time, but for those that are `steered`: there people let it pass."""

    def __init__(self) -> None:
        self.steered: set[str] = set()
        self.kept: dict[tuple[str, str, str], Any] = {}

    def of(self, connected: client.Client) -> client.Client:
        """A client whose runs and workers know of it."""
        config = connected.config()
        config["interceptors"] = [*config["interceptors"], self]
        return client.Client(**config)

    def intercept_client(self, inner: client.OutboundInterceptor) -> client.OutboundInterceptor:
        return _Starting(inner, self)

    def intercept_activity(
        self, inner: worker.ActivityInboundInterceptor
    ) -> worker.ActivityInboundInterceptor:
        return _Delaying(inner, self)

    def workflow_interceptor_class(
        self, given: worker.WorkflowInterceptorClassInput
    ) -> type[worker.WorkflowInboundInterceptor]:
        return _Running


class _Starting(client.OutboundInterceptor):
    def __init__(self, inner: client.OutboundInterceptor, skipping: SkippingTime) -> None:
        super().__init__(inner)
        self._skipping = skipping

    async def start_workflow(
        self, given: client.StartWorkflowInput
    ) -> client.WorkflowHandle[Any, Any]:
        if given.id not in self._skipping.steered:
            given.time_skipping_config = TimeSkippingConfig(enabled=True)
        beginning = Beginning.from_json(given.args[0])
        if beginning.state is not None:
            # A run that goes on, or is forked, is ahead of the clock.
            passed_s = (json.loads(beginning.state)["at"] - beginning.epoch) / beginning.rate
            ahead_s = beginning.epoch + passed_s - time.time()
            given.start_delay = timedelta(seconds=max(0.0, ahead_s))
        return await super().start_workflow(given)


class _Delaying(worker.ActivityInboundInterceptor):
    def __init__(self, inner: worker.ActivityInboundInterceptor, skipping: SkippingTime) -> None:
        super().__init__(inner)
        self._kept = skipping.kept

    async def execute_activity(self, given: worker.ExecuteActivityInput) -> Any:
        info = activity.info()
        call = (info.workflow_id or "", info.workflow_run_id or "", info.activity_id)
        if call in self._kept:
            return self._kept.pop(call)
        _TAKEN_S.set([])
        result = await super().execute_activity(given)
        if info.is_local:
            # What is computed takes no time.
            return [event | {"at": given.args[3]} for event in result]
        if taken_s := sum(_TAKEN_S.get()):
            self._kept[call] = result
            later = timedelta(seconds=taken_s / RATE)
            benign = ApplicationErrorCategory.BENIGN
            raise ApplicationError("it takes long", next_retry_delay=later, category=benign)
        return result


class _Running(worker.WorkflowInboundInterceptor):
    def init(self, outbound: worker.WorkflowOutboundInterceptor) -> None:
        super().init(_Calling(outbound))


class _Calling(worker.WorkflowOutboundInterceptor):
    def start_activity(self, given: worker.StartActivityInput) -> Any:
        given.retry_policy = ATTEMPTS
        return super().start_activity(given)
