"""What a report says of costs that nobody knows yet, and of answers that were asked for again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from experiments.guess import EXPERIMENT, dies_at, folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_budgets_hold import ALONE, EACH_USD, FILE, served

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]

DOUBT = "costs contain what was reserved for calls in doubt: 1 call of 1 trial"
OPEN = "a process ended during 1 call of 1 run: nobody knows their cost, and it is not in the costs"


def test_a_report_right_after_a_crash_counts_the_calls_that_are_open(folder: Path) -> None:
    (folder / "cases.csv").write_text("n\n1\n")
    text = EXPERIMENT.replace("explore: {polish: 5}\n", "").replace("at_once: 6", "at_once: 1")
    (folder / FILE).write_text(text)
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


def test_answers_that_were_asked_for_again_are_counted(folder: Path, billed: Billed) -> None:
    billed.tokens = 9_000
    served(folder, billed, ALONE, cases=2)

    whorl("experiment", "run", FILE, "--budget", "0.5")
    before = run_json("experiment", "report", FILE)["notes"]
    found = run_json("experiment", "run", FILE, "--budget", "20")

    again = billed.calls - 2 * 3
    assert again
    assert not any("asked for again" in note for note in before)
    answers = "1 answer" if again == 1 else f"{again} answers"
    words = "that the budget cut, asked for again"
    assert f"the cost of 'base' contains {answers} {words}" in found["notes"]


@pytest.mark.parametrize("words", [("run", FILE), ("gate", FILE, "--against", "other")])
def test_what_is_paused_tells_what_is_reserved_for_calls_in_doubt(
    folder: Path, billed: Billed, words: tuple[str, ...]
) -> None:
    variants = "variants:\n  other: {inputs: {n: 1}}\n"
    served(folder, billed, ALONE.replace("at_once: 6", "at_once: 1") + variants, cases=2)
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
