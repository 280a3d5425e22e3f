"""Experiments from the file to the report: read, run, resumed after a crash, graded, compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from campaign import IS_CAMPAIGN, amount
from experiments.guess import EXPERIMENT, folder, run_json, whorl
from waiting import wait_until
from whorl import Experiment, what_if
from whorl.errors import InvalidWorkflow
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.experiments.document import experiment_schema, read_experiment
from whorl.services.experiments.variants import prepare
from whorl.services.project import find_project

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]


def test_an_experiment_is_run_once_and_reported_again(folder: Path) -> None:
    first = run_json("experiment", "run", "guess.experiment.yaml")
    again = run_json("experiment", "run", "guess.experiment.yaml")

    assert first == again
    assert first["done"] == 24
    assert first["variants"]["base"]["grade"]["value"] == pytest.approx(0.2)
    assert first["variants"]["longer"]["grade"]["value"] == pytest.approx(0.4)
    assert first["variants"]["longer"]["words"] == "better"
    assert first["variants"]["base"]["iterations"] == 2
    assert first["extra_usd"] > 0
    with closing(SqliteStore(folder / ".whorl" / "whorl.db")) as store:
        assert len(store.runs(limit=100)) == 24


@pytest.mark.slow
def test_more_cases_run_only_those_and_a_new_generation_all(folder: Path) -> None:
    run_json("experiment", "run", "guess.experiment.yaml")
    with (folder / "cases.csv").open("a") as file:
        file.write("77\n")

    more = run_json("experiment", "run", "guess.experiment.yaml")
    run_json("experiment", "run", "guess.experiment.yaml", "--fresh")

    assert more["done"] == 26
    listed = run_json("experiment", "ls")
    assert [(row["name"], row["runs"]) for row in listed] == [("guess", 52)]
    assert "no such runs" in whorl("ls").stderr
    whorl("experiment", "rm", "guess")
    assert run_json("experiment", "ls") == []


@pytest.mark.slow
def test_what_if_over_an_experiment_makes_no_call(folder: Path) -> None:
    run_json("experiment", "run", "guess.experiment.yaml")
    with closing(SqliteStore(folder / ".whorl" / "whorl.db")) as store:
        calls = sum(row.calls for row in store.runs(limit=100))

    found = run_json("what-if", "guess.experiment.yaml")
    kept = run_json("what-if", "guess.experiment.yaml")
    one = run_json("what-if", "guess.experiment.yaml", "--at-most", "3", "--return", "last")

    assert found == kept
    assert found["own"] == "score 0.9, at_most 2, last"
    assert found["curve"]["last"] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert any("at_most 3, last" in row["rule"] and row["grade"] == 0.3 for row in one["rules"])
    with closing(SqliteStore(folder / ".whorl" / "whorl.db")) as store:
        assert sum(row.calls for row in store.runs(limit=100)) == calls


def test_what_if_of_one_run_is_checked_by_a_replay(folder: Path) -> None:
    explored = whorl("run", "guess.yaml", "-i", "n=1", "--explore", "polish=5", "--json")
    assert explored.exit_code == 0, explored
    rule = ["--until", "{score: {from: '{{ review.score }}', at_least: 0.5}}", "--at-most", "5"]

    (found,) = run_json("what-if", "last", *rule, "--check", "1")
    (longer,) = run_json("what-if", "last", "--at-most", "9")

    assert json.loads(explored.stdout)["outputs"] == {"text": "ab"}
    assert found["as_it_was"]["iterations"] == 2
    assert found["answer"] | {"usage": 0} == {
        "exact": True,
        "why": "",
        "code": "",
        "iteration": 3,
        "iterations": 3,
        "returned": 3,
        "exit_reason": "condition_met",
        "stopped_by": "score",
        "by_clock": False,
        "in_doubt": 0,
        "usage": 0,
    }
    assert found["outputs"] == {"text": "abc"}
    assert longer["answer"]["exact"]
    assert longer["answer"]["stopped_by"] == "score"


def test_a_budget_pauses_it_and_whole_cases_are_compared(folder: Path) -> None:
    file = folder / "guess.experiment.yaml"
    file.write_text(EXPERIMENT + "budget: 2.02\ntrial_budget: 2\n")

    paused = whorl("experiment", "run", "guess.experiment.yaml", "--json")
    found = json.loads(paused.stdout)

    assert paused.exit_code == 5
    assert 0 < found["done"] < 24
    assert 0.02 < found["spent_usd"] <= 2.02
    assert found["cases"] == sum(
        sum(row["case"] == str(case) for row in found["rows"]) == 2 for case in range(1, 13)
    )
    assert found["variants"]["longer"]["words"] == ""
    file.write_text(EXPERIMENT)
    assert run_json("experiment", "run", "guess.experiment.yaml")["done"] == 24


@pytest.mark.slow
def test_a_gate_passes_fails_and_is_undecided(folder: Path) -> None:
    run_json("experiment", "run", "guess.experiment.yaml")
    whorl("experiment", "report", "guess.experiment.yaml", "--save", "baseline.json")

    same = whorl("experiment", "gate", "guess.experiment.yaml", "--against", "baseline.json")
    better = run_json(
        "experiment", "gate", "guess.experiment.yaml", "--variant", "longer", "--against", "base"
    )
    worse = whorl(
        *("experiment", "gate", "guess.experiment.yaml", "--variant", "base"),
        *("--against", "longer", "--junit", "tests.xml"),
    )

    assert same.exit_code == 0
    assert better["verdict"] == "pass"
    assert worse.exit_code == 1
    assert "worse by 0.20" in worse.stdout
    assert (folder / "tests.xml").read_text().count("<testcase") == 13


def test_paid_graders_and_people_grade_by_runs_of_their_own(folder: Path) -> None:
    graders = """
