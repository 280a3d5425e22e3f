"""A server takes up no more runs at once than it may, and gives none of them up for that."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from whorl.dialects import read_workflow
from whorl.providers.functions import Tasks
from whorl.providers.registry import Providers
from whorl.providers.settings import Settings
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.starting import Start
from whorl.services.driving import Driving
from whorl.services.runs import ProviderWorkers
from whorl.services.serving.upkeep import Upkeep

if TYPE_CHECKING:
    from pathlib import Path

RUNS = 12
AT_ONCE = 3
WORK = "whorl: 1\nsteps: {a: {use: work}}\n"
GATE = 'whorl: 1\nsteps: {a: {approve: {message: "?", timeout: 1s, on_timeout: approve}}}\n'


class Counting:
    """A task that knows how many of it are under way."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def __call__(self) -> int:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.02)
        self.now -= 1
        return 1


async def _serve(path: Path, text: str, tasks: Tasks) -> Counter[str]:
    """Leaves runs behind, as a server that died does, and lets the next one look after them."""
    workflow = read_workflow(text, "x.yaml").workflow
    async with SqliteStore(path / "runs.db") as store:
        providers = Providers(Settings(), tasks)
        first = LocalRuntime(store, ProviderWorkers(providers), origin="server")
        for _ in range(RUNS):
            run, _ = await first.start(workflow, Start())
            if text is GATE:
                await first.drive(run)
            else:
                await store.release(run, await store.claim(run))
        driving = Driving(LocalRuntime(store, ProviderWorkers(providers), origin="server"))
        upkeep = asyncio.create_task(Upkeep(driving, providers, AT_ONCE).work())
        statuses: Counter[str] = Counter()
        while statuses["succeeded"] < RUNS:
            await asyncio.sleep(0.01)
            statuses = Counter(row.status for row in store.runs())
        upkeep.cancel()
        await driving.close()
        await providers.close()
        return statuses


def test_no_more_than_so_many_are_driven_at_once(tmp_path: Path) -> None:
    tasks, counting = Tasks(), Counting()
    tasks.add("work", counting.__call__)

    assert asyncio.run(_serve(tmp_path, WORK, tasks)) == {"succeeded": RUNS}
    assert 1 < counting.most <= AT_ONCE


def test_timers_fire_in_turn(tmp_path: Path) -> None:
    assert asyncio.run(_serve(tmp_path, GATE, Tasks())) == {"succeeded": RUNS}
