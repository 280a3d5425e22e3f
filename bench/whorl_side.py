"""What Whorl needs for the workloads."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from bench.workload import Answering, Only, loop_workflow
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start


def stored_bytes(path: Path) -> int:
    """The size of a closed store."""
    return sum(os.path.getsize(p) for p in path.parent.glob(path.name + "*"))


def one_loop(
    folder: Path, iterations: int, *, nodes: int = 2, text: str = "ok", effect: str = "none"
) -> dict[str, float]:
    """One durable loop: seconds of CPU and of the clock, and bytes stored.

    With an effect, an intent is written before each task and its reply before it is used.
    """
    path = folder / "whorl.db"

    async def work() -> tuple[float, float]:
        async with SqliteStore(path) as store:
            runtime = LocalRuntime(store, Only(Answering(text, effect=effect)))  # type: ignore[arg-type]
            run, _ = await runtime.start(loop_workflow(iterations, nodes), Start())
            cpu, clock = time.process_time(), time.perf_counter()
            status = await runtime.drive(run)
            assert status == "succeeded", status
            return time.process_time() - cpu, time.perf_counter() - clock

    cpu, clock = asyncio.run(work())
    return {"cpu_s": cpu, "clock_s": clock, "bytes": stored_bytes(path)}


def many_loops(
    folder: Path, loops: int, iterations: int, seconds: float, *, effect: str = "none"
) -> float:
    """Many durable loops at once; seconds of the clock until all have ended."""
    return _many(folder, loops, iterations, seconds, effect)[0]


def turning_loops(folder: Path, loops: int, iterations: int, seconds: float) -> float:
    """Many durable loops at once; seconds of CPU until all have ended."""
    return _many(folder, loops, iterations, seconds, "none")[1]


def _many(
    folder: Path, loops: int, iterations: int, seconds: float, effect: str
) -> tuple[float, float]:
    async def work() -> tuple[float, float]:
        async with SqliteStore(folder / "whorl.db") as store:
            runtime = LocalRuntime(store, Only(Answering(seconds=seconds, effect=effect)))  # type: ignore[arg-type]
            workflow = loop_workflow(iterations, 1)
            cpu, clock = time.process_time(), time.perf_counter()

            async def one() -> str:
                run, _ = await runtime.start(workflow, Start())
                return await runtime.drive(run)

            statuses = await asyncio.gather(*(one() for _ in range(loops)))
            assert set(statuses) == {"succeeded"}
            return time.perf_counter() - clock, time.process_time() - cpu

    return asyncio.run(work())
