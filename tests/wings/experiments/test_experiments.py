"""Experiments from the file to the report: read, run, resumed after a crash, graded, compared."""

from __future__ import annotations

import csv
import json
from contextlib import closing
from pathlib import Path

import pytest

from experiments.guess import EXPERIMENT, FILE, GRADE, SHORT_YES, configure, run_json, whorl
from whorl.runtimes.sqlite import SqliteStore


def calls_made() -> int:
    with closing(SqliteStore(".whorl/whorl.db")) as store:
        return sum(row.calls for row in store.runs(limit=100))


def test_an_experiment_is_run_once_and_reported_again() -> None:
    """By lists, tables and sheets; its runs are hidden, and kept, until they are asked for."""
    first = run_json("experiment", "run", FILE)
    again = run_json("experiment", "run", FILE)
    told = whorl("experiment", "report", FILE).stdout
    table = whorl("experiment", "report", FILE, "--markdown").stdout
    sheet = whorl("experiment", "report", FILE, "--csv").stdout.splitlines()

    assert first == again
    assert first["done"] == 24
    base, longer = first["variants"]["base"], first["variants"]["longer"]
    assert base["grade"]["value"] == pytest.approx(0.2)
    assert longer["grade"]["value"] == pytest.approx(0.4)
    assert (longer["wins"], longer["words"], longer["within_margin"]) == (12, "better", False)
    assert "within the margin" not in told
    assert "12 better, 0 the same, 0 worse (margin 0.02)" in told
    assert base["iterations"] == 2
    assert first["extra_usd"] > 0
    assert "| variant | grade (95 %) | to base |" in table
    assert "+0.20 (+0.20 to +0.20) better" in table
    assert len(sheet) == 25
    assert sheet[0].startswith("case,variant,repeat,run,status")

    hidden = whorl("ls").stderr
    trials = run_json("ls", "-n", "100", "--label", "experiment=guess")
    labels = {"experiment": "guess", "variant": "longer", "case": "1", "repeat": "1"}
    one = ("--label", "experiment=guess", "--label", "variant=longer", "--label", "case=1")
    (trial,) = run_json("ls", *one)
    assert "no run matches" in hidden
    assert "24 runs of experiments not listed: --all, or --label experiment=NAME" in hidden
    assert (len(trials), trial["labels"]) == (24, labels)

    whorl("run", "guess.yaml", "-i", "n=1")
    spared = run_json("project", "prune", "--older-than", "0s")
    gone = run_json("project", "prune", "--older-than", "0s", "--experiments")
    assert (len(spared["runs"]), len(gone["runs"])) == (1, 24)


def test_what_if_over_an_experiment_makes_no_call() -> None:
    run = run_json("experiment", "run", FILE)["rows"][0]["run"]
    calls = calls_made()

    found, kept, told = (
        *(run_json("experiment", "what-if", FILE) for _ in range(2)),
        whorl("experiment", "what-if", FILE),
    )
    one = run_json("experiment", "what-if", FILE, "--at-most", "3", "--return", "last")
    rules = list(csv.DictReader(whorl("experiment", "what-if", FILE, "--csv").stdout.splitlines()))
    sheet = whorl("experiment", "what-if", run, "--at-most", "1", "--csv").stdout.splitlines()

    assert found == kept
    assert found["own"] == "score 0.9, at_most 2, last"
    assert found["curve"]["last"] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert any("at_most 3, last" in row["rule"] and row["grade"] == 0.3 for row in one["rules"])
    assert found["recommended"]
    assert (found["runs"], found["trials"]) == (12, 12)
    assert "recommended: " in told.stdout
    assert len(rules) == len(found["rules"]) + len(found["not_ranked"])
    assert [float(row["grade"]) for row in rules[:5]] == [r["grade"] for r in found["rules"][:5]]
    (answer,) = csv.DictReader(sheet)
    assert (answer["run"], answer["iterations"], answer["returned"]) == (run, "1", "1")
    assert answer["exact"] == "True"
    assert calls_made() == calls

    for what in (run, FILE):
        wrong = whorl("experiment", "what-if", what, "--until", "reveiw.score > 0.7")
        assert wrong.exit_code == 2, wrong
        assert "error[W005]" in wrong.stderr
        assert "did you mean 'review'" in wrong.stderr
    known = whorl(
        "experiment", "what-if", FILE, "--until", "review.score > 0.7 and iteration > 1 and n >= 0"
    )
    assert known.exit_code == 0, known
    checked = whorl(
        "experiment", "what-if", FILE, "--at-most", "3", "--return", "best", "--check", "5"
    )
    unclear = whorl("experiment", "what-if", FILE, "--check", "5")
    assert checked.exit_code == 0
    assert "5 answers replayed through the engine: all the same" in checked.stderr
    assert unclear.exit_code == 2
    assert "say which rule" in unclear.stderr

    whorl("experiment", "rm", "guess")
    assert run_json("experiment", "ls") == []


