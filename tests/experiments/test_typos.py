"""Names, columns and numbers that are wrong are told before anything runs, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from experiments.guess import EXPERIMENT, folder, run_json, whorl

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

FILE = "guess.experiment.yaml"
GRADE = 'grade: "(outputs.text | length) / 10"\n'
RULE = "at_most: 4, return: best"


@pytest.mark.parametrize(
    ("change", "code", "words", "advice"),
    [
        ((RULE, 'until: "reveiw.score > 0.7"'), "W005", "unknown name 'reveiw'", "'review'"),
        (
            (RULE, "until: [{score: {from: '{{ review.scor }}'}}]"),
            "W005",
            "'review' has no 'scor'",
            "'score'",
        ),
        ((GRADE, 'grade: "outputs.txet == case.n"\n'), "W005", "'outputs' has no 'txet'", "'text'"),
        ((GRADE, 'grade: "outputs.text == case.m"\n'), "W005", "'case' has no 'm'", "there is n"),
        (
            (GRADE, 'grade: {equals: "{{ inputs.m }}", of: "{{ outputs.text }}"}\n'),
            "W005",
            "'inputs' has no 'm'",
            "there is n",
        ),
        ((GRADE, 'grade: "run.cots < 1"\n'), "W005", "'run' has no 'cots'", "there is cost_usd"),
        (
            (GRADE, 'grade: "results.wrte == case.n"\n'),
            "W005",
            "'results' has no 'wrte'",
            "did you mean 'write'?",
        ),
        (
            (GRADE, 'grade: {equals: "{{ results.review.scor }}", of: "{{ case.n }}"}\n'),
            "W005",
            "'results.review' has no 'scor'",
            "did you mean 'score'?",
        ),
        (
            (GRADE, 'grade: "results.polish.write == case.n"\n'),
            "W005",
            "'results' has no 'polish'",
            "write results.write: the results are those of the steps in loop 'polish'",
        ),
        (
            (GRADE, 'grade: "results.polsh.wrte == case.n"\n'),
            "W005",
            "'results' has no 'polsh'",
            "the results are those of the steps in loop 'polish': write, review",
        ),
        (
            (GRADE, 'grade: "results.write.text == case.n"\n'),
            "W005",
            "'results.write' has no 'text'",
            "it is a text or another plain value",
        ),
        (
            (GRADE, 'grade: {person: "Good?", show: "{{ outputs.text.firts }}"}\n'),
            "W005",
            "'outputs.text' has no 'firts'",
            "it is a text or another plain value",
        ),
        (
            ("at_once: 6", 'inputs: {n: "{{ case.m }}"}'),
            "W005",
            "'case' has no 'm'",
            "there is n",
        ),
        (("at_once: 6", "group: nope"), "X100", "there is no column 'nope'", "known: n"),
        (("at_once: 6", "case_id: nope"), "X100", "there is no column 'nope'", "known: n"),
        (("  longer:", '  "":'), "X100", "a variant has no name", ""),
        (("  longer:", "  base:"), "X100", "variant 'base' is the file as it is", "another name"),
        (
            (GRADE, 'grade: {equals: a, of: "{{ outputs.text }}", ignore: [csae]}\n'),
            "X100",
            "grader 'grade' cannot ignore 'csae'",
            "'case'",
        ),
        (("at_once: 6", "margin: 5"), "X100", "'margin' of the experiment must be", ""),
        (("at_once: 6", "gate: {margin: 5}"), "X100", "'margin' of the gate must be", ""),
        (
            ("at_once: 6", "gate: {cost: 0}"),
            "X100",
            "'cost' of the gate must be a number above",
            "",
        ),
    ],
)
def test_typos_are_told_before_anything_runs(
    folder: Path, change: tuple[str, str], code: str, words: str, advice: str
) -> None:
    assert change[0] in EXPERIMENT
    (folder / FILE).write_text(EXPERIMENT.replace(*change))

    for command in (("validate", FILE), ("experiment", "run", FILE)):
        told = whorl(*command)
        text = told.stdout + told.stderr
        assert told.exit_code == 2, text
        assert f"error[{code}]" in text
        assert words in text
        assert advice in text
    assert run_json("ls", "--all") == []


def test_all_typos_are_told_at_once(folder: Path) -> None:
    text = EXPERIMENT.replace(RULE, 'until: "reveiw.score > 0.7"')
    (folder / FILE).write_text(text.replace(GRADE, 'grade: "outputs.txet == case.m"\n'))

    told = whorl("validate", FILE)

    for name in ("reveiw", "txet", "'m'"):
        assert name in told.stdout + told.stderr


def test_no_output_is_unknown_where_a_workflow_cannot_be_read(folder: Path) -> None:
    (folder / "other.yaml").write_text("whorl: 1\nsteps: {a: {vlaue: 1}}\noutputs: {more: 1}\n")
    text = EXPERIMENT.replace(GRADE, 'grade: "outputs.more"\n')
    (folder / FILE).write_text(
        text.replace("variants:\n", "variants:\n  o: {workflow: other.yaml}\n")
    )

    told = whorl("validate", FILE)

    assert told.exit_code == 2
    assert "vlaue" in told.stdout + told.stderr
    assert "has no 'more'" not in told.stdout + told.stderr


FREE = """
whorl: 1
name: guess
inputs: {n: integer}
steps:
  polish:
    repeat:
      until: iteration > 1
      at_most: 2
      steps:
        write: {ask: "Guess {{ n }} now {{ iteration }}"}
        note: {value: {any: 1}}
        open:
          ask: "Review {{ write }}"
          returns: {type: object, properties: {score: {type: number}}, additionalProperties: true}
