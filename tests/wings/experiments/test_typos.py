"""Names, columns and numbers that are wrong are told before anything runs, all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.guess import EXPERIMENT, FILE, GRADE, change, run_json, whorl

RULE = "at_most: 4, return: best"
UNKNOWN = [
    (RULE, 'until: "reveiw.score > 0.7"', "unknown name 'reveiw'", "'review'"),
    (RULE, "until: [{score: {from: '{{ review.scor }}'}}]", "'review' has no 'scor'", "'score'"),
    ("at_once: 6", 'inputs: {n: "{{ case.m }}"}', "'case' has no 'm'", "there is n"),
    *(
        (GRADE, f"grade: {grade}\n", words, advice)
        for grade, words, advice in (
            ('"outputs.txet == case.n"', "'outputs' has no 'txet'", "'text'"),
            ('"outputs.text == case.m"', "'case' has no 'm'", "there is n"),
            ('{equals: "{{ inputs.m }}", of: "b"}', "'inputs' has no 'm'", "there is n"),
            ('"run.secnds < 1"', "'run' has no 'secnds'", "did you mean 'seconds'?"),
        )
    ),
]
IGNORING = 'grade: {equals: a, of: "{{ outputs.text }}", ignore: [csae]}\n'
WRONG = [
    ("W005", "at_once: 6", "group: nope", "there is no column 'nope'", "known: n"),
    ("W005", "at_once: 6", "case_id: nope", "there is no column 'nope'", "known: n"),
    ("W012", "  longer:", '  "":', "a variant has no name", ""),
    ("W012", "  longer:", "  base:", "variant 'base' is the file as it is", "another name"),
    ("W007", GRADE, IGNORING, "grader 'grade' cannot ignore 'csae'", "'case'"),
    ("W007", "at_once: 6", "margin: 5", "'margin' of the experiment must be", ""),
    ("W007", "at_once: 6", "gate: {margin: 5}", "'margin' of the gate must be", ""),
    ("W007", "at_once: 6", "gate: {cost: 0}", "'cost' of the gate must be a number above", ""),
]


def test_all_typos_are_told_at_once() -> None:
    change(RULE, 'until: "reveiw.score > 0.7"', FILE)
    change(GRADE, 'grade: "outputs.txet == case.m"\n', FILE)

    told = whorl("validate", FILE)

    assert all(name in told.stdout + told.stderr for name in ("reveiw", "txet", "'m'"))


@pytest.mark.parametrize(
    ("code", "old", "new", "words", "advice"), [*(("W005", *row) for row in UNKNOWN), *WRONG]
)
def test_typos_are_told_early(code: str, old: str, new: str, words: str, advice: str) -> None:
    change(old, new, FILE)

    for command in (("validate", FILE), ("experiment", "run", FILE)):
        told = whorl(*command)
        text = told.stdout + told.stderr
        assert told.exit_code == 2, text
        assert f"error[{code}]" in text
        assert words in text
        assert advice in text
    assert run_json("ls", "--all") == []


def test_no_output_is_unknown_where_a_workflow_cannot_be_read() -> None:
    Path("other.yaml").write_text("whorl: 1\nsteps: {a: {vlaue: 1}}\noutputs: {more: 1}\n")
    text = EXPERIMENT.replace(GRADE, 'grade: "outputs.more"\n')
    Path(FILE).write_text(text.replace("variants:\n", "variants:\n  o: {workflow: other.yaml}\n"))

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


def test_equal_variants_are_a_warning() -> None:
    assert "W023" not in whorl("validate", FILE).stderr
    change("variants:\n", "variants:\n  same: {}\n", FILE)

    told = whorl("validate", FILE)

    said = "variants 'base' and 'same' are the same runs: their workflows and inputs are equal"
    assert told.exit_code == 0
    assert f"warning[W023]: {said}" in told.stderr


READABLE = (
    '"results.note.other == 1"',
    '"results.open.more == 1"',
    "\"results['write'].upper() == 'A'\"",
    '"results | length > 1"',
    '"outputs.note.other == 1"',
    "\"outputs.text.startswith('a')\"",
    "\"outputs.text[0] == 'a'\"",
    # A text that is no template.
    '{equals: "case.m", of: "{{ outputs.text }}"}',
)


def test_what_nobody_knows_of_results_may_be_read() -> None:
    Path("guess.yaml").write_text(FREE)
    change(", return: best", "", FILE)
    text = Path(FILE).read_text()
    for grade in READABLE:
        Path(FILE).write_text(text.replace(GRADE, f"grade: {grade}\n"))

        told = whorl("validate", FILE)

        assert told.exit_code == 0, told


def test_a_step_that_one_variant_has_may_be_read_and_base_may_be_written() -> None:
    Path("other.yaml").write_text(FREE)
    change("variants:\n", "variants:\n  base: {}\n  o: {workflow: other.yaml}\n", FILE)
    change(GRADE, 'grade: "results.open.more == 1"\n', FILE)

    assert whorl("validate", FILE).exit_code == 0
