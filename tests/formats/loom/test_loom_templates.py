"""Deployment templates: what their strings in brackets become, and which workflow is meant."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from loom_project import run_in
from loom_runs import read, run

from whorl.dialects import read_workflow
from whorl.errors import InvalidWorkflow, SeveralWorkflows

if TYPE_CHECKING:
    from pathlib import Path

PARAMETERS = {
    "greeting": {"type": "string", "defaultValue": "Hello"},
    "n": {"type": "int", "defaultValue": 3},
    "on": {"type": "bool", "defaultValue": True},
    "twice": {"type": "int", "defaultValue": "[mul(parameters('n'), 2)]"},
    "open": {"type": "string"},
    "key": {"type": "securestring", "defaultValue": "hush"},
}
VARIABLES = {
    "who": "World",
    "none": "[json('[]')]",
    "both": "[concat(parameters('greeting'), ' ', variables('who'))]",
    "settings": {"name": "[variables('both')]", "list": [1, "[parameters('n')]"]},
    "round": "[variables('trip')]",
    "trip": "[variables('round')]",
}


def resource(inputs: Any, name: str = "flow", **properties: Any) -> dict[str, Any]:
    definition = {
        "triggers": {"manual": {"type": "Request", "kind": "Http"}},
        "actions": {"C": {"type": "Compose", "runAfter": {}, "inputs": inputs}},
    }
    return {
        "type": "Microsoft.Logic/workflows",
        "name": name,
        "properties": {"definition": definition, **properties},
    }


def template(*resources: Any, **fields: Any) -> dict[str, Any]:
    made = {"parameters": PARAMETERS, "variables": VARIABLES, "resources": [*resources]}
    return {"$schema": "x/deploymentTemplate.json#", **made, **fields}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[parameters('n')]", 3),
        ("[PARAMETERS('Greeting')]", "Hello"),
        ("[parameters('twice')]", 6),
        ("[variables('none')]", []),
        ("[variables('both')]", "Hello World"),
        ("[variables('settings')]", {"name": "Hello World", "list": [1, 3]}),
        ("[variables('settings').list[1]]", 3),
        ("[if(parameters('on'), 'yes', reference('x').y)]", "yes"),
        ("[format('{0}-{1} {{x}}', parameters('n'), 'a')]", "3-a {x}"),
        ("[uri('https://a.example/b/', 'c')]", "https://a.example/b/c"),
        ("[concat('@{add(', parameters('n'), ', int(''1''))}')]", "4"),
        ("[concat('@add(', parameters('n'), ', 1)')]", 4),
        ("[[x]", "[x]"),
        ("[1, 2]", "[1, 2]"),
        ("[resourceId('Microsoft.Web/connections', 'mail')]",
         "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/local/providers/"
         "Microsoft.Web/connections/mail"),
    ],
)  # fmt: skip
def test_what_a_string_in_brackets_becomes(written: Any, expected: Any) -> None:
    ran = run(json.dumps(template(resource(written))))

    assert (ran.status, ran.output) == ("succeeded", expected)
    assert isinstance(ran.output, type(expected))


@pytest.mark.parametrize(
    "written",
    [
        *("[reference('x').y]", "[variables('round')]", "[nope(1)]"),
        "[concat('@{1}', parameters('open'))]",
    ],
)
def test_what_only_azure_knows_stays_as_it_is_written_with_a_warning(written: str) -> None:
    reading = read(json.dumps(template(resource(written))))

    assert [warning.code for warning in reading.warnings] == ["W023"]
    assert run(json.dumps(template(resource(written)))).output == written


def test_a_secret_of_the_template_is_a_secret_of_the_run(tmp_path: Path) -> None:
    finished = run_in(tmp_path, template(resource("[length(concat('key ', parameters('key')))]")))

    assert finished.output == len("key hush")
    assert b"hush" not in b"".join(json.dumps(e.body).encode() for e in finished.events)


@pytest.mark.parametrize(
    ("inner", "written", "expected"),
    [
        ({"expressionEvaluationOptions": {"scope": "inner"},
          "parameters": {"x": {"value": "[parameters('greeting')]"}}},
         "[concat(parameters('x'), variables('v'))]", "Hello, inner"),
        ({}, "[variables('both')]", "Hello World"),
    ],
)  # fmt: skip
def test_a_nested_template_is_computed_with_the_names_that_it_says(
    inner: dict[str, Any], written: str, expected: str
) -> None:
    nested = {
        "parameters": {"x": {"type": "string", "defaultValue": "none"}},
        "variables": {"v": ", inner"},
        # Bicep writes resources by name.
        "resources": {"logic": resource(written)},
    }
    holder = {
        "type": "Microsoft.Resources/deployments",
        "name": "module",
        "properties": {"template": nested, **inner},
    }

    assert run(json.dumps(template(holder))).output == expected


def test_a_definition_may_be_a_variable_and_keeps_its_places() -> None:
    made = resource("@outputs('Nope')")
    text = json.dumps(
        template(
            made | {"properties": {"definition": "[variables('$fxv#0').definition]"}},
            variables={"$fxv#0": {"definition": made["properties"]["definition"]}},
        ),
        indent=1,
    )
    with pytest.raises(InvalidWorkflow) as caught:
        read(text)

    [error] = caught.value.diagnostics
    assert error.span is not None
    assert "@outputs('Nope')" in text.splitlines()[error.span.line - 1]
    assert run(text.replace("@outputs('Nope')", "[[x]")).output == "[x]"


def test_of_several_workflows_one_has_to_be_named() -> None:
    text = json.dumps(
        template(
            resource(1, "one"),
            resource("@outputs('Nope')", "[concat('t', 'wo')]"),
            resource(3, "one"),
            resource(4, "[parameters('open')]"),
        )
    )
    with pytest.raises(SeveralWorkflows) as caught:
        read_workflow(text, "several.json")

    assert caught.value.names == ("one", "two", "one (2)", "open")
    assert read_workflow(text, "several.json", workflow="ONE (2)").workflow.name == "one (2)"
    with pytest.raises(InvalidWorkflow, match="Nope"):
        read_workflow(text, "several.json", workflow="two")
    with pytest.raises(SeveralWorkflows, match="no workflow 'tow'"):
        read_workflow(text, "several.json", workflow="tow")
    with pytest.raises(SeveralWorkflows, match="only 'flow'"):
        read_workflow(json.dumps(template(resource(1))), "single.json", workflow="one")


@pytest.mark.slow
def test_values_that_grow_without_end_are_refused() -> None:
    names = [f"v{number}" for number in range(30)]
    variables: dict[str, Any] = {"v0": ["x"] * 10}
    for name, after in pairwise(names):
        variables[after] = [f"[variables('{name}')]"] * 10
    with pytest.raises(InvalidWorkflow) as caught:
        read(json.dumps(template(resource("[variables('v29')]"), variables=variables)))

    assert [fault.code for fault in caught.value.diagnostics] == ["W002"]
