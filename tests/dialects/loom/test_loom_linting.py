"""What would not deploy to Azure is named, each thing at its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from whorl.dialects.loom.linting import lint_for_azure
from whorl.source.json import read_json


def lint(actions: dict[str, Any]) -> list[str]:
    found, _ = lint_for_azure(read_json(json.dumps({"actions": actions}), "flow.json"))

    assert all(one.span is not None and one.help for one in found)
    return [one.message for one in found]


def test_what_only_this_dialect_has_is_named() -> None:
    found = lint(
        {
            "turn": {
                "type": "while",
                "condition": "@less(variables('loopIndex'), 2)",
                "actions": {"x": {"type": "Compose", "inputs": "@variables('turn_loopCount')"}},
                "delay": {"interval": {"count": 1, "unit": "second"}},
            },
            "call": {"type": "Http", "inputs": {"uri": "u"}, "retry": {"type": "fixed"}},
        }
    )

    assert found == [
        "Azure has no type 'while'",
        "'turn' has 'condition', which Azure does not know",
        "'turn' has 'delay', which Azure does not know",
        "Azure has no variables of loops",
        "Azure has no variables of loops",
        "Azure has no 'retry'",
    ]


def test_a_variable_that_items_change_side_by_side_gets_a_warning() -> None:
    each: dict[str, Any] = {
        "type": "Foreach",
        "foreach": "@range(0, 3)",
        "actions": {"Add": {"type": "IncrementVariable", "inputs": {"name": "n", "value": 1}}},
    }
    one = {**each, "runtimeConfiguration": {"concurrency": {"repetitions": 1}}}

    assert lint({"Each": each}) == [
        "'Each' runs its items at the same time, and they all change 'n'"
    ]
    assert lint({"Each": one}) == []


def test_a_definition_of_azure_has_nothing_to_change() -> None:
    until = {"type": "Until", "expression": "@equals(1, 1)", "limit": {"count": 2}, "actions": {}}

    assert lint({"Until": until, "If": {"type": "If", "expression": {"and": []}}}) == []


def _deep(levels: int) -> dict[str, Any]:
    action: dict[str, Any] = {"type": "Compose", "inputs": 1}
    for level in range(levels):
        action = {"type": "Scope", "actions": {f"S{level}": action}}
    return action


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (_deep(8), "at most 8 levels deep"),
        (
            {
                "type": "Scope",
                "actions": {
                    "I": {
                        "type": "InitializeVariable",
                        "inputs": {"variables": [{"name": "n", "type": "integer"}]},
                    }
                },
            },
            "declared at the top level",
        ),
        (
            {
                "type": "Foreach",
                "foreach": [1],
                "operationOptions": "Sequential",
                "actions": {"T": {"type": "Terminate", "inputs": {"runStatus": "Failed"}}},
            },
            "'terminate' is not allowed in a loop",
        ),
        (
            {"type": "SetVariable", "inputs": {"name": "n", "value": "@add(variables('N'), 1)"}},
            "may not be read where it is set",
        ),
        (
            {
                "type": "Switch",
                "expression": "@1",
                "cases": {f"C{n}": {"case": n, "actions": {}} for n in range(26)},
            },
            "at most 25 cases",
        ),
        (
            {"type": "Until", "expression": "@true", "limit": {"count": 9_999}, "actions": {}},
            "at most 5,000 iterations",
        ),
        (
            {
                "type": "Foreach",
                "foreach": [1],
                "operationOptions": "Sequential",
                "runtimeConfiguration": {"concurrency": {"repetitions": 4}},
                "actions": {},
            },
            "exclude each other",
        ),
        (
            {
                "type": "Foreach",
                "foreach": [1],
                "runtimeConfiguration": {"concurrency": {"repetitions": 51}},
                "actions": {},
            },
            "from 1 to 50",
        ),
        (
            {
                "type": "Http",
                "inputs": {"uri": "u", "retryPolicy": {"type": "fixed", "interval": "PT1S"}},
            },
            "from PT5S to P1D",
        ),
        (
            {
                "type": "Agent",
                "tools": {"T": {"actions": {"n" * 81: {"type": "Compose", "inputs": 1}}}},
            },
            "at most 80 characters",
        ),
        ({"type": "Compose", "inputs": f"@concat('{'x' * 9_000}')"}, "at most 8,192 characters"),
    ],
)
def test_what_azure_bounds_or_forbids_is_named(action: Any, words: str) -> None:
    found = lint({"A": action})

    assert any(words in message for message in found), found


def test_a_name_may_have_eighty_characters() -> None:
    compose = {"type": "Compose", "inputs": 1}

    assert lint({"n" * 80: compose}) == []
    assert "at most 80 characters" in lint({"n" * 81: compose})[0]


def _definition(**parts: int) -> dict[str, Any]:
    compose = {"type": "Compose", "inputs": 1}
    return {
        "actions": {"S": {"type": "Scope", "actions": {"C": compose}}}
        | {f"A{n}": compose for n in range(parts.get("actions", 2) - 2)},
        "triggers": {f"T{n}": {"type": "Request"} for n in range(parts.get("triggers", 1))},
        "parameters": {f"p{n}": {"type": "Int"} for n in range(parts.get("parameters", 1))},
        "outputs": {f"o{n}": {"value": 1} for n in range(parts.get("outputs", 1))},
    }


@pytest.mark.parametrize(
    ("part", "most"), [("actions", 500), ("triggers", 10), ("parameters", 50), ("outputs", 10)]
)
def test_a_definition_has_so_much_of_everything(part: str, most: int) -> None:
    def found(count: int) -> list[str]:
        text = json.dumps({"definition": _definition(**{part: count})})
        return [d.message for d in lint_for_azure(read_json(text, "flow.json"))[0]]

    assert found(most) == []
    assert found(most + 1) == [f"a workflow has at most {most} {part}, and this one has {most + 1}"]


def test_variables_are_counted_and_declared_once() -> None:
    def declaring(names: list[str]) -> list[str]:
        variables = [{"name": name, "type": "string"} for name in names]
        return lint({"I": {"type": "InitializeVariable", "inputs": {"variables": variables}}})

    assert declaring([f"v{n}" for n in range(250)]) == []
    assert "at most 250 variables" in declaring([f"v{n}" for n in range(251)])[0]
    assert declaring(["a", "A"]) == ["variable 'A' is declared twice"]
