"""An experiment that is run anew, and that its budget ends before anything of it has begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from experiments.guess import folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_advice import advised
from experiments.test_budgets_hold import FILE, served

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]


@pytest.mark.slow
@pytest.mark.parametrize("budget", ["0.01", "0.2", "1.2"])
def test_the_command_that_goes_on_with_a_fresh_experiment_runs_it(
    folder: Path, billed: Billed, budget: str
) -> None:
    served(folder, billed, cases=3)
    run_json("experiment", "run", FILE)
    calls, times = billed.calls, 0

    done = whorl("experiment", "run", FILE, "--fresh", "--budget", budget)
    assert done.exit_code == 5
    assert ("0 of 3 trials done" in done.stderr) == (float(budget) < 0.9)
    while done.exit_code == 5 and times < 5:
        before = billed.calls
        done, times = whorl(*advised(done.stderr)), times + 1
        assert billed.calls > before

    assert (done.exit_code, 0 < times < 5) == (0, True)
    assert billed.calls >= 2 * calls
