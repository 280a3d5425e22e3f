"""Loops that hold their nodes by `parentId`: nodes are wrapped in one, and unwrapped."""

from __future__ import annotations

from typing import Any

import pytest
from drawn import ROOT, read

from whorl.dialects import NoFiles, read_workflow
from whorl.dialects.editing.edit import Edited, edit
from whorl.dialects.editing.operations import read_operations
from whorl.dialects.reader import parse
from whorl.errors import EditRefused
from whorl.source import plain

COUNT = read(ROOT / "examples/shodan/count.yaml")
MORE = """\
  - id: coder
    position: {x: 100, y: 100}
    data:
      nodeType: agent
      runner: demo
      prompt: "Write {{ inputs.task }}"
      inputs: [{name: task, type: string}]
      outputs: [{name: code, type: string}]
  - id: review
    position: {x: 400, y: 120}
    data:
      nodeType: agent
      runner: demo
      prompt: "Review {{ inputs.code }}"
      inputs: [{name: code, type: string}]
      outputs: [{name: approved, type: boolean}]
  - id: report
    data:
      nodeType: agent
      runner: demo
      prompt: "Report {{ inputs.is_good }}"
      inputs: [{name: is_good}]
edges:
  - {source: count, target: coder, sourceHandle: "output:final", targetHandle: "input:task"}
  - {source: coder, target: review, sourceHandle: "output:code", targetHandle: "input:code"}
  - {source: review, target: report, sourceHandle: "output:approved", targetHandle: "input:is_good"}
"""
TEXT = COUNT.replace("edges:\n", MORE)
WRAP = {
    "operation": "wrap", "at": ["coder", "review"], "kind": "repeat", "name": "turns",
    "fields": {"until": "review.approved", "at_most": 4},
}  # fmt: skip


def apply(text: str, *operations: dict[str, Any]) -> Edited:
    return edit(text, "a.yaml", read_operations(operations), NoFiles())


def _edges(text: str) -> set[tuple[str, ...]]:
    root: Any = plain(parse(text, "a.yaml").root)
    ends = ("source", "sourceHandle", "target", "targetHandle")
    return {tuple(edge.get(end, "") for end in ends) for edge in root["edges"]}


def test_nodes_are_wrapped_in_a_loop_of_the_form_that_the_file_has() -> None:
    edited = apply(TEXT, WRAP)

    read_workflow(edited.text, "a.yaml")
    nodes = {node.path: node for node in edited.sketch.nodes}
    assert nodes["turns"].body == "members"
    assert nodes["turns/coder"].position == (40, 60)
    assert nodes["turns"].position == (60, 40)
    assert nodes["turns"].size == (640, 260)
    assert "inlineWorkflow" not in edited.text
    assert _edges(edited.text) - _edges(TEXT) == {
        ("count", "output:final", "turns", "input:task"),
        ("turns", "input:task:internal", "coder", "input:task"),
        ("review", "output:approved", "turns", "output:approved:internal"),
        ("turns", "output:approved", "report", "input:is_good"),
    }
    # A loop stands before what it holds.
    assert edited.text.index("id: turns") < edited.text.index("id: coder")


def test_unwrapping_gives_the_edges_back() -> None:
    edited = apply(TEXT, WRAP, {"operation": "unwrap", "at": "turns"})

    read_workflow(edited.text, "a.yaml")
    assert _edges(edited.text) == _edges(TEXT)
    nodes = {node.path: node.position for node in edited.sketch.nodes}
    assert nodes["coder"] == (100, 100)
    assert "turns" not in nodes


def test_a_text_that_cannot_see_into_the_loop_is_refused() -> None:
    text = TEXT.replace("Report {{ inputs.is_good }}", "Report {{ coder.code }}")

    with pytest.raises(EditRefused) as refused:
        apply(text, WRAP)

    assert refused.value.diagnostic.code == "C106"
    assert "report reads coder" in refused.value.diagnostic.message
