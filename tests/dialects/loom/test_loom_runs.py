"""What runs of the dialect do: times, faults of web services, retries, records, events."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from loom_runs import Ran, read, run

from whorl.interfaces.translation import Translator
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan

WAIT = {"type": "wait", "inputs": {"interval": {"count": 5, "unit": "second"}}}


def azure(actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A definition that follows Azure's rules."""
    return {"definition": {"actions": actions, **more}, "kind": "Stateful"}


def test_actions_stand_in_order_here_and_side_by_side_in_azure() -> None:
    wait = {"type": "Wait", "inputs": {"interval": {"count": 5, "unit": "Second"}}}
    here = run({"actions": {"a": WAIT, "b": WAIT}})
    there = run(azure({"a": wait, "b": wait, "c": {"type": "If", "expression": True}}))

    assert here.seconds == 10
    assert there.seconds == 5


def test_actions_in_parallel_run_side_by_side() -> None:
    assert (
        run({"actions": {"both": {"type": "parallel", "actions": {"a": WAIT, "b": WAIT}}}}).seconds
        == 5
    )


@pytest.mark.parametrize(("unit", "seconds"), [("second", 2), ("minute", 120), ("hour", 7_200)])
def test_delay_stands_between_iterations(unit: str, seconds: int) -> None:
    """Two pauses for two iterations: the condition is checked after the second one."""
    loop = {
        "type": "until",
        "condition": "@equals(variables('loopIndex'), 2)",
        "actions": {"x": {"type": "compose", "inputs": 1}},
        "delay": {"interval": {"count": 2, "unit": unit}},
        "limit": {"timeout": "PT24H"},
    }

    assert run({"actions": {"turn": loop}}).seconds == 2 * seconds


def test_foreach_of_azure_takes_twenty_at_once_and_nested_ones_one() -> None:
    wait = {"type": "Wait", "inputs": {"interval": {"count": 1, "unit": "Minute"}}}
    wide = azure({"Each": {"type": "Foreach", "foreach": "@range(0, 40)", "actions": {"W": wait}}})
    inner = {"type": "Foreach", "foreach": [1, 2], "actions": {"W": wait}}
    deep = azure({"Each": {"type": "Foreach", "foreach": [1, 2, 3], "actions": {"In": inner}}})
    limited = azure(
        {
            "Each": {
                "type": "Foreach",
                "foreach": [1, 2, 3, 4],
                "actions": {"W": wait},
                "runtimeConfiguration": {"concurrency": {"repetitions": 2}},
            },
            "X": {"type": "If", "expression": True},
        }
    )

    assert run(wide).seconds == 120
    assert run(deep).seconds == 120
    assert run(limited).seconds == 120


def test_outputs_of_a_failed_call_can_be_read() -> None:
    ran = run(
        {
            "actions": {
                "call": {"type": "http", "inputs": {"uri": "https://api.test/x"}},
                "bad": {
                    "type": "compose",
                    "runAfter": {"call": ["FAILED"]},
                    "inputs": "@{outputs('call').statusCode} @{body('call').why}",
                },
            },
            "outputs": {"said": {"value": "@outputs('bad')"}},
        },
        web={"GET /x": [(404, {"why": "gone"})]},
    )

    assert ran.status == "succeeded"
    assert ran.outputs == {"said": "404 gone"}
    assert ran.actions["call"]["status"] == "Failed"


def test_a_retry_takes_only_the_statuses_that_it_lists() -> None:
    call = {
        "type": "http",
        "inputs": {"uri": "https://api.test/x"},
        "retry": {"type": "fixed", "count": 5, "interval": "PT2S", "on": ["503"]},
    }
    ran = run({"actions": {"call": call}}, web={"GET /x": [(503, ""), (503, ""), (404, "")]})

    assert ran.status == "failed"
    assert ran.world.used["GET /x"] == 3
    assert ran.seconds == 4


def test_an_exponential_retry_doubles_within_a_tenth_and_within_its_bounds() -> None:
    call = {
        "type": "http",
        "inputs": {"uri": "https://api.test/x"},
        "retry": {"type": "exponential", "count": 4, "interval": "PT1S", "maxInterval": "PT3S"},
    }
    ran = run({"actions": {"call": call}}, web={"GET /x": [(500, "")]})
    times = [
        e.event.at for e in ran.journal.read(ran.document["run"]) if e.event.kind == "task.failed"
    ]
    waits = [later - earlier for earlier, later in pairwise(times)]

    assert len(waits) == 4
    for wait, least, most in zip(waits, (1, 1.8, 3, 3), (1.1, 2.2, 3, 3), strict=True):
        assert least - 1e-6 <= wait <= most + 1e-6
    assert waits[0] != 1.0


