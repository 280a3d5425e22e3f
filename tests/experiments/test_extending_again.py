"""What an extension did not get an answer for is no result: the next one asks for it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from experiments.guess import folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_advice import advised
from experiments.test_budgets_hold import FILE, LOOP, served
from experiments.test_extending_money import JUDGING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]

LONGER = ("what-if", FILE, "--until", "iteration >= 6", "--at-most", "6", "--extend")
GOES_ON = LOOP.replace("      steps:", "      on_failure: continue\n      steps:")


def recorded(folder: Path, billed: Billed, cases: int = 8, flow: str = LOOP) -> None:
    """An experiment whose loops made three iterations, with short answers."""
    billed.tokens = 50
    served(folder, billed, cases=cases)
    (folder / "guess.yaml").write_text(flow)
    run_json("experiment", "run", FILE)


def rows(report: Any) -> list[Any]:
    """What a report says of each trial; not how long it took."""
    names = ("case", "run", "status", "grades", "solved", "iterations", "returned", "exit_reason")
    return [[*(row[name] for name in names), round(row["cost_usd"], 9)] for row in report["rows"]]


@pytest.mark.slow
@pytest.mark.parametrize("flow", [LOOP, GOES_ON], ids=["halts", "goes on"])
def test_an_iteration_whose_answer_the_budget_cut_is_no_result_and_is_asked_for_again(
    folder: Path, billed: Billed, flow: str
) -> None:
    recorded(folder, billed, flow=flow)
    found = run_json("experiment", "report", FILE)
    before, billed.tokens = billed.billed_usd, 1_500
    done, times = whorl(*LONGER, "--budget", "0.3"), 0
    assert billed.billed_usd - before <= 0.3 + 1e-9

    while done.exit_code == 5:
        assert "not recorded; go on with: " in done.stderr
        assert "failed in the loop" not in done.stdout
        between = run_json("experiment", "report", FILE)
        assert rows(between) == rows(found)
        assert between["spent_usd"] == pytest.approx(billed.billed_usd)
        calls, times = billed.calls, times + 1
        done = whorl(*advised(done.stderr))
        assert billed.calls > calls

    assert (done.exit_code, 0 < times < 6) == (0, True)
    assert "not recorded" not in done.stderr
    assert "failed" not in done.stdout
    assert "nothing to record" in whorl(*LONGER, "--budget", "9").stderr
    last = run_json("experiment", "report", FILE)
    assert (rows(last), last["notes"]) == (rows(found), found["notes"])
    assert last["spent_usd"] == pytest.approx(billed.billed_usd)
    swept = run_json(*LONGER[:-1])
    # A run under that rule would not have paid for the answer that was cut.
    (rule,) = [rule for rule in swept["rules"] if rule["iterations"] == 6]
    assert rule["cost_usd"] == pytest.approx(3 * 0.0051 + 3 * 0.1501)
    checked = whorl(*LONGER[:-1], "--check", "8")
    assert "8 answers replayed through the engine: all the same" in checked.stderr


@pytest.mark.slow
@pytest.mark.parametrize("flow", [LOOP, GOES_ON], ids=["halts", "goes on"])
def test_an_iteration_that_the_provider_failed_is_tried_again_and_then_left_to_the_next_one(
    folder: Path, billed: Billed, flow: str
) -> None:
    recorded(folder, billed, cases=3, flow=flow)
    found = run_json("experiment", "report", FILE)
    billed.fails_at, billed.failing = "Guess 1 now 5", 99

    done = whorl(*LONGER, "--budget", "9")
    tried = 99 - billed.failing
    between = run_json("experiment", "report", FILE)
    billed.failing = 2
    rest = whorl(*advised(done.stderr))
    swept = run_json(*LONGER[:-1])

    assert (done.exit_code, tried) == (1, 4)
    assert "2 iterations not recorded: " in done.stderr
    assert "failed in the loop" not in done.stdout
    assert rows(between) == rows(found)
    assert (rest.exit_code, billed.failing) == (0, 0)
    assert "2 iterations to record" in rest.stderr
    assert "not recorded" not in rest.stderr
    assert billed.calls == 3 * 6
    assert rows(run_json("experiment", "report", FILE)) == rows(found)
    assert [rule["iterations"] for rule in swept["rules"] if rule["iterations"] > 3] == [6]


def test_votes_that_let_loops_go_on_are_followed_by_their_iterations(
    folder: Path, billed: Billed
) -> None:
    recorded(folder, billed, cases=3, flow=JUDGING)
    billed.says = "NO"
    rule = ("--until", '{judge: {question: "It is short", votes: 3}}', "--at-most", "4")

    done = whorl("what-if", FILE, *rule, "--extend", "--budget", "20")
    again = whorl("what-if", FILE, *rule, "--extend", "--budget", "20")

    told = [line.partition(",")[0] for line in done.stderr.splitlines() if "to record" in line]
    assert told[:2] == ["6 votes to record", "9 iterations to record"]
    assert (done.exit_code, again.exit_code) == (0, 0)
    assert again.stderr.splitlines() == ["nothing to record"]
    assert "would have gone on" not in again.stdout
    assert "not known" not in again.stdout
