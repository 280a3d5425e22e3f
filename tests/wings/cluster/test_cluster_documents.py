"""Programs of Temporal in the documents run as they are printed."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

if TYPE_CHECKING:
    import pytest

    from cluster.cluster import Server

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "formats/temporal.md"


def test_the_loop_of_the_comparison(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    [program] = re.findall(r"^```temporal\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    module = ModuleType("compared")
    monkeypatch.setitem(sys.modules, "compared", module)
    exec(compile(program, str(PAGE), "exec"), module.__dict__)  # noqa: S102 - it is our own page

    async def run() -> object:
        client = await Client.connect(server.address)
        parts = {"workflows": [module.Essay], "activities": [module.write, module.review]}
        runner = UnsandboxedWorkflowRunner()
        async with Worker(client, task_queue="compared", workflow_runner=runner, **parts):
            return await client.execute_workflow(
                module.Essay.run, "harbours", id="compared", task_queue="compared"
            )

    assert asyncio.run(run()) == "harbours, rhyming"


def test_what_is_said_to_be_tested_is() -> None:
    named = set(re.findall(r"`(test_\w+)`", (DOCS / "internals/cluster.md").read_text()))
    files = Path(__file__).parent.glob("test_*.py")
    there = {
        name
        for file in files
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.M)
    }

    assert len(named) > 10
    assert named <= there
