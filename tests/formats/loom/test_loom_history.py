"""A run's history in Azure's own shape: each action, and each of its repetitions."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from loom_runs import flow

from conformance.replies import Script, ScriptedWorkers
from whorl.dialects import read_workflow
from whorl.errors import UsageError
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.services.records import RunRecords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_AFTER: dict[str, Any] = {"runAfter": {"Init": ["Succeeded"]}}
_ACTIONS: dict[str, Any] = {
    "Init": {"type": "InitializeVariable",
     "inputs": {"variables": [{"name": "n", "type": "integer", "value": 0}]}},
    "Each": {
        "type": "Foreach",
        "foreach": [1, 2],
        **_AFTER,
        "actions": flow("""
            {Big: {type: If, expression: "@greater(item(), 1)", actions: {"Yes": {type: Compose,
            inputs: "@mul(item(), 5)"}}}, Again: {type: Until, expression: "@equals(1, 1)",
            limit: {count: 2}, actions: {Add: {type: IncrementVariable, inputs: {name: n,
            value: 3}}}}}
        """),
    },
    "Few": {"type": "Query", "inputs": {"from": [1, 2, 3], "where": "@greater(item(), 2)"},
     **_AFTER},
    "Ask": {"type": "Http", "inputs": {"method": "GET", "uri": "https://x.test/y"}, **_AFTER},
    "Broken": {"type": "Compose", "inputs": "@int('x')", **_AFTER},
    "Never": {"type": "Compose", "inputs": 1, "runAfter": {"Broken": ["Succeeded"]}},
    "Caught": {"type": "Compose", "inputs": 2, "runAfter": {"Broken": ["Failed"]}},
}  # fmt: skip
_REPLIES = {"Ask": {"json": {"status": 201, "headers": {}, "body": "made"}}}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = run_into(tmp_path, _ACTIONS)
    yield opened
    opened.close()


def run_into(folder: Path, actions: dict[str, Any]) -> SqliteStore:
    opened = SqliteStore(folder / "runs.db")
    text = json.dumps({"definition": {"actions": actions}})

    async def work() -> None:
        runtime = LocalRuntime(opened, ScriptedWorkers(Script(_REPLIES)))
        run, _ = await runtime.start(read_workflow(text, "some.json").workflow, Start())
        await runtime.drive(run)

    asyncio.run(work())
    return opened


def history(store: SqliteStore) -> Any:
    return RunRecords(store, store.resolve("last"), ()).history("azure")


def test_each_action_has_a_record_in_the_shape_of_azure(store: SqliteStore) -> None:
    run = history(store)
    actions = run["properties"]["actions"]

    # An action that was skipped for another one stands for that one, at the end of a run.
    assert (run["properties"]["status"], run["properties"]["code"]) == ("Failed", "ActionFailed")
    assert set(actions) == {*_ACTIONS, "Big", "Yes", "Again", "Add"}
    assert actions["Init"]["inputs"] == {"variables": [{"name": "n", "value": 0}]}
    assert actions["Few"]["inputs"] == {"from": [1, 2, 3], "where": "@greater(item(), 2)"}
    assert actions["Few"]["outputs"] == {"body": [3]}
    assert actions["Ask"]["inputs"] == {"uri": "https://x.test/y", "method": "GET"}
    assert actions["Ask"]["code"] == "Created"
    names = "name status code startTime endTime trackingId clientTrackingId inputs outputs"
    assert list(actions["Ask"]) == names.split()

    # What failed and what was skipped says why.
    assert (actions["Broken"]["status"], actions["Broken"]["code"]) == ("Failed", "InvalidTemplate")
    assert "Could not parse x as int" in actions["Broken"]["error"]["message"]
    assert actions["Never"]["status"] == "Skipped"
    assert actions["Never"]["error"]["code"] == "ActionConditionFailed"
    assert actions["Caught"]["outputs"] == 2


def test_a_run_that_is_terminated_has_the_code_that_its_author_gives(tmp_path: Path) -> None:
    error = {"code": "NoOrders", "message": "there are none"}
    inputs = {"runStatus": "Failed", "runError": error}
    after = {"type": "Compose", "inputs": 1, "runAfter": {"Stop": ["Succeeded"]}}
    store = run_into(tmp_path, {"Stop": {"type": "Terminate", "inputs": inputs}, "Never": after})
    run = history(store)["properties"]
    store.close()

    assert (run["status"], run["code"], run["error"]) == ("Failed", "Terminated", error)
    assert run["actions"]["Stop"]["inputs"] == inputs
    assert run["actions"]["Stop"]["status"] == "Succeeded"
    never = run["actions"]["Never"]
    assert (never["status"], never["code"]) == ("Skipped", "Terminated")


def test_actions_in_loops_have_repetitions_by_their_indexes(store: SqliteStore) -> None:
    actions = history(store)["properties"]["actions"]

    assert actions["Each"]["repetitionCount"] == 2
    repetitions = actions["Each"]["scopeRepetitions"]
    scopes = [each["properties"]["repetitionIndexes"] for each in repetitions]
    assert scopes == [[{"scopeName": "Each", "itemIndex": index}] for index in (0, 1)]
    assert (actions["Yes"]["status"], actions["Yes"]["code"]) == ("Succeeded", "NotSpecified")
    skipped, taken = actions["Yes"]["repetitions"]
    assert (skipped["name"], taken["name"]) == ("000000", "000001")
    code = "ActionBranchingConditionNotSatisfied"
    assert skipped["properties"]["error"] == {"code": code}
    assert (taken["properties"]["inputs"], taken["properties"]["outputs"]) == (10, 10)
    results = [each["properties"]["inputs"] for each in actions["Big"]["repetitions"]]
    assert results == [{"expressionResult": False}, {"expressionResult": True}]
    names = [each["name"] for each in actions["Add"]["repetitions"]]
    assert names == ["000000-000000", "000001-000000"]
    added = actions["Add"]["repetitions"][1]["properties"]
    assert added["inputs"] == {"name": "n", "value": 3}
    scope_names = [index["scopeName"] for index in added["repetitionIndexes"]]
    assert scope_names == ["Each", "Again"]

    # A system that nobody knows is named.
    with pytest.raises(UsageError, match="no 'azur'") as caught:
        RunRecords(store, store.resolve("last"), ()).history("azur")

    assert "did you mean 'azure'?" in caught.value.help
