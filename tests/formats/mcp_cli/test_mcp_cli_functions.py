"""The functions that workflows of mcp-cli are made of."""

from __future__ import annotations

import pytest

from whorl.language import Expression, LanguageError, MappingScope, evaluate


def value(source: str, **names: object) -> object:
    return evaluate(Expression("jinja", source, "mcp-cli"), MappingScope(names))  # type: ignore[arg-type]


def items(text: str, most: int = 100) -> list[object]:
    found = value(f"items_in(text, {most})", text=text)
    assert isinstance(found, list)
    return [one["current"] for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["a", {"b": 1}]', ["a", {"b": 1}]),
        ('{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("one\n two \n\nthree", ["one", "two", "three"]),
        ("1\n2", [1, 2]),
        # In a code fence.
        ('```json\n["a", "b"]\n```', ["a", "b"]),
        ('The list:\n\n```json\n[\n  {"id": 1},\n  2\n]\n```\n\nDone.', [{"id": 1}, 2]),
        ('```json\n{"id": 1}\n{"id": 2}\n```', [{"id": 1}, {"id": 2}]),
        ("```\na.py\n\n  b.py\n```", ["a.py", "b.py"]),
        ('```json\n["a", "b"]', ["a", "b"]),
        ('First:\n```python\nx = 1\n```\nThen:\n```json\n["a"]\n```', ["a"]),
        ('{"code": "```"}\n{"code": "x"}', [{"code": "```"}, {"code": "x"}]),
    ],
)
def test_items_are_an_array_or_lines(text: str, expected: list[object]) -> None:
    assert items(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('```json\n["a",\n```', "neither a JSON array nor JSON lines"),
        ('```json\n{\n  "items": ["a"]\n}\n```', "neither a JSON array nor JSON lines"),
        ("```\na\n```\n```\nb\n```", "several code fences"),
        ("```\n```", "there are no items"),
        *((nothing, "there are no items") for nothing in ("", "  \n ", "[]")),
    ],
)
def test_what_holds_no_list_is_a_mistake(text: str, words: str) -> None:
    with pytest.raises(LanguageError, match=words):
        items(text)


def test_items_are_cut_at_the_limit_and_know_their_place() -> None:
    found = value("items_in('[7, 8, 9]', 2)")

    assert found == [
        {"iteration": "1", "index": "0", "count": "2", "current": 7, "item": 7},
        {"iteration": "2", "index": "1", "count": "2", "current": 8, "item": 8},
    ]


@pytest.mark.parametrize(
    ("answers", "share", "winner"),
    [
        (["YES", "yes."], "unanimous", "YES"),
        (["**NO**, because", "No"], "unanimous", "**NO**, because"),
        (["a  b", "A B", "c"], "2/3", "a  b"),
        (["it is a SUCCESS", "success"], "unanimous", "it is a SUCCESS"),
        (["success? FAIL", "failed"], "unanimous", "success? FAIL"),
        (["x", None, "x"], "unanimous", "x"),
    ],
)
def test_votes(answers: list[object], share: str, winner: str) -> None:
    assert value("vote(answers, share, 2, none)", answers=answers, share=share) == winner


def test_a_variable_that_must_be_set() -> None:
    assert value("required(a, 'a')", a=None) is None
    with pytest.raises(LanguageError, match="variable 'a' is not set"):
        value("required(a, 'a')")


LONG = "word " * 300_000


@pytest.mark.parametrize(
    ("source", "names", "expected"),
    [
        ("main_output(it)", {"it": {"a": 1, "b": 2}}, "1"),
        ("main_output(it)", {"it": {"a": None}}, None),
        ("merged(a, b)", {"a": {"x": "1", "y": "1"}, "b": {"y": "2"}}, {"x": "1", "y": "2"}),
        ("merged(a, b)", {"b": {"y": "2"}}, {"y": "2"}),
        # One is enough where partial answers are allowed.
        ("vote(['a', none], 'unanimous', 1, none)", {}, "a"),
        ("joined(past)", {"past": ["a", "b", 3]}, "a---b---3"),
        # Texts of any size are passed on whole.
        ("main_output(it) == report", {"it": {"report": LONG}, "report": LONG}, True),
        ("required(report, 'report') == report", {"report": LONG}, True),
        ("joined(past) | length", {"past": ["a", LONG]}, len(LONG) + 4),
    ],
)
def test_outputs_of_workflows(source: str, names: dict[str, object], expected: object) -> None:
    assert value(source, **names) == expected