@pytest.mark.parametrize("kind", ["fixed", "exponential"])
@pytest.mark.parametrize("bounds", [{}, {"maxInterval": "PT2S"}])
@pytest.mark.parametrize("is_inside", [True, False])
def test_a_least_wait_that_is_written_raises_the_interval(
    kind: str, bounds: dict[str, str], is_inside: bool
) -> None:
    policy = {"type": kind, "count": 2, "interval": "PT1S", "minimumInterval": "PT4S"} | bounds
    inputs: dict[str, Any] = {"uri": "https://api.test/x"}
    call = {"type": "http", "inputs": inputs | ({"retry": policy} if is_inside else {})}
    call |= {} if is_inside else {"retry": policy}
    ran = run({"actions": {"call": call}}, web={"GET /x": [(500, "")]})

    assert waits_of(ran) == [4, 4]


def test_the_usual_least_wait_raises_no_interval() -> None:
    policy = {"type": "exponential", "count": 1, "interval": "PT0.1S"}
    call = {"type": "http", "inputs": {"uri": "https://api.test/x"}, "retry": policy}
    (wait,) = waits_of(run({"actions": {"call": call}}, web={"GET /x": [(500, "")]}))

    assert 0.1 <= wait <= 0.11


def test_a_retry_without_conditions_tries_again_after_every_error() -> None:
    def flaky(input: Any) -> str:  # noqa: A002
        raise_on_first(input)
        return "done"

    tries: list[int] = []

    def raise_on_first(_: Any) -> None:
        from whorl.errors import ProviderError

        tries.append(1)
        if len(tries) < 3:
            raise ProviderError("no", code="P100", detail={"type": "KeyError"})

    action = {"type": "activity", "inputs": {"activityType": "flaky"}, "retry": {"type": "fixed"}}
    ran = run({"actions": {"x": action}}, functions={"activity:flaky": flaky})

    assert ran.output == "done"
    assert ran.seconds == 10


def test_a_call_of_azure_is_tried_again_unless_it_says_none() -> None:
    call: dict[str, Any] = {
        "type": "Http",
        "inputs": {"method": "GET", "uri": "https://api.test/x"},
    }
    quiet = {**call, "inputs": {**call["inputs"], "retryPolicy": {"type": "none"}}}
    two = {"X": {"type": "If", "expression": True}}

    assert run(azure({"C": call, **two}), web={"GET /x": [(500, "")]}).world.used["GET /x"] == 5
    assert run(azure({"C": quiet, **two}), web={"GET /x": [(500, "")]}).world.used["GET /x"] == 1


def waits_of(ran: Ran) -> list[float]:
    times = [
        e.event.at for e in ran.journal.read(ran.document["run"]) if e.event.kind == "task.failed"
    ]
    return [later - earlier for earlier, later in pairwise(times)]


@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_a_wait_of_azure_is_drawn_between_the_one_before_and_twice_that(name: str) -> None:
    policy = {"type": "exponential", "count": 4, "interval": "PT10S", "minimumInterval": "PT5S"}
    call = {
        "type": "Http",
        "inputs": {"method": "GET", "uri": "https://api.test/x", "retryPolicy": policy},
    }
    ran = run(azure({name: call}), web={"GET /x": [(500, "")]})
    waits = waits_of(ran)

    assert len(waits) == 4
    for wait, least, most in zip(waits, (5, 10, 20, 40), (10, 20, 40, 80), strict=True):
        assert least <= wait <= most
    assert len({wait / most for wait, most in zip(waits, (10, 20, 40, 80), strict=True)}) == 4


@pytest.mark.parametrize(("status", "calls"), [(408, 3), (429, 3), (500, 3), (404, 1), (400, 1)])
def test_azure_tries_again_after_passing_faults_only(status: int, calls: int) -> None:
    policy = {"type": "fixed", "count": 2, "interval": "PT5S"}
    call = {
        "type": "Http",
        "inputs": {"method": "GET", "uri": "https://api.test/x", "retryPolicy": policy},
    }

    assert run(azure({"C": call}), web={"GET /x": [(status, "")]}).world.used["GET /x"] == calls


