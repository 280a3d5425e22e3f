"""What experiments promise: budgets, whole cases, blind grading, rules that do in runs as told."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from campaign import amount
from experiments.guess import CONFIG, EXPERIMENT, folder, run_json, whorl
from experiments.served import SERVED, model
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.inspecting.results import result_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder", "model"]

FILE = "guess.experiment.yaml"
GRADE = 'grade: "(outputs.text | length) / 10"\n'


def stored(folder: Path) -> SqliteStore:
    return SqliteStore(folder / ".whorl" / "whorl.db")


@pytest.mark.parametrize("whole", [0, 1, 3, 4])
def test_a_budget_ends_it_after_any_trial_and_whole_cases_are_compared(
    folder: Path, whole: int
) -> None:
    """A trial of two iterations is $0.0068 or more; so many of them fit, and one is begun."""
    (folder / "cases.csv").write_text("n\n1\n2\n3\n")
    text = EXPERIMENT.replace("explore: {polish: 5}", "trial_budget: 0.2")
    (folder / FILE).write_text(text.replace("at_once: 6", "at_once: 1"))
    spent = 0.0
    if whole:
        # What as many trials cost, so that the next one does not fit.
        free = run_json("experiment", "run", FILE, "--store", "free")
        order = sorted(free["rows"], key=lambda row: (int(row["case"]), row["run"]))
        spent = sum(row["cost_usd"] for row in order[:whole])
    budget = spent + 0.199

    paused = whorl("experiment", "run", FILE, "--budget", f"{budget:.9f}", "--json")
    found = json.loads(paused.stdout)

    assert paused.exit_code == 5
    assert found["done"] < 6
    assert found["spent_usd"] <= budget
    cases = [row["case"] for row in found["rows"]]
    assert found["cases"] == sum(cases.count(case) == 2 for case in set(cases))
    assert found["variants"]["base"]["cases"] == found["cases"]
    assert f"{found['done']} of 6 trials done" in paused.stderr
    more = paused.stderr.rpartition("--budget ")[2].split()[0]
    assert run_json("experiment", "run", FILE, "--budget", more)["done"] > found["done"]


def test_grading_is_blind(folder: Path) -> None:
    """No word of the variant, nor of its model, stands in what a judge or a person is shown."""
    graders = """
grade:
  good: {judge: "It is short", of: "{{ outputs.text }}", votes: 3}
  asked: {ask: "How good is {{ outputs.text }} for {{ case.n }}?", returns: {grade: number}}
  taste: {person: "Would you send this?", show: "{{ outputs.text }}"}
grade_iterations: returned
"""
    variants = "  concealed: {model: hushed, loops: {polish: {at_most: 4, return: best}}}\n"
    text = EXPERIMENT.replace(GRADE, graders).replace(
        "  longer: {loops", variants + "  longer: {loops"
    )
    (folder / FILE).write_text(text)
    (folder / "cases.csv").write_text("n\n1\n2\n")
    replies = """
[[providers.demo.replies]]
match = "It is short"
replies = ["YES"]
[[providers.demo.replies]]
match = "How good"
replies = [{json = {grade = 0.5}}]
[prices.hushed]
input = 10.0
output = 100.0
"""
    (folder / "whorl.toml").write_text(CONFIG + replies)

    found = run_json("experiment", "run", FILE)

    assert {row["variant"] for row in found["rows"]} == {"base", "concealed", "longer"}
    with closing(stored(folder)) as store:
        gradings = [row for row in store.runs(limit=100) if row.name.startswith("grade-")]
        entries = [
            (row.name, json.dumps(entry.event.body))
            for row in gradings
            for entry in store.read(row.id)
        ]
    assert {name for name, _ in entries} == {"grade-good", "grade-asked", "grade-taste"}
    told = [
        words for words in ("concealed", "hushed", "longer") for _, body in entries if words in body
    ]
    assert told == []


RULES: dict[str, dict[str, Any]] = {
    "short": {"at_most": 1, "return": "last"},
    "lax": {"until": [{"score": {"from": "{{ review.score }}", "at_least": 0.5}}], "at_most": 5},
    "best": {"at_most": 4, "return": "best"},
    "first": {"at_most": 3, "return": "first"},
}


@pytest.mark.slow
def test_what_if_is_what_variants_with_those_rules_really_do(folder: Path) -> None:
    """Over runs in a store, with prices: grade, dollars and iterations of each rule."""
    loops = {name: {"loops": {"polish": rule}} for name, rule in RULES.items()}
    longer = "variants:\n  longer: {loops: {polish: {at_most: 4, return: best}}}\n"
    text = EXPERIMENT.replace(longer, f"variants: {json.dumps(loops)}\n")
    assert text != EXPERIMENT
    (folder / FILE).write_text(text)

    real = run_json("experiment", "run", FILE)["variants"]

    for name, rule in RULES.items():
        options = ["--at-most", str(rule["at_most"]), "--return", rule.get("return", "last")]
        if "until" in rule:
            options += ["--until", json.dumps(rule["until"])]
        rows = run_json("what-if", FILE, *options)["rules"]
        found = [row for row in rows if row["at_most"] == rule["at_most"]]
        wanted = (real[name]["grade"]["value"], real[name]["cost_usd"]["value"])
        got = [(row["grade"], row["cost_usd"], row["iterations"]) for row in found]
        assert got == [(*map(pytest.approx, wanted), real[name]["iterations"])], name


@pytest.mark.slow
@pytest.mark.campaign
def test_what_if_equals_runs_over_http_to_the_dollar_and_the_text(folder: Path, model: str) -> None:
    """Each rule in each run of the baseline, against the run of the variant that has the rule."""
    (folder / "whorl.toml").write_text(SERVED.format(url=model))
    count = amount(6, 30)
    (folder / "cases.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(count)))
    rules = RULES | {"stale": {"until": [*RULES["lax"]["until"], {"plateau": 2}], "at_most": 5}}
    loops = {name: {"loops": {"polish": rule}} for name, rule in rules.items()}
    longer = "variants:\n  longer: {loops: {polish: {at_most: 4, return: best}}}\n"
    (folder / FILE).write_text(EXPERIMENT.replace(longer, f"variants: {json.dumps(loops)}\n"))

    rows = run_json("experiment", "run", FILE)["rows"]

    runs = {(row["case"], row["variant"]): row for row in rows}
    equal = 0
    with closing(stored(folder)) as store:
        for (case, variant), row in runs.items():
            if variant == "base":
                continue
            rule = rules[variant]
            options = ["--at-most", str(rule["at_most"]), "--return", rule.get("return", "last")]
            if "until" in rule:
                options += ["--until", json.dumps(rule["until"])]
            (found,) = run_json("what-if", runs[case, "base"]["run"], *options)
            answer = found["answer"]
            assert answer["exact"], answer
            assert answer["usage"]["cost_usd"] == pytest.approx(row["cost_usd"])
            assert (answer["iterations"], answer["returned"]) == (
                row["iterations"],
                row["returned"],
            )
            assert found["outputs"] == result_of(store, row["run"])["outputs"]
            equal += 1
    print(f"{equal} of {count * len(rules)} answers equal runs over HTTP")
    assert equal == count * len(rules)
