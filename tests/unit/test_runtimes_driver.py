"""The times that the driver keeps, in virtual time and so to the moment."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from crash.priced import Priced, replied
from whorl.dialects import read_workflow
from whorl.errors import StoreError
from whorl.interpreter.events import Event
from whorl.runtimes.driver import GRACE_S, TROUBLE_PAUSE_S, WARN_EVERY, Driver
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.simulated import EPOCH, MemoryJournal, SimulatedRuntime

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from whorl.providers.task import Emit, Reply, Request
    from whorl.runtimes.journal.journal import Entry, RunId

TASK = "whorl: 1\nsteps: {a: {use: thing, timeout: 2s}}\n"


def _runtime(
    text: str, perform: Callable[..., Any] = replied, journal: MemoryJournal | None = None
) -> tuple[SimulatedRuntime, RunId]:
    runtime = SimulatedRuntime(Priced(perform), journal)
    return runtime, runtime.start(read_workflow(text, "case.yaml").workflow, {})


async def _slow(request: Request, emit: Emit) -> Reply:
    await asyncio.sleep(1e6)
    return await replied(request, emit)


def _events(runtime: SimulatedRuntime, run: RunId) -> list[Event]:
    return [entry.event for entry in runtime.journal.read(run)]


def _failure(perform: Callable[..., Any]) -> tuple[dict[str, Any], float]:
    """How a task with a time of two seconds failed, and after how long."""
    runtime, run = _runtime(TASK, perform)
    runtime.resume(run)
    (failed,) = (event for event in _events(runtime, run) if event.kind == "task.failed")
    return failed.body["error"], failed.at - EPOCH  # type: ignore[return-value]


def test_a_task_that_keeps_no_time_is_cut_off() -> None:
    error, after = _failure(_slow)

    assert (error["code"], error["retryable"], after) == ("P108", True, 2 + GRACE_S)
    assert "no answer within 2 s" in error["message"]


def test_a_timeout_of_another_clock_is_a_mistake_of_the_task() -> None:
    async def impatient(request: Request, emit: Emit) -> Reply:
        raise TimeoutError("of something inside")

    error, _ = _failure(impatient)

    assert (error["code"], error["message"]) == ("I900", "TimeoutError: of something inside")


class _Full(MemoryJournal):
    """A journal that has no room for a while."""

    left = 0

    async def append(self, *arguments: Any, **options: Any) -> int:
        if self.left:
            self.left -= 1
            raise StoreError("no room", code="R900")
        return await super().append(*arguments, **options)


class _Watcher:
    def __init__(self) -> None:
        self.troubles: list[str] = []

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """These come once there is room."""

    def text(self, run: RunId, address: str, text: str) -> None:
        """Nothing is streamed."""

    def trouble(self, run: RunId, fault: StoreError) -> None:
        self.troubles.append(str(fault))


def test_a_run_with_nothing_to_wait_for_pauses_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runtime, run = _runtime(TASK.replace(", timeout: 2s", ""))
    with monkeypatch.context() as patch:
        # A mistake of ours: a call that may go out is forgotten.
        patch.setattr(Driver, "_send", lambda driver: driver._to_send.clear())
        assert runtime.resume(run) == "paused"
    assert fold(runtime.journal, run).machine.state["paused_by"] == "stuck"

    resumed = Event("run.resumed", "", runtime.now())
    assert runtime.resume(run, (resumed,)) == "succeeded"
    assert "task.in_doubt" in [event.kind for event in _events(runtime, run)]


def test_a_run_waits_for_room_and_says_so_now_and_then() -> None:
    journal, watcher = _Full(), _Watcher()
    runtime, run = _runtime(TASK, journal=journal)
    journal.left = 2 * WARN_EVERY + 1

    assert runtime.resume(run, watcher=watcher) == "succeeded"
    assert runtime.now() == EPOCH + (2 * WARN_EVERY + 1) * TROUBLE_PAUSE_S
    assert watcher.troubles == ["no room"] * 3
