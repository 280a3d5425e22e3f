"""Commands around experiments: graders that run, gates, the background, pruning, cleaning up."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from experiments.guess import (
    EXPERIMENT,
    FILE,
    GRADE,
    PLAIN,
    SCORE,
    advised,
    configure,
    run_json,
    whorl,
    write_cases,
)
from experiments.served import Billed, recorded
from waiting import wait_until
from whorl.runtimes.sqlite import SqliteStore
from whorl.wings.experiments.server_jobs import ExperimentTable

REPLY = '[[providers.demo.replies]]\nmatch = "How good"\nreplies = [{json = {grade = 0.25}}]\n'


def test_a_model_and_a_command_grade_by_runs_of_their_own() -> None:
    graders = """
grade:
  model: {ask: "How good is {{ outputs.text }}?", returns: {grade: number}}
  command: {run: ["test", "{{ outputs.text }}", "=", "ab"]}
  asked: {run: ["test", "{{ results.write }}", "=", "{{ case.n }}"]}
grade_iterations: returned
"""
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, graders))
    write_cases(2)
    refused = whorl("experiment", "run", FILE)
    configure(REPLY + '[allow]\ncommands = ["test"]\n')

    found, again = (run_json("experiment", "run", FILE) for _ in range(2))

    assert refused.exit_code == 2
    assert "test" in refused.stderr
    assert len(run_json("ls", "--all")) == 4 + 2 * 4 + 4
    for variant, command in (("base", 1), ("longer", 0)):
        grades = [row["grades"] for row in found["rows"] if row["variant"] == variant]
        assert grades == [{"model": 0.25, "command": command, "asked": 0}] * 2
    assert found["spent_usd"] == again["spent_usd"]


def test_a_gate_is_undecided_where_few_cases_differ_much() -> None:
    """Half of the cases are better by 0.1 and half worse: nothing is certain."""
    text = EXPERIMENT.replace(GRADE, 'grade: "0.5 + (n % 2 - 0.5) * run.iterations / 10"\n')
    text = text.replace("(n % 2", "((case.n | int) % 2")
    Path(FILE).write_text(text)
    options = ("experiment", "gate", FILE, "--variant", "longer", "--against", "base")

    found = run_json(*options)
    lax, strict = whorl(*options, "--markdown"), whorl(*options, "--strict")

    assert found["verdict"] == "undecided"
    assert "12 cases are too few to decide with a margin of 0.02; about" in found["reasons"][0]
    assert (lax.exit_code, strict.exit_code) == (0, 1)
    rows = [line for line in lax.stdout.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {row.count("|") for row in rows} == {8}
    assert rows[3].startswith("| longer |")
    assert "### guess: 12 cases" in lax.stdout


def test_rows_that_cannot_be_run_say_what_is_left_to_gain() -> None:
    """What is solved at the fourth guess ends there; what never is, with the best by score."""
    solved = 'solved: "grade >= 0.4"\n'
    Path(FILE).write_text(EXPERIMENT + solved)
    run_json("experiment", "run", FILE)

    ideal = run_json("experiment", "what-if", FILE)["ideal"]
    Path(FILE).write_text(EXPERIMENT + solved.replace("0.4", "0.9"))
    never = run_json("experiment", "what-if", FILE)["ideal"]["the judge is always right"]

    wanted = {
        "no loop at all": (0.1, 1),
        "the judge is always right": (0.4, 4),
        "the best that was made": (0.5, 5),
    }
    found = {name: (row["grade"], row["iterations"]) for name, row in ideal.items()}
    assert found == {name: (pytest.approx(grade), n) for name, (grade, n) in wanted.items()}
    assert (never["grade"], never["iterations"]) == (pytest.approx(0.5), 5)
    costs = [row["cost_usd"] for row in ideal.values()]
    assert costs == sorted(costs)


@pytest.mark.slow
def test_an_experiment_runs_in_the_background() -> None:
    words = ["experiment", "run", FILE, "--detach", "--config", "whorl.toml"]
    command = [sys.executable, "-m", "whorl.interfaces.cli", *words]
    begun = subprocess.run(command, capture_output=True, text=True, check=True)

    def ended() -> Any:
        with closing(SqliteStore(Path(".whorl/whorl.db"))) as store:
            asked = ExperimentTable(store).all()["guess"]
            return asked if asked.state != "asked" else None

    wait_until(lambda: ended() is not None)
    found = run_json("experiment", "report", FILE)
    stopped = whorl("experiment", "stop", "guess")

    assert begun.stdout == "guess\n"
    assert ended().state == "done"
    assert found["done"] == 24
    assert stopped.exit_code == 2


@pytest.mark.slow
def test_an_interrupt_leaves_trials_where_they_are() -> None:
    """The loops would go on for hours; a server, or the same command, would go on with them."""
    flow = Path("guess.yaml").read_text().replace("at_most: 2", "at_most: 90\n      wait: 1h")
    Path("guess.yaml").write_text(flow.replace("at_least: 0.9}", "at_least: 2, high: 3}"))
    Path(FILE).write_text(PLAIN)
    words = ["experiment", "run", FILE, "--config", "whorl.toml"]
    # What a shell runs in the background ignores the signal, and so would the process.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen([sys.executable, "-m", "whorl.interfaces.cli", *words])
    path = Path(".whorl/whorl.db")

    def statuses() -> set[str]:
        with closing(SqliteStore(path)) as store:
            return {row.status for row in store.runs(limit=50) if row.calls}

    wait_until(lambda: process.poll() is not None or (path.exists() and "running" in statuses()))
    process.send_signal(signal.SIGINT)

    assert process.wait(60) == 130
    assert "interrupted" in statuses()
    assert "running" not in statuses()


def test_a_rule_is_asked_of_all_runs_of_one_version() -> None:
    flow = Path("guess.yaml").read_text()
    whorl("run", "guess.yaml", "-i", "n=1")
    Path("guess.yaml").write_text(flow.replace("Guess", "Guess again"))
    for number in ("2", "3"):
        whorl("run", "guess.yaml", "-i", f"n={number}")
    asked = ("experiment", "what-if", "--workflow", "guess", "--at-most", "1")

    newest, shown = run_json(*asked), whorl(*asked)
    unknown = whorl(*asked, "--version", "zz").stderr
    known = unknown.partition("known: ")[2].split(",")

    assert [each["answer"]["iterations"] for each in newest] == [1, 1]
    assert "1 run of other versions left out" in shown.stderr
    assert "2 of 2 runs answered, on average: 2.0 iterations became 1.0" in shown.stdout
    assert "X110" in unknown
    assert len(run_json(*asked, "--version", known[1].split()[0].strip(". "))) == 1
    assert whorl("experiment", "what-if", "last", *asked[1:]).exit_code == 2


JUDGED = (
    EXPERIMENT.replace("guess.yaml", "judged.yaml")
    .replace(", return: best", "")
    .replace(GRADE, 'grade: "1 if results.write | length > 2 else 0"\n')
)


def judged_flow(replies: str) -> None:
    """The loop of the guess with a judge in the place of its score."""
    flow = Path("guess.yaml").read_text()
    rule = 'until: [{judge: {question: "Is it long?", of: write}}]'
    Path("judged.yaml").write_text(flow.replace(SCORE, rule))
    Path(FILE).write_text(JUDGED)
    match = 'match = "Is it long"\nby = "iteration"\n'
    with Path("whorl.toml").open("a") as file:
        file.write(f"[[providers.demo.replies]]\n{match}replies = {replies}\n")


def test_results_on_which_judge_and_labels_differ_show_its_words() -> None:
    """It says yes from the second guess on; the grade, and a person, from the third."""
    judged_flow('["NO, far too short.", "YES, it has two letters.", "YES, fine."]')
    run_json("experiment", "run", FILE)
    rows = ["case,iteration,label"] + [f"{n},2,{'yes' if n < 4 else 'no'}" for n in range(1, 13)]
    Path("labels.csv").write_text("\n".join(rows) + "\n1,1,maybe\n")
    asked = ("experiment", "judge", FILE, "--against")

    found, shown = run_json(*asked, "grade"), whorl(*asked, "grade").stdout
    sheet = list(csv.DictReader(whorl(*asked, "grade", "--csv").stdout.splitlines()))
    wrong = whorl(*asked, "labels.csv")
    Path("labels.csv").write_text("\n".join(rows) + "\n")
    labelled = run_json(*asked, "labels.csv")

    differing = [(one["case"], one["iteration"], one["verdict"]) for one in found["disagreements"]]
    assert differing == [(str(n), 2, True) for n in range(1, 13)]
    assert [row["run"] for row in sheet] == [one["run"] for one in found["disagreements"]]
    assert {row["words"] for row in sheet} == {"it has two letters."}
    assert "they differ in 12 results" in shown
    assert "line 14, column 'label': 'maybe' is neither yes nor no" in wrong.stderr
    assert (labelled["results"], labelled["wrong_yes"][:2]) == (12, [9, 9])


def test_a_running_experiment_is_not_deleted(
    billed: Billed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process runs it, and waits for its first answer."""
    recorded(billed, cases=2)
    has_begun, may_answer, real = threading.Event(), threading.Event(), billed.answer

    def answer(asked: dict[str, Any]) -> dict[str, Any] | None:
        has_begun.set()
        may_answer.wait()
        return real(asked)

    monkeypatch.setattr(billed, "answer", answer)
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = whorl("experiment", "run", FILE, "--fresh").exit_code
        finally:
            os._exit(code)
    has_begun.wait()

    refused = whorl("experiment", "rm", "guess")
    may_answer.set()
    os.waitpid(child, 0)
    (listed,) = run_json("experiment", "ls")
    removed = whorl(*advised(refused.stderr))

    assert refused.exit_code == 2
    assert "error[R902]: experiment 'guess' has" in refused.stderr
    assert "running run" in refused.stderr
    assert listed["runs"] == 4
    assert removed.exit_code == 0
    assert run_json("experiment", "ls") == []
