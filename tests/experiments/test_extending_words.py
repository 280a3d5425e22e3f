"""Recording that the budget stopped ends with 5, and names the command that goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from experiments.guess import folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_advice import advised
from experiments.test_budgets_hold import FILE, served
from experiments.test_extending_money import JUDGING, LONGER

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]

VOTES = ("judge", FILE, "--against", "grade", "--votes", "5")


@pytest.mark.slow
@pytest.mark.sample(3)
@pytest.mark.parametrize("words", [LONGER, VOTES], ids=["iterations", "votes"])
@pytest.mark.parametrize("tokens", [3_000, 9_000])
def test_recording_that_the_budget_stopped_names_a_budget_that_goes_on(
    folder: Path, billed: Billed, words: tuple[str, ...], tokens: int
) -> None:
    served(folder, billed, cases=3)
    if words is VOTES:
        (folder / "guess.yaml").write_text(JUDGING)
    run_json("experiment", "run", FILE)
    billed.tokens = tokens
    budget, times = 0.0, 0

    while (done := whorl(*words, "--budget", f"{budget:g}")).exit_code == 5:
        again, before = advised(done.stderr), billed.calls
        assert again[:-1] == ["--config", "whorl.toml", *words, "--budget"]
        assert float(again[-1]) > budget
        budget, times = float(again[-1]), times + 1
        assert "not recorded; go on with: " in done.stderr
        assert whorl(*again).exit_code in (0, 5)
        assert billed.calls > before

    assert done.exit_code == 0
    assert 0 < times < 6
    assert "not recorded" not in done.stderr


MORE = ("--check", "1", "--svg", "sweep.svg", "--csv", "--json")


@pytest.mark.parametrize(
    ("words", "more"), [(LONGER[:-1], MORE), (VOTES, ("--csv", "--json"))], ids=["what-if", "judge"]
)
def test_the_command_that_goes_on_has_all_options_but_the_budget(
    folder: Path, billed: Billed, words: tuple[str, ...], more: tuple[str, ...]
) -> None:
    served(folder, billed, cases=2)
    if words is VOTES:
        (folder / "guess.yaml").write_text(JUDGING)
    run_json("experiment", "run", FILE)
    given = (*words, *more) if words is VOTES else (*words, *more[:4], "--extend", *more[4:])

    done = whorl(*given, "--budget", "0")

    assert done.exit_code == 5
    again = advised(done.stderr)
    assert again[:-1] == ["--config", "whorl.toml", *given, "--budget"]
    assert whorl(*again).exit_code == 0


@pytest.mark.parametrize("words", [LONGER, VOTES], ids=["iterations", "votes"])
def test_without_a_budget_it_answers_where_nothing_is_missing_and_else_names_one(
    folder: Path, billed: Billed, words: tuple[str, ...]
) -> None:
    served(folder, billed, cases=2)
    if words is VOTES:
        (folder / "guess.yaml").write_text(JUDGING)
    run_json("experiment", "run", FILE)
    calls = billed.calls

    asked = whorl(*words)
    refused = billed.calls
    recorded = whorl(*advised(asked.stderr))
    paid = billed.calls
    again = whorl(*words)

    what = "8 votes" if words is VOTES else "4 iterations"
    assert (asked.exit_code, refused) == (2, calls)
    assert f"error[X111]: {what} to record, about $" in asked.stderr
    assert (recorded.exit_code, again.exit_code, billed.calls) == (0, 0, paid)
    assert paid > calls
    assert again.stdout.splitlines()[1:] == recorded.stdout.splitlines()[1:]


def test_only_what_is_missing_is_told(folder: Path, billed: Billed) -> None:
    served(folder, billed, cases=2)
    (folder / "guess.yaml").write_text(JUDGING)
    run_json("experiment", "run", FILE)
    votes = ("what-if", FILE, "--until", '{judge: {question: "It is short", votes: 3}}')

    done = whorl(*votes, "--at-most", "1", "--extend", "--budget", "50")
    judged = whorl(*VOTES, "--budget", "50")

    assert "4 votes to record" in done.stderr
    assert "4 votes to record" in judged.stderr
    assert "iteration" not in done.stderr + judged.stderr