grade:
  right: "outputs.text == 'ab'"
  good: {judge: "It is short", of: "{{ outputs.text }}", votes: 3}
  same: {equals: "AB ", of: "{{ outputs.text }}", ignore: [case, space]}
  taste: {person: "Would you send this?", show: "{{ outputs.text }}"}
  odd: "7"
grade_iterations: returned
"""
    text = EXPERIMENT.replace('grade: "(outputs.text | length) / 10"\n', graders)
    (folder / "guess.experiment.yaml").write_text(text)
    with (folder / "whorl.toml").open("a") as file:
        file.write('[[providers.demo.replies]]\nmatch = "It is short"\nreplies = ["YES"]\n')

    found = run_json("experiment", "run", "guess.experiment.yaml")
    row = next(row for row in found["rows"] if row["variant"] == "base")

    assert row["grades"] == {"right": 1, "good": 1, "same": 1, "taste": None, "odd": None}
    assert found["people"]["taste"] == [0, 24]
    assert "a grade is from 0 to 1" in found["faults"][0]
    with closing(SqliteStore(folder / ".whorl" / "whorl.db")) as store:
        names = [row.name for row in store.runs(limit=200)]
        gradings = [row for row in store.runs(limit=200) if row.name.startswith("grade-")]
    # Equal results of one case share a grading; every case of the data is asked about itself.
    assert names.count("grade-good") == names.count("grade-taste") == 24
    shown = " ".join(json.dumps(row.key) for row in gradings)
    assert "longer" not in shown
    judged = run_json("judge", "guess.experiment.yaml", "good", "--against", "right")
    assert judged["results"] == 24
    assert judged["wrong_yes"][:2] == [12, 12]


@pytest.mark.parametrize(
    ("change", "code", "line", "words"),
    [
        (("explore", "explor"), "X100", 9, "explore"),
        (("workflow: guess.yaml\n", ""), "X100", 2, "workflow"),
        (("{polish: {at_most", "{polishh: {at_most"), "X100", 7, "polishh"),
        (("at_most: 4", "at_most: often"), "W007", 7, "at_most"),
        (("return: best", "returns: best"), "W004", 7, "returns"),
    ],
)
def test_mistakes_have_a_place(
    folder: Path, change: tuple[str, str], code: str, line: int, words: str
) -> None:
    text = EXPERIMENT.replace(*change)
    (folder / "guess.experiment.yaml").write_text(text)
    project = find_project({}, folder=folder)
    with pytest.raises(InvalidWorkflow) as caught:
        prepare(project, read_experiment(project, "guess.experiment.yaml"))

    first = caught.value.diagnostics[0]
    assert (first.code, first.span and first.span.line) == (code, line)
    assert words in f"{first.message} {first.help}"
    assert whorl("validate", "guess.experiment.yaml").exit_code == 2


def test_all_rows_that_do_not_fit_are_listed_at_once(folder: Path) -> None:
    (folder / "cases.csv").write_text("id,n\na,1\nb,12a\nb,3\nc,x\n")
    project = find_project({}, folder=folder)
    with pytest.raises(InvalidWorkflow) as twice:
        read_experiment(project, "guess.experiment.yaml")
    (folder / "cases.csv").write_text("id,n\na,1\nb,12a\nc,x\n")
    with pytest.raises(InvalidWorkflow) as caught:
        prepare(project, read_experiment(project, "guess.experiment.yaml"))

    assert [one.code for one in twice.value.diagnostics] == ["X102"]
    places = {(one.code, one.span and one.span.line) for one in caught.value.diagnostics}
    assert places == {("X101", 3), ("X101", 4)}


WRONG = {
    'grade: "outputs.text +"': ("W008", 8, 8),
    'grade: "output.text == 1"': ("X100", 8, 8),
    'grade: {right: "case.n > 1", good: {judge: "Good?", of: "{{ output.text }}"}}': (
        "X100",
        8,
        57,
    ),
    'grade: {good: {judge: "Good?", of: "{{ outputs.text }}", votes: 0}}': ("X100", 8, 65),
    'grade: "1"\nsolved: "good > 0.5"': ("X100", 9, 9),
    'grade: "1"\ninputs: {n: "{{ row.n }}"}': ("X100", 9, 13),
    'grade: "1"\nexplore: {polsh: 5}': ("X100", 9, 11),
    'grade: "1"\nexplore: {polish: many}': ("X100", 9, 19),
    'grade: "1"\nrepeat: 0': ("X100", 9, 9),
    'grade: "1"\nat_once: 0': ("X100", 9, 10),
    'grade: "1"\ngate: {costs: 1.2}': ("X100", 9, 8),
    'grade: "1"\ngate: {failures: some}': ("X100", 9, 18),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_told_with_its_place_before_anything_is_paid(
    folder: Path, words: str
) -> None:
    head = EXPERIMENT.partition("grade:")[0]
    (folder / "guess.experiment.yaml").write_text(f"{head}{words}\n")
    code, line, column = WRONG[words]

    done = whorl("experiment", "run", "guess.experiment.yaml")

    assert done.exit_code == 2
    assert f"error[{code}]" in done.stderr
    assert f"guess.experiment.yaml:{line}:{column}" in done.stderr
    assert run_json("ls", "--all") == []


def test_a_variant_that_is_not_there_is_no_fault_of_ours(folder: Path) -> None:
    (folder / "cases.csv").write_text("n\n1\n")
    run_json("experiment", "run", "guess.experiment.yaml")
    for words in (("what-if",), ("judge", "--against", "grade")):
        done = whorl(words[0], "guess.experiment.yaml", *words[1:], "--variant", "longr")
        assert done.exit_code == 2
        assert "there is no variant 'longr'" in done.stderr
        assert "did you mean 'longer'" in done.stderr


def test_the_schema_has_every_field() -> None:
    schema = experiment_schema()

    assert set(schema["required"]) <= set(schema["properties"])
    assert schema["additionalProperties"] is False


@pytest.mark.slow
@pytest.mark.campaign
def test_an_experiment_that_is_killed_ends_with_the_same_numbers(folder: Path) -> None:
    """SIGKILL in the midst of it: the same command goes on, and pays for nothing twice."""
    if IS_CAMPAIGN:
        (folder / "cases.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(200)))
        text = EXPERIMENT.replace("at_once: 6", "at_once: 20")
        third = "  third: {loops: {polish: {at_most: 3}}}\ngrade:"
        (folder / "guess.experiment.yaml").write_text(text.replace("grade:", third))
    wanted = run_json("experiment", "run", "guess.experiment.yaml", "--store", "whole")
    words = [sys.executable, "-m", "whorl.interfaces.cli", "--config", "whorl.toml"]
    words += ["--store", "killed", "experiment", "run", "guess.experiment.yaml"]
    path = folder / "killed" / "whorl.db"
    process = subprocess.Popen(words, env=os.environ | {"WHORL_TRUST": "1"})

    def has_begun() -> bool:
        if not path.exists() or process.poll() is not None:
            return process.poll() is not None
        with closing(SqliteStore(path)) as store:
            done = [row for row in store.runs(limit=2_000) if row.status == "succeeded"]
            return len(done) >= amount(1, 100)

    wait_until(has_begun)
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = run_json("experiment", "run", "guess.experiment.yaml", "--store", "killed")

    print(f"{found['done']} trials after a kill: ${found['spent_usd']:.4f}", end=", ")
    print(f"without one ${wanted['spent_usd']:.4f}")
    # What a call in doubt may have cost is charged, so the sums may be larger.
    assert found["spent_usd"] >= wanted["spent_usd"]
    costs = ("run", "seconds", "cost_usd", "extra_usd", "in_doubt")
    for each in (wanted, found):
        each["rows"] = [{k: v for k, v in row.items() if k not in costs} for row in each["rows"]]
        each["variants"] = {name: one["grade"] for name, one in each["variants"].items()}
        del each["spent_usd"], each["extra_usd"], each["notes"]
    assert found == wanted


@pytest.mark.slow
def test_python_runs_an_experiment_with_functions_as_graders(folder: Path) -> None:
    def right(outputs: Any, case: Any) -> bool:
        return bool(outputs["text"] == case["expected"])

    rows = [{"id": str(n), "n": n, "expected": "ab" if n % 2 else "zz"} for n in range(10)]
    experiment = Experiment(
        "guess.yaml",
        cases=rows,
        grade={"right": right, "long": "(outputs.text | length) / 10"},
        variants={"longer": {"loops": {"polish": {"at_most": 4}}}},
        explore={"polish": 4},
        config="whorl.toml",
    )

    report = experiment.run_sync()
    again = experiment.report()
    run = report.frame()[0]["run"]
    answer = what_if(run, at_most=1, config="whorl.toml")

    assert report.variants["base"].grade.value == 0.5
    assert report.variants["longer"].difference is not None
    assert again.document() == report.document()
    assert len(report.frame()) == 20
    sweep = report.what_if("polish")
    assert sweep.own is not None
    assert sweep.not_recommended == "no rule is seen to be better than yours"
    assert sweep.runs == 10
    assert (answer.exact, answer.iterations, answer.outputs) == (True, 1, {"text": "a"})
    assert answer.results == {"write": "a", "review": {"score": 0.1}}
