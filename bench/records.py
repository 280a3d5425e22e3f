"""How quickly the records of steps are had: `python -m bench records`."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.long_run import run_long
from whorl.dialects import read_workflow
from whorl.providers.registry import Providers
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.services.project import Project
from whorl.services.records import records_of
from whorl.services.runs import open_runtime

ITEMS = 1_000
ITERATIONS = 100_000


def measure(full: bool) -> None:
    """Prints the seconds beside their goal, which is one; the best of 3."""
    print("Records of steps, seconds (goal: 1)")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "whorl.db"
        each = asyncio.run(_foreach(Path(folder), path))
        _row(path, each, "", f"all of a Foreach of {ITEMS:,} items with five actions", depth=None)
        _row(path, each, f"Each[{ITEMS - 100}]", "of one of its items")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "whorl.db"
        run_long(path, ITERATIONS, ())
        store = SqliteStore(path)
        run = store.resolve("last")
        store.close()
        _row(path, run, "loop[90000]", f"of iteration 90,000 of {ITERATIONS:,}")
        _row(path, run, "loop[3]", "of iteration 3")
        _row(path, run, "", "of the run, without its iterations")


def _row(path: Path, run: RunId, at: str, title: str, *, depth: int | None = 0) -> None:
    times: list[float] = []
    for _ in range(3):
        store = SqliteStore(path)
        clock = time.perf_counter()
        found = records_of(store, run, at, depth=depth, limit=100_000).records
        times.append(time.perf_counter() - clock)
        store.close()
    print(f"  {f'{title} ({len(found):,} records)':<64} {min(times):8.3f}")


async def _foreach(folder: Path, path: Path) -> RunId:
    project = Project(folder, None, path, {})
    workflow = read_workflow(json.dumps(_definition()), "each.json").workflow
    async with open_runtime(project, Providers(project.settings())) as runtime:
        run, _ = await runtime.start(workflow, Start(input={}))
        status = await runtime.drive(run)
    assert status == "succeeded", status
    return run


def _definition() -> dict[str, Any]:
    after = {name: {name: ["Succeeded"]} for name in ("Twice", "Text", "Parsed", "Some")}
    text = "@concat('{\"n\": ', string(outputs('Twice')), '}')"
    each: dict[str, Any] = {
        "Twice": {"type": "Compose", "inputs": "@mul(item(), 2)"},
        "Text": {"type": "Compose", "inputs": text, "runAfter": after["Twice"]},
        "Parsed": {
            "type": "ParseJson",
            "inputs": {"content": "@outputs('Text')", "schema": {}},
            "runAfter": after["Text"],
        },
        "Some": {
            "type": "Query",
            "inputs": {"from": [1, 2, 3], "where": "@less(item(), body('Parsed')['n'])"},
            "runAfter": after["Parsed"],
        },
        "Last": {"type": "Compose", "inputs": "@body('Some')", "runAfter": after["Some"]},
    }
    actions = {"Each": {"type": "Foreach", "foreach": f"@range(0, {ITEMS})", "actions": each}}
    return {"definition": {"actions": actions}}
