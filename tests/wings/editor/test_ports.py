"""Ports are renamed with all that names them: handles, mappings, conditions, and texts."""

from __future__ import annotations

from typing import Any

import pytest
from drawn import ROOT, apply_to, corpora, own_files, read, refusal_of

from whorl.dialects import NoFiles, ProjectFiles
from whorl.dialects.reader import read_workflow
from whorl.errors import EditRefused
from whorl.wings.editor.kit.changes import Edited, edit, open_text
from whorl.wings.editor.kit.operations import read_operations

REVIEW = read(ROOT / "examples/shodan/review.yaml")
DOCK = """\
version: 1
metadata: {name: dock}
nodes:
  - id: turns
    data:
      nodeType: loop
      label: All Turns
      maxIterations: 3
      inputs: [{name: task, type: string}]
      outputs: [{name: text, type: string}]
      dockSlots: [{name: more, type: continue}]
  - id: write
    parentId: turns
    data:
      nodeType: agent
      runner: demo
      prompt: "{{ task }} of {{ turns.task }}, {{all_turns.task}}, {{ inputs.task }} {{ tasks }}"
      inputs: [{name: task, type: string}, {name: tasks}]
      outputs: [{name: text, type: string}, {name: again, type: boolean}]
  - id: report
    data: {nodeType: agent, runner: demo, prompt: "Report {{ turns.text }}"}
edges:
  - {source: turns, target: write, sourceHandle: "input:task:internal", targetHandle: "input:task"}
  - {source: write, target: turns, sourceHandle: "output:text", targetHandle: output:text:internal}
  - {source: write, target: turns, sourceHandle: "output:again", targetHandle: "dock:more:input"}
  - {source: turns, target: report, sourceHandle: "output:text"}
"""


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


def test_ports_of_a_rim_are_renamed_on_both_of_its_sides() -> None:
    task = rename(DOCK, "turns", "input:task", "topic")
    text = rename(task.text, "turns", "output:text", "result").text

    assert (
        "{{ task }} of {{ turns.topic }}, {{all_turns.topic}}, {{ inputs.task }} {{ tasks }}"
        in text
    )
    assert 'sourceHandle: "input:topic:internal", targetHandle: "input:task"' in text
    assert 'sourceHandle: "output:text", targetHandle: output:result:internal' in text
    assert "Report {{ turns.result }}" in text
    assert 'target: report, sourceHandle: "output:result"' in text


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


def test_ports_of_other_dialects_have_no_names() -> None:
    why = refusal_of(
        lambda: rename(read(ROOT / "examples/polish.yaml"), "polish/write", "input:a", "b")
    )
    assert why.code == "C107"


@pytest.mark.slow
def test_every_port_is_renamed_soundly_or_refused() -> None:
    """A renamed port leaves a file as valid as it was, and can be named back."""
    told = {"renamed": 0, "refused": 0}
    for dialect, path in [*own_files(), *corpora()[::4]]:
        if dialect != "shodan":
            continue
        text, around = read(path), ProjectFiles(str(path.parent))
        try:
            _, changes = open_text(text, str(path), around)
        except EditRefused:
            continue
        for node in changes.sketch.nodes:
            ends = [("input", name) for name in node.inputs]
            for end, port in ends + [("output", name) for name in node.outputs]:
                there: dict[str, Any] = {"operation": "rename", "at": node.path}
                back = there | {"port": f"{end}:zz", "name": port}
                there |= {"port": f"{end}:{port}"}
                operations = read_operations([{**there, "name": "zz"}, back])
                try:
                    edited = edit(text, str(path), operations, around)
                except EditRefused:
                    told["refused"] += 1
                    continue
                told["renamed"] += 1
                assert edited.text == text, (path, node.path, port)

    print(told)
    assert told["renamed"] > 4 * told["refused"]
