"""Canvases that are written: their own come back as they were, others as far as a canvas goes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from studio_files import ROOT, SHARED

from conformance.converting import convert, runnable_cases
from conformance.converting import differences as ways_apart
from conformance.literate import load_cases
from conformance.reading import workflow_of
from whorl.dialects import NoFiles, read_workflow
from whorl.dialects.writing import read_again, write_workflow
from whorl.dialects.writing.comparing import differences
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.literate import Case
    from whorl.ir import Workflow

# The reader keeps of a tool that is denied only that it is.
UNSAYABLE = {"studio/nodes: A tool that is denied"}
FILES = sorted(
    (
        *(ROOT / "examples" / "studio").glob("*.json"),
        *(SHARED / "corpora" / "studio" / "templates").glob("*.json"),
    )
)


def _cases(dialect: str) -> list[Any]:
    found = []
    for case in load_cases():
        if case.dialect != dialect:
            continue
        try:
            found.append(pytest.param(case, workflow_of(case), id=case.id))
        except InvalidWorkflow:
            continue
    return found


@pytest.mark.parametrize(("case", "workflow"), _cases("studio"))
def test_a_canvas_comes_back_as_it_was(case: Case, workflow: Workflow) -> None:
    written = write_workflow(workflow, "studio", "case.json")

    if case.id in UNSAYABLE:
        assert written.losses
        return
    assert written.losses == ()
    again = read_again(written, "studio").workflow
    assert list(differences(workflow, again)) == []
    assert write_workflow(again, "studio", "case.json") == written


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_comes_back_as_it_was(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    workflow = read_workflow(text, path.name, NoFiles(), dialect="studio").workflow

    assert write_workflow(workflow, "studio", path.name).losses == ()


@pytest.mark.parametrize(("case", "workflow"), _cases("native"))
def test_a_native_workflow_becomes_a_canvas_that_loads(case: Case, workflow: Workflow) -> None:
    written = write_workflow(workflow, "studio", "case.json")

    read_again(written, "studio")
    assert all(loss.what and loss.why for loss in written.losses)


def test_a_canvas_reads_from_left_to_right() -> None:
    """Every edge leads to a node further right, and no two nodes stand in one place."""
    canvas = _drawn(
        "whorl: 1\nname: two\nsteps:\n  one: {ask: Hi}\n  two: {ask: 'More {{ one }}'}\n"
    )
    places = {node["id"]: node["position"] for node in canvas["nodes"]}

    assert len({(place["x"], place["y"]) for place in places.values()}) == len(places)
    assert canvas["edges"]
    for edge in canvas["edges"]:
        assert places[edge["source"]]["x"] < places[edge["target"]]["x"]


def test_a_loop_stands_between_its_start_and_its_exit() -> None:
    canvas = _drawn(
        """
whorl: 1
name: polish
inputs: {topic: any}
steps:
  polish:
    repeat:
      until: {stable: {threshold: 0.9, of: draft}}
      at_most: 4
      carry: {text: {first: '{{ topic }}', then: '{{ draft }}'}}
      steps:
        draft: {ask: 'Improve {{ text }}', temperature: 0.2}
outputs: {text: '{{ polish.draft }}'}
""",
        losses=[],
    )
    nodes = {node["id"]: node for node in canvas["nodes"]}

    assert nodes["polish"]["data"] == {
        "maxIterations": 4,
        "exitCondition": "stable_output",
        "stabilityThreshold": 0.9,
    }
    assert nodes["draft"]["data"] == {"prompt": "Improve {{polish}}", "temperature": 0.2}
    ends = [(edge["source"], edge["target"]) for edge in canvas["edges"]]
    assert ("topic", "polish") in ends
    assert ("polish", "draft") in ends
    assert ("draft", "polish_exit") in ends


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.id)
        for case in runnable_cases()
        if case.id.startswith("converting/canvases")
    ],
)
def test_what_can_be_said_comes_back_from_there(case: Case) -> None:
    """Native, studio and native again: the same results, and nothing is lost."""
    converted = convert(case, "studio")

    assert [loss.words() for loss in converted.losses] == []
    assert converted.case is not None
    assert ways_apart(case, converted.case) == []


def test_losses_name_the_step_and_the_place() -> None:
    text = "whorl: 1\nname: x\nsteps:\n  first: {ask: Hi}\n"
    workflow = read_workflow(text, "x.yaml", NoFiles()).workflow

    loss = write_workflow(workflow, "studio").losses[0]

    assert loss.words("x.yaml") == (
        "x.yaml:4:3: first: a question without a temperature: an llm node asks with a temperature "
        "of 0.7 unless it has another one"
    )


def _drawn(text: str, losses: list[str] | None = None) -> dict[str, Any]:
    workflow = read_workflow(text, "x.yaml", NoFiles()).workflow
    written = write_workflow(workflow, "studio")
    if losses is not None:
        assert [loss.words() for loss in written.losses] == losses
    canvas: dict[str, Any] = json.loads(written.text)
    return canvas
