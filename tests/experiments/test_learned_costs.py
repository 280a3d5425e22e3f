"""What trials have cost says what the next ones need, where their worst case is far more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from experiments.guess import folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_budgets_hold import ALONE, FILE, JUDGED, LOOP, ran, served
from experiments.test_extending_money import LONGER
from whorl.services.experiments.what_if.extending import mean_usd
from whorl.services.experiments.what_if.facts import Call

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]

# The worst case of a trial is known: three answers of 4,000 tokens cost $1.20.
LIMITED = LOOP.replace('iteration }}"}', 'iteration }}", max_tokens: 4000}')


def limited(folder: Path, model: Billed, text: str = ALONE, cases: int = 12) -> None:
    served(folder, model, text, cases)
    (folder / "guess.yaml").write_text(LIMITED)


@pytest.mark.slow
@pytest.mark.parametrize("text", [ALONE, JUDGED])
def test_trials_that_are_far_cheaper_than_their_worst_case_all_run(
    folder: Path, billed: Billed, text: str
) -> None:
    billed.tokens = 100
    limited(folder, billed, text)

    code, found = ran("--budget", "1.4")

    assert (code, found["done"]) == (0, 12)
    assert billed.billed_usd < 1


def test_the_first_trial_needs_its_worst_case(folder: Path, billed: Billed) -> None:
    billed.tokens = 100
    limited(folder, billed)

    code, found = ran("--budget", "1")

    assert (code, found["done"], billed.calls) == (5, 0, 0)


def test_a_trial_budget_is_what_every_trial_needs(folder: Path, billed: Billed) -> None:
    billed.tokens = 100
    limited(folder, billed, ALONE + "trial_budget: 1.50\n")

    code, found = ran("--budget", "1.6")

    assert code == 5
    assert 0 < found["done"] < 12


@pytest.mark.slow
@pytest.mark.parametrize("budget", [1.5, 3.0])
def test_trials_that_become_dearer_stay_within_the_budget(
    folder: Path, billed: Billed, budget: float
) -> None:
    billed.tokens, billed.grows_by = 100, 60
    limited(folder, billed)

    code, found = ran("--budget", str(budget))
    spent = billed.billed_usd
    more, whole = ran("--budget", "99")

    assert code == 5
    assert spent <= budget
    assert found["spent_usd"] == pytest.approx(spent)
    assert (more, whole["done"]) == (0, 12)
    assert {row["iterations"] for row in whole["rows"]} == {3}


@pytest.mark.slow
@pytest.mark.parametrize("grows_by", [0, 60])
def test_iterations_that_are_recorded_later_need_what_they_cost(
    folder: Path, billed: Billed, grows_by: int
) -> None:
    billed.tokens = 100
    limited(folder, billed, cases=4)
    run_json("experiment", "run", FILE)
    before, billed.grows_by = billed.billed_usd, grows_by

    done = whorl(*LONGER, "--budget", "0.85")

    assert "not recorded" not in done.stderr
    assert billed.billed_usd - before <= 0.85
    assert "nothing to record" in whorl(*LONGER, "--budget", "1").stderr


def test_what_recording_more_will_cost_is_told_by_what_was_recorded(
    folder: Path, billed: Billed
) -> None:
    billed.tokens = 100
    limited(folder, billed, cases=4)
    run_json("experiment", "run", FILE)
    before = billed.billed_usd

    told = whorl(*LONGER, "--budget", "9").stderr

    found = re.search(r"8 iterations to record, about \$([0-9.]+)", told)
    assert found is not None, told
    assert float(found[1]) == pytest.approx(billed.billed_usd - before, abs=0.011)


def test_calls_in_doubt_are_in_no_mean() -> None:
    known, open_ = Call(usage={"cost_usd": 0.01}), Call(usage={"cost_usd": 5.0}, is_in_doubt=True)

    assert mean_usd([known, open_, known]) == pytest.approx(0.01)
    assert mean_usd([open_]) == 0.0
