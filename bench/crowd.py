"""Many runs at once: how much memory does each take while it waits, and how much time to turn?"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from bench import whorl_side
from bench.long_run import resident_mb
from bench.workload import Answering, Only, loop_workflow
from whorl.providers.task import Reply, Request
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start

RUNS = 10_000
LATE = 200
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
    print(f"{RUNS:,} runs at once, each waiting for a reply")
    with tempfile.TemporaryDirectory() as folder:
        megabytes, seconds, lags, files = asyncio.run(_crowd(Path(folder) / "whorl.db"))
    each = megabytes * 1000 / RUNS
    print(f"  {megabytes:.0f} MB (goal: 1,500) more than before them, after {seconds:.1f} s")
    print(f"  {each:.1f} kB (goal: 150) for each that waits")
    lag = statistics.quantiles(lags, n=100)[98]
    print(f"  {lag:.2f} s (goal: 2) until another one has begun, p99")
    print(f"  {files} open files (goal: 1,000)")
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


async def _crowd(path: Path) -> tuple[float, float, list[float], int]:
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
        lags = []
        for number in range(RUNS + 1, RUNS + LATE + 1):
            begun = time.perf_counter()
            runs.append(asyncio.create_task(one()))
            while slow.waiting < number:
                await asyncio.sleep(0.001)
            lags.append(time.perf_counter() - begun)
        files = len(os.listdir("/proc/self/fd"))
        runtime.stop()
        assert set(await asyncio.gather(*runs)) == {"stopped"}
        return megabytes, seconds, lags, files
