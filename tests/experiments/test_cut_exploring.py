"""What a budget cuts while a loop explores is no result, and what goes on goes on exploring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from experiments.guess import folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_advice import advised
from experiments.test_budgets_hold import ALONE, EACH_USD, FILE, LOOP, ran, served

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]

TWO = LOOP.replace("iteration >= 3", "iteration >= 2").replace("at_most: 3", "at_most: 2")
GOES_ON = TWO.replace("      steps:", "      on_failure: continue\n      steps:")
EXPLORING = ALONE.replace("at_once: 6", "at_once: 1") + "explore: {polish: 4}\n"
ALL = ("what-if", FILE, "--until", "iteration >= 4", "--at-most", "4")
CUT = "the budget of the run: raise trial_budget, then run all anew: whorl"


def explored(folder: Path, billed: Billed, flow: str = TWO, more: str = "", cases: int = 2) -> None:
    """An experiment whose loops end after two iterations, and explore four."""
    served(folder, billed, EXPLORING + more, cases=cases)
    (folder / "guess.yaml").write_text(flow)


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("budget", [0.75, 1.05])
@pytest.mark.parametrize("flow", [TWO, GOES_ON], ids=["halts", "goes on"])
def test_an_answer_that_is_cut_while_exploring_is_asked_for_again_with_a_larger_budget(
    folder: Path, billed: Billed, flow: str, budget: float
) -> None:
    explored(folder, billed, flow)

    code, found = ran("--budget", str(budget))
    told, calls = whorl("experiment", "report", FILE).stdout, billed.calls
    before = whorl(*ALL)
    more, whole = ran("--budget", "20")
    swept, checked = run_json(*ALL), whorl(*ALL, "--check", "2")
    again, _ = ran("--budget", "20")

    assert (code, more, again) == (5, 0, 0)
    assert billed.calls > calls
    assert found["spent_usd"] <= budget
    assert "the budget ended 1 trial of 'base': a larger one continues it" in told
    assert "failed in the loop" not in before.stdout
    names = ("status", "iterations", "returned", "exit_reason")
    rows = [[row[name] for name in names] for row in whole["rows"]]
    assert rows == [["succeeded", 2, 2, "condition_met"]] * 2
    assert [row["cost_usd"] for row in whole["rows"]] == pytest.approx([2 * EACH_USD] * 2)
    assert whole["spent_usd"] == pytest.approx(billed.billed_usd)
    # Two runs of four iterations, and the answer that was cut.
    assert billed.calls == 2 * 4 + 1
    # A run under that rule would not have paid for it.
    (rule,) = [rule for rule in swept["rules"] if rule["iterations"] == 4]
    assert rule["cost_usd"] == pytest.approx(4 * EACH_USD)
    assert "2 answers replayed through the engine: all the same" in checked.stderr
    assert "failed in the loop" not in checked.stdout


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [1_500, 3_000])
def test_the_budget_that_is_advised_goes_on_exploring_until_all_is_done(
    folder: Path, billed: Billed, tokens: int
) -> None:
    billed.tokens, billed.grows_by = tokens, 100
    explored(folder, billed, cases=4)
    (folder / FILE).write_text(EXPLORING.replace("at_once: 1", "at_once: 4"))
    words, times = ["experiment", "run", FILE, "--budget", "0.75"], 0

    while (done := whorl(*words)).exit_code == 5:
        spent = run_json("experiment", "report", FILE)["spent_usd"]
        assert spent == pytest.approx(billed.billed_usd)
        assert spent <= float(words[-1].lstrip("+")) + 1e-9
        calls, words, times = billed.calls, advised(done.stderr), times + 1
        assert "failed in the loop" not in whorl(*ALL).stdout
        assert billed.calls == calls

    swept = run_json(*ALL)
    assert (done.exit_code, times < 9) == (0, True)
    assert swept["runs"] == 4
    assert 4 in {rule["iterations"] for rule in swept["rules"]}
    checked = whorl(*ALL, "--check", "4")
    assert "4 answers replayed through the engine: all the same" in checked.stderr


def test_trials_that_the_budget_ended_while_exploring_are_counted_with_what_helps(
    folder: Path, billed: Billed
) -> None:
    billed.tokens = 1_000
    explored(folder, billed)
    ran("--budget", "0.45")
    billed.tokens = 3_000
    # Two answers of the second trial fit, and the third is cut.
    code, _ = ran("--budget", "1.3")

    told = whorl(*ALL)
    more = whorl(*advised(told.stdout))
    whole = whorl(*ALL)

    assert code == 5
    words = "1 of 2 trials are in these numbers: the budget ended 1; a larger one goes on with it"
    assert f"{words}: whorl" in told.stdout
    assert "failed in the loop" not in told.stdout
    assert "anew" not in told.stdout
    assert more.exit_code == 0
    assert "are in these numbers" not in whole.stdout


@pytest.mark.parametrize("flow", [TWO, GOES_ON], ids=["halts", "goes on"])
def test_an_answer_that_a_trial_budget_cuts_while_exploring_is_not_known(
    folder: Path, billed: Billed, flow: str
) -> None:
    explored(folder, billed, flow, "trial_budget: 0.75\n")

    found = run_json("experiment", "run", FILE)
    cut = whorl(*ALL)
    own = run_json("what-if", FILE)
    (folder / FILE).write_text(EXPLORING + "trial_budget: 9\n")
    fresh = whorl(*advised(cut.stdout + cut.stderr))
    whole = run_json(*ALL)

    assert [row["iterations"] for row in found["rows"]] == [2, 2]
    assert {row["status"] for row in found["rows"]} == {"succeeded"}
    assert "failed in the loop" not in cut.stdout
    assert f"2 of 2 trials were cut by {CUT}" in cut.stdout
    assert "--fresh" in cut.stdout
    assert {rule["iterations"] for rule in own["rules"]} <= {1, 2}
    assert fresh.exit_code == 0
    assert 4 in {rule["iterations"] for rule in whole["rules"]}


@pytest.mark.parametrize("budget", [0.45, 0.65])
@pytest.mark.parametrize("tokens", [3_000, 5_000])
def test_a_trial_that_the_budget_stopped_within_its_rule_goes_on_exploring_with_a_larger_one(
    folder: Path, billed: Billed, budget: float, tokens: int
) -> None:
    billed.tokens = tokens
    explored(folder, billed)

    code, _ = ran("--budget", str(budget))
    more, whole = ran("--budget", "30")
    swept = run_json(*ALL)

    assert (code, more) == (5, 0)
    assert [row["iterations"] for row in whole["rows"]] == [2, 2]
    assert 4 in {rule["iterations"] for rule in swept["rules"]}
    assert swept["runs"] == 2
    checked = whorl(*ALL, "--check", "2")
    assert "2 answers replayed through the engine: all the same" in checked.stderr


@pytest.mark.parametrize("budget", ["0.45", "0.32"])
def test_a_trial_that_its_own_budget_stopped_within_its_rule_goes_on_exploring_with_a_larger_one(
    folder: Path, billed: Billed, budget: str
) -> None:
    explored(folder, billed, more=f"trial_budget: {budget}\n")

    whorl("experiment", "run", FILE)
    (folder / FILE).write_text(EXPLORING + "trial_budget: 9\n")
    whole = run_json("experiment", "run", FILE)
    swept = run_json(*ALL)

    assert [row["iterations"] for row in whole["rows"]] == [2, 2]
    assert {row["status"] for row in whole["rows"]} == {"succeeded"}
    assert 4 in {rule["iterations"] for rule in swept["rules"]}
    checked = whorl(*ALL, "--check", "2")
    assert "2 answers replayed through the engine: all the same" in checked.stderr


def test_a_failure_of_the_provider_while_exploring_is_no_result_of_the_loop(
    folder: Path, billed: Billed
) -> None:
    explored(folder, billed)
    billed.fails_at, billed.failing = "Guess 1 now 3", 99

    found = run_json("experiment", "run", FILE)
    told = whorl(*ALL)

    assert [row["status"] for row in found["rows"]] == ["succeeded"] * 2
    assert "failed in the loop" not in told.stdout
    assert "iteration 3 was unanswered" in told.stdout
