"""Mocks of actions and triggers in Azure's words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from loom_runs import flow

import whorl
from whorl import testing

if TYPE_CHECKING:
    from pathlib import Path

_MAIL = flow("""
    {type: ApiConnection,
    inputs: {host: {connection: {name: "@parameters('$connections')['mail']['connectionId']"}},
    method: post, body: {to: "@items('For_each')"}}}
""")
_DEFINITION = {
    "$schema": "https://schema.management.azure.com/providers/Microsoft.Logic/schemas/"
    "2016-06-01/workflowdefinition.json#",
    "contentVersion": "1.0.0.0",
    "triggers": {"manual": {"type": "Request", "kind": "Http"}},
    "actions": {
        "Get_order": {
            "type": "Http",
            "inputs": {"method": "GET", "uri": "https://example.com/@{triggerBody()?['id']}"},
        },
        "Wait": {
            "type": "Wait",
            "inputs": {"interval": {"count": 1, "unit": "Hour"}},
            "runAfter": {"Get_order": ["Succeeded"]},
        },
        "For_each": {
            "type": "Foreach",
            "foreach": "@body('Get_order')['lines']",
            "actions": {"Send": _MAIL},
            "runAfter": {"Wait": ["Succeeded"]},
        },
        "Report": flow("""
            {type: Http, inputs: {method: POST, uri: "https://example.com/failed",
            body: "@outputs('Get_order')"}, runAfter: {Get_order: [Failed, TimedOut]}}
        """),
    },
}
ORDER: dict[str, Any] = {"outputs": {"body": {"lines": ["a", "b"]}}}


@pytest.fixture
def flow(tmp_path: Path) -> str:
    file = tmp_path / "orders.json"
    file.write_text(json.dumps({"definition": _DEFINITION, "kind": "Stateful"}, indent=2))
    return str(file)


@pytest.mark.parametrize(
    ("order", "status", "code"),
    [
        ({"outputs": {"statusCode": "NotFound", "body": {}}}, "failed", 404),
        ({"outputs": {"statusCode": 503}}, "failed", 503),
        ({"status": "Failed", "error": {"code": "Gone", "message": "no"}}, "failed", 500),
        ({"error": "no"}, "failed", 500),
        ({"status": "TIMEDOUT"}, "timed_out", 200),
    ],
)
def test_what_fails_goes_where_failures_go(
    flow: str, order: dict[str, Any], status: str, code: int
) -> None:
    mocks = {"Get_order": order, "Report": {"outputs": {"statusCode": 202}}}
    outcome = testing.run(flow, {"body": {"id": 1}}, mocks=mocks)

    assert outcome.step("Get_order").status == status
    assert outcome.step("For_each").status == "skipped"
    reported = outcome.calls("Report")[0].inputs["body"]["statusCode"]  # type: ignore
    assert reported == code
    assert len(outcome.calls("Get_order")) == 1


def test_an_item_can_be_meant_and_a_loop_be_left_out(flow: str) -> None:
    late = {"status": "Failed", "outputs": {"statusCode": 429}}
    mocks = {"Get_order": ORDER, "For_each[1]/Send": {}, "For_each[2]/Send": late}
    outcome = testing.run(flow, mocks=mocks)

    assert outcome.error is not None
    assert outcome.error["message"] == "item 2 of 'For_each': 'Send' failed: status 429"
    assert testing.run(flow, mocks={"Get_order": ORDER, "For_each": {}}).ok
    assert testing.run(flow, mocks={"Get_order": ORDER, "Send": {"status": "Skipped"}}).ok


def test_nothing_is_called_and_a_trigger_has_succeeded(flow: str) -> None:
    with pytest.raises(AssertionError, match=r"'For_each\[2\]/Send' \(connector\) has no mock"):
        testing.run(flow, mocks={"Get_order": ORDER})
    with pytest.raises(whorl.UsageError, match="the trigger of a test has succeeded"):
        testing.run(flow, mocks={"manual": {"status": "Failed"}})
    with pytest.raises(whorl.UsageError, match="no status 'Sucess' that a step can be given"):
        testing.run(flow, mocks={"Get_order": {"status": "Sucess"}})
