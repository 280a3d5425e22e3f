"""Ports are renamed with all that names them: handles, mappings, conditions, and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from drawn import ROOT, apply_to, read, refusal_of

from whorl.dialects import NoFiles
from whorl.dialects.reader import read_workflow

if TYPE_CHECKING:
    from whorl.wings.editor.kit.changes import Edited

REVIEW = read(ROOT / "examples/shodan/review.yaml")


def rename(text: str, at: str, port: str, name: str) -> Edited:
    operation = {"operation": "rename", "at": at, "port": port, "name": name}
    return apply_to(text, operation)


def changed(before: str, after: str) -> list[str]:
    """The lines of the second text that are not in the first one."""
    return [line.strip() for line in after.splitlines() if line not in before.splitlines()]


RENAMED = {
    ("review-loop", "input:task", "topic"): [
        "- {name: topic, type: string, required: true}",
        "- {source: {type: outer, name: topic}, target: {node: coder, input: task}, "
        "iterations: all}",
    ],
    ("review-loop", "output:approved", "is_good"): [
        "- {name: is_good, type: boolean}",
        "- {source: {node: review, output: approved}, target: is_good}",
    ],
    ("review-loop/review", "output:approved", "ok"): [
        'continueWhile: {output: review.ok, operator: "==", value: false}',
        "- {source: {node: review, output: ok}, target: approved}",
        "outputs: [{name: ok, type: boolean}, {name: feedback, type: string}]",
    ],
    ("review-loop/coder", "output:code", "draft"): [
        "- {source: {node: coder, output: draft}, target: final_code, take: last}",
        "outputs: [{name: draft, type: string}]",
        "{{ coder.draft }}",
        '- {source: coder, target: review, sourceHandle: "output:draft", '
        'targetHandle: "input:code"}',
    ],
}


@pytest.mark.parametrize(("at", "port", "name"), RENAMED)
def test_a_port_is_renamed_in_mappings_conditions_edges_and_texts(
    at: str, port: str, name: str
) -> None:
    edited = rename(REVIEW, at, port, name)

    assert changed(REVIEW, edited.text) == RENAMED[at, port, name]
    assert edited.select == [at]
    assert read_workflow(edited.text, "a.yaml", NoFiles()).workflow
    if name == "draft":
        assert [(one.path, one.field, one.line) for one in edited.rewired] == [
            ("review-loop/review", "data.prompt", 53),
            ("review-loop", "data.outputMappings.0.source.output", 29),
        ]


def test_an_input_is_renamed_in_the_texts_of_its_own_node() -> None:
    edited = rename(REVIEW, "review-loop/coder", "input:context", "advice")

    assert "Mind: {{ advice }}" in edited.text
    assert edited.text.count("input: advice") == 2
    assert "context" not in edited.text


@pytest.mark.parametrize(
    ("port", "name", "code"),
    [
        ("input:task", "context", "W012"),
        ("input:task", "a b", "W012"),
        ("input:nothing", "x", "W005"),
        ("slot:task", "x", "W005"),
    ],
)
def test_what_is_no_port_or_no_name_is_refused(port: str, name: str, code: str) -> None:
    assert refusal_of(lambda: rename(REVIEW, "review-loop/coder", port, name)).code == code


def test_a_port_that_code_names_is_refused() -> None:
    text = """\
version: 1
nodes:
  - id: add
    data:
      nodeType: function
      code: "return {sum: inputs.a + 1}"
      inputs: [{name: a, type: number}]
      outputs: [{name: sum, type: number}]
"""
    why = refusal_of(lambda: rename(text, "add", "input:a", "b"))
    assert why.code == "C106"
    assert "'code' of add may name 'a'" in why.message
