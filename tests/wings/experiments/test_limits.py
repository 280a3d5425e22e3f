"""What an experiment file may hold at most, and the codes of what is wrong in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from experiments.guess import EXPERIMENT, FILE, FLOW, GRADE, VARIANTS, run_json, whorl, write_cases
from whorl.errors import InvalidWorkflow
from whorl.services.project import find_project
from whorl.wings.experiments.document import read_experiment
from whorl.wings.experiments.what_if import query

if TYPE_CHECKING:
    from whorl.wings.experiments.document import Experiment


def read() -> Experiment:
    return read_experiment(find_project({}, folder=Path.cwd()), FILE)


def refused() -> tuple[str, str]:
    """The code and the words of the only mistake."""
    with pytest.raises(InvalidWorkflow) as caught:
        read()
    (only,) = caught.value.diagnostics
    return only.code, only.message


def variants_of(*names: str) -> tuple[str, str]:
    return VARIANTS, f"variants: {json.dumps({name: {} for name in names})}\n"


def graders_of(count: int) -> tuple[str, str]:
    return GRADE, f"grade: {json.dumps({f'g{n}': '1' for n in range(count)})}\n"


OTHERS = [f"v{n}" for n in range(99)]


HUNDRED = "there are more than 100 variants"
MILLION = "1,000,004 trials are too many: at most 1,000,000"
MOST = {
    "variants": (variants_of(*OTHERS), variants_of(*OTHERS, "more"), HUNDRED),
    "and base": (variants_of("base", *OTHERS), variants_of("base", *OTHERS, "more"), HUNDRED),
    "graders": (graders_of(20), graders_of(21), "there are more than 20 graders"),
    "trials": (("at_once: 6", "repeat: 250000"), ("at_once: 6", "repeat: 250001"), MILLION),
}


@pytest.mark.parametrize("what", MOST)
def test_an_experiment_has_so_many_and_not_one_more(what: str) -> None:
    most, more, words = MOST[what]
    write_cases(2)
    Path(FILE).write_text(EXPERIMENT.replace(*most))
    found = read()
    counts = {"graders": len(found.graders), "trials": found.trials}
    wanted = {"graders": 20, "trials": 1_000_000}
    assert counts.get(what, len(found.variants)) == wanted.get(what, 100)

    Path(FILE).write_text(EXPERIMENT.replace(*more))
    assert refused() == ("W002", words)


def test_a_hundred_thousand_cases_and_not_one_more() -> None:
    rows = "n\n" + "1\n" * 100_000
    Path("cases.csv").write_text(rows)
    assert len(read().cases) == 100_000

    Path("cases.csv").write_text(rows + "1\n")
    assert refused() == ("W002", "100,001 cases are too many: at most 100,000")


@pytest.mark.slow
def test_many_cases_with_the_same_ids_are_reported_without_comparing_all_with_all() -> None:
    Path("cases.csv").write_text("id,n\n" + "".join(f"{n // 2},1\n" for n in range(100_000)))

    with pytest.raises(InvalidWorkflow) as caught:
        read()

    first = caught.value.diagnostics[0]
    assert (len(caught.value.diagnostics), first.code, first.span and first.span.line) == (
        *(100, "X101", 3),
    )
    assert first.message == "2 cases have the id '0'"


@pytest.mark.parametrize(
    ("variant", "said", "advice"),
    [
        ("{workflow: terse.yaml}", "'task' that cases give", "did you mean 'tasks'"),
        ("{inputs: {tone: formal}}", "'tone' that it is given", "take the same inputs"),
        # One that has a default may be there.
        ("{workflow: more.yaml, inputs: {tone: formal}}", "", ""),
    ],
)
def test_a_variant_takes_the_inputs_that_cases_give(variant: str, said: str, advice: str) -> None:
    """Told once, and not for each case; nothing is run."""
    own = "inputs: {n: integer, task: {type: string, default: none}}"
    more = own.replace("}}", "}, tone: {type: string, default: plain}}")
    for name, inputs in {"guess": own, "terse": own.replace("task", "tasks"), "more": more}.items():
        Path(f"{name}.yaml").write_text(FLOW.replace("inputs: {n: integer}", inputs))
    Path("cases.csv").write_text("n,task\n1,a\n2,b\n")
    Path(FILE).write_text(EXPERIMENT.replace(VARIANTS, f"variants:\n  terse: {variant}\n"))

    done = whorl("experiment", "run", FILE)

    assert done.exit_code == (2 if said else 0)
    assert done.stderr.count("error[") == bool(said)
    assert bool(run_json("ls", "--all")) != bool(said)
    if said:
        assert f"error[X101]: variant 'terse' has no input {said}" in done.stderr
        assert f"{FILE}:7:3" in done.stderr
        assert advice in done.stderr


def test_what_is_no_grade_is_left_out_counted_and_listed_by_its_code() -> None:
    """One gives 7, one fails; a third one counts. None of them is 0 in silence."""
    graders = """grade:
  main: "0.5"
  seven: "7 if case.n == '3' else 1"
  failing: "1 / (case.n | int)"
"""
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, graders))
    Path("cases.csv").write_text("n\n0\n1\n3\n")

    shown = whorl("experiment", "run", FILE).stdout
    found = run_json("experiment", "report", FILE)

    told = [line for line in shown.splitlines() if line.startswith("X104: ")]
    assert len(told) == len(found["faults"]) == 2
    both = "of 'base', 'longer'"
    assert f"'seven', case '3' {both}: gave '7': a grade is from 0 to 1" in told[1]
    assert f"'failing', case '1' {both}: failed: " in told[0]
    by = {(row["case"], row["variant"]): row["grades"] for row in found["rows"]}
    assert by["3", "base"]["seven"] is None
    assert by["2", "base"]["seven"] == by["2", "base"]["failing"] == 1


def test_an_answer_that_differs_from_its_replay_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = run_json("run", "guess.yaml", "-i", "n=1")["run"]
    words = ("experiment", "what-if", run, "--at-most", "1", "--check", "1")
    assert whorl(*words).exit_code == 0
    right = query.answer

    def wrong(*given: Any) -> Any:
        return replace(right(*given), iterations=2)

    monkeypatch.setattr(query, "answer", wrong)
    done = whorl(*words)

    assert done.exit_code == 70
    for part in ("I900", run, "score 0.9, at_most 1, last", "'iterations': 2", "'iterations': 1"):
        assert part in done.stderr