def test_a_policy_of_azure_may_list_its_statuses() -> None:
    policy = {"type": "fixed", "count": 2, "interval": "PT5S", "httpStatusCodes": [404]}
    call = {
        "type": "Http",
        "inputs": {"method": "GET", "uri": "https://api.test/x", "retryPolicy": policy},
    }

    assert run(azure({"C": call}), web={"GET /x": [(404, "")]}).world.used["GET /x"] == 3
    assert run(azure({"C": call}), web={"GET /x": [(500, "")]}).world.used["GET /x"] == 1


def test_a_scope_waits_by_its_retry_as_a_call_does() -> None:
    scope = {
        "type": "scope",
        "retry": {"type": "exponential", "count": 2, "interval": "PT4S", "on": ["503"]},
        "actions": {"call": {"type": "http", "inputs": {"uri": "https://api.test/x"}}},
    }
    ran = run({"actions": {"both": scope}}, web={"GET /x": [(503, "")]})
    waits = waits_of(ran)

    assert [least <= wait <= least * 1.1 for wait, least in zip(waits, (4, 8), strict=True)]
    assert len(waits) == 2


def test_one_argument_for_actors_and_activities() -> None:
    seen: list[Any] = []

    def keep(input: Any) -> str:  # noqa: A002
        seen.append(input)
        return "ok"

    run(
        {
            "actions": {
                "a": {"type": "actor", "inputs": {"actorType": "x", "input": {"name": "Ada"}}},
                "b": {"type": "activity", "inputs": {"activityType": "@toLower('Y')", "query": 1}},
                "c": {"type": "actor", "inputs": {"actorType": "x", "method": "m", "args": [1]}},
            }
        },
        functions={"actor:x": keep, "activity:y": keep},
    )

    assert seen == [{"name": "Ada"}, {"query": 1}, {"method": "m", "args": [1]}]


def test_a_record_tells_when_an_action_ran() -> None:
    ran = run({"actions": {"a": WAIT, "b": {"type": "compose", "inputs": "@actions('a').endTime"}}})

    assert ran.actions["a"]["startTime"] == "2023-11-14T22:13:20.0000000Z"
    assert ran.output == "2023-11-14T22:13:25.0000000Z"


def told(definition: Any) -> list[dict[str, Any]]:
    """The events of a run under the dialect's names."""
    ran = run(definition)
    translator = Translator("run", read(definition).workflow)
    entries = ran.journal.read(ran.document["run"])
    return [event for entry in entries for event in translator.take(entry)]


@pytest.mark.parametrize(
    ("kind", "condition", "results"),
    [
        ("until", "@equals(variables('loopIndex'), 2)", [False, False]),
        ("while", "@less(variables('loopIndex'), 2)", [False, False]),
        ("doUntil", "@equals(variables('loopIndex'), 2)", [False, True]),
    ],
)
def test_an_event_tells_of_each_iteration(kind: str, condition: str, results: list[bool]) -> None:
    """A loop that checks first tells of the check that let the iteration begin."""
    loop = {
        "type": kind,
        "condition": condition,
        "actions": {
            "w": WAIT,
            "x": {"type": "compose", "inputs": {"n": "@variables('loopCount')"}},
        },
    }
    events = told({"actions": {"turn": loop}})

    assert [event.pop("timestamp") for event in events] == [
        "2023-11-14T22:13:25.000+00:00",
        "2023-11-14T22:13:30.000+00:00",
    ]
    assert events == [
        {
            "event": "loop:iteration",
            "workflowId": "run",
            "actionName": "turn",
            "loopType": kind,
            "iteration": index,
            "conditionResult": results[index],
            "result": {"n": index + 1},
            "duration": 5_000,
        }
        for index in (0, 1)
    ]


def test_a_result_that_grows_is_not_told_whole() -> None:
    """Otherwise the journal would grow as the square of the iterations."""
    loop = {
        "type": "until",
        "condition": "@equals(variables('loopIndex'), 40)",
        "actions": {
            "add": {
                "type": "setVariable",
                "name": "all",
                "value": "@union(createArray(guid()), coalesce(variables('all'), createArray(1)))",
            },
            "many": {"type": "compose", "inputs": "@range(0, mul(100, variables('loopCount')))"},
        },
    }
    events = told({"actions": {"turn": loop}})

    assert events[0]["result"] == [*range(100)]
    assert events[39]["result"] == "(a list, too large to be shown here)"


