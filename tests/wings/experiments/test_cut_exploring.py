"""What a budget cuts while a loop explores is no result, and what goes on goes on exploring."""

from __future__ import annotations

from pathlib import Path

from experiments.guess import FILE, FLOW, PLAIN, run_json, whorl
from experiments.served import ALONE, LOOP, Billed, ran, served

TWO = LOOP.replace("iteration >= 3", "iteration >= 2").replace("at_most: 3", "at_most: 2")
EXPLORING = ALONE.replace("at_once: 6", "at_once: 1") + "explore: {polish: 4}\n"
ALL = ("experiment", "what-if", FILE, "--until", "iteration >= 4", "--at-most", "4")


def explored(billed: Billed, flow: str = TWO, more: str = "") -> None:
    """An experiment whose loops end after two iterations, and explore four."""
    served(billed, EXPLORING + more, cases=2)
    Path("guess.yaml").write_text(flow)


@pytest.mark.parametrize(
    ("tokens", "budget", "is_own", "flow"), [(5_000, 0.65, 0, TWO), (3_000, 0.32, 1, TWO)]
)
def test_a_stopped_trial_goes_on_exploring(
    billed: Billed, tokens: int, budget: float, is_own: int, flow: str
) -> None:
    """A larger budget, of the experiment or its own, ends the rule and explores all of it."""
    billed.tokens = tokens
    explored(billed, flow, f"trial_budget: {budget}\n" if is_own else "")

    code, _ = ran(*(() if is_own else ("--budget", str(budget))))
    if is_own:
        Path(FILE).write_text(EXPLORING + "trial_budget: 9\n")
    before = whorl(*ALL)
    more, whole = ran("--budget", "30")
    swept = run_json(*ALL)

    assert (code, more) == (0 if is_own else 5, 0)
    assert {(row["iterations"], row["status"]) for row in whole["rows"]} == {(2, "succeeded")}
    assert 4 in {rule["iterations"] for rule in swept["rules"]}
    assert swept["runs"] == 2
    assert whole["spent_usd"] == pytest.approx(billed.billed_usd)
    assert "failed in the loop" not in before.stdout
    checked = whorl(*ALL, "--check", "2")
    assert "2 answers replayed through the engine: all the same" in checked.stderr


def test_a_failure_of_the_provider_while_exploring_is_no_result_of_the_loop(billed: Billed) -> None:
    explored(billed)
    billed.fails_at, billed.failing = "Guess 1 now 3", 99

    found = run_json("experiment", "run", FILE)
    told = whorl(*ALL)

    assert [row["status"] for row in found["rows"]] == ["succeeded"] * 2
    assert "failed in the loop" not in told.stdout
    assert "iteration 3 was unanswered" in told.stdout


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