@pytest.mark.slow
def test_more_cases_run_only_those_and_a_new_generation_all() -> None:
    run_json("experiment", "run", "guess.experiment.yaml")
    with Path("cases.csv").open("a") as file:
        file.write("77\n")

    more = run_json("experiment", "run", "guess.experiment.yaml")
    run_json("experiment", "run", "guess.experiment.yaml", "--fresh")

    assert more["done"] == 26
    listed = run_json("experiment", "ls")
    assert [(row["name"], row["runs"]) for row in listed] == [("guess", 52)]
    assert "no run matches" in whorl("ls").stderr
    whorl("experiment", "rm", "guess")
    assert run_json("experiment", "ls") == []


def test_paid_graders_and_people_grade_by_runs_of_their_own() -> None:
    graders = """
grade:
  right: "outputs.text == 'ab'"
  good: {judge: "It is short", of: "{{ outputs.text }}", votes: 3}
  same: {equals: "AB ", of: "{{ outputs.text }}", ignore: [case, space]}
  taste: {person: "Would you send this?", show: "{{ outputs.text }}"}
  odd: "7"
grade_iterations: returned
"""
    text = EXPERIMENT.replace(GRADE, graders)
    Path("guess.experiment.yaml").write_text(text)
    configure(SHORT_YES)

    found = run_json("experiment", "run", "guess.experiment.yaml")
    row = next(row for row in found["rows"] if row["variant"] == "base")

    assert row["grades"] == {"right": 1, "good": 1, "same": 1, "taste": None, "odd": None}
    assert found["people"]["taste"] == [0, 24]
    assert "a grade is from 0 to 1" in found["faults"][0]
    with closing(SqliteStore(Path(".whorl/whorl.db"))) as store:
        names = [row.name for row in store.runs(limit=200)]
        gradings = [row for row in store.runs(limit=200) if row.name.startswith("grade-")]
    # Equal results of one case share a grading; every case of the data is asked about itself.
    assert names.count("grade-good") == names.count("grade-taste") == 24
    shown = " ".join(json.dumps(row.key) for row in gradings)
    assert "longer" not in shown
    judged = run_json("experiment", "judge", "guess.experiment.yaml", "good", "--against", "right")
    assert judged["results"] == 24
    assert judged["wrong_yes"][:2] == [12, 12]


def test_all_rows_that_do_not_fit_are_listed_at_once() -> None:
    Path("cases.csv").write_text("id,n\na,1\nb,12a\nc,x\n")

    wrong = whorl("validate", FILE).stderr
    Path("cases.csv").write_text("n,n\n1,2\n")

    assert "two columns are called 'n'" in whorl("experiment", "run", FILE).stderr
    assert wrong.count("error[X101]") == 2
    assert ("cases.csv:3:1" in wrong, "cases.csv:4:1" in wrong) == (True, True)


REST = EXPERIMENT[EXPERIMENT.index("grade:") :]
GOOD = 'good: {judge: "Good?", of: "{{ output.text }}"}'


@pytest.mark.parametrize(
    ("old", "new", "code", "place"),
    [
        ("explore", "explor", "W004", "9"),
        ("workflow: guess.yaml\n", "", "W006", "2"),
        ("{polish: {at_most", "{polishh: {at_most", "W005", "7"),
        ("at_most: 4", "at_most: often", "W007", "7"),
        ("return: best", "returns: best", "W004", "7"),
        (REST, 'grade: "outputs.text +"', "W008", "8:8"),
        (REST, 'grade: "output.text == 1"', "W005", "8:8"),
        (REST, f'grade: {{right: "case.n > 1", {GOOD}}}', "W005", "8:57"),
        (REST, f"grade: {{{GOOD[:-1].replace('put', 'puts')}, votes: 0}}}}", "W007", "8:65"),
        (REST, 'grade: "1"\nsolved: "good > 0.5"', "W005", "9:9"),
        (REST, 'grade: "1"\ninputs: {n: "{{ row.n }}"}', "W005", "9:13"),
        (REST, 'grade: "1"\nexplore: {polsh: 5}', "W005", "9:11"),
        (REST, 'grade: "1"\nexplore: {polish: many}', "W007", "9:19"),
        (REST, 'grade: "1"\nrepeat: 0', "W007", "9:9"),
        (REST, 'grade: "1"\nat_once: 0', "W007", "9:10"),
        (REST, 'grade: "1"\ngate: {costs: 1.2}', "W004", "9:8"),
        (REST, 'grade: "1"\ngate: {failures: some}', "W007", "9:18"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(
    old: str, new: str, code: str, place: str
) -> None:
    """Before anything is paid, and by `validate`, too."""
    Path(FILE).write_text(EXPERIMENT.replace(old, new))

    done = whorl("experiment", "run", FILE)

    assert done.exit_code == whorl("validate", FILE).exit_code == 2
    assert f"error[{code}]" in done.stderr
    assert f"{FILE}:{place}" in done.stderr
    assert (
        old not in ("explore", "workflow: guess.yaml\n")
        or f"'{old.partition(':')[0]}'" in done.stderr
    )
    assert run_json("ls", "--all") == []
