"""Budgets hold where answers are longer than what is reserved; what they cut is no result."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.guess import FILE, FLOW, PLAIN, advised, run_json, whorl
from experiments.served import ALONE, EACH_USD, JUDGED, LOOP, Billed, ran, served

EXPLORING = ALONE + "explore: {polish: 5}\n"
# Three answers of 4,000 tokens at most cost $1.20.
LIMITED = LOOP.replace('iteration }}"}', 'iteration }}", max_tokens: 4000}')


@pytest.mark.parametrize("budget", [0.5, 1.0, 3.0])
def test_trials_at_once_with_long_answers_stay_within_it(billed: Billed, budget: float) -> None:
    served(billed)

    code, found = ran("--budget", str(budget))

    assert code == 5
    assert billed.billed_usd <= budget + 1e-9
    assert found["spent_usd"] == pytest.approx(billed.billed_usd)
    assert found["done"] == int(budget / (3 * EACH_USD))
    assert {row["status"] for row in found["rows"] if row["grades"]} <= {"succeeded"}


@pytest.mark.parametrize("own", ["", "trial_budget: 1.2012\n"])
def test_every_trial_needs_its_bound_to_be_left(billed: Billed, own: str) -> None:
    """However cheap those before it were: nothing is learned of them."""
    billed.tokens = 100
    served(billed, ALONE + own, flow=LIMITED)

    code, found = ran("--budget", "1.19")
    assert (code, found["done"], billed.calls) == (5, 0, 0)
    # A trial costs three cents, and $1.20 have to be left for it.
    code, found = ran("--budget", "1.35")
    assert (code, found["done"]) == (5, 5)
    assert ran("--budget", "2")[0] == 0
    assert billed.billed_usd < 1


def test_trials_that_the_budget_ended_have_no_result_and_continue_with_more(billed: Billed) -> None:
    served(billed, cases=3)

    code, found = ran("--budget", "0.7")
    told = whorl("experiment", "report", FILE).stdout
    spent, billed_then = billed.billed_usd, billed.calls
    more, whole = ran("--budget", "9")
    again, same = ran("--budget", "9")
    answered = whorl("experiment", "what-if", FILE, "--at-most", "2", "--check", "3")

    (cut,) = found["rows"]
    assert (code, more, again) == (5, 0, 0)
    assert (found["done"], found["cases"], billed_then) == (0, 0, 2)
    assert (cut["status"], cut["solved"], cut["grades"]) == ("paused", None, {})
    assert found["notes"] == [
        "1 trial of 'base': the budget was not enough; a larger one continues them"
    ]
    assert found["notes"][0] in told
    assert spent <= 0.7
    # Nothing that was paid for is paid for again.
    assert billed.calls == 9
    assert [row["iterations"] for row in whole["rows"]] == [3, 3, 3]
    assert (whole["notes"], whole["done"]) == ([], 3)
    assert {row["run"] for row in same["rows"]} >= {cut["run"]}
    assert same["spent_usd"] == pytest.approx(billed.billed_usd)
    # Who gave it more money changed nothing of what another rule would have done.
    assert "3 answers replayed through the engine: all the same" in answered.stderr


@pytest.mark.parametrize("tokens", [3_000, 9_000])
@pytest.mark.parametrize("text", [ALONE, JUDGED, EXPLORING], ids=["alone", "judged", "exploring"])
def test_the_advised_budget_suffices(billed: Billed, tokens: int, text: str) -> None:
    billed.tokens = tokens
    served(billed, text, cases=2)
    budget, told = 0.5, []

    while (done := whorl("experiment", "run", FILE, "--budget", str(budget))).exit_code == 5:
        assert billed.billed_usd <= budget + 1e-9
        told.append(done.stderr.rpartition("--budget +")[2].strip())
        assert f"${billed.billed_usd:.2f} of ${budget:.2f} spent\nnext: " in done.stderr
        # It is more each time, and what was paid for is not asked for once more.
        assert float(told[-1]) > budget
        budget = float(told[-1])

    assert done.exit_code == 0
    assert len(told) < 9
    found = run_json("experiment", "report", FILE)
    assert (found["done"], found["faults"]) == (2, [])
    assert found["notes"] == []
    assert found["spent_usd"] == pytest.approx(billed.billed_usd)
    assert billed.billed_usd <= budget + 1e-9


def runs_to_the_end(words: list[str]) -> bool:
    """Whether a command that was advised, and those that it advises, run the experiment."""
    for _ in range(9):
        done = whorl(*words)
        if done.exit_code == 0:
            return True
        assert done.exit_code == 5
        words = advised(done.stderr)
    return False


@pytest.mark.parametrize(
    ("text", "tokens", "own", "budget"),
    [(ALONE, 3_000, "", "1"), (JUDGED, 9_000, "budget: 1\n", "0.4")],
)
def test_a_report_names_a_budget_that_suffices(
    billed: Billed, text: str, tokens: int, own: str, budget: str
) -> None:
    billed.tokens = tokens
    served(billed, text + own, cases=3)
    paused = whorl("experiment", "run", FILE, *(("--budget", budget) if budget else ()))

    told = whorl("experiment", "report", FILE).stderr

    assert paused.exit_code == 5
    assert "next: " in told
    # Without one the command would spend as much as it takes.
    assert own or "--budget" in advised(told)
    assert runs_to_the_end(advised(told))


@pytest.mark.parametrize("budget", ["16", "0.7"])
def test_what_if_names_a_budget_where_it_is_the_reason(billed: Billed, budget: str) -> None:
    served(billed, ALONE + f"explore: {{polish: 4}}\nbudget: {budget}\n", cases=14)
    assert whorl("experiment", "run", FILE).exit_code == 5

    if budget == "16":
        told = run_json("experiment", "what-if", FILE)["not_recommended"]
        assert "before all trials have ended" in told
    else:
        told = whorl("experiment", "what-if", FILE, "--at-most", "2").stderr
        assert "error[R103]: no run of experiment 'guess' has ended yet: the budget" in told
    assert runs_to_the_end(advised(told))


# Each call reserves a hundred tokens, and takes a few.
TERSE = FLOW.replace('iteration }}"}', 'iteration }}", max_tokens: 100}').replace(
    "returns:", "max_tokens: 100, returns:"
)


def test_a_trial_that_is_resumed_by_hand_knows_which_command_uses_new_files() -> None:
    Path("guess.yaml").write_text(TERSE)
    Path(FILE).write_text(PLAIN + "trial_budget: 0.0105\n")
    stopped, *_ = [row["run"] for row in run_json("experiment", "run", FILE)["rows"]]
    Path("guess.yaml").write_text(TERSE.replace("Guess", "Now guess"))

    resumed = whorl("resume", stopped, "--budget", "+1")

    assert resumed.exit_code == 0
    words = f"to use the new one: `whorl --config whorl.toml experiment run {FILE}`"
    assert words in resumed.stdout + resumed.stderr
