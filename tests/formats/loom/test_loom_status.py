"""What people see of a run: the status block of the dialect, and the page of a function."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from loom_runs import flow

from whorl.interfaces.cli import main
from whorl.providers.registry import Providers
from whorl.runtimes.start_options import Start
from whorl.services.project import Project
from whorl.services.runs import open_runtime

if TYPE_CHECKING:
    from pathlib import Path

SYNC = flow("""
    {type: while, condition: "@greater(variables('remaining'), 0)", limit: {count: 100},
    delay: {interval: {count: 1, unit: hour}}, actions: {left: {type: setVariable, name: remaining,
    value: "@sub(variables('remaining'), 50)"}, sync: {type: compose, inputs: {synced: 50,
    remaining: "@variables('remaining')"}}}}
""")


def whorl(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(arguments)
    told = capsys.readouterr()
    return int(left.value.code or 0), told.out + told.err


async def asleep(folder: Path) -> str:
    """A run that sleeps between two iterations."""
    project = Project(folder, None, folder / "whorl.db", {})
    file = folder / "data-sync.json"
    file.write_text(json.dumps({"actions": {"syncLoop": SYNC}}))
    async with open_runtime(project, Providers(project.settings())) as runtime:
        run, _ = await runtime.start(project.read(str(file)).workflow, Start({"remaining": 100}))
        driving = asyncio.create_task(runtime.drive(run))
        while not any(
            entry.event.kind == "iteration.finished" for entry in runtime.store.read(run)
        ):
            await asyncio.sleep(0.01)
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)
    return run


def test_status_shows_where_a_loop_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = asyncio.run(asleep(tmp_path))
    code, said = whorl("show", "--brief", run, "--store", str(tmp_path / "whorl.db"), capsys=capsys)
    lines = said.splitlines()

    assert code == 0
    assert lines[0] == "Workflow: data-sync"
    assert lines[1].startswith("Status: ")
    assert lines[2:5] == [
        "Current Action: syncLoop (while)",
        "  Iteration: 1/100",
        "  Condition: @greater(variables('remaining'), 0)",
    ]
    assert lines[5].startswith("  Duration: ")
    assert lines[5].endswith("s")
    assert lines[6] == '  Last Result: { "synced": 50, "remaining": 50 }'
