"""What reports and sweeps print beside their numbers; each command in them works when pasted."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from experiments.guess import EXPERIMENT, folder, run_json, whorl

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

FILE = "guess.experiment.yaml"
GRADE = 'grade: "(outputs.text | length) / 10"\n'
HEAD = "guess   12 cases, 2 variants, 1 run each; "


def pasted(text: str, start: str) -> list[str]:
    """The words of the command at the end of the line that begins so."""
    line = next(line for line in text.splitlines() if line.startswith(start))
    return shlex.split(line.rpartition(": whorl ")[2])


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("grade", "said"),
    [
        (GRADE, "grade: grade (expression), solved: grade >= 0.5"),
        (GRADE + 'solved: "grade > 0.3"\n', "grade: grade (expression), solved: grade > 0.3"),
        (
            'grade: {good: {judge: "It is short", of: "{{ outputs.text }}", votes: 3}}\n',
            "grade: good (judge, 3 votes), solved: good >= 0.5",
        ),
        (
            'grade: {good: {judge: "It is short", of: "{{ outputs.text }}"}}\n',
            "grade: good (judge, 1 vote), solved: good >= 0.5",
        ),
    ],
)
def test_the_title_of_a_report_says_who_grades_and_what_is_solved(
    folder: Path, grade: str, said: str
) -> None:
    (folder / FILE).write_text(EXPERIMENT.replace(GRADE, grade + "grade_iterations: returned\n"))
    with (folder / "whorl.toml").open("a") as file:
        file.write('[[providers.demo.replies]]\nmatch = "It is short"\nreplies = ["YES"]\n')

    shown = whorl("experiment", "run", FILE).stdout

    assert shown.splitlines()[0] == HEAD + said


def test_a_report_says_which_cases_differ_and_what_to_ask_next(folder: Path) -> None:
    shown = whorl("experiment", "run", FILE).stdout

    cases = pasted(shown, "longer against base: 12 better, 0 the same, 0 worse (margin 0.02): ")
    asked = pasted(shown, "next: ")
    assert shown.splitlines()[-1].startswith("next: ")
    assert cases[2:] == ["experiment", "report", FILE, "--cases", "longer"]
    assert asked[2:] == ["what-if", FILE]
    assert whorl(*cases).stdout.count("+0.20") >= 12
    title = whorl(*asked).stdout.splitlines()[0]
    assert title.startswith("guess: loop polish of base, 12 exploring runs of up to 5 iterations; ")


def test_nobody_is_sent_to_what_if_where_it_has_no_answer(folder: Path) -> None:
    """Steps after the loop decide what is graded; and a workflow without a loop has no rule."""
    flow = (folder / "guess.yaml").read_text()
    later = '  tell: {ask: "Guess {{ polish.write }}"}\noutputs: {text: "{{ tell }}"}'
    changed = flow.replace('outputs: {text: "{{ polish.write }}"}', later)
    assert changed != flow
    (folder / "guess.yaml").write_text(changed)
    behind = whorl("experiment", "run", FILE)
    flat = 'whorl: 1\nname: flat\ninputs: {n: integer}\nsteps: {tell: {ask: "Guess {{ n }}"}}\n'
    (folder / "flat.yaml").write_text(flat + 'outputs: {text: "{{ tell }}"}\n')
    file = f"experiment: 1\nname: flat\nworkflow: flat.yaml\ncases: cases.csv\n{GRADE}"
    (folder / "flat.experiment.yaml").write_text(file)
    without = whorl("experiment", "run", "flat.experiment.yaml")

    assert behind.exit_code == without.exit_code == 0
    assert "next: " not in behind.stdout + without.stdout


def test_another_variant_and_runs_that_were_not_explored_are_told_in_the_title(
    folder: Path,
) -> None:
    (folder / FILE).write_text(EXPERIMENT.replace("explore: {polish: 5}\n", ""))
    run_json("experiment", "run", FILE)

    title = whorl("what-if", FILE, "--variant", "longer").stdout.splitlines()[0]

    assert title.startswith("guess: loop polish of longer, 12 runs; ")


def test_the_picture_of_grades_ends_at_1_where_all_of_them_are_1(folder: Path) -> None:
    (folder / FILE).write_text(EXPERIMENT.replace(GRADE, 'grade: "1"\n'))
    run_json("experiment", "run", FILE)

    done = whorl("what-if", FILE, "--svg", "rules.svg")

    assert done.exit_code == 0
    picture = (folder / "rules.svg").read_text()
    marks = [float(text) for text in re.findall(r'text-anchor="end">([0-9.]+)<', picture)]
    assert len(marks) == 10
    assert max(marks) == 1


@pytest.mark.slow
def test_the_titles_say_which_judge_and_which_run_and_progress_what_was_graded(
    folder: Path,
) -> None:
    graders = """grade:
  right: "outputs.text == 'ab'"
  good: {judge: "It is short", of: "{{ outputs.text }}"}
  taste: {person: "Would you send this?", show: "{{ outputs.text }}"}
grade_iterations: returned
"""
    (folder / FILE).write_text(EXPERIMENT.replace(GRADE, graders))
    with (folder / "whorl.toml").open("a") as file:
        file.write('[[providers.demo.replies]]\nmatch = "It is short"\nreplies = ["YES"]\n')
    run = run_json("run", "guess.yaml", "-i", "n=1")["run"]

    first, again = whorl("experiment", "run", FILE), whorl("experiment", "run", FILE)
    judged = whorl("judge", FILE, "good", "--against", "right").stdout
    asked = whorl("what-if", run, "--at-most", "1").stdout

    for done in (first, again):
        last = [line for line in done.stderr.splitlines() if "24 of 24 trials" in line][-1]
        assert last.startswith("  24 of 24 trials, 24 graded, 24 wait for a person, $")
    assert judged.startswith("judge of grader good, 'It is short': 24 results of 12 cases")
    assert asked.startswith(f"run {run} of guess, loop polish\n")
