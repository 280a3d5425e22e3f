"""What would not deploy to Azure is named, each thing at its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from whorl.formats.loom.linting import lint_for_azure
from whorl.source.json import read_json


def lint(actions: dict[str, Any] | str) -> list[str]:
    actions = yaml.safe_load(actions) if isinstance(actions, str) else actions
    found, _ = lint_for_azure(read_json(json.dumps({"actions": actions}), "flow.json"))

    assert all(one.span is not None and one.help for one in found)
    return [one.message for one in found]


def test_what_only_this_dialect_has_is_named() -> None:
    found = lint("""
        turn: {type: while, condition: "@less(variables('loopIndex'), 2)",
          actions: {x: {type: Compose, inputs: "@variables('turn_loopCount')"}},
          delay: {interval: {count: 1, unit: second}}}
        call: {type: Http, inputs: {uri: u}, retry: {type: fixed}}
    """)

    assert found == [
        "Azure has no type 'while'",
        "'turn' has 'condition', which Azure does not know",
        "'turn' has 'delay', which Azure does not know",
        "Azure has no variables of loops",
        "Azure has no variables of loops",
        "Azure has no 'retry'",
    ]


ADDS = "actions: {Add: {type: IncrementVariable, inputs: {name: n, value: 1}}}"
NAME = "n" * 80


@pytest.mark.parametrize(
    ("actions", "found"),
    [
        ("""Until: {type: Until, expression: "@equals(1, 1)", limit: {count: 2}, actions: {}}
If: {type: If, expression: {and: []}}""", []),
        (f'Each: {{type: Foreach, foreach: "@range(0, 3)", {ADDS}}}',
         ["'Each' runs its items at the same time, and they all change 'n'"]),
        (f'Each: {{type: Foreach, foreach: "@range(0, 3)", {ADDS},'
         " runtimeConfiguration: {concurrency: {repetitions: 1}}}", []),
        (f"{NAME}: {{type: Compose, inputs: 1}}", []),
    ],
)  # fmt: skip
def test_a_definition_of_azure_has_nothing_to_change(actions: str, found: list[str]) -> None:
    """A variable that items change side by side gets a warning."""
    assert lint(actions) == found


def _deep(levels: int) -> dict[str, Any]:
    action: dict[str, Any] = {"type": "Compose", "inputs": 1}
    for level in range(levels):
        action = {"type": "Scope", "actions": {f"S{level}": action}}
    return action


EACH = "type: Foreach, foreach: [1]"
CASES = ", ".join(f"C{n}: {{case: {n}, actions: {{}}}}" for n in range(26))


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (json.dumps(_deep(8)), "at most 8 levels deep"),
        ("{type: Scope, actions: {I: {type: InitializeVariable,"
         " inputs: {variables: [{name: n, type: integer}]}}}}", "declared at the top level"),
        (f"{{{EACH}, operationOptions: Sequential,"
         " actions: {T: {type: Terminate, inputs: {runStatus: Failed}}}}",
         "'terminate' is not allowed in a loop"),
        ("{type: SetVariable, inputs: {name: n, value: \"@add(variables('N'), 1)\"}}",
         "may not be read where it is set"),
        (f'{{type: Switch, expression: "@1", cases: {{{CASES}}}}}', "at most 25 cases"),
        ('{type: Until, expression: "@true", limit: {count: 9999}, actions: {}}',
         "at most 5,000 iterations"),
        (f"{{{EACH}, operationOptions: Sequential,"
         " runtimeConfiguration: {concurrency: {repetitions: 4}}, actions: {}}",
         "exclude each other"),
        (f"{{{EACH}, runtimeConfiguration: {{concurrency: {{repetitions: 51}}}}, actions: {{}}}}",
         "from 1 to 50"),
        ("{type: Http, inputs: {uri: u, retryPolicy: {type: fixed, interval: PT1S}}}",
         "from PT5S to P1D"),
        (f"{{type: Agent, tools: {{T: {{actions: {{{NAME}n: {{type: Compose, inputs: 1}}}}}}}}}}",
         "at most 80 characters"),
        (f"{{type: Compose, inputs: \"@concat('{'x' * 9_000}')\"}}", "at most 8,192 characters"),
    ],
)  # fmt: skip
def test_what_azure_bounds_or_forbids_is_named(action: str, words: str) -> None:
    found = lint({"A": yaml.safe_load(action)})

    assert any(words in message for message in found), found


@pytest.mark.parametrize(
    ("part", "entry", "most"),
    [
        ("actions", {"type": "Compose", "inputs": 1}, 500),
        *(("triggers", {"type": "Request"}, 10), ("parameters", {"type": "Int"}, 50)),
        *(("outputs", {"value": 1}, 10), ("variables", {"type": "string"}, 250)),
    ],
)
def test_a_definition_has_so_much_of_everything(part: str, entry: Any, most: int) -> None:
    """The actions inside of others count, too."""

    def found(count: int) -> list[str]:
        named = {f"n{n}": entry for n in range(count - (part == "actions"))}
        actions = {"S": {"type": "Scope", "actions": named}} if part == "actions" else {}
        if part == "variables":
            variables = [{"name": name} | entry for name in named]
            actions["I"] = {"type": "InitializeVariable", "inputs": {"variables": variables}}
        text = json.dumps({"definition": {"actions": actions, part: named} | {"actions": actions}})
        return [d.message for d in lint_for_azure(read_json(text, "flow.json"))[0]]

    assert found(most) == []
    assert found(most + 1) == [f"a workflow has at most {most} {part}, and this one has {most + 1}"]


def test_a_variable_is_declared_once() -> None:
    variables = [{"name": name, "type": "string"} for name in "aA"]
    action = {"type": "InitializeVariable", "inputs": {"variables": variables}}

    assert lint({"I": action}) == ["variable 'A' is declared twice"]
