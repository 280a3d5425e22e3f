"""Many runs at once in one process: each ends, and each of its calls is made once (T6)."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from crash.priced import Priced
from threats import tally
from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.providers.functions import Tasks
from whorl.providers.registry import Providers
from whorl.providers.settings import Settings
from whorl.providers.task import Reply, Usage
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.services.run_driver import Driving
from whorl.services.runs import ProviderWorkers
from whorl.services.serving.upkeep import Upkeep

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.providers.task import Emit, Request

WORKFLOW = "whorl: 1\nname: crowd\nsteps: {one: {ask: 'One'}, two: {ask: 'After {{ one }}'}}\n"
LEFT_BEHIND = 12
AT_ONCE = 3
WORK = "whorl: 1\nsteps: {a: {use: work}}\n"
GATE = 'whorl: 1\nsteps: {a: {approve: {message: "?", timeout: 1s, on_timeout: approve}}}\n'


class Waiting(Priced):
    """Answers nobody's first call before all of them have come."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._all = asyncio.Event()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        self.sent[f"{request.run} {request.address}"] += 1
        if len(self.sent) == self._count:
            self._all.set()
        await self._all.wait()
        return Reply(f"answer to {request.run}", Usage(calls=1))


async def _drive_all(store: SqliteStore, workers: Priced, text: str, count: int) -> dict[Any, str]:
    """How each of so many runs ended."""
    runtime = LocalRuntime(store, workers)
    workflow = read_workflow(text, "crowd.yaml").workflow
    runs = [(await runtime.start(workflow, Start()))[0] for _ in range(count)]
    driving = asyncio.gather(*map(runtime.drive, runs))
    return dict(zip(runs, await asyncio.wait_for(driving, PATIENCE_S), strict=True))


@pytest.mark.threat(row="T6")
@pytest.mark.parametrize("count", [1, 50, 400])
def test_all_of_a_crowd_finish_and_none_is_asked_twice(tmp_path: Path, count: int) -> None:
    async def work() -> tuple[list[str], Waiting, list[bool]]:
        workers = Waiting(count)
        async with SqliteStore(tmp_path / "runs.db") as store:
            statuses = await _drive_all(store, workers, WORKFLOW, count)
            own = [
                f"answer to {run}" in str(entry.event.body)
                for run in statuses
                for entry in store.read(run)
                if entry.event.kind == "task.finished"
            ]
            return [*statuses.values()], workers, own

    statuses, workers, own = asyncio.run(work())

    assert statuses == ["succeeded"] * count
    assert len(workers.sent) == 2 * count
    assert set(workers.sent.values()) == {1}
    assert own == [True] * 2 * count
    tally("runs at once in tests", count)


@pytest.mark.parametrize("text", [WORK, GATE], ids=["calls", "timers"])
def test_a_server_takes_up_so_many_at_once_and_gives_none_up(tmp_path: Path, text: str) -> None:
    """The one before it has died, and left runs behind."""
    now = most = 0
    together = asyncio.Event()

    async def work() -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        if now > 1:
            together.set()
        await asyncio.wait_for(together.wait(), PATIENCE_S)
        await asyncio.sleep(0)
        now -= 1
        return 1

    async def serve() -> None:
        workflow = read_workflow(text, "x.yaml").workflow
        tasks = Tasks()
        tasks.add("work", work)
        async with SqliteStore(tmp_path / "runs.db") as store:
            providers = Providers(Settings(), tasks)
            first = LocalRuntime(store, ProviderWorkers(providers), origin="server")
            for _ in range(LEFT_BEHIND):
                run, _ = await first.start(workflow, Start())
                if text is GATE:
                    await first.drive(run)
                else:
                    await store.release(run, await store.claim(run))
            driving = Driving(LocalRuntime(store, ProviderWorkers(providers), origin="server"))
            upkeep = asyncio.create_task(Upkeep(driving, providers, AT_ONCE).work())
            while Counter(row.status for row in store.runs()) != {"succeeded": LEFT_BEHIND}:
                await asyncio.sleep(0.01)
            upkeep.cancel()
            await driving.close()
            await providers.close()

    asyncio.run(serve())

    assert most == 0 if text is GATE else 1 < most <= AT_ONCE
