"""What `--extend` pays for is graded as well, within the same budget, and once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from experiments.guess import dies_at, folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_advice import advised
from experiments.test_budgets_hold import FILE, JUDGED, LOOP, served

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]

RULE = ("--until", "iteration >= 5", "--at-most", "5")
LONGER = ("what-if", FILE, *RULE, "--extend")
# Each iteration gives something else, so that none shares a grading.
NUMBERED = LOOP.replace("{write: {", '{number: {value: "{{ iteration }}"}, write: {').replace(
    "{{ polish.write }}", "{{ polish.write }} {{ polish.number }}"
)
LATE_USD = 0.0051


def recorded(folder: Path, billed: Billed, text: str = JUDGED, cases: int = 3) -> None:
    """An experiment with a grader that is paid, whose loops made three iterations."""
    billed.tokens = 50
    served(folder, billed, text, cases=cases)
    (folder / "guess.yaml").write_text(NUMBERED)
    run_json("experiment", "run", FILE)


def told(text: str) -> list[str]:
    """What is said to be recorded, in order."""
    return re.findall(r"^(\d+ \w+) to record", text, re.MULTILINE)


def test_what_a_rule_returns_is_graded_and_paid_once(folder: Path, billed: Billed) -> None:
    recorded(folder, billed)
    before, calls = billed.billed_usd, billed.calls

    done = whorl(*LONGER, "--budget", "9")
    paid, made = billed.billed_usd - before, billed.calls - calls
    again = whorl(*LONGER, "--budget", "9")
    swept = run_json("what-if", FILE, *RULE)

    assert (done.exit_code, again.exit_code) == (0, 0)
    assert told(done.stderr) == ["6 iterations", "3 gradings"]
    assert f"3 gradings to record, about ${3 * LATE_USD:.4f}; at most $" in done.stderr
    assert "has no grade" not in done.stdout + done.stderr
    # Two iterations of each run, and a grading of the last one.
    assert (made, paid) == (9, pytest.approx(9 * LATE_USD))
    assert (again.stderr, billed.calls) == ("nothing to record\n", calls + made)
    assert [rule["grade"] for rule in swept["rules"] if rule["iterations"] == 5] == [1]
    report = run_json("experiment", "report", FILE)
    assert report["spent_usd"] == pytest.approx(billed.billed_usd)
    assert whorl("experiment", "run", FILE).exit_code == 0
    assert billed.calls == calls + made


def test_an_iteration_that_is_there_already_is_graded_alone(folder: Path, billed: Billed) -> None:
    recorded(folder, billed)
    rule = ("what-if", FILE, "--until", "iteration >= 2", "--at-most", "2")
    calls = billed.calls

    shown = whorl(*rule)
    asked = whorl(*advised(shown.stderr))
    refused = billed.calls
    done = whorl(*advised(asked.stderr))

    assert "an iteration that it returns has no grade" in shown.stdout
    assert advised(shown.stderr)[2:] == [*rule, "--extend"]
    assert (asked.exit_code, refused) == (2, calls)
    assert "error[X111]: 3 gradings to record, about $0.0153, and no budget" in asked.stderr
    assert (done.exit_code, billed.calls) == (0, calls + 3)
    assert told(done.stderr) == ["3 gradings"]
    assert "has no grade" not in done.stdout


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize("budget", ["0", "0.02", "0.11", "0.14"])
def test_gradings_stay_within_the_budget_and_the_command_that_is_told_goes_on(
    folder: Path, billed: Billed, budget: str
) -> None:
    recorded(folder, billed)
    before = billed.billed_usd
    done, times = whorl(*LONGER, "--budget", budget), 0

    assert done.exit_code == 5
    assert told(done.stderr) == ["6 iterations", "3 gradings"]
    assert billed.billed_usd - before <= float(budget) + 1e-9
    while done.exit_code == 5:
        assert re.search(r"gradings? not recorded; go on with: ", done.stderr)
        calls, times = billed.calls, times + 1
        done = whorl(*advised(done.stderr))
        assert billed.calls > calls

    assert (done.exit_code, times < 4) == (0, True)
    assert "not recorded" not in done.stderr
    assert run_json("experiment", "report", FILE)["spent_usd"] == pytest.approx(billed.billed_usd)
    assert "nothing to record" in whorl(*LONGER, "--budget", "9").stderr


def test_without_a_budget_gradings_that_will_be_missing_are_told(
    folder: Path, billed: Billed
) -> None:
    recorded(folder, billed, cases=2)

    asked = whorl(*LONGER)

    assert asked.exit_code == 2
    assert "error[X111]: 4 iterations, 2 gradings to record, about $0.0306, and" in asked.stderr
    assert whorl(*advised(asked.stderr)).exit_code == 0


@pytest.mark.sample(5)
@pytest.mark.parametrize("at", [4, 9, 14, 19, 24])
def test_a_crash_while_grading_is_gone_on_with(folder: Path, billed: Billed, at: int) -> None:
    recorded(folder, billed, cases=2)
    calls = billed.calls

    has_died = dies_at(at, (*LONGER, "--budget", "9"))
    done = whorl(*LONGER, "--budget", "9")

    assert done.exit_code == 0
    assert "has no grade" not in done.stdout
    assert billed.calls - calls >= 6
    # What the crash has lost the answer of is asked for once more.
    assert billed.calls - calls <= 6 + 2 * has_died
    assert "nothing to record" in whorl(*LONGER, "--budget", "9").stderr


def test_a_grading_that_the_provider_failed_is_tried_again_by_the_next_one(
    folder: Path, billed: Billed
) -> None:
    recorded(folder, billed)
    billed.fails_at, billed.failing = " 5 1", 4

    done = whorl(*LONGER, "--budget", "9")
    rest = whorl(*advised(done.stderr))

    assert (done.exit_code, billed.failing) == (1, 0)
    assert "1 grading not recorded: " in done.stderr
    assert (rest.exit_code, told(rest.stderr)) == (0, ["1 grading"])
    assert "has no grade" not in rest.stdout


def test_what_people_grade_waits_for_them(folder: Path, billed: Billed) -> None:
    text = JUDGED.replace('judge: "It is short", of:', 'person: "Good?", show:')
    recorded(folder, billed, text, cases=2)

    done = whorl(*LONGER, "--budget", "9")

    assert told(done.stderr) == ["4 iterations", "2 gradings"]
    assert "a person has to grade" in done.stderr
    assert "nothing to record" in whorl(*LONGER, "--budget", "9").stderr
