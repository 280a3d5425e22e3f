"""A process that is told to stop: what is under way ends and is written, and nothing new begins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from conformance.local import CountingStore, LoopClock, StoreLoop
from crash.priced import Priced
from whorl.dialects import read_workflow
from whorl.providers.task import Reply, Usage
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.starting import Start

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.providers.task import Emit, Request
    from whorl.runtimes.journal.journal import RunId

CALL_S = 5.0

WORKFLOW = """
whorl: 1
name: pair
steps:
  pair:
    repeat:
      until: iteration >= 3
      at_most: 3
      steps:
        both:
          together:
            a: {ask: "Write a"}
            b: {ask: "Write b"}
        c: {ask: "Write c"}
outputs: {text: "{{ pair.c }}"}
"""


class Slow(Priced):
    """Answers after a while, and counts what it is asked."""

    async def perform(self, request: Request, emit: Emit) -> Reply:
        self.sent[request.address] += 1
        await asyncio.sleep(CALL_S)
        return Reply("x", Usage(calls=1))


class World:
    """A store, a worker that is slow, and one process after the other, in virtual time."""

    def __init__(self, path: Path) -> None:
        self.store = CountingStore(path / "runs.db")
        self.loop = StoreLoop(lambda: self.store.under_way > 0)
        self.workers = Slow()

    def process(self) -> LocalRuntime:
        clock = LoopClock(self.loop)
        return LocalRuntime(self.store, self.workers, clock=clock, origin="server")  # type: ignore[arg-type]

    async def start(self, runtime: LocalRuntime) -> RunId:
        run, _ = await runtime.start(read_workflow(WORKFLOW, "pair.yaml").workflow, Start())
        return run

    def count(self, run: RunId, kind: str) -> int:
        return sum(entry.event.kind == kind for entry in self.store.read(run))


@pytest.mark.parametrize("after_s", [1.0, 7.0, 11.0, 13.0])
def test_calls_under_way_end_and_are_not_made_again(tmp_path: Path, after_s: float) -> None:
    world = World(tmp_path)

    async def work() -> tuple[RunId, str, float, int]:
        first = world.process()
        run = await world.start(first)
        driving = asyncio.create_task(first.drive(run))
        await asyncio.sleep(after_s)
        first.drain()
        status = await driving
        left, sent = world.loop.time() - after_s, world.workers.sent.total()
        assert await world.process().drive(run) == "succeeded"
        return run, status, left, sent

    try:
        run, status, left_s, sent = world.loop.run_until_complete(work())
        assert status == "stopped"
        assert 0 < left_s <= CALL_S
        assert sent < 9
        assert set(world.workers.sent.values()) == {1}
        assert world.count(run, "task.in_doubt") == 0
        assert world.count(run, "task.finished") == 9
    finally:
        world.loop.close()
        world.store.close()


def test_a_run_whose_last_call_is_under_way_ends(tmp_path: Path) -> None:
    world = World(tmp_path)

    async def work() -> str:
        runtime = world.process()
        run = await world.start(runtime)
        driving = asyncio.create_task(runtime.drive(run))
        await asyncio.sleep(28.0)
        assert runtime.drain() == 1
        return await driving

    try:
        assert world.loop.run_until_complete(work()) == "succeeded"
    finally:
        world.loop.close()
        world.store.close()


def test_whoever_does_not_wait_leaves_calls_in_doubt(tmp_path: Path) -> None:
    world = World(tmp_path)

    async def work() -> RunId:
        first = world.process()
        run = await world.start(first)
        driving = asyncio.create_task(first.drive(run))
        await asyncio.sleep(1.0)
        assert first.drain() == 2
        await asyncio.sleep(1.0)
        first.stop()
        assert await driving == "stopped"
        assert await world.process().drive(run) == "succeeded"
        return run

    try:
        run = world.loop.run_until_complete(work())
        assert world.count(run, "task.in_doubt") == 2
        assert world.workers.sent.total() == 11
    finally:
        world.loop.close()
        world.store.close()
