"""Looking for garbage is put off by runs that hold none, in processes that have chosen so."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

from crash.test_odd_tasks import _Workers
from whorl.dialects import read_workflow
from whorl.providers.task import Emit, Reply, Request
from whorl.runtimes.local import OBJECTS, OBJECTS_PER_RUN, LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.starting import Start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.threat(row="T8")

RUNS = 7


@pytest.fixture(autouse=True)
def _threshold() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("chosen", "meanwhile"), [(OBJECTS, OBJECTS + RUNS * OBJECTS_PER_RUN), (700, 700)]
)
def test_the_more_runs_the_less_often(tmp_path: Path, chosen: int, meanwhile: int) -> None:
    gc.set_threshold(chosen, 20, 20)
    seen: list[int] = []
    everybody = asyncio.Event()

    async def perform(request: Request, emit: Emit) -> Any:
        seen.append(gc.get_threshold()[0])
        if len(seen) == RUNS:
            everybody.set()
        await everybody.wait()
        return Reply("ok")

    async def work() -> None:
        async with SqliteStore(tmp_path / "runs.db") as store:
            runtime = LocalRuntime(store, _Workers(perform))
            workflow = read_workflow("whorl: 1\nsteps: {a: {use: thing}}\n", "case.yaml").workflow
            runs = [(await runtime.start(workflow, Start()))[0] for _ in range(RUNS)]
            await asyncio.gather(*map(runtime.drive, runs))

    asyncio.run(work())

    assert (max(seen), gc.get_threshold()[0]) == (meanwhile, chosen)
