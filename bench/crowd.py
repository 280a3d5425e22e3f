"""Many runs at once: how much memory does each take while it waits, and how much time to turn?"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from bench import whorl_side
from bench.long_run import resident_mb
from bench.workload import Answering, Only, loop_workflow
from whorl.providers.task import Reply, Request
from whorl.runtimes.local import LocalRuntime, Start
from whorl.runtimes.sqlite import SqliteStore

RUNS = 10_000
CROWDS = (100, 1_000, 10_000)
ITERATIONS = 10
SECONDS = 0.01


class _Slow(Answering):
    """Counts who waits for it, and answers much later."""

    waiting = 0

    async def perform(self, request: Request, emit: object) -> Reply:
        """Keeps everybody waiting."""
        self.waiting += 1
        await asyncio.sleep(3_600)
        return Reply("late")


def measure(full: bool) -> None:
    """Starts all runs, looks at the memory when all of them wait, and leaves them resumable."""
    print(f"{RUNS:,} runs at once, each waiting for a reply (goal: 1,500 MB)")
    with tempfile.TemporaryDirectory() as folder:
        megabytes, seconds = asyncio.run(_crowd(Path(folder) / "whorl.db"))
    each = megabytes * 1000 / RUNS
    print(f"  {megabytes:.0f} MB more than before them, {each:.1f} kB each, after {seconds:.1f} s")
    turn(full)


def turn(full: bool) -> None:
    """Prints the CPU of an iteration by how many runs turn at once, and how much it grows."""
    print(
        f"{ITERATIONS} iterations of {SECONDS * 1000:.0f} ms each, CPU of one by how many runs turn"
    )
    alone = 0.0
    for runs in CROWDS:
        # The first time of a process pays for what is imported and compiled.
        times = 3 if runs < RUNS else 1
        cpu = min(_turned(runs) for _ in range(times)) / runs / ITERATIONS * 1000
        alone = alone or cpu
        print(f"  {runs:>7,} runs  {cpu:6.3f} ms  {cpu / alone:5.2f}x (goal: 1.15x)")


def _turned(runs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return whorl_side.turning_loops(Path(folder), runs, ITERATIONS, SECONDS)


async def _crowd(path: Path) -> tuple[float, float]:
    before, clock = resident_mb(), time.perf_counter()
    async with SqliteStore(path) as store:
        slow = _Slow(effect="outside")
        runtime = LocalRuntime(store, Only(slow))  # type: ignore[arg-type]
        workflow = loop_workflow(10)

        async def one() -> str:
            run, _ = await runtime.start(workflow, Start())
            return await runtime.drive(run)

        runs = [asyncio.create_task(one()) for _ in range(RUNS)]
        while slow.waiting < RUNS:
            await asyncio.sleep(0.05)
        megabytes, seconds = resident_mb() - before, time.perf_counter() - clock
        runtime.stop()
        assert set(await asyncio.gather(*runs)) == {"stopped"}
        return megabytes, seconds
