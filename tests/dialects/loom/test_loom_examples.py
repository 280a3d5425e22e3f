"""The examples of the dialect, run as they are with their own configuration on a real store."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest
from loom_runs import PROJECT

from trusted import TRUSTED
from whorl.dialects import read_workflow
from whorl.providers.registry import Providers
from whorl.runtimes.starting import Start
from whorl.services.inspecting.documents import document
from whorl.services.project import Project
from whorl.services.runs import open_runtime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXAMPLES = PROJECT / "examples" / "loom"


@pytest.fixture(autouse=True)
def _own_modules() -> Iterator[None]:
    """The examples' functions are found by the project's folder, and forgotten afterwards."""
    paths = list(sys.path)
    yield
    sys.path[:] = paths
    sys.modules.pop("activities", None)


def run(name: str, given: dict[str, Any], place: Path) -> dict[str, Any]:
    return asyncio.run(_run((EXAMPLES / name).read_text(encoding="utf-8"), name, given, place))


async def _run(text: str, name: str, given: dict[str, Any], place: Path) -> dict[str, Any]:
    project = Project(EXAMPLES, EXAMPLES / "whorl.toml", place / "whorl.db", TRUSTED)
    workflow = read_workflow(text, name).workflow
    providers = Providers(project.settings())
    async with open_runtime(project, providers) as runtime:
        started, _ = await runtime.start(workflow, Start(input=given))
        status = await runtime.drive(started)
        events = [entry.event for entry in runtime.store.read(started)]
        final = next((event for event in events if event.kind == "run.finished"), None)
        return document(started, status, final, runtime.store)


def test_agent(tmp_path: Path) -> None:
    told = run("agent.json", {"question": "What is a whorl?"}, tmp_path)

    assert told["status"] == "succeeded"
    assert told["outputs"] == {
        "answer": "one turn of a spiral, five times",
        "notes": "nothing yet; whorl is one turn of a spiral; 5; ",
    }
    assert told["loops"][0]["iterations"] == 3


def test_pages(tmp_path: Path) -> None:
    told = run("pages.json", {}, tmp_path)

    assert told["outputs"] == {"all": ["A+B", "C"]}
    assert told["loops"][0]["exit_reason"] == "condition_met"


def test_invoice(tmp_path: Path) -> None:
    lines = [{"count": 2, "price": 1.5}, {"count": 0, "price": 9}, {"count": 1, "price": 4}]
    told = run("invoice.json", {"lines": lines}, tmp_path)

    assert told["output"] == {
        "total": 7.0,
        "lines": [3.0, 4],
        "mail": {"sent": True, "total": 7.0},
    }


def test_polling(tmp_path: Path) -> None:
    told = run("polling.json", {"job": "the scarf"}, tmp_path)

    assert told["outputs"] == {"result": "the scarf is woven"}
    assert told["loops"][0]["iterations"] == 3


def test_queue(tmp_path: Path) -> None:
    told = run("queue.json", {}, tmp_path)

    assert told["outputs"] == {"yarn": ["wool yarn", "silk yarn", "flax yarn"]}


def test_retrying(tmp_path: Path) -> None:
    told = run("retrying.json", {}, tmp_path)

    assert told["outputs"] == {
        "fetched": "thread after 3 tries",
        "found": "loom is a machine that weaves",
    }


def test_weaving(tmp_path: Path) -> None:
    told = run("weaving.json", {}, tmp_path)

    assert told["outputs"] == {"cloth": "00 01 10 11 20 21"}
    assert [loop["iterations"] for loop in told["loops"]] == [3, 2, 2, 2]


def test_all_examples_are_run() -> None:
    here = (PROJECT / "tests" / "dialects" / "loom" / "test_loom_examples.py").read_text("utf-8")

    assert [file.name for file in EXAMPLES.glob("*.json") if f'run("{file.name}"' not in here] == []
