"""Runs of every dialect and of programs: the graph has a place for every event."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from served import connected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from served import Client

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("mcp-cli", "iterative_developer.yaml", {"input": "a function that adds"}),
    ("mcp-cli", "book.yaml", {"input": "bees"}),
    ("studio", "self-refine.json", {"topic": "bees"}),
    ("studio", "chapters.json", {"titles": ["Spring", "Summer"]}),
    ("shodan", "refine.yaml", {"topic": "bees"}),
    ("loom", "pages.json", {}),
    ("orka", "quality_loop.yml", {"input": "bees"}),
]


@pytest.mark.slow
@pytest.mark.sample(7)
@pytest.mark.parametrize(("dialect", "file", "inputs"), CASES)
def test_events_fall_onto_the_graph(
    tmp_path: Path, dialect: str, file: str, inputs: dict[str, Any]
) -> None:
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLES / dialect, folder)
    if not (folder / "whorl.toml").exists():
        shutil.copy(folder / "demo.toml", folder / "whorl.toml")
    with connected(folder) as client:
        listed = {one["file"]: one for one in client.get("/workflows")["workflows"]}
        run = client.start(file, inputs=_inputs(listed[file], inputs))
        found = client.wait(run)
        graph = client.get(f"/runs/{run}/graph")
        events = client.get(f"/runs/{run}/events", limit=5000)["events"]
        _look_at_everything(client, run)

    paths = [node["path"] for node in graph["nodes"]]
    assert found["dialect"] == graph["dialect"] == dialect
    assert len(paths) == len(set(paths))
    parents = {node["parent"] for node in graph["nodes"]}
    assert parents <= {"", *paths}
    assert {edge["from"] for edge in graph["edges"]} <= set(paths)
    assert {_path(event["address"]) for event in events} - {""} <= set(paths)


def _look_at_everything(client: Client, run: str) -> None:
    for path in ("loops", "source", "graph"):
        client.get(f"/runs/{run}/{path}")
    for loop in client.get(f"/runs/{run}/loops")["loops"]:
        at = {"at": loop["address"]}
        for one in client.get(f"/runs/{run}/iterations", **at)["iterations"]:
            client.get(f"/runs/{run}/iterations/{one['number']}", **at)
        client.get(f"/runs/{run}/matrix", **at)
    for event in client.get(f"/runs/{run}/events")["events"]:
        if event["kind"] == "task.finished" and "#" not in event["address"]:
            client.get(f"/runs/{run}/step", at=event["address"])


def _inputs(listed: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    known = [port["name"] for port in listed["inputs"]]
    if inputs and set(inputs) <= {"input"} and "input" not in known and known:
        return {listed["main_input"] or known[0]: inputs["input"]}
    return inputs


def _path(address: str) -> str:
    """An address without numbers, and without what a construct does for itself."""
    return re.sub(r"\[[0-9]+\]|#[0-9]+", "", re.sub(r"/:.*", "", address))


PROGRAM = """
import whorl


@whorl.step
def double(number: int) -> int:
    return number * 2


@whorl.workflow
async def twice(number: int) -> int:
    return await double(number)
"""
PLACE = "served_flow:twice"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A project with a program that is permitted, one that does not load, and one that is not."""
    (tmp_path / "served_flow.py").write_text(PROGRAM)
    listed = f'[workflows]\npython = ["{PLACE}", "no_such_flow:twice"]\n'
    (tmp_path / "whorl.toml").write_text(listed)
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("served_flow", None)


def test_a_program_is_listed_drawn_started_and_driven(folder: Path) -> None:
    with connected(folder) as client:
        listed = {item["file"]: item for item in client.get("/workflows")["workflows"]}
        graph = client.get("/workflows/graph", file=PLACE)
        run = client.wait(client.start(PLACE, inputs={"number": 4}))
        records = client.get(f"/runs/{run['id']}/records")["records"]

    assert listed[PLACE]["inputs"][0]["name"] == "number"
    assert "No module named" in listed["no_such_flow:twice"]["description"]
    assert [node["path"] for node in graph["nodes"]] == ["twice"]
    assert (run["status"], run["file"]) == ("succeeded", PLACE)
    assert records[0]["output"] == 8


@pytest.mark.slow
def test_code_that_is_not_named_is_not_imported(folder: Path) -> None:
    (folder / "other_flow.py").write_text("raise AssertionError")
    with connected(folder) as client:
        client.post("/runs", {"workflow": "other_flow:twice"}, 403)

    assert "other_flow" not in sys.modules
