"""Longer runs: does an iteration, or an item of a list, cost the same however many there are?"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from bench import whorl_side
from bench.whorl_side import stored_bytes
from bench.workload import Answering, Only
from whorl.ir import Block, Constant, Expression, Fields, ForEach, Task, Workflow
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start

ITERATIONS = (100, 1_000, 10_000)
ITEMS = (1_000, 10_000, 50_000)
GOAL = 1.15


def measure(full: bool) -> None:
    """Prints CPU and bytes of one iteration or item, and how they grow.

    `--full` also has what takes minutes: 10,000 iterations with effects, and 50,000 items.
    """
    print(f"Growth, by how many there are in one run (goal: {GOAL}x)")
    _rows("iterations", ITERATIONS, _loop)
    _rows("iterations with effects", ITERATIONS[: 2 + full], _loop_with_effects)
    _rows("items of a list", ITEMS[: 2 + full], _list)


def _rows(what: str, counts: tuple[int, ...], once: object) -> None:
    first_cpu = first_bytes = 0.0
    for count in counts:
        # Where one takes little, the best of several is what it takes undisturbed.
        found = [_in_folder(once, count) for _ in range(5 if count < ITERATIONS[-1] else 2)]
        cpu, size = (min(column) / count for column in zip(*found, strict=True))
        first_cpu, first_bytes = first_cpu or cpu, first_bytes or size
        print(
            f"  {count:>7,} {what:<24} {cpu * 1000:6.3f} ms {cpu / first_cpu:5.2f}x"
            f"  {size:7.0f} bytes {size / first_bytes:5.2f}x"
        )


def _in_folder(once: object, count: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        return once(Path(folder), count)  # type: ignore[no-any-return, operator]


def _loop(folder: Path, count: int, effect: str = "none") -> tuple[float, float]:
    found = whorl_side.one_loop(folder, count, nodes=1, effect=effect)
    return found["cpu_s"], found["bytes"]


def _loop_with_effects(folder: Path, count: int) -> tuple[float, float]:
    return _loop(folder, count, "outside")


def _list(folder: Path, count: int) -> tuple[float, float]:
    path = folder / "whorl.db"
    inputs = Fields((("task", Constant("bench")),))
    items = Expression("jinja", f"range({count})")
    task = Task(name="step", kind="use", inputs=inputs)
    each = ForEach(name="each", items=items, body=Block((task,)))

    async def work() -> float:
        async with SqliteStore(path) as store:
            runtime = LocalRuntime(store, Only(Answering()))  # type: ignore[arg-type]
            run, _ = await runtime.start(Workflow(name="bench", body=Block((each,))), Start())
            cpu = time.process_time()
            status = await runtime.drive(run)
            assert status == "succeeded", status
            return time.process_time() - cpu

    return asyncio.run(work()), stored_bytes(path)
