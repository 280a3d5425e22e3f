"""What reading a file finds: warnings, files beside it, the limits of the operator."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from loom_project import run_in
from loom_runs import flow, read

from whorl import ir
from whorl.dialects import read_workflow
from whorl.errors import Diagnostic, InvalidWorkflow

if TYPE_CHECKING:
    from pathlib import Path

TURN = {
    "type": "until",
    "condition": "@equals(variables('loopIndex'), 9)",
    "actions": {"x": {"type": "compose", "inputs": "@variables('loopIndex')"}},
}


def told_of(file: Any) -> list[Diagnostic]:
    try:
        return [*read(file).warnings]
    except InvalidWorkflow as fault:
        return [*fault.diagnostics]


@pytest.mark.parametrize(
    ("field", "severity", "help_text"),
    [
        # A field that does nothing is a warning, a misspelt one an error with the nearest one.
        ({"limits": {"count": 3}, "limit": {"count": 3}}, "warning", "did you mean 'limit'?"),
        ({"retry": {"type": "fixed", "colour": "red"}}, "warning", "it has type, count, interval"),
        ({"operationOptions": "FailWhenLimitReached"}, "warning",
         "did you mean 'FailWhenLimitsReached'?"),
        ({"limits": {"count": 3}}, "error", "did you mean 'limit'?"),
        ({"limit": {"counts": 3}}, "error", "did you mean 'count'?"),
        ({"retry": {"type": "fixed", "intervall": "PT1S"}}, "error", "did you mean 'interval'?"),
    ],
)  # fmt: skip
def test_a_field_that_is_not_known_is_told(
    field: dict[str, Any], severity: str, help_text: str
) -> None:
    [found] = told_of({"actions": {"turn": TURN | field}})

    assert (found.code, found.severity) == ("W004", severity)
    assert found.help.startswith(help_text)
    assert found.span is not None


@pytest.mark.parametrize(
    ("file", "told"),
    [
        # Where Azure is not meant, two actions of one name and what is side by side are warnings.
        ("actions: {a: {type: scope, actions: {x: {type: compose, inputs: 1}}},"
         " both: {type: parallel, actions: {x: {type: compose, inputs: 1}}}}", ["W012"]),
        ("actions: {both: {type: parallel, actions: {one: {type: activity, inputs: "
         "{activityType: a}}, two: {type: compose, inputs: \"@body('one')\"}}}}",
         ["W005 'one' may not have run yet when 'two' reads it"]),
        ("definition: {actions: {C: {type: Http, inputs: {method: GET, uri: https://api.test}, "
         "runtimeConfiguration: {staticResult: {name: Nope}}}}}", ["W005"]),
        # A variable that is misspelt may in Loom's files still be an input of the run.
        ("actions: {set: {type: setVariable, name: page, value: 1}, "
         "show: {type: compose, inputs: \"@variables('pgae')\"}}", ["W005 did you mean 'page'?"]),
        # Actions of the tools of an agent are known by name.
        ("definition: {actions: {A: {type: Agent, inputs: {parameters: {}}, tools: {t: {actions: "
         "{Look: {type: Http, inputs: {method: GET, uri: x}}}}}}, Show: {type: Compose, "
         "inputs: \"@body('Look')\", runAfter: {A: [Succeeded]}}}}", []),
    ],
)  # fmt: skip
def test_what_is_odd_is_a_warning(file: str, told: list[str]) -> None:
    found = [f"{one.code} {one.message} {one.help}" for one in read(flow(file)).warnings]

    assert [text[:4] for text in found] == [words[:4] for words in told]
    assert all(words[5:] in text for words, text in zip(told, found, strict=True))


STANDARD = flow("""
    {definition: {parameters: {a: {type: String}, b: {type: String, defaultValue: own}},
    actions: {Show: {type: Compose,
    inputs: "@{parameters('a')} @{parameters('b')} @{parameters('c')}"}}}, kind: Stateful}
