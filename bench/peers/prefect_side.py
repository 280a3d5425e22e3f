"""The loops of the comparison on Prefect."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

PACKAGE = "prefect"
SETTINGS = "the local server (SQLite) that a flow starts; results of tasks persisted; logs off"


def one_loop(folder: Path, iterations: int) -> None:
    """Two trivial tasks, repeated."""
    _run(folder, iterations, "ok")


def growing_loop(folder: Path, iterations: int, text: str) -> None:
    """Each iteration adds a text; a task stores what it adds."""
    _run(folder, iterations, text)


def _run(folder: Path, iterations: int, text: str) -> None:
    _settle(folder)
    from prefect import flow, task

    @task(persist_result=True)
    def first() -> str:
        return text

    @task(persist_result=True)
    def second(count: int) -> int:
        return count + 1

    @flow(persist_result=True)
    def loop(iterations: int) -> int:
        count, texts = 0, []
        for _ in range(iterations):
            texts.append(first())
            count = second(count)
        return len(texts)

    assert loop(iterations) == iterations


def many_loops(folder: Path, loops: int, iterations: int, seconds: float) -> None:
    """Flows of one task that waits, at once."""
    _settle(folder)
    from prefect import flow, task

    @task(persist_result=True)
    async def turn(count: int) -> int:
        await asyncio.sleep(seconds)
        return count + 1

    @flow(persist_result=True)
    async def loop(iterations: int) -> int:
        count = 0
        for _ in range(iterations):
            count = await turn(count)
        return count

    async def work() -> None:
        counts = await asyncio.gather(*(loop(iterations) for _ in range(loops)))
        assert set(counts) == {iterations}

    asyncio.run(work())


def _settle(folder: Path) -> None:
    """Everything of it lies in the first folder, and nothing is sent anywhere."""
    if "PREFECT_HOME" in os.environ:
        return
    settings = {
        "PREFECT_HOME": str(folder),
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300",
        "DO_NOT_TRACK": "1",
    }
    os.environ.update(settings)
