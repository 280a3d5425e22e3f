"""The times that the driver keeps, in virtual time and so to the moment."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest

from crash.priced import Priced, replied
from whorl.dialects import read_workflow
from whorl.errors import ProviderError, StoreError
from whorl.interpreter.events import Event
from whorl.runtimes.driver import GRACE_S, TROUBLE_PAUSE_S, WARN_EVERY, Driver
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.simulated import EPOCH, MemoryJournal, SimulatedRuntime, VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable

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


def test_a_task_has_a_moment_to_say_itself_that_it_was_too_slow() -> None:
    async def keeps_time(request: Request, emit: Emit) -> Reply:
        assert request.timeout_s == 2.0
        await asyncio.sleep(request.timeout_s + GRACE_S / 2)
        raise ProviderError("the server did not answer", code="P108")

    error, after = _failure(keeps_time)

    assert (error["message"], after) == ("the server did not answer", 2 + GRACE_S / 2)


def test_a_task_that_keeps_no_time_is_cut_off() -> None:
    error, after = _failure(_slow)

    assert (error["code"], error["retryable"], after) == ("P108", True, 2 + GRACE_S)
    assert "no answer within 2 s" in error["message"]


def test_a_timeout_of_another_clock_is_a_mistake_of_the_task() -> None:
    async def impatient(request: Request, emit: Emit) -> Reply:
        raise TimeoutError("of something inside")

    error, _ = _failure(impatient)

    assert (error["code"], error["message"]) == ("I900", "TimeoutError: of something inside")


GATE = "whorl: 1\nsteps: {g: {approve: {message: Go?, timeout: 10s, on_timeout: approve}}}\n"


@pytest.mark.parametrize(
    ("later_s", "status", "fired"),
    [(9.0, "waiting", []), (10.0, "succeeded", [10.0]), (60.0, "succeeded", [60.0])],
)
def test_a_timer_that_was_due_while_nobody_drove_fires_at_once(
    later_s: float, status: str, fired: list[float]
) -> None:
    runtime, run = _runtime(GATE)
    assert runtime.resume(run) == "waiting"

    assert runtime.resume(run, later_s=later_s) == status
    assert [e.at - EPOCH for e in _events(runtime, run) if e.kind == "timer.fired"] == fired


@pytest.mark.parametrize(("patience_s", "status"), [(9.0, "asleep"), (10.0, "succeeded")])
def test_a_run_that_waits_longer_than_its_driver_likes_is_asleep(
    patience_s: float, status: str
) -> None:
    runtime, run = _runtime("whorl: 1\nsteps: {p: {wait: 10s}}\n")
    loop = VirtualLoop()

    async def drive() -> tuple[str, tuple[float, float]]:
        owner = await runtime.journal.claim(run)
        folded = fold(runtime.journal, run)
        driver = Driver(run, folded, owner, runtime.journal, Priced(), loop.now)
        return await driver.drive(patience_s=patience_s), driver.asleep_until

    try:
        ended = loop.run_until_complete(drive())
    finally:
        loop.close()

    assert ended == (status, (EPOCH + 10 if status == "asleep" else math.inf, math.inf))


@pytest.mark.parametrize(
    "steps",
    [pytest.param("set: {x: 1}", id="of its own"), pytest.param("use: thing", id="of calls")],
)
def test_no_time_is_lost_between_steps(steps: str) -> None:
    body = f"repeat: {{at_most: 500, steps: {{a: {{{steps}}}}}}}"
    runtime, run = _runtime(f"whorl: 1\nsteps: {{l: {{{body}}}}}\n")

    assert runtime.resume(run) == "succeeded"
    assert runtime.now() == EPOCH


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


def test_a_run_that_waits_for_nothing_pauses_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
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
