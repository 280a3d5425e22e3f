"""What a budget cuts while a loop explores is no result, and what goes on goes on exploring."""

from __future__ import annotations

from pathlib import Path

from experiments.guess import FILE, FLOW, PLAIN, run_json, whorl
from experiments.served import ALONE, LOOP, Billed, served

TWO = LOOP.replace("iteration >= 3", "iteration >= 2").replace("at_most: 3", "at_most: 2")
EXPLORING = ALONE.replace("at_once: 6", "at_once: 1") + "explore: {polish: 4}\n"
ALL = ("experiment", "what-if", FILE, "--until", "iteration >= 4", "--at-most", "4")


def explored(billed: Billed, flow: str = TWO, more: str = "") -> None:
    """An experiment whose loops end after two iterations, and explore four."""
    served(billed, EXPLORING + more, cases=2)
    Path("guess.yaml").write_text(flow)


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
