"""What a Response gives to whoever called, also when the run fails later."""

from __future__ import annotations

from typing import Any

from loom_runs import run


def _response(code: int) -> dict[str, Any]:
    inputs = {"statusCode": code, "headers": {"X-Pot": "clay"}, "body": code}
    return {"type": "Response", "inputs": inputs, "runAfter": {}}


def test_a_response_gives_its_status_and_headers() -> None:
    ran = run({"definition": {"triggers": {}, "actions": {"Reply": _response(418)}}})

    assert ran.output == 418
    assert ran.outputs == {"body": 418, "statusCode": 418, "headers": {"X-Pot": "clay"}}


def test_a_response_stays_when_a_later_action_fails() -> None:
    bad = {"type": "Compose", "inputs": "@div(1, 0)", "runAfter": {"Reply": ["Succeeded"]}}
    ran = run({"definition": {"triggers": {}, "actions": {"Reply": _response(202), "Bad": bad}}})

    assert (ran.status, ran.output) == ("failed", 202)
    assert ran.outputs["statusCode"] == 202
    none = {
        "Bad": bad | {"runAfter": {}},
        "Reply": _response(1) | {"runAfter": {"Bad": ["Succeeded"]}},
    }
    assert run({"definition": {"triggers": {}, "actions": none}}).outputs == {}


def test_a_second_response_fails() -> None:
    nested: dict[str, Any] = {"type": "Scope", "actions": {"Again": _response(201)}}
    nested["runAfter"] = {"Reply": ["Succeeded"]}
    ran = run({"definition": {"triggers": {}, "actions": {"Reply": _response(200), "S": nested}}})

    assert ran.status == "failed"
    assert ran.actions["Again"]["status"] == "Failed"
    assert "'Reply' has already" in ran.actions["Again"]["error"]["message"]
