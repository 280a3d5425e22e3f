"""A loop that was extended goes on from where it stands, whenever a longer rule is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from experiments.guess import folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_advice import advised
from experiments.test_budgets_hold import ALONE, FILE, LOOP, served
from experiments.test_extending_again import rows

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]

# Its loops make 1, 2, 3 and 3 iterations.
UNEVEN = LOOP.replace('"iteration >= 3"', '"iteration > n"').replace(
    "      steps:", '      carry: {before: "{{ write }}"}\n      steps:'
)


def longer(most: int | str) -> tuple[str, ...]:
    """The command that asks for a rule of so many iterations."""
    return ("what-if", FILE, "--until", "iteration > 98", "--at-most", str(most))


def extended(most: int | str, budget: float = 9) -> tuple[str, ...]:
    return (*longer(most), "--extend", "--budget", f"{budget:g}")


def recorded(folder: Path, billed: Billed, flow: str = UNEVEN, more: str = "") -> None:
    billed.tokens = 50
    served(folder, billed, ALONE + more, cases=4)
    (folder / "guess.yaml").write_text(flow)
    run_json("experiment", "run", FILE)


def is_answered(most: int) -> bool:
    """Whether a rule of so many iterations is known in all runs, and replays to the same."""
    swept = run_json(*longer(most))
    checked = whorl(*longer(most), "--check", "4").stderr
    return "4 answers replayed through the engine: all the same" in checked and any(
        rule["iterations"] == rule["at_most"] == most for rule in swept["rules"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("is_explored", [False, True])
def test_every_longer_rule_goes_on_from_where_the_one_before_has_ended(
    folder: Path, billed: Billed, is_explored: bool
) -> None:
    recorded(folder, billed, more="explore: {polish: 2}\n" if is_explored else "")
    found = run_json("experiment", "report", FILE)
    made = 10 if is_explored else 9

    for most in (3, 4, 6):
        calls = billed.calls
        done = whorl(*extended(most))
        again = whorl(*extended(most))

        lacks = 4 * most - made
        assert (done.exit_code, billed.calls - calls) == (0, lacks)
        assert f"{lacks} iterations to record, about " in done.stderr
        assert again.exit_code == 0
        assert is_answered(most)
        assert billed.calls == calls + lacks
        made = 4 * most
    last = run_json("experiment", "report", FILE)
    assert rows(last) == rows(found)
    assert last["spent_usd"] == pytest.approx(billed.billed_usd)


@pytest.mark.slow
def test_an_extension_that_its_budget_stopped_goes_on_to_a_longer_rule(
    folder: Path, billed: Billed
) -> None:
    recorded(folder, billed)
    found = run_json("experiment", "report", FILE)
    assert whorl(*extended(3)).exit_code == 0
    billed.tokens = 1_000
    # What an iteration costs now is not known yet.
    stopped = whorl(*extended(4, 0.12))
    made = billed.calls

    done = whorl(*extended(6))

    assert stopped.exit_code == 5
    assert done.exit_code == 0
    assert is_answered(6)
    assert billed.calls - made >= 4 * 6 - made
    calls = billed.calls
    assert whorl(*extended(6)).exit_code == whorl(*extended(5)).exit_code == 0
    assert billed.calls == calls
    last = run_json("experiment", "report", FILE)
    assert rows(last) == rows(found)
    assert last["spent_usd"] == pytest.approx(billed.billed_usd)


def test_a_second_extension_that_got_no_answer_is_tried_again(folder: Path, billed: Billed) -> None:
    recorded(folder, billed)
    found = run_json("experiment", "report", FILE)
    assert whorl(*extended(3)).exit_code == 0
    billed.fails_at, billed.failing = "Guess 1 now 4", 99

    done = whorl(*extended(5))
    between = run_json("experiment", "report", FILE)
    billed.failing = 0
    rest = whorl(*advised(done.stderr))

    assert (done.exit_code, rest.exit_code) == (1, 0)
    assert "2 iterations not recorded: " in done.stderr
    assert "2 iterations to record" in rest.stderr
    assert rows(between) == rows(found)
    assert is_answered(5)
    assert billed.calls == 4 * 5
    assert rows(run_json("experiment", "report", FILE)) == rows(found)


COSTLY = UNEVEN.replace("name: guess\n", "name: guess\nbudget: {calls: 3}\n")


@pytest.mark.parametrize(
    ("flow", "most", "told"),
    [
        (COSTLY, "5", ("2 of 4 runs cannot go on: the calls budget of the run", "raise it in")),
        (UNEVEN, "{iterations: 5, time: 600s}", ("a time limit", "`explore: {polish: 5}`")),
    ],
    ids=["budget", "time"],
)
def test_a_loop_that_cannot_go_on_is_an_error_before_anything_is_paid(
    folder: Path, billed: Billed, flow: str, most: str, told: tuple[str, str]
) -> None:
    recorded(folder, billed, flow)
    calls = billed.calls

    done = whorl(*extended(most))

    assert done.exit_code not in (0, 5)
    assert all(words in done.stderr for words in told)
    assert billed.calls == calls


def test_a_trial_that_a_person_has_continued_is_left_out(folder: Path, billed: Billed) -> None:
    recorded(folder, billed)
    run = run_json("experiment", "report", FILE)["rows"][0]["run"]
    assert whorl("continue", run, "--iterations", "1").exit_code == 0

    done = whorl(*extended(4))

    assert done.exit_code == 0, done.stderr
    assert run in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("given", [("--at-most", "5"), ("--at-most", "1"), ("--return", "first")])
def test_a_rule_that_is_named_has_its_row_wherever_it_stands(
    folder: Path, billed: Billed, given: tuple[str, ...]
) -> None:
    recorded(folder, billed, more="explore: {polish: 4}\n")
    assert whorl(*extended(5)).exit_code == 0

    told = whorl("what-if", FILE, *given).stdout

    swept = run_json("what-if", FILE, *given)
    assert len(swept["rules"]) == 2
    assert all(f" {rule['rule']}  " in told for rule in swept["rules"])
    assert "4 exploring runs of up to 5 iterations" in told
