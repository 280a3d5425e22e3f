"""What a trigger's rules make of what it is given: several runs, one, or none."""

from __future__ import annotations

import json
from typing import Any

import pytest

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


def test_a_key_starts_each_item_once() -> None:
    workflow = _read({"splitOn": "@triggerBody()"}).workflow
    starts = starts_of(workflow, Start({"body": [1, 2]}, key="k"), NOW)

    assert [start.key for start in starts.each] == ["k/1", "k/2"]


@pytest.mark.parametrize(
    ("trigger", "body", "words"),
    [
        ({"splitOn": "@triggerBody()?['x']"}, {}, "to split is nothing"),
        ({"splitOn": "@triggerBody()"}, {"a": 1}, "to split is a dict"),
        ({"splitOn": "orders"}, {}, "to split is a str"),
        ({"splitOn": "@triggerBody()['x']"}, {}, "cannot be computed"),
        ({"splitOn": "@triggerBody()", "runtimeConfiguration": {"concurrency": {"runs": 3}}},
         [0] * 101, "has 101 items to split, more than 100"),
        ({"operationOptions": "EnableSchemaValidation", "inputs": {"schema": {"type": "object",
         "required": ["id"]}}}, {"name": "x"}, "does not fit"),
    ],
)  # fmt: skip
def test_what_does_not_fit_starts_nothing(trigger: dict[str, Any], body: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as fault:
        _starts(trigger, body=body)

    assert fault.value.code == "R130"


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
