"""What experiments say of money: budgets hold, limits are limits, and what is missing is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from served import connected

from experiments.guess import (
    CONFIG,
    FILE,
    GRADE,
    PLAIN,
    SHORT_YES,
    VARIANTS,
    dies_at,
    run_json,
    whorl,
)

NO_AMOUNTS = ("-3", "+-1", "nan", "inf", "+nan", "five")


def test_an_invalid_amount_of_dollars_is_reported_before_anything_runs() -> None:
    run, gate = ("experiment", "run", FILE), ("experiment", "gate", FILE, "--against", "longer")
    for words, amounts in ((run, NO_AMOUNTS), (gate, NO_AMOUNTS[:3])):
        for amount in amounts:
            done = whorl(*words, "--budget", amount)
            assert done.exit_code == 2
            assert "is not an amount of dollars above 0" in done.stderr
    assert not Path(".whorl/whorl.db").exists()


JUDGED = 'grade: {good: {judge: "It is short", of: "{{ outputs.text }}", votes: 3}}\n'
ASKING = PLAIN.replace(GRADE, JUDGED)


def judged(text: str = ASKING) -> None:
    """Three cases whose results a judge grades, who costs more than the trials."""
    Path(FILE).write_text(text)
    Path("cases.csv").write_text("n\n1\n2\n3\n")
    config = CONFIG.replace('"abcd", "abcde"', '"abcd"')
    Path("whorl.toml").write_text(config + SHORT_YES)


def grades(found: Any) -> list[float | None]:
    return [row["grades"].get("good") for row in found["rows"]]


def long_results() -> None:
    """Results that make a vote dearer than its question tells; trials cost nothing."""
    judged(ASKING.replace(VARIANTS, ""))
    long = "{{ n }} " + "long " * 900
    Path("guess.yaml").write_text(
        f"whorl: 1\ninputs: {{n: integer}}\nsteps: {{say: {{value: '{long}'}}}}\n"
        "outputs: {text: '{{ say }}'}\n"
    )


def state() -> Any:
    """How far the experiment is, as a server tells it."""
    with connected(Path.cwd()) as client:
        return client.get("/experiments/guess")["state"]


def test_gradings_that_cost_more_than_expected_continue_with_more_money() -> None:
    long_results()
    whole = run_json("experiment", "run", FILE, "--store", "free")
    each = whole["spent_usd"] / 3

    paused = whorl("experiment", "run", FILE, "--budget", f"{each:.9f}", "--json")
    found = json.loads(paused.stdout)
    done = whorl("experiment", "report", FILE)
    told = done.stdout
    # Until all are graded, it is not done.
    before = state()
    last = run_json("experiment", "run", FILE)

    assert (before, state()) == ("open", "done")
    assert "; no result yet" in told
    assert "next: whorl --config whorl.toml experiment run" in done.stderr
    assert paused.exit_code == 5
    assert 0 < found["spent_usd"] <= each
    assert found["notes"] == ["no grade by 'good' yet: 1 of 1 result"]
    assert found["notes"][0] in told.splitlines()
    assert grades(found) == [None]
    assert found["cases"] == found["variants"]["base"]["cases"] == 0
    assert (last["notes"], grades(last)) == ([], [1.0] * 3)
    assert last["spent_usd"] == pytest.approx(whole["spent_usd"])


def foretold(*words: str) -> dict[str, float]:
    """What a command says before it starts: trials to run, results to grade, calls and dollars."""
    first = " ".join(whorl(*words).stderr.splitlines()[:2])
    asked = {
        "trials": r"([\d,]+) trials?",
        "to run": r"([\d,]+) to run",
        "to grade": r"([\d,]+) results? to grade",
        "calls": r"at most ([\d,]+) calls?",
        "dollars": r"at most (?:about )?\$([\d.]+)",
    }
    found = {name: re.search(pattern, first) for name, pattern in asked.items()}
    return {name: float(at[1].replace(",", "")) for name, at in found.items() if at}


def made() -> tuple[int, float]:
    """How many calls all runs have made, and what they cost."""
    runs = run_json("ls", "--all", "--limit", "1000")
    return sum(run["calls"] for run in runs), sum(run["cost_usd"] for run in runs)


@pytest.mark.slow
@pytest.mark.parametrize("at", [15, 19])
def test_what_a_crash_has_left_undone_is_advised_to_be_run(at: int) -> None:
    """It comes in a trial, or in a grading."""
    judged(ASKING.replace("at_once: 6", "at_once: 1"))
    assert dies_at(at, ("experiment", "run", FILE))
    before = run_json("ls", "--all", "--limit", "1000")
    ended = [run for run in before if run["status"] == "succeeded" and run["workflow"] == "guess"]
    calls, dollars = made()

    told = foretold("experiment", "run", FILE)
    calls_then, dollars_then = made()

    assert any(run["status"] != "succeeded" for run in before)
    assert told.get("to run", told["trials"]) == 6 - len(ended)
    assert 0 < calls_then - calls <= told["calls"]
    assert dollars_then - dollars <= told["dollars"]


@pytest.mark.slow
def test_costs_with_calls_in_doubt_are_marked() -> None:
    judged()
    for at in range(9, 60, 6):
        store = f"killed{at}"
        assert dies_at(at, ("experiment", "run", FILE, "--store", store))
        found = run_json("experiment", "run", FILE, "--store", store)
        runs = run_json("ls", "--all", "--limit", "1000", "--store", store)
        doubtful = [run for run in runs if run["in_doubt"]]
        trials = [run for run in doubtful if run["labels"].get("variant")]
        if trials:
            break
    told = whorl("experiment", "report", FILE, "--store", store).stdout
    variant = trials[0]["labels"]["variant"]
    swept = run_json("experiment", "what-if", FILE, "--store", store, "--variant", variant)["words"]
    asked = whorl(
        "experiment", "what-if", trials[0]["run"], "--at-most", "2", "--store", store
    ).stdout

    (marked,) = [note for note in found["notes"] if "in doubt" in note]
    counts = [int(word) for word in marked.split() if word.isdigit()]
    assert sum(counts[::2]) == sum(run["in_doubt"] for run in doubtful)
    assert sum(counts[1::2]) == len(doubtful)
    assert marked in told
    assert any("calls in doubt" in words for words in swept)
    assert "in doubt, as reserved)" in asked
