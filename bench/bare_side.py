"""The least that a durable loop can cost: a journal with one row per step, and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import apsw

_INSERT = "INSERT INTO journal VALUES (?, ?, ?)"


def _open(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "CREATE TABLE journal (run INTEGER, seq INTEGER, body TEXT, UNIQUE (run, seq))"
    )
    return connection


def one_loop(
    folder: Path, iterations: int, *, nodes: int = 2, text: str = "ok"
) -> dict[str, float]:
    """A commit for each step."""
    path = folder / "bare.db"
    connection = _open(path)
    cpu, clock = time.process_time(), time.perf_counter()
    seq = 0
    for iteration in range(iterations):
        for node in range(nodes):
            seq += 1
            body = json.dumps({"address": f"loop[{iteration}]/step{node}", "value": text})
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_INSERT, (1, seq, body))
            connection.execute("COMMIT")
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    connection.close()
    return {"cpu_s": cpu, "clock_s": clock, "bytes": os.path.getsize(path)}


def many_loops(folder: Path, loops: int, iterations: int, seconds: float) -> float:
    """Group commit: one transaction for all steps that ended in the same turn of the event loop."""
    connection = _open(folder / "bare.db")
    waiting: list[tuple[tuple[int, int, str], asyncio.Future[None]]] = []

    def commit() -> None:
        rows, futures = [row for row, _ in waiting], [future for _, future in waiting]
        waiting.clear()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_INSERT, rows)
        connection.execute("COMMIT")
        for future in futures:
            future.set_result(None)

    async def one(run: int) -> None:
        loop = asyncio.get_running_loop()
        for iteration in range(iterations):
            await asyncio.sleep(seconds)
            future = loop.create_future()
            body = json.dumps({"address": f"loop[{iteration}]/step", "value": "ok"})
            if not waiting:
                loop.call_soon(commit)
            waiting.append(((run, iteration, body), future))
            await future

    async def work() -> float:
        clock = time.perf_counter()
        await asyncio.gather(*(one(run) for run in range(loops)))
        return time.perf_counter() - clock

    took = asyncio.run(work())
    connection.close()
    return took
