"""Nodes that go into loops of both forms and out of them: edges become mappings, or change ends."""

from __future__ import annotations

from typing import Any

import pytest
from drawn import ROOT, apply_to, read, refusal_of

from whorl.dialects import read_workflow
from whorl.dialects.reader import parse
from whorl.source import plain

FLAT = """\
version: 1
metadata: {name: flat}
nodes:
  - id: start
    data: {nodeType: trigger, label: Start}
  # writes it
  - id: coder
    data:
      nodeType: agent
      runner: demo
      prompt: "Write {{ task }}"
      inputs: [{name: task, type: string}]
      outputs: [{name: code, type: string}]
  - id: review
    data:
      nodeType: agent
      runner: demo
      prompt: "Review {{ code }}"
      inputs: [{name: code, type: string}]
      outputs: [{name: approved, type: boolean}, {name: notes, type: string}]
  - id: report
    data:
      nodeType: agent
      runner: demo
      prompt: "Report {{ text }} after {{ review.approved }}"
      inputs: [{name: text, type: string}]
edges:
  - {id: a, source: start, target: coder, sourceHandle: "output:text", targetHandle: "input:task"}
  - {id: b, source: coder, target: review, sourceHandle: "output:code", targetHandle: "input:code"}
  - {id: c, source: review, target: report, sourceHandle: "output:notes", targetHandle: input:text}
"""
WRAP = {
    "operation": "wrap", "at": ["coder", "review"], "kind": "repeat", "name": "turns",
    "fields": {"until": "review.approved", "at_most": 4},
}  # fmt: skip


def test_a_loop_that_is_taken_away_leaves_the_nodes_connected_as_they_were() -> None:
    edited = apply_to(FLAT, WRAP, {"operation": "unwrap", "at": "turns"})

    before, after = (plain(parse(text, "a.yaml").root) for text in (FLAT, edited.text))

    def gist(graph: Any) -> Any:
        ends = ("source", "sourceHandle", "target", "targetHandle")
        return (
            sorted((node["id"], str(node["data"])) for node in graph["nodes"]),
            sorted(tuple(edge[end] for end in ends) for edge in graph["edges"]),
        )

    assert gist(after) == gist(before)


def test_a_node_goes_out_of_a_loop_and_in_again() -> None:
    wrap = {**WRAP, "at": ["coder", "review", "report"]}
    out = apply_to(FLAT, wrap, {"operation": "move", "at": "turns/report", "into": ""})
    again = apply_to(out.text, {"operation": "move", "at": "report", "into": "turns"})

    assert {"report", "turns/coder", "turns/review"} < {node.path for node in out.sketch.nodes}
    assert read_workflow(out.text, "a.yaml").workflow
    assert ("turns", "report", "notes", "text") in [
        (edge.source, edge.target, edge.from_port, edge.to_port) for edge in out.sketch.edges
    ]
    assert ("turns/review", "turns/report", "notes", "text") in [
        (edge.source, edge.target, edge.from_port, edge.to_port) for edge in again.sketch.edges
    ]
    assert read_workflow(again.text, "a.yaml").workflow


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ({"operation": "move", "at": "review-loop/review", "into": ""}, "has no node 'review'"),
        ({"operation": "move", "at": "review-loop/coder", "into": ""}, "in all iterations"),
        ({"operation": "unwrap", "at": "review-loop/coder"}, "has no nodes"),
    ],
)
def test_what_a_rim_cannot_let_through_is_refused(operation: Any, words: str) -> None:
    review = read(ROOT / "examples/shodan/review.yaml")
    assert words in refusal_of(lambda: apply_to(review, operation)).message


def test_an_edge_to_a_port_that_is_missing_becomes_no_mistake() -> None:
    text = FLAT.replace("targetHandle: input:text", "targetHandle: input:input")
    odd = read_workflow(text, "a.yaml").warnings
    assert [one.severity for one in odd if "has no input 'input'" in one.message] == ["warning"]

    why = refusal_of(lambda: apply_to(text, {**WRAP, "at": ["report"], "fields": {}}))
    assert "the file would have a mistake" in why.message


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


def _edges(text: str) -> set[tuple[str, ...]]:
    root: Any = plain(parse(text, "a.yaml").root)
    ends = ("source", "sourceHandle", "target", "targetHandle")
    return {tuple(edge.get(end, "") for end in ends) for edge in root["edges"]}


def test_unwrapping_a_loop_of_members_leads_edges_past_its_ports() -> None:
    wrapped = apply_to(TEXT, WRAP).text
    through = wrapped.replace('target: coder, sourceHandle: "output:final"', 'target: turns, '
        'sourceHandle: "output:final"').replace("edges:\n", "edges:\n"
        '  - {source: turns, target: coder, sourceHandle: "input:task:internal", '
        'targetHandle: "input:task"}\n')  # fmt: skip
    edited = apply_to(through, {"operation": "unwrap", "at": "turns"})

    read_workflow(edited.text, "a.yaml")
    assert _edges(edited.text) == _edges(TEXT)
    nodes = {node.path: node.position for node in edited.sketch.nodes}
    assert nodes["coder"] == (100, 100)
    assert "turns" not in nodes


def test_nodes_that_leave_a_loop_of_members_are_in_the_one_around_it() -> None:
    inner = {**WRAP, "at": ["turns/coder"], "name": "tries", "fields": {"until": "coder.code"}}
    out = {"operation": "move", "at": "turns/tries/coder", "into": "turns"}
    unwrap = {"operation": "unwrap", "at": "turns/tries"}
    moved, unwrapped = (apply_to(TEXT, WRAP, inner, last) for last in (out, unwrap))

    assert moved.sketch.node("turns/coder") is not None
    node = unwrapped.sketch.node("turns/coder")
    assert node is not None
    assert node.position == (40, 60)
