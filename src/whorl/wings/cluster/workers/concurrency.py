"""A lane: the runs of one workflow that wait for their turn, where only so many run at once.

It is a workflow that lives as long as somebody waits or runs. Runs enter it when they begin, are
told when it is their turn, and leave when they end or wait for a person.
"""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import FailureError

with workflow.unsafe.imports_passed_through():
    from whorl.wings.cluster import messages

# How often those who run are asked whether they still do, while others wait.
LOOK_S = 60.0


@workflow.defn(name=messages.LANE)
class ConcurrencyQueue:
    @workflow.init
    def __init__(self, waiting: dict[str, list[float]], running: list[str]) -> None:
        # When each run that waits has begun, and how many run at once.
        self._waiting = waiting
        self._running = running
        self._is_changed = False

    @workflow.signal(name=messages.ENTER)
    def enter(self, run: str, begun: float, at_once: int) -> None:
        if run not in self._running:
            self._waiting.setdefault(run, [begun, at_once])
        self._is_changed = True

    @workflow.signal(name=messages.LEAVE)
    def leave(self, run: str) -> None:
        self._waiting.pop(run, None)
        self._running = [each for each in self._running if each != run]
        self._is_changed = True

    @workflow.run
    async def run(self, waiting: dict[str, list[float]], running: list[str]) -> None:
        while True:
            self._is_changed = False
            await self._admit()
            if self._is_changed:
                continue
            if not self._waiting and not self._running:
                return
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(args=[self._waiting, self._running])
            wait_s = timedelta(seconds=LOOK_S) if self._waiting else None
            try:
                await workflow.wait_condition(lambda: self._is_changed, timeout=wait_s)
            except TimeoutError:
                # One that was ended by the server has not said that it leaves.
                for each in list(self._running):
                    if not await _tell(each):
                        self.leave(each)

    async def _admit(self) -> None:
        while self._waiting:
            run = min(self._waiting, key=lambda each: self._waiting[each][0])
            if len(self._running) >= self._waiting[run][1]:
                return
            del self._waiting[run]
            self._running.append(run)
            if not await _tell(run):
                self.leave(run)


async def _tell(run: str) -> bool:
    """Tells a run that it is its turn; False: it has ended."""
    try:
        await workflow.get_external_workflow_handle(run).signal(messages.TURN)
    except FailureError:
        return False
    return True
