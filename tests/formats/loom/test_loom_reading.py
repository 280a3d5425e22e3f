"""What reading a file finds: warnings, files beside it, the limits of the operator."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from loom_project import run_in
from loom_runs import read

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
def test_a_field_that_is_not_known_is_reported(
    field: dict[str, Any], severity: str, help_text: str
) -> None:
    [found] = told_of({"actions": {"turn": TURN | field}})

    assert (found.code, found.severity) == ("W004", severity)
    assert found.help.startswith(help_text)
    assert found.span is not None


def test_a_part_of_a_definition_may_refer_to_the_rest_of_it() -> None:
    """What it needs is not in the file: a warning each, and a failure where it is read."""
    show = {"type": "Compose", "inputs": ["@body('Rest')", "@parameters('p')", "@variables('v')"]}
    query = {"type": "Query", "inputs": {"from": "@items('Each')", "where": "@true"}}
    warnings = read({"Show": show, "Query": query}).warnings

    assert [found.message for found in warnings] == [
        "there is no action 'Rest'",
        "there is no parameter 'p'; without `-i p=VALUE` actions that read it fail",
        "variable 'v' is never set; without `-i v=VALUE` actions that read it fail",
        "there is no for-each 'Each' around this place",
    ]


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
