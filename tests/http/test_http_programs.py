"""Workflows that are written in Python, over HTTP: those that the operator permits."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from served import connected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """
import whorl


@whorl.step
def double(number: int) -> int:
    return number * 2


@whorl.workflow
def twice(number: int) -> int:
    return double(number)
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
    assert "double" in [node["path"] for node in graph["nodes"]]
    assert (run["status"], run["file"]) == ("succeeded", PLACE)
    assert records[0]["output"] == 8


@pytest.mark.slow
def test_code_that_is_not_named_is_not_imported(folder: Path) -> None:
    (folder / "other_flow.py").write_text("raise AssertionError")
    with connected(folder) as client:
        client.post("/runs", {"workflow": "other_flow:twice"}, 403)

    assert "other_flow" not in sys.modules
