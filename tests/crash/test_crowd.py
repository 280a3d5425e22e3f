"""Many runs at once in one process: each ends, and each of its calls is made once (T6)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from crash.priced import Priced
from threats import tally
from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.providers.task import Reply, Usage
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.starting import Start

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.providers.task import Emit, Request

pytestmark = pytest.mark.threat(row="T6")

WORKFLOW = "whorl: 1\nname: crowd\nsteps: {one: {ask: 'One'}, two: {ask: 'After {{ one }}'}}\n"


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


@pytest.mark.parametrize("count", [1, 50, 400])
def test_all_of_a_crowd_finish_and_none_is_asked_twice(tmp_path: Path, count: int) -> None:
    async def work() -> tuple[list[str], Waiting, list[bool]]:
        workers = Waiting(count)
        workflow = read_workflow(WORKFLOW, "crowd.yaml").workflow
        async with SqliteStore(tmp_path / "runs.db") as store:
            runtime = LocalRuntime(store, workers)  # type: ignore[arg-type]
            runs = [(await runtime.start(workflow, Start()))[0] for _ in range(count)]
            driving = asyncio.gather(*(runtime.drive(run) for run in runs))
            statuses = await asyncio.wait_for(driving, PATIENCE_S)
            own = [
                all(f"answer to {run}" in str(entry.event.body) for entry in store.read(run)
                    if entry.event.kind == "task.finished")
                for run in runs
            ]  # fmt: skip
            return statuses, workers, own

    statuses, workers, own = asyncio.run(work())

    assert statuses == ["succeeded"] * count
    assert len(workers.sent) == 2 * count
    assert set(workers.sent.values()) == {1}
    assert all(own)
    tally("runs at once in tests", count)
