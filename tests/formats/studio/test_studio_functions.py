"""The functions of canvases: pipes, paths, routes, results, and how alike two texts are."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.dialects.reading.texts import quoted
from whorl.formats.studio.canvas import LIBRARY
from whorl.formats.studio.functions.transforms import find_path, read_path
from whorl.formats.studio.texts import read_script
from whorl.interpreter.constructs.loops.judging import similarity
from whorl.language import (
    EvaluationError,
    Expression,
    LanguageError,
    LimitExceeded,
    MappingScope,
    evaluate,
)

BOOKS = {"books": [{"t": "A", "p": 5}, {"t": "B", "p": 20, "old": True}], "n": {"p": 1}}


def value_of(source: str, **values: Any) -> Any:
    return evaluate(Expression("jinja", source, LIBRARY), MappingScope(values))


def piped(script: str, value: Any) -> Any:
    source = "known('v')"
    for name, arguments in read_script(script)[1]:
        sources = [quoted(a) if isinstance(a, str) else repr(a) for a in arguments]
        source = f"pipe({', '.join([source, quoted(name), *sources])})"
    return value_of(source, v=value)


@pytest.mark.parametrize(
    ("script", "value", "expected"),
    [
        ("length", "four", 4),
        ("flatten", [[1], 2, [3, [4]]], [1, 2, 3, [4]]),
        ("sort(n)", [{"n": 2}, {"n": 1}], [{"n": 1}, {"n": 2}]),
        ("unique", [1, "1", 1, {"a": 1}, {"a": 1}], [1, "1", {"a": 1}]),
        ("join(, )", ["a", 1], "a, 1"),
        ("map(a.b)", [{"a": {"b": 1}}, {}], [1, None]),
        ('select(k="x=y")', [{"k": "x=y"}], [{"k": "x=y"}]),
        ("| map(n) | sort | take(1) | first", [{"n": 2}, {"n": 1}], 1),
    ],
)
def test_a_pipe(script: str, value: Any, expected: Any) -> None:
    assert expected == piped(script, value)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("keys", "keys needs an object, not a list"),
        ("from_json", "needs a text"),
        ("take(-1)", "at least 0"),
    ],
)
def test_a_pipe_that_cannot_be_applied(script: str, words: str) -> None:
    with pytest.raises(EvaluationError, match=words):
        piped(script, [])


@pytest.mark.parametrize("script", ["x | lenght", "x | map", "x | length(1)", "x |", "|" * 40])
def test_a_script_that_cannot_be_read(script: str) -> None:
    with pytest.raises(LanguageError):
        read_script(script)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", BOOKS),
        ("$.books[-1].t", "B"),
        ("$.books[0:1].t", ["A"]),
        ("$..p", [1, 5, 20]),
        ("$.books[?(@.p > 5)].t", ["B"]),
        ("$.books[?(@.old)].t", ["B"]),
        ("$.books[?(@.p > 'x')].t", []),
        ("$.n.*", [1]),
    ],
)
def test_a_path(path: str, expected: Any) -> None:
    found: Any = find_path(path, BOOKS)
    assert expected == (sorted(found) if path == "$..p" else found)


@pytest.mark.parametrize(
    "path", ["$.", "$.a[", "$.a[x]", "$[?(@.a == b c)]", "$.a]", "$a", "$[::0]"]
)
def test_a_path_that_cannot_be_read(path: str) -> None:
    with pytest.raises(LanguageError):
        read_path(path)


def test_a_path_is_bounded() -> None:
    with pytest.raises(LimitExceeded):
        read_path("$" + ".a" * 100)
    with pytest.raises(LimitExceeded):
        find_path("$..*", [[0] * 1_000 for _ in range(200)])


@pytest.mark.parametrize(
    ("answer", "explanation"),
    [
        ("The category is **done** here", "The category is **done** here"),
        ("```\ndone\n```", ""),
        ('{"category": "Done.", "why": "no need to continue"}', "no need to continue"),
        ('Here it is:\n```json\n{"branch": "done"}\n```\nThat is all.', ""),
        ("Decision: `done`\nThe sources are there.", "Decision: `done`\nThe sources are there"),
        ('<think>It says "</think>continue".</think>\n\ndone', ""),
        ("Answer: done. There is no need to continue.",
         "Answer: done. There is no need to continue"),
        ("**Final answer:** done, nothing to continue",
         "Final answer:** done, nothing to continue"),
    ],
)  # fmt: skip
def test_an_answer_in_a_usual_wrapping(answer: str, explanation: str) -> None:
    names = "['done', 'continue']"
    route = value_of(f"choose(known('a'), {names}, 7, 'continue')", a=answer)

    assert route == {"selectedBranch": "done", "value": 7, "explanation": explanation}
    assert value_of(f"misread(known('a'), {names}, 'judge', 'continue')", a=answer) is None


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("This is not urgent.", None),
        ("Urgent? No.", None),
        ("urgent/no reply", None),
        ("This is urgent.", "urgent"),
    ],
)
def test_a_branch_that_is_denied_is_not_taken(answer: str, chosen: str | None) -> None:
    names = "['urgent', 'no reply', 'other']"
    route = value_of(f"choose(known('a'), {names}, 1, 'other')", a=answer)
    warning = value_of(f"misread(known('a'), {names}, 'r', 'other')", a=answer)

    assert route["selectedBranch"] == (chosen or "other")
    assert (warning is None) == (chosen is not None)


@pytest.mark.parametrize(
    ("source", "given", "expected"),
    [
        ("items_of(known('v'), 'it')", "[1, 2]", [1, 2]),
        ("items_of(known('v'), 'it')", "a\n\n b \n[x", ["a", "b", "[x"]),
        ("items_of(known('v'), 'it')", {"files": [1], "count": 1}, [1]),
        ("object_of(known('v'), 't', '')", '{"a": 1}', {"a": 1}),
        ("object_of(known('v'), 't', 'input')", "{x", {"input": "{x"}),
        ("merged({'a': '1', 'b': '2'}, known('v'))", {"b": "3"}, {"a": "1", "b": "3"}),
    ],
)
def test_items_and_objects_come_in_several_forms(source: str, given: Any, expected: Any) -> None:
    assert value_of(source, v=given) == expected


@pytest.mark.parametrize(
    ("source", "given", "words"),
    [
        ("items_of(known('v'), 'it')", 5, "'it' needs a list"),
        ("object_of(known('v'), 't', '')", 5, "'t' takes an object as its input, not a number"),
        ("gathered(known('v'), 'all', 'merge', '')", [{"all": {}}, {"all": "x"}],
         "'all' merges objects, and item 2 is a text"),
    ],
)  # fmt: skip
def test_other_values_are_refused_as_lists_or_objects(source: str, given: Any, words: str) -> None:
    with pytest.raises(EvaluationError, match=words):
        value_of(source, v=given)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("same", "same", 1.0),
        ("", "", 1.0),
        ("abc", "xyz", 0.0),
        ("kitten", "sitting", 4 / 7),
        ("a" * 15_000 + "b" * 5_000, "a" * 15_000 + "c" * 5_000, 0.75),
    ],
)
def test_how_alike_two_results_are(one: str, other: str, expected: float) -> None:
    """One minus the edit distance over the longer length; compact, sorted, whole."""
    assert similarity(one, other) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["a draft", "", "=====[0123456789abcdef]====="])
def test_a_fence_is_nowhere_in_its_text(text: str) -> None:
    first, *inside, last = value_of("fenced(known('t'))", t=text).split("\n")

    assert first == last
    assert first not in text
    assert "\n".join(inside) == text
