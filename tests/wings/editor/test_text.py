"""Changes of texts: only the characters that a change needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from drawn import editor, refusal_of

from whorl.errors import EditRefused
from whorl.source.editing.text import Patch, apply, in_utf16

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.source.editing.editor import Editor


FILE = """\
# top
whorl: 1

steps:
  write:
    ask: |
      Hello {{ x }}

      there
    model: a  # the model

  # the review
  review:
    ask: "Check {{ write }} \\u00e9"
  empty: {}
  list: [1, 2,  3]
"""
CHANGES: dict[str, tuple[Callable[[Editor], Any], str, str]] = {
    "part of a literal": (lambda e: e.set(["steps", "write", "ask"], "Hello {{ y }}\n\nthere\n"),
     "{{ x }}", "{{ y }}"),
    "an escape stays": (lambda e: e.set(["steps", "review", "ask"], "See {{ write }} é"), "Check",
     "See"),
    "a plain text that needs quotes": (lambda e: e.set(["steps", "write", "model"], "a: b"),
     "model: a ", 'model: "a: b" '),
    "an item of a list in brackets": (lambda e: e.set(["steps", "list"], [1, 3]), "[1, 2,  3]",
     "[1,  3]"),
    "an empty mapping is filled in lines": (lambda e: e.set(["steps", "empty", "run"], "ls"),
     "  empty: {}\n", "  empty:\n    run: ls\n"),
    "a step with the comment above it": (lambda e: e.unset(["steps", "review"]),
     '\n  # the review\n  review:\n    ask: "Check {{ write }} \\u00e9"\n', ""),
    "a key": (lambda e: e.rename((1, 0), "draft one"), "  write:", '  "draft one":'),
    "a new step with the gap of its neighbours": (lambda e: e.insert((1,), 1, "more",
     {"run": "ls"}), "# the model\n", "# the model\n\n  more:\n    run: ls\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("end", ["\n", "", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_change_is_its_own_characters(name: str, end: str, mark: str) -> None:
    change, before, after = CHANGES[name]
    text = FILE
    if end == "\r\n":
        text, before, after = (part.replace("\n", "\r\n") for part in (text, before, after))
    text = mark + (text.rstrip("\n") if not end else text)
    assert text.count(before) == 1
    edited = editor(text, "a.yaml")

    change(edited)

    assert edited.text == text.replace(before, after)
    assert apply(text, edited.patches()) == edited.text


REFUSED = {
    "anchor": ("a: &x\n  b: 1\nc: *x\n", ["a", "b"]),
    "alias": ("a: &x {b: 1}\nc: *x\n", ["c", "b"]),
    "repeated": ("a: 1\na: 2\n", ["a"]),
    "long key": ("? a\n: b\n", ["a"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_shared_is_refused_and_nothing_changes(name: str) -> None:
    text, keys = REFUSED[name]
    edited = editor(text, "a.yaml")

    assert refusal_of(lambda: edited.unset(list(keys))).code == "C101"
    assert edited.text == text


def test_offsets_count_utf16_units_for_browsers() -> None:
    text = "a: '😀😀'\nc: 3\nb: 1\n"
    edited = editor(text, "a.yaml")

    edited.set(["b"], 2)
    edited.set(["a"], "😀x")

    patches = in_utf16(text, edited.patches())
    units = text.encode("utf-16-le")
    for start, end, new in reversed(patches):
        units = units[: 2 * start] + new.encode("utf-16-le") + units[2 * end :]
    assert units.decode("utf-16-le") == edited.text == "a: '😀x'\nc: 3\nb: 2\n"
    assert patches == [Patch(6, 8, "x"), Patch(18, 19, "2")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: {x: 1, 'y': [2,  3]} # why\n", "a: # why\n  x: 1\n  'y': [2,  3]\n"),
        ("a: [1, {b: c}]\n", "a:\n  - 1\n  - {b: c}\n"),
        ('a: {"b":1}\n', "a:\n  b: 1\n"),
        ("l:\n  - {a: 1, b: 2}\n", "l:\n  - a: 1\n    b: 2\n"),
    ],
)
def test_brackets_without_remarks_are_opened_to_lines(before: str, after: str) -> None:
    edited = editor(before, "a.yaml")
    edited.open((0, 0) if before[0] == "l" else (0,))

    assert edited.text == after
    with pytest.raises(EditRefused):
        editor("a: {x: 1, # one\n  y: 2}\n", "a.yaml").open((0,))
