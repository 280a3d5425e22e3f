"""Trials that their budget has stopped, or cut short: what is said of them, and what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from experiments.guess import EXPERIMENT, FLOW, folder, run_json, whorl

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

FILE = "guess.experiment.yaml"
PLAIN = EXPERIMENT.replace("explore: {polish: 5}\n", "")
# Each call reserves a hundred tokens, and takes a few.
SHORT = FLOW.replace('iteration }}"}', 'iteration }}", max_tokens: 100}').replace(
    "returns:", "max_tokens: 100, returns:"
)
CUT = "the budget of the run ended the loop early"


@pytest.mark.slow
def test_loops_that_a_trial_budget_has_ended_go_on_with_a_larger_one(folder: Path) -> None:
    (folder / "guess.yaml").write_text(SHORT)
    (folder / FILE).write_text(PLAIN + "trial_budget: 0.0115\n")

    cut = whorl("experiment", "run", FILE)
    reasons = {row["exit_reason"] for row in run_json("experiment", "report", FILE)["rows"]}
    (folder / FILE).write_text(PLAIN + "trial_budget: 1\n")
    before = whorl("experiment", "report", FILE)
    raised = run_json("experiment", "run", FILE)
    fresh = run_json("experiment", "run", FILE, "--fresh")

    assert reasons == {"max_iterations", "budget"}
    assert f"12 trials of 'longer': {CUT}; a larger trial_budget continues them" in cut.stdout
    assert f"of 'base': {CUT}" not in cut.stdout
    assert "so far: 12 of 24 trials" in before.stdout
    assert "12 trials of 'longer' had a smaller trial_budget" in before.stdout
    assert (raised["notes"], raised["done"]) == ([], 24)
    names = ("case", "variant", "grades", "iterations", "returned", "exit_reason")
    rows = [[[row[n] for n in names] for row in one["rows"]] for one in (raised, fresh)]
    assert rows[0] == rows[1]


def test_a_loop_that_its_own_budget_has_ended_is_a_result_of_its_rule(folder: Path) -> None:
    rule = "at_most: {iterations: 2, calls: 2}"
    (folder / "guess.yaml").write_text(FLOW.replace("at_most: 2", rule))
    (folder / FILE).write_text(PLAIN + "trial_budget: 1\n")

    found = run_json("experiment", "run", FILE)

    assert {row["exit_reason"] for row in found["rows"] if row["variant"] == "base"} == {"budget"}
    assert found["notes"] == []


def test_a_trial_that_is_resumed_knows_which_of_its_files_have_changed(folder: Path) -> None:
    (folder / "guess.yaml").write_text(SHORT)
    (folder / FILE).write_text(PLAIN + "trial_budget: 0.0105\n")
    stopped = [row["run"] for row in run_json("experiment", "run", FILE)["rows"]]

    same = whorl("resume", stopped[0], "--budget", "+1")
    (folder / "guess.yaml").write_text(SHORT.replace("Guess", "Now guess"))
    other = whorl("resume", stopped[1], "--budget", "+1")

    assert (same.exit_code, other.exit_code) == (0, 0)
    assert "has changed since" not in same.stdout + same.stderr
    notice = other.stdout + other.stderr
    assert "guess.yaml has changed since this run began" in notice
    assert f"to use the new one: `whorl experiment run {FILE}`" in notice
