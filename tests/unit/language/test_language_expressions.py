"""Operators, access, faults, truth, and the range of integers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from whorl.language import (
    EvaluationError,
    Expression,
    Json,
    LimitExceeded,
    MappingScope,
    evaluate,
    truth,
)

SCOPE = MappingScope(
    {
        "review": {"score": 0.9, "approved": True, "notes": ["a", "b"], "by": {"name": "Ada"}},
        "task": "poem",
        "count": 3,
        "null": None,
        "step-one": {"output": [10, 20]},
        "no": "No",
        "loop": "mine",
    }
)

VALUES: list[tuple[str, Json]] = [
    *(("1 + 2 * 3", 7), ("(1 + 2) * 3 - 4", 5), ("2 ** 3 ** 2", 64), ("7 // 2", 3), ("-7 % 3", 2)),
    *(("7 / 2", 3.5), ("-count", -3), ("+count", 3), ("2 ** -1", 0.5), ("'a' + 'b'", "ab")),
    *(("[1] + [2]", [1, 2]), ("'ab' * 2", "abab"), ("2 * [0]", [0, 0]), ("'%s!' % task", "poem!")),
    ("'%s-%s' % (1, 2)", "1-2"),
    ("'a' ~ 1 ~ true ~ none ~ missing ~ [1]", "a1true[1]"),
    *(("1 < 2 < 3", True), ("1 < 2 > 2", False), ("'a' < 'b'", True), ("[1, 2] < [1, 3]", True)),
    *(("1 == 1.0", True), ("'1' == 1", False), ("[1, {'a': 2}] == [1, {'a': 2}]", True)),
    *(("missing == none", False), ("'b' in review.notes", True), ("'score' in review", True)),
    *(("'oe' not in task", False), ("1 in missing", False)),
    ("review.approved and review.score >= 0.9", True),
    *(("missing or null or 'x'", "x"), ("1 and 2 and 3", 3), ("not missing", True)),
    *(("not not 1", True), ("'a' if review.approved else 'b'", "a"), ("'a' if missing", None)),
    ("'a' if no == 'x' else 'b' if false else 'c'", "c"),
    *(("review.by.name", "Ada"), ("review['by']['name']", "Ada"), ("review.notes[0]", "a")),
    *(("review.notes.1", "b"), ("review.notes[-1]", "b"), ("review.notes[9]", None)),
    *(("review.notes[true]", None), ("task[0]", "p"), ("task[1:3]", "oe")),
    *(("review.notes[::-1]", ["b", "a"]), ("missing[1:]", None)),
    *(("review.missing.deeper[3].still", None), ("null.member", None), ("task.member", None)),
    *(("count.real", None), ("review.__class__", None), ("review[review.notes]", None)),
    ("{'a': 1, 2: 'b', none: 3, true: 4}", {"a": 1, "2": "b", "null": 3, "true": 4}),
    *(("{1: 'a'}[1]", "a"), ("[missing, [missing]]", [None, [None]])),
    *(("{'a': [missing]}", {"a": [None]}), ("(1, 2)", [1, 2]), ("()", [])),
    ("'\\n\\t\\\\ \\x41 \\u00e4 \\ud800'", "\n\t\\ A ä \ufffd"),
    *(("'a' 'b'", "ab"), ("1_000", 1000), ("0x1F", 31), ("1.5e3", 1500.0)),
    *(("True and none is none", True), ("loop", "mine"), ("{{ count }}", 3)),
    ("  {{- count -}}\n", 3),
]


@pytest.mark.parametrize(("source", "expected"), VALUES)
def test_expression_gives_the_documented_value(source: str, expected: Json) -> None:
    actual = evaluate(Expression("jinja", source), SCOPE)

    assert expected == actual
    assert type(expected) is type(actual)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        *(("1 / 0", "division by zero in '/'"), ("1 // 0", "division by zero")),
        *(("1 % 0", "division by zero"), ("0 ** -1", "division by zero")),
        ("1 < 'a'", "cannot use '<' between a number and a text"),
        ("none < 1", "cannot use '<' between null and a number"),
        ("missing > 1", "cannot use '>' between undefined and a number"),
        ("{} < {}", "cannot use '<' between an object and an object"),
        ("[1] < ['a']", "cannot use '<' between a list and a list"),
        ("1 + 'a'", "cannot use '[+]' between a number and a text"),
        ("missing + 1", "cannot use '[+]' between undefined and a number"),
        ("[1] * 1.5", "cannot use '[*]' between a list and a number"),
        *(("-'a'", "cannot use '-' on a text"), ("+[]", "cannot use '[+]' on a list")),
        *(("1 in 'abc'", "cannot use 'in'"), ("1 in 5", "cannot use 'in'")),
        ("{[1]: 2}", "a list cannot be the key of an object"),
        ("5[1:]", "cannot take a slice of a number"),
        *(("task['a':]", "a slice needs whole numbers"), ("task[::0]", "cannot be 0")),
        ("1e200 * 1e200", "does not give a finite number"),
        ("10.0 ** 999", "does not give a finite number"),
        ("namespace(a=1)", "has no value of its own"),
    ],
)
def test_a_fault_names_the_operation_and_the_kinds(source: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate(Expression("jinja", source), SCOPE)


@pytest.mark.parametrize(
    "source",
    [
        *("9223372036854775807 + 2", "-9223372036854775807 - 2", "3037000500 * 3037000501"),
        *("2 ** 64", "9999999999999999999", "'9999999999999999999' | int"),
    ],
)
def test_integers_beyond_64_bits_are_refused(source: str) -> None:
    with pytest.raises(LimitExceeded, match="64 bits"):
        evaluate(Expression("jinja", source), SCOPE)


TRUE = {
    "jinja": ("review.approved", "'false'", "no"),
    "template": ("{{ 'yes' }}", "{{ review.approved }}", "{{ review.notes }}"),
}
FALSE = {"jinja": ("missing", "[]"), "template": ("{{ no }}", " False ", "0", "", "{{ missing }}")}


@pytest.mark.parametrize("syntax", TRUE)
def test_truth(syntax: str) -> None:
    for expected, sources in ((True, TRUE[syntax]), (False, FALSE[syntax])):
        for source in sources:
            assert truth(Expression(syntax, source), SCOPE) is expected, source


def test_nothing_heavy_is_imported_at_start() -> None:
    code = "import sys, whorl.language; print({'jinja2', 're2'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout == "set()\n"