""")
VALUES = {
    "a": {"type": "String", "value": "beside"},
    "c": {"type": "String", "value": "@appsetting('Colour')"},
}


def test_parameters_stand_in_a_file_beside_the_definition(tmp_path: Path) -> None:
    """An app setting that one of them names is an input of the run; what is given counts more."""

    def output(**given: str) -> Any:
        return run_in(tmp_path, STANDARD, given=given).output

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "parameters.json").write_text(json.dumps(VALUES))
    assert output(a="given", c="here") == "given own here"
    (tmp_path / "parameters.json").write_text(json.dumps(VALUES))
    assert output(Colour="red") == "beside own red"
    assert output(a="given", Colour="red") == "given own red"


def test_a_part_of_a_definition_may_refer_to_the_rest_of_it() -> None:
    """What it needs is not in the file: a warning each, and a failure where it is read."""
    show = {"type": "Compose", "inputs": ["@body('Rest')", "@parameters('p')", "@variables('v')"]}
    query = {"type": "Query", "inputs": {"from": "@items('Each')", "where": "@true"}}
    warnings = read({"Show": show, "Query": query}).warnings

    assert [found.message for found in warnings] == [
        "there is no action 'Rest'",
        "there is no parameter 'p'; without `-i p=VALUE` what reads it fails",
        "variable 'v' is never set; without `-i v=VALUE` what reads it fails",
        "there is no for-each 'Each' around this place",
    ]


def test_the_file_of_a_deployment_bears_the_name_of_its_template(tmp_path: Path) -> None:
    template = flow("""
        {$schema: "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
        parameters: {greeting: {type: string, defaultValue: hello}},
        resources: [{type: Microsoft.Logic/workflows, name: flow,
        properties: {definition: {actions: {Show: {type: Compose,
        inputs: "[parameters('greeting')]"}}}}}]}
    """)
    values = {"$schema": "x", "parameters": {"greeting": {"value": "good morning"}}}
    (tmp_path / "workflow.parameters.json").write_text(json.dumps(values))

    assert run_in(tmp_path, template).output == "good morning"


SETTING = {"definition": {"actions": {"Show": {"type": "Compose", "inputs": "@appsetting('Url')"}}}}


def test_app_settings_are_those_of_the_project(tmp_path: Path) -> None:
    settings = {"IsEncrypted": False, "Values": {"URL": "https://a.example", "Api-Key": "sesame"}}
    (tmp_path / "local.settings.json").write_text(json.dumps(settings))
    ran = run_in(tmp_path, SETTING)

    assert ran.output == "https://a.example"
    assert run_in(tmp_path, SETTING, given={"Url": "given"}).output == "given"
    keyed = {"type": "Compose", "inputs": "@length(appsetting('Api-Key'))"}
    ran = run_in(tmp_path, {"definition": {"actions": {"Show": keyed}}})
    assert ran.output == len("sesame")
    assert b"sesame" not in ran.bytes_stored()


def test_an_app_setting_that_is_nowhere_must_be_given(tmp_path: Path) -> None:
    """Also where only a workflow reads it that is called."""
    (tmp_path / "Child").mkdir()
    (tmp_path / "Child" / "workflow.json").write_text(json.dumps(SETTING))
    call = {"type": "Workflow", "inputs": {"host": {"workflow": {"id": "Child"}}}}
    parent = {"definition": {"actions": {"Call": call}}}

    for definition in (SETTING, parent):
        failed = run_in(tmp_path, definition).document
        assert failed["error"]["code"] == "R111"
        assert "Url" in failed["error"]["message"]
    assert run_in(tmp_path, parent, given={"Url": "given"}).output == "given"


def test_a_long_text_with_short_expressions_can_be_put_into_a_variable() -> None:
    variable = {"name": "s", "type": "string"}
    text = "x" * 9_000 + "@{1}" + "y" * 9_000 + "@{2}"
    actions = {
        "V": {"type": "InitializeVariable", "inputs": {"variables": [variable]}, "runAfter": {}},
        "S": {"type": "SetVariable", "inputs": {"name": "s", "value": text},
         "runAfter": {"V": ["Succeeded"]}},
    }  # fmt: skip

    assert read({"definition": {"triggers": {}, "actions": actions}}).warnings == ()
    long = {"type": "Compose", "inputs": f"@concat('{text}')", "runAfter": {}}
    with pytest.raises(InvalidWorkflow, match="8192"):
        read({"definition": {"triggers": {}, "actions": {"C": long}}})


def test_a_run_keeps_the_usual_limits_of_its_project(tmp_path: Path) -> None:
    config = '[limits]\niterations = 4\ntime = "PT2H"\n'
    ran = run_in(tmp_path, {"actions": {"turn": TURN}}, config=config)

    assert ran.document["status"] == "failed"
    assert "Loop exceeded maximum iterations: 4" in ran.document["error"]["message"]


def test_the_operator_sets_the_usual_limits_of_loops() -> None:
    text = json.dumps({"actions": {"turn": TURN}})
    own = json.dumps({"actions": {"turn": TURN | {"limit": {"count": 7, "timeout": "PT2M"}}}})
    usual = {"iterations": 5, "time": 90.0}

    def limits(text: str, **given: Any) -> ir.LoopLimits:
        loop = read_workflow(text, "w.json", **given).workflow.body.nodes[-1]
        assert isinstance(loop, ir.Loop)
        return loop.limits

    assert limits(text) == ir.LoopLimits(60, 3_600.0)
    assert limits(text, limits=usual) == ir.LoopLimits(5, 90.0)
    assert limits(own, limits=usual) == ir.LoopLimits(7, 120.0)