outputs: {text: "{{ polish.write }}", note: "{{ polish.note }}"}
"""


@pytest.mark.parametrize(
    "grade",
    [
        "results.note.other == 1",
        "results.open.more == 1",
        "results['write'].upper() == 'A'",
        "results | length > 1",
        "outputs.note.other == 1",
        "outputs.text.startswith('a')",
        "outputs.text[0] == 'a'",
    ],
)
def test_what_nobody_knows_of_results_may_be_read(folder: Path, grade: str) -> None:
    (folder / "guess.yaml").write_text(FREE)
    (folder / FILE).write_text(
        EXPERIMENT.replace(GRADE, f'grade: "{grade}"\n').replace(", return: best", "")
    )

    told = whorl("validate", FILE)

    assert told.exit_code == 0, told


def test_a_step_that_one_variant_has_may_be_read(folder: Path) -> None:
    (folder / "other.yaml").write_text(FREE)
    text = EXPERIMENT.replace("variants:\n", "variants:\n  o: {workflow: other.yaml}\n")
    (folder / FILE).write_text(text.replace(GRADE, 'grade: "results.open.more == 1"\n'))

    assert whorl("validate", FILE).exit_code == 0


def test_steps_of_a_loop_in_a_workflow_that_is_called_are_known(folder: Path) -> None:
    (folder / "inner.yaml").write_text((folder / "guess.yaml").read_text())
    flow = "whorl: 1\ninputs: {n: integer}\nsteps:\n"
    flow += '  called: {call: inner.yaml, with: {n: "{{ n }}"}}\n'
    (folder / "guess.yaml").write_text(flow + 'outputs: {text: "{{ called.text }}"}\n')
    head = "experiment: 1\nname: guess\nworkflow: guess.yaml\ncases: cases.csv\n"
    (folder / FILE).write_text(head + "grade: \"results.wrte == 'ab'\"\n")
    told = whorl("validate", FILE)
    assert told.exit_code == 2
    assert "did you mean 'write'?" in told.stderr

    (folder / FILE).write_text(head + "grade: \"results.write == 'ab'\"\n")

    assert run_json("experiment", "run", FILE)["variants"]["base"]["grade"]["value"] == 1


def test_a_workflow_without_a_loop_has_no_results(folder: Path) -> None:
    flow = 'whorl: 1\ninputs: {n: integer}\nsteps: {write: {ask: "Guess {{ n }}"}}\n'
    (folder / "guess.yaml").write_text(flow + 'outputs: {text: "{{ write }}"}\n')
    head = "experiment: 1\nworkflow: guess.yaml\ncases: cases.csv\n"
    (folder / FILE).write_text(head + 'grade: "results.write == case.n"\n')

    told = whorl("validate", FILE)

    assert told.exit_code == 2
    assert "'results' has no 'write'" in told.stderr
    assert "there is no loop, whose steps `results` has: grade `outputs`" in told.stderr


def test_two_columns_of_one_name_are_told(folder: Path) -> None:
    (folder / "cases.csv").write_text("n,n\n1,2\n")

    told = whorl("experiment", "run", FILE)

    assert told.exit_code == 2
    assert "two columns are called 'n'" in told.stderr


def test_texts_of_graders_that_are_no_templates_are_not_read_as_expressions(folder: Path) -> None:
    grade = 'grade: {equals: "case.m", of: "{{ outputs.text }}"}\n'
    (folder / FILE).write_text(EXPERIMENT.replace(GRADE, grade))

    assert whorl("validate", FILE).exit_code == 0


def test_a_rule_that_is_asked_about_knows_its_names(folder: Path) -> None:
    rows = run_json("experiment", "run", FILE)["rows"]

    for what in (rows[0]["run"], FILE):
        told = whorl("what-if", what, "--until", "reveiw.score > 0.7")
        assert told.exit_code == 2, told
        assert "error[W005]" in told.stderr
        assert "did you mean 'review'" in told.stderr
    known = whorl("what-if", FILE, "--until", "review.score > 0.7 and iteration > 1 and n >= 0")
    assert known.exit_code == 0, known


def test_base_may_be_written_as_it_is(folder: Path) -> None:
    (folder / FILE).write_text(EXPERIMENT.replace("variants:\n", "variants:\n  base: {}\n"))

    assert whorl("validate", FILE).exit_code == 0


def test_a_column_of_labels_that_is_misspelt_is_told(folder: Path) -> None:
    (folder / "labels.csv").write_text("case,iteraton,label,note\n1,1,yes,mine\n")

    told = whorl("judge", FILE, "--against", "labels.csv")

    assert told.exit_code == 2
    assert "labels.csv: no column is 'iteraton'" in told.stderr
    assert "'iteration'" in told.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("variants:\n", "variants:\n  same: {}\n"),
            "variants 'base' and 'same' are the same runs: their workflows and inputs are equal",
        ),
        (("at_once: 6", "budget: 0"), "'budget' of 0 allows no call that costs something"),
        (
            ("at_once: 6", "budget: 1\ntrial_budget: 2"),
            "'trial_budget' of 2 is more than the 'budget' of 1: no trial can begin",
        ),
        (
            ("explore: {polish: 5}", "grade_iterations: all"),
            "'grade_iterations: all' grades nothing more without 'explore'",
        ),
    ],
    ids=["same", "zero", "more", "all"],
)
def test_what_can_hardly_be_meant_is_a_warning(
    folder: Path, change: tuple[str, str], said: str
) -> None:
    plain = whorl("validate", FILE)
    (folder / FILE).write_text(EXPERIMENT.replace(*change))

    told = whorl("validate", FILE)
    found = run_json("validate", FILE)

    assert "X112" not in plain.stderr
    assert told.exit_code == 0
    assert f"warning[X112]: {said}" in told.stderr
    (report,) = found if isinstance(found, list) else [found]
    (one,) = report["diagnostics"]
    assert (one["code"], one["severity"], one["message"]) == ("X112", "warning", said)
