"""What a trigger's rules make of what it is given: several runs, one, or none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loom_runs import flow

from whorl.dialects import read_workflow
from whorl.errors import InvalidWorkflow, UsageError
from whorl.runtimes.start_options import Start
from whorl.services.serving.triggers import Starts, starts_of

NOW = 1_800_000_000.0


def _read(trigger: dict[str, Any], **more: Any) -> Any:
    definition = {
        "triggers": {"manual": {"type": "Request", "kind": "Http"} | trigger},
        "actions": {"Take": {"type": "Compose", "inputs": "@triggerOutputs()"}} | more,
    }
    return read_workflow(json.dumps({"definition": definition}), "orders.json")


def _starts(trigger: dict[str, Any], **given: Any) -> Starts:
    return starts_of(_read(trigger).workflow, Start(given), NOW)


def _inputs(starts: Starts) -> list[Any]:
    return [start.input for start in starts.each]


def test_each_item_of_a_list_is_the_body_of_a_run() -> None:
    trigger = {"splitOn": "@triggerBody()?['orders']"}
    starts = _starts(trigger, body={"orders": [{"id": 1}, 2]}, headers={"a": "b"})

    assert starts.is_split
    assert _inputs(starts) == [
        {"body": {"id": 1}, "headers": {"a": "b"}},
        {"body": 2, "headers": {"a": "b"}},
    ]
    assert _starts(trigger, body={"orders": []}).reason == "the list of trigger 'manual' is empty"


def test_a_condition_is_asked_of_each_item() -> None:
    conditions = [{"expression": "@equals(triggerBody()?['go'], true)"}]
    items = [{"go": True, "n": 1}, {"go": False}, {}, {"go": True, "n": 4}]
    starts = _starts({"splitOn": "@triggerBody()", "conditions": conditions}, body=items)

    assert [given["body"]["n"] for given in _inputs(starts)] == [1, 4]
    assert starts.skipped == 2
    assert "is not met: @equals(triggerBody()?['go'], true)" in starts.reason
    assert not _starts({"conditions": conditions}, body={}).each
    assert _inputs(_starts({"conditions": conditions}, body=items[0])) == [{"body": items[0]}]


def test_runs_are_named_for_whoever_follows_them() -> None:
    named = {"correlation": {"clientTrackingId": "@{triggerBody()['id']}-x"}}
    starts = _starts(
        {"splitOn": "@triggerBody()", "splitOnConfiguration": named}, body=[{"id": 7}, {"id": 8}]
    )

    assert [given["clientTrackingId"] for given in _inputs(starts)] == ["7-x", "8-x"]
    assert _inputs(_starts(named, body={"id": 1}))[0]["clientTrackingId"] == "1-x"


def test_a_key_starts_each_item_once() -> None:
    workflow = _read({"splitOn": "@triggerBody()"}).workflow
    starts = starts_of(workflow, Start({"body": [1, 2]}, key="k"), NOW)

    assert [start.key for start in starts.each] == ["k/1", "k/2"]


@pytest.mark.parametrize(
    ("trigger", "body", "words"),
    [
        ({"splitOn": "@triggerBody()?['x']"}, {}, "splits on is nothing"),
        ({"splitOn": "@triggerBody()"}, {"a": 1}, "splits on is a dict"),
        ({"splitOn": "orders"}, {}, "splits on is a str"),
        ({"splitOn": "@triggerBody()['x']"}, {}, "cannot be computed"),
        ({"splitOn": "@triggerBody()", "runtimeConfiguration": {"concurrency": {"runs": 3}}},
         [0] * 101, "has 101 items to split on, and may have 100"),
        ({"operationOptions": "EnableSchemaValidation", "inputs": {"schema": {"type": "object",
         "required": ["id"]}}}, {"name": "x"}, "does not fit"),
    ],
)  # fmt: skip
def test_what_does_not_fit_starts_nothing(trigger: dict[str, Any], body: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as fault:
        _starts(trigger, body=body)

    assert fault.value.code == "R130"


@pytest.mark.parametrize(
    "trigger",
    [
        {"conditions": [{"dependsOn": "x"}]},
        {"runtimeConfiguration": {"concurrency": {"runs": "@parameters('n')"}}},
        {"splitOn": "@triggerBdy()"},
        {"type": "Recurrence", "recurrence": {"interval": 1}},
        {"type": "SlidingWindow", "recurrence": {"frequency": "Day", "schedule": {"hours": [1]}}},
        {"type": "Http", "inputs": {"uri": "https://example.com"}},
    ],
)
def test_a_rule_that_is_not_carried_out_is_refused(trigger: dict[str, Any]) -> None:
    with pytest.raises(InvalidWorkflow) as fault:
        _read(trigger)

    assert {diagnostic.code for diagnostic in fault.value.diagnostics} <= {"W030", "W008"}


@pytest.mark.parametrize(
    ("type_", "kind", "words"),
    [
        ("Recurrence", "recurrence", 'it does not start runs by itself here, since "@parameters('),
        ("Http", "poll", 'it does not start runs by itself here, since "@parameters('),
        ("ApiConnectionWebhook", "callback", "it does not start runs by itself here"),
        ("ServiceProvider", "poll", "it does not start runs by itself here"),
    ],
)
def test_a_trigger_that_nobody_watches_says_so(type_: str, kind: str, words: str) -> None:
    recurrence = {"frequency": "@parameters('often')", "interval": 1}
    inputs = {"uri": "https://example.com"}
    reading = _read({"type": type_, "recurrence": recurrence, "inputs": inputs})

    assert reading.workflow.trigger.kind == kind
    assert [w.code for w in reading.warnings if words in w.message] == ["W030"]


def test_a_call_with_a_path_has_its_parameters() -> None:
    trigger = _read({"inputs": {"method": "get", "relativePath": "/orders/{id}"}}).workflow.trigger

    assert (trigger.methods, trigger.path) == (("GET",), "orders/{id}")
    assert dict(trigger.gives)["path"] == "relativePathParameters"


WEEKLY = flow("""
    {frequency: Week, interval: "2", startTime: "2026-01-05T00:00:00Z",
    timeZone: W. Europe Standard Time,
    schedule: {hours: ["8", 17], minutes: [30], weekDays: [Friday, monday]}}
