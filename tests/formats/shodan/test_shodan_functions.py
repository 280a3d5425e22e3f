"""Ports and outputs: what a value becomes at a port, what an answer fills, which there are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from shodan_files import HEAD, read

from whorl.errors import InvalidWorkflow
from whorl.language import EvaluationError, Expression, MappingScope, evaluate


def value(source: str, **names: Any) -> Any:
    return evaluate(Expression("jinja", source, "shodan"), MappingScope(names))


def arrive(given: Any, **port: Any) -> Any:
    spec = json.dumps({"name": "x", **port})
    return value("arrive(v, 'node', spec)", v=given, spec=spec)


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        ("5", "number", 5),
        ("True", "boolean", True),
        (4, "string", "4"),
        ('{"a": 1}', "json", {"a": 1}),
        ("{broken", "json", "{broken"),
        ("a.txt", "files", ["a.txt"]),
        (None, "number", None),
    ],
)
def test_a_port_takes_a_value_of_its_type(given: Any, kind: str, expected: Any) -> None:
    found = arrive(given, type=kind)

    assert (found, type(found)) == (expected, type(expected))


def test_null_becomes_the_default() -> None:
    assert arrive(None, type="number", default=7) == 7
    assert arrive(None, type="string", default="", required=True) == ""
    with pytest.raises(EvaluationError, match="required input 'x' of 'node' is missing"):
        arrive(None, required=True)


def answered(text: Any, *outputs: dict[str, Any]) -> Any:
    return value("answered(v, 'node', spec)", v=text, spec=json.dumps(outputs))


TWO = ({"name": "ok", "type": "boolean"}, {"name": "why", "type": "string"})


@pytest.mark.parametrize(
    "text",
    [
        '{"ok": true, "why": "{fine}"}',
        'Sure!\n```json\n{"ok": true, "why": "{fine}"}\n```\nBye {you}',
        'I say {so}: {"ok": true, "why": "{fine}"}',
        {"text": "told", "value": {"ok": True, "why": "{fine}"}},
    ],
)
def test_json_in_an_answer_fills_the_outputs(text: Any) -> None:
    found = answered(text, *TWO)

    assert (found["ok"], found["why"]) == (True, "{fine}")


def test_one_output_of_text_is_the_whole_answer() -> None:
    assert answered("some code\n", {"name": "code", "type": "string"})["code"] == "some code"
    assert answered('{"code": "x"}', {"name": "code", "type": "string"})["code"] == "x"
    assert answered('{"other": 1}', {"name": "code", "type": "string"})["code"] == '{"other": 1}'


def test_a_function_returns_what_it_declares() -> None:
    specs = json.dumps([{"name": "n", "type": "number"}])
    assert value("returned(v, 'node', spec)", v={"n": "4"}, spec=specs) == {"n": 4}
    with pytest.raises(EvaluationError, match="'node' returned no output 'n'; it returned 'm'"):
        value("returned(v, 'node', spec)", v={"m": 1}, spec=specs)
    with pytest.raises(EvaluationError, match="'node' must return an object"):
        value("returned(v, 'node', spec)", v=3, spec=specs)


def test_nothing_but_whole_numbers_enters_a_calculation() -> None:
    assert value("whole(v, 'x')", v="-12") == "-12"
    for hostile in ("a[$(touch x)]", "1+1", "", "1; ls", "٣", None):
        with pytest.raises(EvaluationError, match="must be a whole number"):
            value("whole(v, 'x')", v=hostile)


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
