"""The loop of polish.yaml, tested from Python: `pytest examples/test_polish.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl import Json
    from whorl.testing import Whorl


def test_it_stops_when_the_review_approves(whorl: Whorl) -> None:
    whorl.mock("write", ["first draft", "second draft"])
    whorl.mock(
        "review",
        [
            {"outputs": {"approved": False, "score": 0.4, "feedback": "shorter"}},
            {"outputs": {"approved": True, "score": 0.8, "feedback": ""}},
        ],
    )
    outcome = whorl.run("polish.yaml", {"task": "a haiku"})

    assert outcome.output == "second draft"
    assert outcome.loop("polish").iterations == 2
    assert "shorter" in str(outcome.calls("polish[2]/write")[0].inputs)


def test_the_best_draft_is_returned(whorl: Whorl) -> None:
    def review(inputs: dict[str, Json]) -> dict[str, Json]:
        score = 0.8 if "good" in str(inputs["prompt"]) else 0.3
        return {"approved": False, "score": score, "feedback": "more"}

    mocks = {"write": {"sequence": ["good", "bad"], "then": "repeat"}, "review": review}
    outcome = whorl.run("polish.yaml", {"task": "a haiku"}, mocks=mocks)

    assert (outcome.output, outcome.loop().stopped_by) == ("good", "plateau")


def test_models_may_answer_by_rules(whorl: Whorl) -> None:
    rules = [
        {"match": "Review this", "replies": ['{"approved": true, "score": 1, "feedback": ""}']},
        {"match": "Write a haiku", "replies": ["a haiku"]},
    ]
    assert whorl.run("polish.yaml", {"task": "a haiku"}, models=rules).output == "a haiku"
