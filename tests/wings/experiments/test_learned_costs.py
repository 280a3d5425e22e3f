"""What trials will cost is told by what others have cost, and what nobody knows yet is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.guess import FILE, PLAIN, dies_at, run_json, whorl
from experiments.served import ALONE, EACH_USD, JUDGED, LOOP, Billed, ran, served

# The worst case of a trial is known: three answers of 4,000 tokens cost $1.20.
LIMITED = LOOP.replace('iteration }}"}', 'iteration }}", max_tokens: 4000}')


def limited(model: Billed, text: str = ALONE, cases: int = 12) -> None:
    served(model, text, cases=cases, flow=LIMITED)


@pytest.mark.slow
@pytest.mark.parametrize("text", [ALONE, JUDGED])
def test_trials_cheaper_than_their_worst_case_all_run(billed: Billed, text: str) -> None:
    billed.tokens = 100
    limited(billed, text)

    code, found = ran("--budget", "1.4")

    assert (code, found["done"]) == (0, 12)
    assert billed.billed_usd < 1


def test_the_first_trial_needs_its_worst_case_and_every_one_a_trial_budget(billed: Billed) -> None:
    billed.tokens = 100
    limited(billed)

    code, found = ran("--budget", "1")
    assert (code, found["done"], billed.calls) == (5, 0, 0)

    Path(FILE).write_text(ALONE + "trial_budget: 1.50\n")
    code, found = ran("--budget", "1.6")
    assert code == 5
    assert 0 < found["done"] < 12


@pytest.mark.slow
@pytest.mark.parametrize("budget", [1.5, 3.0])
def test_trials_that_become_dearer_stay_within_the_budget(billed: Billed, budget: float) -> None:
    billed.tokens, billed.grows_by = 100, 60
    limited(billed)

    code, found = ran("--budget", str(budget))
    spent = billed.billed_usd
    more, whole = ran("--budget", "99")

    assert code == 5
    assert spent <= budget
    assert found["spent_usd"] == pytest.approx(spent)
    assert (more, whole["done"]) == (0, 12)
    assert {row["iterations"] for row in whole["rows"]} == {3}


def forecast(text: str) -> float:
    """The dollars of the line that comes before everything else."""
    found = re.search(r"at most about \$([0-9.]+)", text.splitlines()[0])
    assert found is not None, text
    return float(found[1])


# Three answers are reckoned with 31 cents, and cost 90.
@pytest.mark.sample(2)
@pytest.mark.parametrize("text", [ALONE, JUDGED], ids=["free", "judged"])
@pytest.mark.parametrize("budget", ["0.7", "1.6", "3.1"])
def test_trials_are_forecast_by_what_was_paid(billed: Billed, text: str, budget: str) -> None:
    served(billed, text, cases=4)
    code, found = ran("--budget", budget)
    before = billed.billed_usd

    done = whorl("experiment", "run", FILE, "--budget", "99")

    paid = billed.billed_usd - before
    assert (code, done.exit_code, found["done"]) == (5, 0, int(float(budget) / 0.9 / SHARES[text]))
    # Where none has ended, those that have not begun are reckoned by their files.
    least = paid if found["done"] else 0.6 + 3 * 0.31
    assert least - 0.01 <= forecast(done.stderr) < 1.5 * paid


SHARES = {ALONE: 1, JUDGED: 4 / 3}


def test_a_trial_that_was_interrupted_is_forecast_by_what_it_lacks(billed: Billed) -> None:
    """Nothing of it has cost more than was reckoned."""
    billed.tokens = 1_000
    served(billed, cases=2)
    ran("--budget", "0.5")
    before = billed.billed_usd

    done = whorl("experiment", "run", FILE, "--budget", "99")

    paid = billed.billed_usd - before
    assert paid <= forecast(done.stderr) < 1.5 * paid


DOUBT = "costs contain what was reserved for calls in doubt: 1 call of 1 trial"
OPEN = "a process ended during 1 call of 1 run: nobody knows their cost, and it is not in the costs"


def test_a_report_right_after_a_crash_counts_the_calls_that_are_open() -> None:
    Path("cases.csv").write_text("n\n1\n")
    text = PLAIN.replace("at_once: 6", "at_once: 1")
    Path(FILE).write_text(text)
    seen = 0

    for at in range(2, 9):
        words = ("experiment", "run", FILE, "--store", f"s{at}")
        assert dies_at(at, words)
        before = run_json("experiment", "report", FILE, "--store", f"s{at}")["notes"]
        after = run_json(*words)["notes"]
        assert OPEN not in after
        assert (OPEN in before) == (DOUBT in after)
        seen += OPEN in before

    assert seen


@pytest.mark.parametrize("words", [("run", FILE), ("gate", FILE, "--against", "other")])
def test_what_is_paused_tells_what_is_in_doubt(billed: Billed, words: tuple[str, ...]) -> None:
    variants = "variants:\n  other: {inputs: {n: 1}}\n"
    served(billed, ALONE.replace("at_once: 6", "at_once: 1") + variants, cases=2)
    asked = ("experiment", *words, "--budget", "1")

    # The first call has begun, and its answer is not written.
    assert dies_at(3, asked)
    done = whorl(*asked)

    runs = run_json("ls", "--all")
    assert (done.exit_code, sum(run["in_doubt"] for run in runs)) == (5, 1)
    told = r"budget: .* spent, of which \$([0-9.]+) is reserved for 1 call in doubt, whose cost"
    found = re.search(told, done.stderr)
    assert found is not None, done.stderr
    # All others are counted as they were billed.
    others = sum(run["calls"] for run in runs) - 1
    spent = sum(run["cost_usd"] for run in runs)
    assert spent - float(found[1]) == pytest.approx(others * EACH_USD, abs=0.006)
