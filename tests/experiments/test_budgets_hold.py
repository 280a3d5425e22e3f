"""Budgets of experiments hold, on a server whose answers are longer than what is reserved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from experiments.guess import EXPERIMENT, folder, run_json, whorl
from experiments.served import SERVED, Billed, billed

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]

FILE = "guess.experiment.yaml"
LOOP = """
whorl: 1
name: guess
inputs: {n: integer}
steps:
  polish:
    repeat:
      until: "iteration >= 3"
      at_most: 3
      steps: {write: {ask: "Guess {{ n }} now {{ iteration }}"}}
outputs: {text: "{{ polish.write }}"}
"""
ALONE = EXPERIMENT.replace(
    "variants:\n  longer: {loops: {polish: {at_most: 4, return: best}}}\n", ""
).replace("explore: {polish: 5}\n", "")
JUDGED = ALONE.replace(
    'grade: "(outputs.text | length) / 10"',
    'grade: {good: {judge: "It is short", of: "{{ outputs.text }} {{ case.n }}"}}',
)
# An answer of 3,000 tokens costs 30 cents, and the 1,024 that are reserved ten.
EACH_USD = 0.3001


def served(folder: Path, model: Billed, text: str = ALONE, cases: int = 12) -> None:
    (folder / "whorl.toml").write_text(SERVED.format(url=model.url))
    (folder / "guess.yaml").write_text(LOOP)
    (folder / FILE).write_text(text)
    (folder / "cases.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(cases)))


def ran(*words: str) -> tuple[int, Any]:
    done = whorl("experiment", "run", FILE, *words, "--json")
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize("budget", [0.5, 1.0, 3.0])
def test_trials_at_once_whose_answers_are_long_stay_within_the_budget(
    folder: Path, billed: Billed, budget: float
) -> None:
    served(folder, billed)

    code, found = ran("--budget", str(budget))

    assert code == 5
    assert billed.billed_usd <= budget + 1e-9
    assert found["spent_usd"] == pytest.approx(billed.billed_usd)
    assert found["done"] == int(budget / (3 * EACH_USD))
    assert {row["status"] for row in found["rows"] if row["grades"]} <= {"succeeded"}


def test_trials_of_unknown_price_wait_for_what_is_reserved_for_others(
    folder: Path, billed: Billed
) -> None:
    variants = "variants:\n  free: {model: free}\n"
    served(folder, billed, ALONE.replace("at_once: 6", "at_once: 2") + variants, cases=2)

    # After the first trial, the second has all that is left as its share.
    code, found = ran("--budget", "2.8")

    assert (code, found["done"]) == (0, 4)


def test_trials_that_the_budget_ended_are_no_result_and_go_on_with_more(
    folder: Path, billed: Billed
) -> None:
    served(folder, billed, cases=3)

    code, found = ran("--budget", "0.7")
    told = whorl("experiment", "report", FILE).stdout
    spent, billed_then = billed.billed_usd, billed.calls
    more, whole = ran("--budget", "9")
    again, same = ran("--budget", "9")
    answered = whorl("what-if", FILE, "--at-most", "2", "--check", "3")

    (cut,) = found["rows"]
    assert (code, more, again) == (5, 0, 0)
    assert (found["done"], found["cases"], billed_then) == (0, 0, 2)
    assert (cut["status"], cut["solved"], cut["grades"]) == ("paused", None, {})
    assert found["notes"] == ["the budget ended 1 trial of 'base': a larger one continues it"]
    assert found["notes"][0] in told
    assert spent <= 0.7
    # Nothing that was paid for is paid for again.
    assert billed.calls == 9
    assert [row["iterations"] for row in whole["rows"]] == [3, 3, 3]
    assert (whole["notes"], whole["done"]) == ([], 3)
    assert {row["run"] for row in same["rows"]} >= {cut["run"]}
    assert same["spent_usd"] == pytest.approx(billed.billed_usd)
    # Who gave it more money changed nothing of what another rule would have done.
    assert "3 answers replayed through the engine: all the same" in answered.stderr


def test_an_answer_that_the_budget_cut_is_no_result_and_is_asked_for_again(
    folder: Path, billed: Billed
) -> None:
    billed.tokens = 9_000
    served(folder, billed, cases=2)

    code, found = ran("--budget", "0.5")
    spent = billed.billed_usd
    more, whole = ran("--budget", "20")

    assert (code, more) == (5, 0)
    assert spent <= 0.5
    assert (found["done"], found["variants"]["base"]["failed"]) == (0, {})
    assert "the budget ended 1 trial" in found["notes"][0]
    assert [row["iterations"] for row in whole["rows"]] == [3, 3]
    assert whole["spent_usd"] == pytest.approx(billed.billed_usd)


@pytest.mark.parametrize("tokens", [3_000, 9_000])
@pytest.mark.parametrize("judged", [False, True])
def test_the_budget_that_is_advised_goes_on_until_all_is_done(
    folder: Path, billed: Billed, *, tokens: int, judged: bool
) -> None:
    billed.tokens = tokens
    served(folder, billed, JUDGED if judged else ALONE, cases=2)
    budget, told = 0.5, []

    while (done := whorl("experiment", "run", FILE, "--budget", str(budget))).exit_code == 5:
        assert billed.billed_usd <= budget + 1e-9
        told.append(done.stderr.rpartition("--budget +")[2].strip())
        assert f"${billed.billed_usd:.2f} of ${budget:.2f} spent; go on" in done.stderr
        # It is more each time, and what was paid for is not asked for once more.
        assert float(told[-1]) > budget
        budget = float(told[-1])

    assert done.exit_code == 0
    assert len(told) < 9
    found = run_json("experiment", "report", FILE)
    assert (found["done"], found["faults"]) == (2, [])
    assert all("asked for again" in note for note in found["notes"])
    assert found["spent_usd"] == pytest.approx(billed.billed_usd)
    assert billed.billed_usd <= budget + 1e-9


@pytest.mark.parametrize("at_once", [1, 6])
def test_a_server_that_keeps_to_no_limit_is_over_by_a_call_a_trial(
    folder: Path, billed: Billed, at_once: int
) -> None:
    billed.keeps = False
    billed.tokens = 12_000
    served(folder, billed, ALONE.replace("at_once: 6", f"at_once: {at_once}"))

    code, found = ran("--budget", "2.0")

    assert code == 5
    assert billed.billed_usd <= 2.0 + at_once * 1.2001
    assert found["spent_usd"] == pytest.approx(billed.billed_usd)


def test_enough_money_lets_all_trials_run_at_once_to_their_end(
    folder: Path, billed: Billed
) -> None:
    served(folder, billed)

    code, found = ran("--budget", "200")

    assert (code, found["done"], found["notes"]) == (0, 12, [])
    assert run_json("experiment", "report", FILE)["spent_usd"] == pytest.approx(12 * 3 * EACH_USD)


def test_exploring_that_the_budget_ended_goes_on_to_its_end_with_more(
    folder: Path, billed: Billed
) -> None:
    served(folder, billed, ALONE + "explore: {polish: 5}\n", cases=2)
    sweep = ("what-if", FILE, "--until", "iteration >= 4", "--at-most", "4")

    whole = run_json("experiment", "run", FILE, "--store", "free")
    # Each leaves less than what is reserved for an answer.
    for budget in ("0.69", "1.29", "1.89", "2.49"):
        code, found = ran("--budget", budget)
        assert (code, found["spent_usd"] <= float(budget)) == (5, True)
    code, last = ran("--budget", "9")

    names = ("case", "status", "grades", "iterations", "returned", "exit_reason", "cost_usd")
    rows = [[[row[n] for n in names] for row in one["rows"]] for one in (whole, last)]
    assert (code, rows[0]) == (0, rows[1])
    assert run_json(*sweep)["curve"] == run_json(*sweep, "--store", "free")["curve"]
    # The money was spent once.
    assert billed.calls == 2 * 2 * 5