""")
TWO_WEEKS = flow("""
    {frequency: week, interval: 2, zone: Europe/Berlin, start: "2026-01-05T00:00:00Z",
    hours: [8, 17], minutes: [30], weekdays: [1, 5]}
""")
COMPUTED = {"frequency": "@{parameters('often')}", "interval": "@parameters('n')"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"frequency": "Hour", "interval": 4}, {"frequency": "hour", "interval": 4}),
        *((WEEKLY, TWO_WEEKS), (COMPUTED, {"frequency": "hour", "interval": 2})),
    ],
)
def test_a_recurrence_is_carried_out(written: dict[str, Any], expected: dict[str, Any]) -> None:
    """A parameter counts with its own value."""
    definition = {
        "parameters": {"often": {"defaultValue": "Hour"}, "n": {"defaultValue": 2}},
        "triggers": {"Every": {"type": "Recurrence", "recurrence": written}},
        "actions": {"Take": {"type": "Compose", "inputs": 1}},
    }
    reading = read_workflow(json.dumps({"definition": definition}), "a.json")

    assert reading.workflow.trigger is not None
    assert reading.workflow.trigger.recurrence == expected
    assert reading.warnings == ()


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"frequency": "Year", "interval": 1}, "'Year' is not a frequency"),
        ({"frequency": "Day", "interval": 0}, "'0' is not a number from 1 to"),
        ({"frequency": "Day", "interval": 1, "count": 3}, "'count' of its recurrence is not known"),
        ({"frequency": "Day", "interval": 1, "timeZone": "Mars"},
         "'Mars' is not a Windows time zone"),
        ({"frequency": "Day", "interval": 1, "startTime": "soon"}, "'soon' is not a time"),
        ({"frequency": "Hour", "interval": 1, "schedule": {"hours": [1]}}, "cannot have 'hours'"),
        ({"frequency": "Week", "interval": 1, "schedule": {"weekDays": ["Moday"]}}, "weekDays"),
    ],
)  # fmt: skip
def test_a_recurrence_that_is_not_carried_out_is_refused(
    written: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidWorkflow, match=words) as fault:
        _read({"type": "Recurrence", "recurrence": written})

    assert [diagnostic.code for diagnostic in fault.value.diagnostics] == ["W030"]
