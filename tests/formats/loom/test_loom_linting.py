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
        "Azure has no 'retry'",
        "Azure has no variables of loops",
        "Azure has no variables of loops",
    ]


ADDS = "actions: {Add: {type: IncrementVariable, inputs: {name: n, value: 1}}}"


@pytest.mark.parametrize(
    ("actions", "found"),
    [
        ("""Until: {type: Until, expression: "@equals(1, 1)", limit: {count: 2}, actions: {}}
If: {type: If, expression: {and: []}}""", []),
        (f'Each: {{type: Foreach, foreach: "@range(0, 3)", {ADDS}}}',
         ["'Each' runs its items at the same time, and they all change 'n'"]),
        (f'Each: {{type: Foreach, foreach: "@range(0, 3)", {ADDS},'
         " runtimeConfiguration: {concurrency: {repetitions: 1}}}", []),
    ],
)  # fmt: skip
def test_a_definition_of_azure_has_nothing_to_change(actions: str, found: list[str]) -> None:
    """A variable that items change side by side gets a warning."""
    assert lint(actions) == found


def test_a_loop_holds_nothing_that_ends_the_run() -> None:
    found = lint("""
        Each: {type: Foreach, foreach: [1], operationOptions: Sequential,
          actions: {T: {type: Terminate, inputs: {runStatus: Failed}}}}
    """)

    assert found == ["'terminate' is not allowed in a loop"]
