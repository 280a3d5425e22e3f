"""Where a budget is why something is missing, the advice has one that is enough."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from experiments.guess import EXPERIMENT, FLOW, folder, run_json, whorl
from experiments.served import Billed, billed
from experiments.test_budgets_hold import ALONE, FILE, JUDGED, served

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "folder"]


def advised(text: str) -> list[str]:
    """The words of the last command in a text."""
    *_, found = re.finditer(r"whorl (--config [^`\n]*)", text)
    return shlex.split(found[1])


def goes_on(words: list[str], billed: Billed) -> bool:
    """Whether a command that was advised asks the model for something more."""
    before = billed.calls
    code = whorl(*words).exit_code
    assert code in (0, 5)
    return billed.calls > before


@pytest.mark.sample(5)
@pytest.mark.parametrize("budget", ["", "0.4", "0.9", "1.3", "2.0"])
@pytest.mark.parametrize("text", [ALONE, JUDGED], ids=["free", "judged"])
@pytest.mark.parametrize("tokens", [3_000, 9_000])
def test_a_report_of_what_the_budget_stopped_names_one_that_goes_on(
    folder: Path, billed: Billed, text: str, budget: str, tokens: int
) -> None:
    billed.tokens = tokens
    served(folder, billed, text + "budget: 1\n", cases=3)
    words = ("--budget", budget) if budget else ()
    paused = whorl("experiment", "run", FILE, *words)

    told = whorl("experiment", "report", FILE).stdout

    assert paused.exit_code == 5
    again = advised(paused.stderr)
    assert "next: " in told
    assert advised(told) == again
    assert goes_on(again, billed)


def test_a_budget_of_the_command_alone_is_named_again(folder: Path, billed: Billed) -> None:
    """Without one the command would spend as much as it takes."""
    served(folder, billed, cases=3)
    paused = whorl("experiment", "run", FILE, "--budget", "1")

    told = whorl("experiment", "report", FILE).stdout

    assert "--budget" in advised(told)
    assert advised(told) == advised(paused.stderr)
    assert goes_on(advised(told), billed)


def test_a_budget_that_is_smaller_than_that_of_the_file_needs_no_other_one(
    folder: Path, billed: Billed
) -> None:
    served(folder, billed, ALONE + "budget: 50\n", cases=3)

    paused = whorl("experiment", "run", FILE, "--budget", "1")

    assert paused.exit_code == 5
    assert advised(paused.stderr) == ["--config", "whorl.toml", "experiment", "run", FILE]
    assert whorl(*advised(paused.stderr)).exit_code == 0


def test_what_completes_the_trials_of_a_what_if_has_a_budget(folder: Path, billed: Billed) -> None:
    served(folder, billed, ALONE + "explore: {polish: 4}\nbudget: 16\n", cases=14)
    assert whorl("experiment", "run", FILE).exit_code == 5

    told = run_json("what-if", FILE)["not_recommended"]

    if "complete them" in told:
        assert goes_on(advised(told), billed)


@pytest.mark.parametrize("words", [("what-if", FILE), ("what-if", FILE, "--at-most", "2")])
def test_x109_names_a_budget_where_it_is_why_nothing_has_ended(
    folder: Path, billed: Billed, words: tuple[str, ...]
) -> None:
    served(folder, billed, ALONE + "budget: 0.7\n", cases=3)
    assert whorl("experiment", "run", FILE).exit_code == 5

    asked = whorl(*words)

    assert "error[X109]: no run of experiment 'guess' has ended yet: the budget" in asked.stderr
    assert goes_on(advised(asked.stderr), billed)


@pytest.mark.parametrize("explore", [True, False])
def test_x109_names_the_trial_budget_that_cut_the_trials(folder: Path, *, explore: bool) -> None:
    short = FLOW.replace('iteration }}"}', 'iteration }}", max_tokens: 100}')
    (folder / "guess.yaml").write_text(short.replace("returns:", "max_tokens: 100, returns:"))
    text = EXPERIMENT if explore else EXPERIMENT.replace("explore: {polish: 5}\n", "")
    (folder / FILE).write_text(text + "trial_budget: 0.005\n")
    run_json("experiment", "run", FILE)

    asked = whorl("what-if", FILE)
    (folder / FILE).write_text(text + "trial_budget: 1\n")
    again = whorl(*advised(asked.stderr))

    assert asked.exit_code == 2
    assert "; the trial_budget ended 12 of 12 trials early" in asked.stderr
    assert "= help: raise trial_budget, then: whorl " in asked.stderr
    assert again.exit_code == 0
    assert whorl("what-if", FILE).exit_code == 0


def test_the_gate_that_goes_on_is_as_strict_and_writes_the_same(
    folder: Path, billed: Billed
) -> None:
    served(folder, billed, ALONE + "variants:\n  other: {inputs: {n: 1}}\n", cases=2)
    gate = ("experiment", "gate", FILE, "--variant", "other", "--against", "base", "--strict")
    gate = (*gate, "--markdown", "--junit", "tests.xml", "--json")

    paused = whorl(*gate, "--budget", "1")

    again = advised(paused.stderr)
    assert paused.exit_code == 5
    assert again[:-1] == ["--config", "whorl.toml", *gate, "--budget"]
    assert whorl(*again[:-1], "50").exit_code == 1


def test_what_goes_on_with_a_run_for_a_program_is_for_one(folder: Path, billed: Billed) -> None:
    served(folder, billed, cases=3)

    paused = whorl("experiment", "run", FILE, "--fresh", "--budget", "1", "--json")

    again = advised(paused.stderr)
    assert paused.exit_code == 5
    assert "--json" in again
    assert "--fresh" not in again
