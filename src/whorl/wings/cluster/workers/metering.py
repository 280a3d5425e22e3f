"""How long runs compute on a worker: one that has done so for as long as it may is told to end.

A workflow must not ask for the time that it takes, which is another one in each replay. So the
worker measures it from outside, and brings the run a request, as a local driver does.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner

from whorl.interpreter.events import Event
from whorl.wings.cluster import messages

if TYPE_CHECKING:
    from temporalio.client import Client
    from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails

# Of how many runs it is known how long they have computed; those that did so last.
RUNS_MAX = 10_000
log = logging.getLogger("whorl")


class Metering(UnsandboxedWorkflowRunner):
    """Runs workflows as they are; `most_s` is how long a run may compute on this worker."""

    def __init__(self, client: Client, most_s: float) -> None:
        self._client = client
        self._most_s = most_s
        self._used_s: OrderedDict[str, float] = OrderedDict()
        self._loop = asyncio.get_running_loop()
        self._telling: set[asyncio.Task[None]] = set()

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        instance: Any = super().create_instance(det)
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
        """One that was told to end, and that somebody resumes, may compute for as long again."""
        if self._used_s.get(run) == -math.inf:
            del self._used_s[run]

    def _count(self, run: str, seconds: float) -> None:
        used_s = self._used_s.pop(run, 0.0) + seconds
        if used_s > self._most_s:
            used_s = -math.inf
            telling = self._loop.create_task(self._tell(run))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)
        self._used_s[run] = used_s
        while len(self._used_s) > RUNS_MAX:
            self._used_s.popitem(last=False)

    async def _tell(self, run: str) -> None:
        event = Event("run.exhausted", "", 0.0, {"cpu_s": self._most_s})
        try:
            handle = self._client.get_workflow_handle(run)
            await handle.signal(messages.ASK, messages.event_to_json(event))
        except RPCError as fault:
            if fault.status != RPCStatusCode.NOT_FOUND:
                log.warning("run %s computes too long, and could not be notified: %s", run, fault)