def test_an_until_of_azure_tells_of_the_check_after_each_iteration() -> None:
    loop = {
        "type": "Until",
        "expression": "@equals(iterationIndexes('Turn'), 1)",
        "limit": {"count": 5},
        "actions": {"X": {"type": "Compose", "inputs": 1}},
    }
    events = told(azure({"Turn": loop}))

    assert [event["conditionResult"] for event in events] == [False, True]
    assert [event["loopType"] for event in events] == ["until", "until"]


def test_a_snapshot_holds_all_that_a_run_needs() -> None:
    """Every state of a run, put away as text and taken out again, goes on to the same end."""
    loop = {
        "type": "while",
        "condition": "@less(variables('loopIndex'), 3)",
        "actions": {
            "each": {
                "type": "foreach",
                "foreach": [1, 2],
                "actions": {
                    "ask": {
                        "type": "ai",
                        "inputs": {"prompt": "@{item()} @{variables('loopIndex')}"},
                    }
                },
            },
            "keep": {
                "type": "AppendToArrayVariable",
                "inputs": {"name": "all", "value": "@body('each')"},
            },
        },
    }
    definition = {"actions": {"turn": loop}, "outputs": {"all": {"value": "@variables('all')"}}}
    straight = run(definition, answers=["a", "b", "c", "d", "e", "f"])
    plan = Plan(read(definition).workflow)
    machine = Machine(plan)
    for entry in straight.journal.read(straight.document["run"]):
        if entry.event.kind in ("run.started", "task.started", "task.finished", "timer.fired"):
            machine.feed(entry.event)
            machine = Machine.restore(plan, machine.snapshot())

    assert straight.outputs == {"all": [["a", "b"], ["c", "d"], ["e", "f"]]}
    assert machine.state["result"]["outputs"] == straight.outputs


def test_input_of_a_request_is_the_trigger() -> None:
    definition = azure(
        {
            "R": {
                "type": "Response",
                "inputs": {
                    "body": "@concat(triggerBody()?['a'], triggerOutputs()['headers']['k'])"
                },
            }
        },
        triggers={"manual": {"type": "Request", "inputs": {"schema": {"properties": {"a": {}}}}}},
    )

    assert run(definition, {"body": {"a": "x"}, "headers": {"k": "y"}}).output == "xy"
    assert run(definition, {"a": "x", "headers": {"k": "y"}}).output == "xy"


def test_template_of_a_deployment_runs() -> None:
    uri = "[concat(parameters('base'), '/', variables('path'), '/@{parameters(''id'')}')]"
    template = {
        "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
        "parameters": {"base": {"type": "string", "defaultValue": "https://api.test"}},
        "variables": {"path": "things"},
        "resources": [
            {"type": "Microsoft.Web/sites", "name": "other"},
            {
                "type": "Microsoft.Logic/workflows",
                "name": "flow",
                "properties": {
                    "definition": {
                        "parameters": {"id": {"type": "string"}},
                        "actions": {
                            "Get": {
                                "type": "Http",
                                "inputs": {
                                    "method": "GET",
                                    "uri": uri,
                                },
                            }
                        },
                    },
                    "parameters": {"id": {"value": "7"}},
                },
            },
        ],
    }
    ran = run(template, web={"GET /things/7": [(200, "found")]})

    assert ran.output == "found"


def test_repeated_keys_are_a_warning_and_the_last_one_counts() -> None:
    text = json.dumps(azure({"A": {"type": "Compose", "inputs": 1}}))
    repeated = text.replace('"inputs": 1', '"inputs": 1, "inputs": 2')

    assert run(repeated).output == 2
    assert "W003" in {found.code for found in read(repeated).warnings}


def _statuses(ran: Ran) -> dict[str, str]:
    return {name: record["status"] for name, record in ran.actions.items()}


def test_what_is_inside_of_a_skipped_action_is_skipped() -> None:
    ran = run(
        azure(
            {
                "Bad": {"type": "Compose", "inputs": "@int('x')"},
                "Scope": {
                    "type": "Scope",
                    "runAfter": {"Bad": ["Succeeded"]},
                    "actions": {
                        "If": {
                            "type": "If",
                            "expression": True,
                            "actions": {"Deep": {"type": "Compose", "inputs": 1}},
                        }
                    },
                },
            }
        )
    )

    assert ran.status == "failed"
    assert _statuses(ran) == {
        "Bad": "Failed",
        "Scope": "Skipped",
        "If": "Skipped",
        "Deep": "Skipped",
    }
