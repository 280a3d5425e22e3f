"""Ports that a file names: the nearest one for a mistake, and those that may have any name."""

from __future__ import annotations

import pytest
from shodan_files import HEAD, read

from whorl.errors import InvalidWorkflow

LOOP = """nodes:
  - id: turn
    type: loop
    data:
      nodeType: loop
      continueWhile: {output: review.approved, operator: "==", value: false}
      exitWhen: {output: review.approved, operator: "==", value: true}
      inputs: [{name: task, type: string}, {name: guidelines, type: string}]
      inputMappings:
        - {source: {type: outer, name: task}, target: {node: coder, input: task}}
        - source: {type: previous, node: review, output: feedback}
          target: {node: coder, input: context}
      outputMappings: [{source: {node: coder, output: code}, target: final}]
      inlineWorkflow:
        nodes:
          - id: coder
            data:
              nodeType: agent
              prompt: "{{ task }} {{ context }}"
              inputs: [{name: task, type: string}, {name: context, type: string}]
              outputs: [{name: code, type: string}]
          - id: review
            data:
              nodeType: agent
              prompt: "{{ coder.code }}"
              inputs: [{name: code, type: string}]
              outputs: [{name: approved, type: boolean}, {name: feedback, type: string}]
        edges:
          - source: coder
            target: review
            sourceHandle: output:code
            targetHandle: input:code
edges: []
"""


@pytest.mark.parametrize(
    ("right", "wrong", "near"),
    [
        ("continueWhile: {output: review.approved", "review.aproved", "approved"),
        ("{type: outer, name: task", "tsak", "task"),
        ("{type: previous, node: review, output: feedback", "feedbak", "feedback"),
        ('prompt: "{{ coder.code', "inputs.cde", "code"),
        ("sourceHandle: output:code", "output:cde", "code"),
    ],
)
def test_a_misspelt_port_is_reported_with_the_nearest_name(
    right: str, wrong: str, near: str
) -> None:
    assert read(HEAD + LOOP).warnings == ()
    assert LOOP.count(right) == 1
    text = HEAD + LOOP.replace(right, f"{right.rpartition(' ')[0]} {wrong}")

    with pytest.raises(InvalidWorkflow) as caught:
        read(text)

    [found] = caught.value.diagnostics
    assert (found.code, found.help) == ("W005", f"did you mean {near!r}?")
    assert found.span is not None
    line = text.splitlines()[found.span.line - 1]
    assert line[found.span.column - 1 :].startswith(wrong)


@pytest.mark.parametrize(
    ("fields", "output"),
    [
        ("nodeType: agent, prompt: a, outputs: [{name: x}]", "sessionId"),
        ('nodeType: agent, prompt: a, outputSchema: \'{"properties": {"ok": {}}}\'', "okay"),
        ("nodeType: function, code: return inputs, outputs: [{name: x}]", "y"),
        ("nodeType: constant, value: 1", "number"),
    ],
)
def test_an_output_that_cannot_exist_is_refused(fields: str, output: str) -> None:
    edge = f"{{source: a, target: b, sourceHandle: 'output:{output}'}}"
    reader = "{id: b, data: {nodeType: agent, prompt: b}}"

    with pytest.raises(InvalidWorkflow, match=f"'a' has no output '{output}'"):
        read(f"{HEAD}nodes: [{{id: a, data: {{{fields}}}}}, {reader}]\nedges: [{edge}]\n")


def test_a_trigger_in_a_loop_hands_on_what_the_loop_has() -> None:
    text = """nodes:
  - id: turn
    data:
      nodeType: loop
      continueWhile: {output: say.output, operator: "!=", value: done}
      inputs: [{name: topic, type: string}]
      inlineWorkflow:
        nodes:
          - {id: start, data: {nodeType: trigger, outputs: [{name: text}, {name: topic}]}}
          - {id: say, data: {nodeType: agent, prompt: "{{ start.topic }}"}}
        edges: []
edges: []
"""
    assert read(HEAD + text).warnings == ()

    with pytest.raises(InvalidWorkflow, match="trigger 'start' has no output 'text'"):
        read(HEAD + text.replace("start.topic", "start.text"))
