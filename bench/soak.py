"""A day of a run each second, in virtual time, with retention: does anything grow?"""

from __future__ import annotations

import asyncio
import os
import selectors
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.long_run import resident_mb
from bench.workload import Answering, Only
from whorl.dialects import read_workflow
from whorl.providers.settings import Retention
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start

MINUTE, HOUR = 60, 3_600
HOURS, FULL_HOURS = 2, 24
KEPT_MB = 2
EPOCH = 1.7e9
WORK = """
whorl: 1
name: soak
steps:
  before: {use: bench}
  nap: {wait: 5s}
  after: {use: bench}
"""


class _Store(SqliteStore):
    """A store that knows how many of its jobs are under way."""

    under_way = 0

    async def _change(self, job: Any) -> object:
        self.under_way += 1
        try:
            return await super()._change(job)
        finally:
            self.under_way -= 1


class _Selector(selectors.DefaultSelector):
    loop: _Loop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout is None or timeout <= 0:
            return ready
        if self.loop.store is not None and self.loop.store.under_way:
            return super().select(60)
        self.loop.now += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only when everybody waits, the store's thread too."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self.now = 0.0
        self.store: _Store | None = None
        super().__init__(selector)

    def time(self) -> float:
        return self.now

    def clock(self) -> float:
        return EPOCH + self.now


def measure(full: bool) -> None:
    """Prints what the day has cost, and what has grown."""
    hours = FULL_HOURS if full else HOURS
    print(f"{hours} hours of a run each second, in virtual time; {KEPT_MB} MB of runs are kept")
    loop = _Loop()
    with tempfile.TemporaryDirectory() as folder:
        clock = time.perf_counter()
        try:
            seen, statuses = loop.run_until_complete(_soak(loop, Path(folder) / "whorl.db", hours))
        finally:
            loop.close()
        minutes = (time.perf_counter() - clock) / 60
    # The first hour warms up.
    memory, sizes, logs, files, tasks = zip(*seen[HOUR // MINUTE :], strict=True)
    print(f"  {sum(statuses.values()):,} runs, all of them {', '.join(statuses)}")
    print(f"  {minutes:.1f} minutes (goal: {20 * hours / FULL_HOURS:.1f})")
    slope = statistics.linear_regression(range(len(memory)), memory).slope * HOUR / MINUTE
    print(f"  {slope:.2f} MB of memory more each virtual hour (goal: 1)")
    print(f"  {max(logs):.1f} MB of log at most (goal: 64)")
    print(f"  {max(sizes):.1f} MB of store at most (goal: {KEPT_MB * 1.1:g})")
    print(f"  {max(files) - files[0]} more open files at most (goal: 0)")
    print(f"  {max(tasks) - min(tasks)} more or fewer runs under way (goal: 2)")


async def _soak(
    loop: _Loop, path: Path, hours: int
) -> tuple[list[tuple[float, float, float, int, int]], dict[str, int]]:
    workflow = read_workflow(WORK, "soak.yaml").workflow
    statuses: dict[str, int] = {}
    seen = []
    async with _Store(path, clock=loop.clock) as store:
        loop.store = store
        workers = Only(Answering(seconds=0.5, effect="outside"))
        runtime = LocalRuntime(store, workers, clock=loop.clock)  # type: ignore[arg-type]
        keeping = asyncio.create_task(_keep(store))
        running: set[asyncio.Task[None]] = set()

        async def one() -> None:
            run, _ = await runtime.start(workflow, Start())
            status = await runtime.drive(run)
            statuses[status] = statuses.get(status, 0) + 1

        for second in range(hours * HOUR):
            if second % MINUTE == MINUTE - 1:
                seen.append((*_sizes(path), len(os.listdir("/proc/self/fd")), len(running)))
            task = asyncio.create_task(one())
            running.add(task)
            task.add_done_callback(running.discard)
            await asyncio.sleep(1)
        await asyncio.gather(*running)
        keeping.cancel()
    return seen, statuses


async def _keep(store: SqliteStore) -> None:
    while True:
        await store.retire(Retention(max_bytes=KEPT_MB * 1_000_000), 100)
        await asyncio.sleep(30)


def _sizes(path: Path) -> tuple[float, float, float]:
    log = path.with_name(path.name + "-wal")
    return resident_mb(), path.stat().st_size / 1e6, log.stat().st_size / 1e6
