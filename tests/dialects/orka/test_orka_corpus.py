"""Files of the public system, as their authors wrote them: they run, or say what they lack."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
import yaml
from orka_runs import SHARED, run

from whorl.dialects import read_workflow
from whorl.dialects.orka.agents import FIELDS
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CORPUS = SHARED / "corpora" / "orka"
FILES = sorted(CORPUS.rglob("*.y*ml"))

# Pieces of documentation that leave out what a workflow cannot do without: agents that are only
# named, loops without an inside or a score, broken YAML.
FRAGMENTS = {
    "docs__BOOLEAN_SCORING_GUIDE__L178.yaml": "W006",
    "docs__BOOLEAN_SCORING_GUIDE__L449.yaml": "W006",
    "docs__GRAPHSCOUT_EXECUTION_MODES__L141.yaml": "W006",
    "docs__nodes__failover__L239.yaml": "W006",
    "docs__nodes__fork-and-join__L406.yaml": "W010",
    "docs__nodes__loop__L13.yaml": "W001",
    "docs__nodes__router__L327.yaml": "W010",
}
CRITERIA = '{"improvement": {"better_than_previous": true, "significant_delta": true}}'
ANSWERS = [
    ("true or false for each criterion", [CRITERIA]),
    # Without the name of a route, its router does not know where to go.
    ("Return ONLY one of these exact strings", ['{"response": "safeguard_gate"}']),
    (
        "Answer with one JSON",
        ['{"response": "It lacks more depth. SCORE: 0.5", "confidence": 0.5}'],
    ),
    (".", ["It lacks more depth. SCORE: 0.5", "SCORE: 0.97 QUALITY: 0.97 CONSENSUS: 0.97"]),
]

pytestmark = pytest.mark.skipif(not FILES, reason="the files of the public system are not here")


def types_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("id"), str) and isinstance(value.get("type"), str):
            yield value["type"]
        for key, part in value.items():
            if key in ("agents", "internal_workflow", "children"):
                yield from types_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from types_in(part)


@cache
def kind_of(path: Path) -> str:
    if path.name in FRAGMENTS:
        return "fragment"
    types = set(types_in(yaml.load(path.read_text(), yaml.CSafeLoader)))
    return "whole" if types <= FIELDS.keys() else "beyond"


def named(kind: str) -> list[Path]:
    return [path for path in FILES if kind_of(path) == kind]


@pytest.mark.parametrize("path", named("whole"), ids=lambda path: path.name)
def test_file_runs_to_the_end(path: Path) -> None:
    ran = run(path.read_text(), ANSWERS, "why is the sky blue?")

    assert ran.status == "succeeded"
    assert ran.model.requests
    assert ran.bodies("task.failed") == []
    for row in ran.document["loops"]:
        result = ran.outputs[row["path"]]
        assert result["loops_completed"] == row["iterations"] >= 1
        assert result["final_score"] is None or 0 <= result["final_score"] <= 1
        assert result["threshold_met"] is (row["exit_reason"] == "condition_met")
        assert len(result["past_loops"]) == row["iterations"]


@pytest.mark.parametrize("path", named("beyond"), ids=lambda path: path.name)
def test_file_beyond_names_the_types_and_their_lines(path: Path) -> None:
    lines = path.read_text().split("\n")
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(path.read_text(), path.name)

    unsupported = [one for one in caught.value.diagnostics if one.code == "W009"]
    assert unsupported
    for one in unsupported:
        assert one.span is not None
        kind = lines[one.span.line - 1].partition("type:")[2].strip()
        assert kind not in FIELDS
        assert repr(kind) in one.message
        assert one.help


@pytest.mark.parametrize("path", named("fragment"), ids=lambda path: path.name)
def test_fragment_says_what_it_lacks(path: Path) -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(path.read_text(), path.name)

    assert FRAGMENTS[path.name] in {one.code for one in caught.value.diagnostics}
    assert all(one.span is not None for one in caught.value.diagnostics)


def test_most_files_are_whole() -> None:
    assert len(named("whole")) >= 25
