"""Names, columns and numbers that are wrong are told before anything runs, all at once."""

from __future__ import annotations

import pytest

from experiments.guess import FILE, GRADE, change, run_json, whorl

RULE = "at_most: 4, return: best"
UNKNOWN = [
    (RULE, 'until: "reveiw.score > 0.7"', "unknown name 'reveiw'", "'review'"),
    (RULE, "until: [{score: {from: '{{ review.scor }}'}}]", "'review' has no 'scor'", "'score'"),
    ("at_once: 6", 'inputs: {n: "{{ case.m }}"}', "'case' has no 'm'", "known: n"),
    (GRADE, 'grade: "outputs.text == case.m"\n', "'case' has no 'm'", "known: n"),
]
IGNORING = 'grade: {equals: a, of: "{{ outputs.text }}", ignore: [csae]}\n'
WRONG = [
    ("W005", "at_once: 6", "group: nope", "there is no column 'nope'", "known: n"),
    ("W005", "loops: {polish", "models: {polish/write: q}, loops: {polish",
     "the step 'polish/write'", "write 'write'"),
    ("W005", "loops: {polish", "models: {nope: q}, loops: {polish", "the step 'nope'",
     "known: review, write"),
    ("W005", "at_once: 6", 'solved: "score > 0.7"', "there is no 'score'", "`solved` sees grade"),
    ("W012", "  longer:", '  "":', "a variant has no name", ""),
    ("W012", "  longer:", "  base:", "variant 'base' is the file as it is", "another name"),
    ("W007", GRADE, IGNORING, "grader 'grade' cannot ignore 'csae'", "'case'"),
    ("W007", "at_once: 6", "gate: {margin: 5}", "'margin' of the gate must be", ""),
    ("W007", "at_once: 6", "gate: {cost: 0}", "'cost' of the gate must be a number above", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "old", "new", "words", "advice"), [*(("W005", *row) for row in UNKNOWN), *WRONG]
)
def test_typos_are_reported_early(code: str, old: str, new: str, words: str, advice: str) -> None:
    change(old, new, FILE)

    for command in (("validate", FILE), ("experiment", "run", FILE)):
        told = whorl(*command)
        text = told.stdout + told.stderr
        assert told.exit_code == 2, text
        assert f"error[{code}]" in text
        assert words in text
        assert advice in text
    assert run_json("ls", "--all") == []


def test_equal_variants_are_a_warning() -> None:
    assert "W023" not in whorl("validate", FILE).stderr
    change("variants:\n", "variants:\n  same: {}\n", FILE)

    told = whorl("validate", FILE)

    said = "variants 'base' and 'same' are the same runs: their workflows and inputs are equal"
    assert told.exit_code == 0
    assert f"warning[W023]: {said}" in told.stderr
