"""A rule that returns the best iteration, or waits for a plateau, has a score to tell it by."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from experiments.guess import FLOW, folder, run_json, whorl

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

FILE = "guess.experiment.yaml"
SCORES = ("0.1", "0.3", "0.5", "0.8", "0.95")
SCORE = 'until: [{score: {from: "{{ review.score }}", at_least: 0.9}}]'


def _score(folder: Path, *scores: str) -> None:
    """Has the review give these scores, one in each iteration."""
    text = (folder / "whorl.toml").read_text()
    for old, new in zip(SCORES, scores, strict=True):
        text = text.replace(f"score = {old}}}", f"score = {new}}}")
    (folder / "whorl.toml").write_text(text)


def test_the_best_iteration_is_told_by_the_score_of_the_file(folder: Path) -> None:
    _score(folder, "0.1", "0.3", "0.5", "0.8", "0.7")
    run = run_json("experiment", "run", FILE)["rows"][0]["run"]
    rule = ("--until", "review.score > 1", "--at-most", "5")

    (best,) = run_json("what-if", run, *rule, "--return", "best", "--check", "1")
    (last,) = run_json("what-if", run, *rule, "--return", "last", "--check", "1")

    assert (best["answer"]["returned"], last["answer"]["returned"]) == (4, 5)


@pytest.mark.slow
def test_a_plateau_watches_the_score_of_the_file(folder: Path) -> None:
    _score(folder, "0.1", "0.3", "0.2", "0.8", "0.7")
    run_json("experiment", "run", FILE)
    swept = {row["rule"]: row for row in run_json("what-if", FILE)["rules"]}
    rule = ("--until", "{plateau: {patience: 1}}", "--at-most", "5", "--return", "best")

    done = whorl("what-if", FILE, *rule, "--check", "12")
    asked = {row["rule"]: row for row in run_json("what-if", FILE, *rule)["rules"]}

    name = "plateau 1, at_most 5, best"
    assert "12 answers replayed through the engine: all the same" in done.stderr
    facts = ("grade", "iterations", "cost_usd", "asked")
    assert [asked[name][fact] for fact in facts] == [swept[name][fact] for fact in facts]
    assert asked[name]["iterations"] == 3


def test_what_is_recommended_can_be_pasted(folder: Path) -> None:
    _score(folder, "0.1", "0.3", "0.5", "0.8", "0.7")
    run_json("experiment", "run", FILE)
    rule = ("--until", "review.score > 0.6", "--at-most", "5", "--return", "best")

    lines = re.findall("to use it: (.*)", whorl("what-if", FILE, *rule).stdout)
    indented = "\n      ".join(lines)
    (folder / "guess.yaml").write_text(
        FLOW.replace("      at_most: 2\n", "").replace(SCORE, indented)
    )

    assert [line.partition(":")[0] for line in lines] == ["until", "at_most", "return"]
    assert whorl("validate", "guess.yaml").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (("--return", "best"), "returns the best iteration, but nothing in it has a score"),
        (("--until", "{plateau: {patience: 1}}"), "watches the score, but there is none"),
    ],
)
def test_a_loop_without_a_score_has_no_best_iteration(
    folder: Path, rule: tuple[str, ...], words: str
) -> None:
    (folder / "guess.yaml").write_text(FLOW.replace(SCORE, 'until: "review.score > 0.9"'))
    text = (folder / FILE).read_text().replace(", return: best", "")
    (folder / FILE).write_text(text)
    run_json("experiment", "run", FILE)

    done = whorl("what-if", FILE, "--at-most", "3", *rule)

    assert done.exit_code == 2
    assert "W013" in done.stderr
    assert words in done.stderr


def test_a_variant_without_a_score_has_no_best_iteration(folder: Path) -> None:
    text = (folder / FILE).read_text()
    (folder / FILE).write_text(text.replace("{at_most: 4,", '{until: "review.score > 0.9",'))

    done = whorl("validate", FILE)

    assert done.exit_code == 2
    assert "W013" in done.stderr + done.stdout
