"""The loops of the comparison on DBOS."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

PACKAGE = "dbos"
SETTINGS = "SQLite system database, its defaults; every step recorded; logs off"


def one_loop(folder: Path, iterations: int) -> None:
    """Two trivial steps, repeated."""
    dbos = _launched(folder)

    @dbos.step()
    def first() -> str:
        return "ok"

    @dbos.step()
    def second(count: int) -> int:
        return count + 1

    @dbos.workflow()
    def loop(iterations: int) -> int:
        count = 0
        for _ in range(iterations):
            first()
            count = second(count)
        return count

    dbos.launch()
    assert loop(iterations) == iterations
    dbos.destroy()


def growing_loop(folder: Path, iterations: int, text: str) -> None:
    """Each iteration adds a text; a step records what it adds, and the rest is replayed."""
    dbos = _launched(folder)

    @dbos.step()
    def first() -> str:
        return text

    @dbos.step()
    def second(count: int) -> int:
        return count + 1

    @dbos.workflow()
    def loop(iterations: int) -> int:
        count, texts = 0, []
        for _ in range(iterations):
            texts.append(first())
            count = second(count)
        return len(texts)

    dbos.launch()
    assert loop(iterations) == iterations
    dbos.destroy()


def many_loops(folder: Path, loops: int, iterations: int, seconds: float) -> None:
    """Loops of one step that waits, at once."""
    dbos = _launched(folder)

    @dbos.step()
    async def turn(count: int) -> int:
        await asyncio.sleep(seconds)
        return count + 1

    @dbos.workflow()
    async def loop(iterations: int) -> int:
        count = 0
        for _ in range(iterations):
            count = await turn(count)
        return count

    async def work() -> None:
        handles = [await dbos.start_workflow_async(loop, iterations) for _ in range(loops)]
        counts = await asyncio.gather(*(handle.get_result() for handle in handles))
        assert set(counts) == {iterations}

    dbos.launch()
    asyncio.run(work())
    dbos.destroy()


def _launched(folder: Path) -> Any:
    from dbos import DBOS

    address = f"sqlite:///{folder / 'dbos.db'}"
    levels = {"log_level": "ERROR", "console_log_level": "ERROR"}
    config: Any = {"name": "bench", "system_database_url": address, **levels}
    DBOS(config=config)
    return DBOS
