"""What a process that is told to stop leaves behind, and a run that sleeps or finds no room."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from conformance.local import CountingStore, LoopClock, StoreLoop, virtual_store
from crash.priced import Priced
from whorl.dialects import read_workflow
from whorl.errors import StoreError
from whorl.interpreter.events import Event
from whorl.providers.task import Reply, Usage
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.start_options import Start

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

    from whorl.providers.task import Emit, Request
    from whorl.runtimes.journal.journal import RunId

CALL_S = 5.0

PAIR = """
whorl: 1
name: pair
steps:
  pair:
    repeat:
      until: iteration >= 3
      at_most: 3
      steps:
        both: {together: {a: {ask: "Write a"}, b: {ask: "Write b"}}}
        c: {ask: "Write c"}
outputs: {text: "{{ pair.c }}"}
"""
GATED = 'whorl: 1\nname: gated\nsteps: {check: {approve: {message: "Now?"}}}\n'
SLEEPER = """
whorl: 1
steps:
  work: {repeat: {at_most: 1, steps: {write: {ask: "Write."}}}}
  pause: {wait: 10m}
  end: {ask: "End."}
"""


async def slowly(request: Request, emit: Emit) -> Reply:
    await asyncio.sleep(CALL_S)
    return Reply("x", Usage(calls=1))


class World:
    """A store, a worker that is slow, and one process after the other, in virtual time."""

    def __init__(self, store: CountingStore, loop: StoreLoop) -> None:
        self.store, self.loop = store, loop
        self.workers = Priced(slowly)

    def process(self) -> LocalRuntime:
        clock = LoopClock(self.loop)
        runtime = LocalRuntime(self.store, self.workers, clock=clock, origin="server")
        self.loop.is_busy = lambda: self.store.under_way + runtime.turns.under_way > 0
        return runtime

    async def begin(self, runtime: LocalRuntime, text: str) -> tuple[RunId, asyncio.Task[str]]:
        run, _ = await runtime.start(read_workflow(text, "case.yaml").workflow, Start())
        return run, asyncio.create_task(runtime.drive(run))

    def go(self, work: Coroutine[Any, Any, str]) -> str:
        return self.loop.run_until_complete(work)

    def count(self, kind: str) -> int:
        [row] = self.store.runs()
        return sum(entry.event.kind == kind for entry in self.store.read(row.id))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with virtual_store(tmp_path / "runs.db") as about:
        yield World(*about)


@pytest.mark.parametrize("after_s", [1.0, 7.0, 11.0, 13.0])
def test_open_calls_end_and_are_not_made_again(world: World, after_s: float) -> None:
    async def work() -> str:
        first = world.process()
        run, driving = await world.begin(first, PAIR)
        await asyncio.sleep(after_s)
        first.drain()
        assert await driving == "stopped"
        assert 0 < world.loop.time() - after_s <= CALL_S
        assert world.workers.sent.total() < 9
        return await world.process().drive(run)

    assert world.go(work()) == "succeeded"
    assert set(world.workers.sent.values()) == {1}
    assert world.count("task.in_doubt") == 0
    assert world.count("task.finished") == 9


def test_a_client_that_does_not_wait_leaves_calls_in_doubt(world: World) -> None:
    async def work() -> str:
        first = world.process()
        run, driving = await world.begin(first, PAIR)
        await asyncio.sleep(1.0)
        assert first.drain() == 2
        await asyncio.sleep(1.0)
        first.stop()
        assert await driving == "stopped"
        return await world.process().drive(run)

    assert world.go(work()) == "succeeded"
    assert world.count("task.in_doubt") == 2
    assert world.workers.sent.total() == 11


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_run_that_sleeps_for_long_has_said_all_and_can_be_woken(
    world: World, is_cancelled: bool
) -> None:
    """It is dropped from memory, and nothing about it is lost."""

    async def work() -> str:
        runtime = world.process()
        run, driving = await world.begin(runtime, SLEEPER)
        await asyncio.sleep(120)
        assert world.count("loop.finished") == 1
        if is_cancelled:
            await runtime.request(run, Event("run.cancelled", "", 0.0))
        return await driving

    assert world.go(work()) == ("cancelled" if is_cancelled else "succeeded")
    seconds = round(world.loop.time())
    assert seconds < 200 if is_cancelled else seconds == 600 + 2 * CALL_S


def test_a_run_that_is_left_while_the_disk_is_full_is_given_up_once_there_is_room(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, refused = CountingStore.release, 0

    async def full(store: CountingStore, *about: Any, **more: Any) -> None:
        nonlocal refused
        if refused < 3:
            refused += 1
            raise StoreError("there is no room")
        await release(store, *about, **more)

    monkeypatch.setattr(CountingStore, "release", full)

    async def work() -> str:
        run, driving = await world.begin(world.process(), GATED)
        status = await asyncio.wait_for(driving, 60)
        assert not world.store.is_owned(run)
        return status

    assert world.go(work()) == "waiting"
    assert refused == 3
