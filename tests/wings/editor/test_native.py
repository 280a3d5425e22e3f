"""Operations on native files: readers follow their steps, and what cannot follow is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drawn import refusal_of

from whorl.dialects import NoFiles, read_workflow
from whorl.wings.editor.kit.changes import Edited, edit
from whorl.wings.editor.kit.operations import read_operations

FILE = (Path(__file__).parent / "native.yaml").read_text()


def apply(*operations: dict[str, Any], text: str = FILE, rewires: bool = True) -> Edited:
    return edit(text, "a.yaml", read_operations(operations), NoFiles(), rewires=rewires)


def test_a_renamed_step_takes_all_its_readers_along() -> None:
    edited = apply({"operation": "rename", "at": "polish/draft", "name": "re-do"})

    assert "draft" not in edited.text
    assert "previous['re-do']" in edited.text
    assert "of: re-do" in edited.text
    assert "after: re-do" in edited.text
    assert "polish['re-do']" in edited.text
    assert read_workflow(edited.text, "a.yaml").workflow
    back = apply({"operation": "rename", "at": "polish/re-do", "name": "draft"}, text=edited.text)
    assert read_workflow(back.text, "a.yaml").workflow


def test_a_wrapped_step_is_read_through_its_loop_and_comes_back_byte_for_byte() -> None:
    wrap = {"operation": "wrap", "at": ["write"], "kind": "repeat", "name": "tries"}
    edited = apply(wrap)

    assert "{{ tries.write }}" in edited.text
    assert "      steps:\n        # first\n        write: {ask:" in edited.text
    assert read_workflow(edited.text, "a.yaml").workflow
    assert apply({"operation": "unwrap", "at": "tries"}, text=edited.text).text == FILE


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ({"operation": "remove", "at": "write"}, "reads write"),
        ({"operation": "unwrap", "at": "polish"}, ""),
        ({"operation": "rename", "at": "write", "name": "task"}, ""),
        ({"operation": "wrap", "at": ["write"], "kind": "each", "fields": {"each": "[1]"}}, "see"),
        (
            {"operation": "wrap", "at": ["write", "polish"], "kind": "repeat"},
            "not next to each other",
        ),
        ({"operation": "rename", "at": "write", "name": "polish"}, "already"),
        ({"operation": "rename", "at": "write", "name": "loop"}, "cannot be called"),
        ({"operation": "move", "at": "polish", "into": "polish"}, "into itself"),
        ({"operation": "disconnect", "from": {"at": "write"}, "to": {"at": "review-it"}}, "order"),
    ],
)
def test_what_cannot_follow_is_refused(operation: dict[str, Any], words: str) -> None:
    assert words in refusal_of(lambda: apply(operation)).message


def test_an_order_and_a_feedback_are_written_and_removed() -> None:
    order = {"from": {"at": "polish/check"}, "to": {"at": "polish/draft"}}
    feed = {"from": {"at": "polish/check", "port": "score"}, "to": {"at": "polish"}}
    edited = apply(
        {"operation": "disconnect", "from": {"at": "polish/draft"}, "to": {"at": "polish/check"}},
        {"operation": "connect", "kind": "feedback", **feed},
    )

    assert "after: draft" not in edited.text
    assert 'carry: {last: "{{ draft }}", score: "{{ check.score }}"}' in edited.text
    assert refusal_of(lambda: apply({"operation": "connect", **order})).code == "C107"


@pytest.mark.parametrize(
    "operation",
    [
        {"operation": "rename", "at": "a", "name": "z"},
        {"operation": "remove", "at": "a"},
        {"operation": "wrap", "at": ["a"], "kind": "repeat", "name": "l"},
    ],
)
def test_readers_that_are_left_are_listed_with_their_lines(operation: dict[str, Any]) -> None:
    text = "whorl: 1\nbudget: 1\nsteps:\n  a: {ask: x}\n  b: {ask: '{{ a }}', after: a}\n"

    left = apply(operation, text=text, rewires=False)

    assert "{{ a }}" in left.text
    assert {(one.path, one.field) for one in left.rewired} == {("b", "ask"), ("b", "after")}
    assert all(left.text.splitlines()[one.line - 1].startswith("  b:") for one in left.rewired)
