"""A clock that is set while a run waits: no wait gets longer or shorter, and dates stay dates."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from conformance.local import LoopClock, StoreLoop, virtual_store
from conformance.replies import Script, ScriptedWorkers
from threats import tally
from whorl.dialects import read_workflow
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.simulated import EPOCH
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.threat(row="T9")

HOUR = 3600.0
STEPS = pytest.mark.parametrize("step", [-HOUR, 0.0, HOUR], ids=["back", "right", "forth"])
FAR = {
    "a day back": -24 * HOUR,
    "a year forth": 365 * 24 * HOUR,
    "to 1970": -EPOCH,
    "beyond 2038": 2.0**31 - EPOCH + 60,
}
# Just before summer time begins, and just before it ends, in Berlin.
TURNS = {
    "begins": datetime(2026, 3, 29, 0, 59, tzinfo=UTC),
    "ends": datetime(2026, 10, 25, 0, 59, tzinfo=UTC),
}

WAITS = """
whorl: 1
name: waits
steps:
  a: {wait: 3s}
  b: {ask: "Write.", retry: {times: 2, wait: 20ms}}
  c: {wait: 5m}
  d:
    repeat:
      until: iteration >= 3
      at_most: {iterations: 5, time: 10m}
      wait: 10s
      steps: {e: {value: 1}}
outputs: {iterations: "{{ d.loop.iterations }}"}
"""

DATE = """
whorl: 1
name: date
steps:
  a: {wait: {until: "MOMENT"}}
"""


class SetClock(LoopClock):
    """A clock that somebody sets."""

    def __init__(self, loop: StoreLoop) -> None:
        super().__init__(loop)
        self.step = 0.0

    def __call__(self) -> float:
        return super().__call__() + self.step


@pytest.fixture(autouse=True)
def _seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody sends requests, so hours pass sooner if they are looked for less often."""
    monkeypatch.setattr("whorl.runtimes.local.POLL_S", 5.0)


@contextmanager
def _local(path: Path) -> Iterator[tuple[LocalRuntime, StoreLoop, SetClock]]:
    """A runtime, and the clock that it goes by."""
    with virtual_store(path / "runs.db") as (store, loop):
        clock = SetClock(loop)
        script = Script({"b": [{"error": "P103", "retryable": True}, {"text": "x"}]})
        yield LocalRuntime(store, ScriptedWorkers(script), clock=clock), loop, clock


def _drive(
    path: Path, text: str, step: float, after_s: float, ahead: float = 0.0
) -> tuple[float, float]:
    """Sets the clock while a run goes on; gives how long it took by each clock."""
    with _local(path) as (runtime, loop, clock):
        clock.step = ahead

        async def work() -> str:
            run, _ = await runtime.start(read_workflow(text, "clock.yaml").workflow, Start())
            driving = asyncio.create_task(runtime.drive(run))
            await asyncio.sleep(after_s)
            clock.step += step
            return await driving

        assert loop.run_until_complete(work()) == "succeeded"
        return loop.time(), clock() - EPOCH


@STEPS
@pytest.mark.parametrize("after_s", [1.0, 100.0, 315.0])
def test_no_wait_changes_when_the_clock_is_set(tmp_path: Path, step: float, after_s: float) -> None:
    _check_duration(_drive(tmp_path, WAITS, step, after_s)[0])


@pytest.mark.parametrize("step", FAR.values(), ids=FAR)
def test_no_wait_changes_when_the_clock_is_far_off(tmp_path: Path, step: float) -> None:
    _check_duration(_drive(tmp_path, WAITS, step, 100.0)[0])
    _check_times(tmp_path)


@pytest.mark.parametrize("moment", TURNS.values(), ids=TURNS)
def test_summer_time_changes_no_wait(
    tmp_path: Path, moment: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        seconds, _ = _drive(tmp_path, WAITS, 0.0, 1.0, moment.timestamp() - EPOCH)
    finally:
        monkeypatch.undo()
        time.tzset()

    _check_duration(seconds)
    _check_times(tmp_path)


def _check_duration(seconds: float) -> None:
    off = abs(seconds - (3 + 300 + 2 * 10))
    tally("most ms by which waits of 323 s were off", off * 1000)
    assert off < 1


def _check_times(path: Path) -> None:
    """Each timer has fired once (of the loop, between its iterations), and no time is negative."""
    with closing(SqliteStore(path / "runs.db")) as store:
        told = [entry.event for entry in store.read(store.resolve("last"))]
    fired = Counter(event.address for event in told if event.kind == "timer.fired")
    assert fired == {"a/:wait": 1, "b/:retry": 1, "c/:wait": 1, "d/:delay": 2}
    assert all(event.body.get("seconds", 0) >= 0 for event in told)  # type: ignore[operator]


@STEPS
def test_a_wait_for_a_time_of_day_ends_by_the_clock(tmp_path: Path, step: float) -> None:
    moment = datetime.fromtimestamp(EPOCH + 2 * HOUR, UTC).isoformat()
    _, by_the_clock = _drive(tmp_path, DATE.replace("MOMENT", moment), step, 600.0)

    assert 0 <= by_the_clock - 2 * HOUR < 31


@STEPS
def test_a_clock_that_is_set_between_two_processes_changes_no_wait(
    tmp_path: Path, step: float
) -> None:
    """They run on one machine, which knows how much time has passed."""
    set_s = [0.0]

    def now() -> float:
        return time.time() + set_s[0]

    workers = ScriptedWorkers(Script({}))
    workflow = read_workflow("whorl: 1\nsteps: {a: {wait: 1h}}\n", "wait.yaml").workflow

    async def work() -> float:
        async with SqliteStore(tmp_path / "runs.db", clock=now) as store:
            first = LocalRuntime(store, workers, clock=now, patience_s=0)
            run, _ = await first.start(workflow, Start())
            driving = asyncio.create_task(first.drive(run))
            while not first._sleepers:
                await asyncio.sleep(0.01)
            first.stop()
            await driving
            set_s[0] = step
            second = LocalRuntime(store, workers, clock=now, patience_s=0)
            driving = asyncio.create_task(second.drive(run))
            while not second._sleepers:
                assert not driving.done(), "the wait has ended early"
                await asyncio.sleep(0.01)
            second.stop()
            await driving
            return store.clock_step(run)

    assert abs(asyncio.run(work()) - step) < 1


def test_a_clock_that_was_set_back_between_two_processes_holds_no_wait_up(tmp_path: Path) -> None:
    """What is known of the time is how late it was when the run was last heard of."""
    with _local(tmp_path) as (runtime, loop, clock):

        async def work() -> str:
            run, _ = await runtime.start(read_workflow(WAITS, "clock.yaml").workflow, Start())
            driving = asyncio.create_task(runtime.drive(run))
            await asyncio.sleep(100.0)
            driving.cancel()
            await asyncio.wait({driving})
            clock.step = -HOUR
            return await runtime.drive(run)

        assert loop.run_until_complete(work()) == "succeeded"
        assert loop.time() < 100 + 3 + 300 + 20 + 1
