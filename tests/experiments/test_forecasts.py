"""What is forecast is what comes, as far as that can be known from what was paid already."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from experiments.guess import folder, whorl
from experiments.served import Billed, billed
from experiments.test_budgets_hold import ALONE, FILE, JUDGED, ran, served

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]


def forecast(text: str) -> float:
    """The dollars of the line that comes before everything else."""
    found = re.search(r"at most about \$([0-9.]+)", text.splitlines()[0])
    assert found is not None, text
    return float(found[1])


# Three answers are reckoned with 31 cents, and cost 90.
@pytest.mark.sample(2)
@pytest.mark.parametrize("text", [ALONE, JUDGED], ids=["free", "judged"])
@pytest.mark.parametrize("budget", ["0.7", "1.6", "3.1"])
def test_trials_that_go_on_or_follow_dear_ones_are_forecast_by_what_was_paid(
    folder: Path, billed: Billed, text: str, budget: str
) -> None:
    served(folder, billed, text, cases=4)
    code, found = ran("--budget", budget)
    before = billed.billed_usd

    done = whorl("experiment", "run", FILE, "--budget", "99")

    paid = billed.billed_usd - before
    assert (code, done.exit_code, found["done"]) == (5, 0, int(float(budget) / 0.9 / LONGER[text]))
    # Where none has ended, those that have not begun are reckoned by their files.
    least = paid if found["done"] else 0.6 + 3 * 0.31
    assert least - 0.01 <= forecast(done.stderr) < 1.5 * paid


LONGER = {ALONE: 1, JUDGED: 4 / 3}


def test_a_trial_that_was_interrupted_is_forecast_by_what_it_lacks(
    folder: Path, billed: Billed
) -> None:
    """Nothing of it has cost more than was reckoned."""
    billed.tokens = 1_000
    served(folder, billed, cases=2)
    ran("--budget", "0.5")
    before = billed.billed_usd

    done = whorl("experiment", "run", FILE, "--budget", "99")

    paid = billed.billed_usd - before
    assert paid <= forecast(done.stderr) < 1.5 * paid
