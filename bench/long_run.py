"""A long loop: does memory stay flat, does the store grow linearly, is resuming quick?"""

from __future__ import annotations

import asyncio
import base64
import os
import statistics
import tempfile
import time
from pathlib import Path

from bench.whorl_side import stored_bytes
from bench.workload import Answering, Only, loop_workflow
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start


class _Marks:
    """Notes memory, time and bytes when the loop passes certain iterations."""

    def __init__(self, store: SqliteStore, path: Path, marks: tuple[int, ...]) -> None:
        self._store = store
        self._path = path
        self._marks = set(marks)
        self._begun = time.perf_counter()
        self.seen: list[tuple[int, float, float, float]] = []
        self.cpu_s: list[float] = []
        self.used: list[int] = []

    def entries(self, run: object, entries: list[object]) -> None:
        """Looks at what was committed."""
        for entry in entries:
            event = entry.event  # type: ignore[attr-defined]
            if event.kind == "iteration.finished" and event.body["number"] in self._marks:
                size = sum(os.path.getsize(p) for p in self._path.parent.glob("*.db*"))
                self.cpu_s.append(time.process_time())
                self.used.append(self._store.used_bytes())
                self.seen.append(
                    (
                        event.body["number"],
                        resident_mb(),
                        time.perf_counter() - self._begun,
                        size / 1e6,
                    )
                )

    def text(self, run: object, address: str, text: str) -> None:
        """Nothing is streamed."""

    def trouble(self, run: object, fault: Exception) -> None:
        """The disk is full."""
        raise fault


def resident_mb() -> float:
    """The memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def run_long(path: Path, iterations: int, marks: tuple[int, ...]) -> _Marks:
    """Runs a loop with 1 KB per iteration; gives memory, seconds and megabytes at the marks."""

    async def work() -> _Marks:
        async with SqliteStore(path) as store:
            watcher = _Marks(store, path, marks)
            runtime = LocalRuntime(
                store, Only(Answering(base64.b64encode(os.urandom(768)).decode())), watcher=watcher
            )  # type: ignore[arg-type]
            run, _ = await runtime.start(loop_workflow(iterations, 1), Start())
            status = await runtime.drive(run)
            assert status == "succeeded", status
            return watcher

    return asyncio.run(work())


def seconds_to_fold(path: Path) -> float:
    """How long it takes to rebuild the newest run from its journal."""
    store = SqliteStore(path)
    clock = time.perf_counter()
    fold(store, store.resolve("last"))
    took = time.perf_counter() - clock
    store.close()
    return took


def measure(full: bool) -> None:
    """Prints the curve; `--full` runs 100,000 iterations, otherwise 20,000."""
    iterations = 100_000 if full else 20_000
    marks = tuple(iterations * tenth // 10 for tenth in range(1, 11))
    print(f"A loop of {iterations:,} iterations with 1 KB each")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "whorl.db"
        watcher = run_long(path, iterations, marks)
        seen, cpu_s = watcher.seen, watcher.cpu_s
        for number, memory, seconds, size in seen:
            each = seconds / number * 1000
            told = f"{memory:7.1f} MB resident  {each:6.3f} ms each  {size:7.1f} MB with its log"
            print(f"  {number:>7,}  {told}")
        growth = seen[-1][1] - seen[0][1]
        print(f"  memory from {seen[0][0]:,} to {seen[-1][0]:,}: {growth:+.1f} MB (goal: 20)")
        late = (cpu_s[-1] - cpu_s[-2]) / (cpu_s[1] - cpu_s[0])
        print(f"  CPU of the last tenth against the second: {late:.2f}x (goal: 1.3x)")
        even = statistics.correlation([row[0] for row in seen], watcher.used) ** 2
        print(f"  how evenly the store grows, R2: {even:.4f} (goal: at least 0.999)")
        closed = stored_bytes(path) / iterations
        print(f"  bytes per iteration once it is closed: {closed:.0f} (goal: 1,536)")
        print(f"  rebuilt from its journal in {seconds_to_fold(path) * 1000:.0f} ms (goal: 2,000)")
