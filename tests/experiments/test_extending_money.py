"""What is recorded later costs at most what is told, and a crash hides nothing that was found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from experiments.guess import dies_at, folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_budgets_hold import FILE, LOOP, served

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]

LONGER = ("what-if", FILE, "--until", "iteration >= 5", "--at-most", "5", "--extend")
JUDGING = LOOP.replace('"iteration >= 3"', '{judge: "It is short"}')


@pytest.mark.sample(4)
@pytest.mark.parametrize("budget", [0.0, 0.05, 0.7, 1.0])
def test_iterations_that_are_recorded_stay_within_the_budget_and_go_on(
    folder: Path, billed: Billed, budget: float
) -> None:
    served(folder, billed, cases=4)
    found = run_json("experiment", "run", FILE)
    before = billed.billed_usd

    some = whorl(*LONGER, "--budget", str(budget))
    paid = billed.billed_usd - before
    between = run_json("experiment", "report", FILE)
    rest = whorl(*LONGER, "--budget", "9")
    again = whorl(*LONGER, "--budget", "9")

    assert "8 iterations to record, about $" in some.stderr
    assert f"; at most ${budget:.2f}, the budget" in some.stderr
    assert "not recorded" in some.stderr
    assert "I900" not in some.stderr
    assert paid <= budget
    grades = [[row["grades"] for row in one["rows"]] for one in (found, between)]
    assert grades[0] == grades[1]
    assert between["spent_usd"] == pytest.approx(before + paid)
    assert rest.exit_code == 0
    assert "not recorded" not in rest.stderr
    # Nothing is recorded twice.
    assert billed.calls == 4 * 5
    assert "nothing to record" in again.stderr


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0.2, 1.0, 2.5])
def test_votes_that_are_asked_for_stay_within_the_budget(
    folder: Path, billed: Billed, budget: float
) -> None:
    served(folder, billed, cases=4)
    (folder / "guess.yaml").write_text(JUDGING)
    run_json("experiment", "run", FILE)
    before = billed.billed_usd
    asked = ("judge", FILE, "--against", "grade", "--votes", "5")

    some = whorl(*asked, "--budget", str(budget))
    paid = billed.billed_usd - before
    rest = whorl(*asked, "--budget", "50")
    again = whorl(*asked, "--budget", "50")

    assert re.search(r"16 votes to record, about \$[0-9.]+; at most \$", some.stderr)
    assert paid <= budget
    assert "I900" not in some.stderr
    assert rest.exit_code == 0
    assert "not recorded" not in rest.stderr
    assert "nothing to record" in again.stderr


@pytest.mark.slow
@pytest.mark.parametrize("at", [3, 6, 9])
def test_a_crash_while_recording_hides_no_result_and_the_next_one_tells_before_it_pays(
    folder: Path, billed: Billed, at: int
) -> None:
    served(folder, billed, cases=3)
    found = run_json("experiment", "run", FILE)
    assert dies_at(at, (*LONGER, "--budget", "9"))
    report = run_json("experiment", "report", FILE)
    swept = whorl("what-if", FILE, "--at-most", "2")
    more = run_json("experiment", "run", FILE)
    held = whorl(*LONGER, "--budget", "0")
    spent = run_json("experiment", "report", FILE)["spent_usd"]

    names = ("case", "status", "grades", "iterations", "exit_reason")
    rows = [[[row[n] for n in names] for row in one["rows"]] for one in (found, report, more)]
    assert rows[0] == rows[1] == rows[2]
    assert report["done"] == 3
    assert "3 exploring runs" in swept.stdout or "3 runs" in swept.stdout
    assert re.search("[1-6] iterations? to record, about", held.stderr)
    assert "not recorded" in held.stderr
    # Neither looking nor asking without a budget pays for anything.
    assert report["spent_usd"] == more["spent_usd"] == spent

    done = whorl(*LONGER, "--budget", "9")

    assert done.exit_code == 0
    assert "nothing to record" in whorl(*LONGER, "--budget", "9").stderr
