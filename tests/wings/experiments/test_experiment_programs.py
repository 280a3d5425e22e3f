"""Experiments over workflows in Python: their requests changed by name, and other rules asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experiments.guess import run_json, whorl

FLOW = """
from dataclasses import dataclass

import whorl


@dataclass
class Review:
    score: float


@whorl.workflow
async def poem(topic: str) -> str:
    polish = whorl.loop(str, at_most=3, keep="best")
    async for turn in polish:
        text = await whorl.ask(f"Write about {topic}")
        review = await whorl.ask(f"Review this: {text}", returns=Review, max_tokens=50)
        turn.value = text
        turn.score(review.score, at_least=0.9)
    return polish.result
"""
CONFIG = """
[workflows]
python = ["poem_flow:poem"]
[defaults]
provider = "demo"
model = "m1"
[providers.demo]
kind = "scripted"
[[providers.demo.replies]]
match = "Write"
replies = ["rain"]
[[providers.demo.replies]]
match = "Review"
by = "iteration"
replies = [{json = {score = 0.4}}, {json = {score = 0.8}}, {json = {score = 0.6}}]
[prices.m1]
input = 1.0
output = 2.0
[prices.m2]
input = 10.0
output = 20.0
"""
EXPERIMENT = """
experiment: 1
name: poems
workflow: poem_flow:poem
cases: [{topic: rain}, {topic: snow}]
grade: case.topic in results.value
variants:
  dear: {model: m2}
  brief:
    models: {polish/text: m2}
    steps: {review: {max_tokens: 7, system: Be brief.}}
"""


@pytest.fixture(autouse=True)
def _program(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("poem_flow.py").write_text(FLOW)
    Path("whorl.toml").write_text(CONFIG)
    Path("poems.experiment.yaml").write_text(EXPERIMENT)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "poem_flow", raising=False)


def test_variants_change_requests_by_name_and_path() -> None:
    found = run_json("experiment", "run", "poems.experiment.yaml")
    asked = run_json(
        "experiment", "what-if", "poems.experiment.yaml", "--until", "review.score>=0.7"
    )

    runs = {row["variant"]: row["run"] for row in found["rows"]}
    calls = {}
    for variant, run in runs.items():
        for step in ("text", "review"):
            (record,) = run_json("show", f"{run}/polish[2]/{step}")["records"]
            calls[variant, step] = record["inputs"]
    names = ("model", "system", "max_tokens")
    sent = {place: [given.get(name) for name in names] for place, given in calls.items()}
    assert sent == {
        ("base", "text"): [None, None, None],
        ("base", "review"): [None, None, 50],
        ("dear", "text"): ["m2", None, None],
        ("dear", "review"): ["m2", None, 50],
        ("brief", "text"): ["m2", None, None],
        ("brief", "review"): [None, "Be brief.", 7],
    }
    grades = [(row["case"], row["grades"]["grade"]) for row in found["rows"]]
    assert sorted(grades) == [("1", 1)] * 3 + [("2", 0)] * 3
    assert (asked["loop"], asked["runs"]) == ("polish", 2)
    assert asked["rules"][0]["iterations"] == 2.0


def test_a_variant_says_which_fields_a_step_has() -> None:
    wrong = EXPERIMENT.replace("system:", "prompt:")
    Path("poems.experiment.yaml").write_text(wrong)

    refused = whorl("validate", "poems.experiment.yaml")

    assert refused.exit_code == 2
    assert "has other fields than model, system, max_tokens" in refused.stderr
