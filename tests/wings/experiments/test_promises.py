"""What experiments promise: budgets, whole cases, blind grading, rules that do in runs as told."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from campaign import amount
from experiments.guess import (
    EXPERIMENT,
    FILE,
    GRADE,
    SHORT_YES,
    VARIANTS,
    configure,
    run_json,
    whorl,
    write_cases,
)
from experiments.served import EACH_USD, JUDGED, SERVED, Billed, served
from whorl.runtimes.sqlite import SqliteStore


def stored() -> SqliteStore:
    return SqliteStore(Path(".whorl/whorl.db"))


def test_grading_is_blind() -> None:
    """No word of the variant, nor of its model, stands in what a judge or a person is shown."""
    graders = """
grade:
  good: {judge: "It is short", of: "{{ outputs.text }}", votes: 3}
  asked: {ask: "How good is {{ outputs.text }} for {{ case.n }}?", returns: {grade: number}}
  taste: {person: "Would you send this?", show: "{{ outputs.text }}"}
grade_iterations: returned
"""
    other = "variants:\n  concealed: {model: hushed, loops: {polish: {at_most: 4}}}\n"
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, graders).replace(VARIANTS, other))
    write_cases(2)
    asked = '[[providers.demo.replies]]\nmatch = "How good"\nreplies = [{json = {grade = 0.5}}]\n'
    configure(SHORT_YES + asked + "[prices.hushed]\ninput = 10.0\noutput = 100.0\n")

    found = run_json("experiment", "run", FILE)

    assert {row["variant"] for row in found["rows"]} == {"base", "concealed"}
    with closing(stored()) as store:
        gradings = [row for row in store.runs(limit=100) if row.name.startswith("grade-")]
        bodies = [json.dumps(e.event.body) for row in gradings for e in store.read(row.id)]
    assert {row.name for row in gradings} == {"grade-good", "grade-asked", "grade-taste"}
    assert not [body for body in bodies if "concealed" in body or "hushed" in body]


RULES: dict[str, dict[str, Any]] = {
    "short": {"at_most": 1, "return": "last"},
    "lax": {"until": [{"score": {"from": "{{ review.score }}", "at_least": 0.5}}], "at_most": 5},
    "best": {"at_most": 4, "return": "best"},
    "first": {"at_most": 3, "return": "first"},
}


@pytest.mark.slow
@pytest.mark.campaign
def test_what_if_equals_runs_over_http_to_the_dollar(model: str) -> None:
    """Each rule over the runs of the baseline, against the variant that has the rule."""
    Path("whorl.toml").write_text(SERVED.format(url=model))
    write_cases(amount(6, 30))
    rules = RULES | {"stale": {"until": [*RULES["lax"]["until"], {"plateau": 2}], "at_most": 5}}
    loops = {name: {"loops": {"polish": rule}} for name, rule in rules.items()}
    Path(FILE).write_text(EXPERIMENT.replace(VARIANTS, f"variants: {json.dumps(loops)}\n"))

    real = run_json("experiment", "run", FILE)["variants"]

    for name, rule in rules.items():
        until = ("--until", json.dumps(rule["until"])) if "until" in rule else ()
        words = ("--at-most", str(rule["at_most"]), "--return", rule.get("return", "last"), *until)
        swept = run_json("experiment", "what-if", FILE, *words)["rules"]
        got = [row for row in swept if row["at_most"] == rule["at_most"]]
        wanted = (real[name]["grade"]["value"], real[name]["cost_usd"]["value"])
        got = [(row["grade"], row["cost_usd"], row["iterations"]) for row in got]
        assert got == [(*map(pytest.approx, wanted), real[name]["iterations"])], name


@pytest.mark.slow
def test_gradings_that_failed_are_tried_again_by_the_next_run(billed: Billed) -> None:
    served(billed, JUDGED, cases=2)
    billed.fails_at, billed.failing = "It is short", 1_000
    given = ("experiment", "run", FILE, "--budget", "90")

    failed = run_json(*given)
    refused = 1_000 - billed.failing
    again = whorl(*given)
    # Two refusals are got over at once.
    billed.failing = 2
    last, same = run_json(*given), run_json(*given)

    assert [row["grades"]["good"] for row in failed["rows"]] == [None, None]
    assert len(failed["faults"]) == 2
    # Each is tried once, and three times more.
    assert refused == 2 * 4
    assert "2 results to grade" in again.stderr
    assert [row["grades"]["good"] for row in last["rows"]] == [1.0, 1.0]
    assert (last["faults"], last["notes"]) == ([], [])
    assert (billed.calls, same["spent_usd"]) == (2 * 4, pytest.approx(8 * EACH_USD))


def test_a_judge_that_says_neither_yes_nor_no_gives_no_grade(billed: Billed) -> None:
    served(billed, JUDGED.replace("It is short", "It is tall"), cases=2)

    found = run_json("experiment", "run", FILE, "--budget", "9")

    assert [row["grades"]["good"] for row in found["rows"]] == [None, None]
    assert len(found["faults"]) == 2
    assert all("answered neither yes nor no" in fault for fault in found["faults"])
