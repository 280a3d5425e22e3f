"""How fast expressions are, and a for-each that computes and appends: `python -m bench logic`."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from whorl.dialects import read_workflow
from whorl.language import Expression, MappingScope, evaluate
from whorl.providers.registry import Providers
from whorl.runtimes.start_options import Start
from whorl.services.project import Project
from whorl.services.runs import open_runtime

CONDITION = Expression("logic", "@equals(body('x')?['status'], 'complete')")
RECORD: dict[str, Any] = {"name": "x", "outputs": {"body": {"status": "complete"}}}


def measure(full: bool) -> None:
    """Prints both beside their goals."""
    print("Logic Apps, best of 3")
    rate = max(evaluations_per_second() for _ in range(3))
    print(f"  {'evaluations a second of CPU (goal: 20,000)':<52} {rate:10,.0f}")
    for items in (1_000, 10_000) if full else (1_000,):
        goal = " (goal: 1)" if items == 1_000 else ""
        best = min(foreach_seconds(items) for _ in range(3))
        print(f"  {f'durable Foreach of {items:,} items, seconds{goal}':<52} {best:10.3f}")


def evaluations_per_second(times: int = 20_000) -> float:
    """How often a usual condition is evaluated in a second of CPU."""
    scope = MappingScope({"$actions": {"x": RECORD}})
    assert evaluate(CONDITION, scope) is True
    start = time.process_time()
    for _ in range(times):
        evaluate(CONDITION, scope)
    return times / (time.process_time() - start)


def foreach_seconds(items: int) -> float:
    """How long a run takes on a real store that composes and appends a value for each item."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_foreach(Path(folder), items))


async def _foreach(folder: Path, items: int) -> float:
    project = Project(folder, None, folder / "whorl.db", {})
    workflow = read_workflow(json.dumps(_definition(items)), "each.json").workflow
    async with open_runtime(project, Providers(project.settings())) as runtime:
        start = time.perf_counter()
        run, _ = await runtime.start(workflow, Start(input={}))
        status = await runtime.drive(run)
        seconds = time.perf_counter() - start
        last = [entry.event for entry in runtime.store.read(run)][-1]
    assert status == "succeeded"
    assert last.body["output"] == [2 * item for item in range(items)]
    return seconds


def _definition(items: int) -> dict[str, Any]:
    declared = {"variables": [{"name": "all", "type": "array", "value": []}]}
    append = {"name": "all", "value": "@outputs('Twice')"}
    each = {
        "Twice": {"type": "Compose", "inputs": "@mul(item(), 2)"},
        "Append": {
            "type": "AppendToArrayVariable",
            "runAfter": {"Twice": ["Succeeded"]},
            "inputs": append,
        },
    }
    actions = {
        "Start": {"type": "InitializeVariable", "inputs": declared},
        "Each": {
            "type": "Foreach",
            "runAfter": {"Start": ["Succeeded"]},
            "foreach": f"@range(0, {items})",
            "actions": each,
        },
    }
    outputs = {"all": {"type": "Array", "value": "@variables('all')"}}
    return {"definition": {"actions": actions, "outputs": outputs}}
