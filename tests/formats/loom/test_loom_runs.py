"""What runs of the dialect do: times, faults of web services, retries, records, events."""

from __future__ import annotations

from itertools import pairwise
from string import Template
from typing import Any

import pytest
from loom_runs import Ran, flow, read, run

from whorl.interfaces.translation import Translator

WAIT = "{type: wait, inputs: {interval: {count: 5, unit: second}}}"
MINUTE = "{type: Wait, inputs: {interval: {count: 1, unit: Minute}}}"
TURNS = """type: until, condition: "@equals(variables('loopIndex'), 2)", limit: {timeout: PT24H},
           actions: {x: {type: compose, inputs: 1}}"""
INNER = "{In: {type: Foreach, foreach: [1, 2], actions: {W: $MINUTE}}}"
TWO = "runtimeConfiguration: {concurrency: {repetitions: 2}}"


def definition(actions: str) -> dict[str, Any]:
    """A file with these actions: by the rules of Azure where the first type has a capital."""
    pieces = {name: piece for name, piece in globals().items() if name.isupper()}
    while "$" in actions:
        actions = Template(actions).substitute(pieces)
    read_actions = flow(actions)
    if next(iter(read_actions.values()))["type"].islower() or "doUntil" in actions:
        return {"actions": read_actions}
    return {"definition": {"actions": read_actions}, "kind": "Stateful"}


@pytest.mark.parametrize(
    ("actions", "seconds"),
    [
        # Two pauses for two iterations: the condition is checked after the second one.
        ("turn: {$TURNS, delay: {interval: {count: 2, unit: hour}}}", 14_400),
        # A Foreach of Azure takes twenty items at once, and a nested one takes one.
        ('Each: {type: Foreach, foreach: "@range(0, 40)", actions: {W: $MINUTE}}', 120),
        ("Each: {type: Foreach, foreach: [1, 2, 3], actions: $INNER}", 120),
        ("Each: {type: Foreach, foreach: [1, 2, 3, 4], actions: {W: $MINUTE}, $TWO}", 120),
    ],
)
def test_how_long_a_run_takes(actions: str, seconds: int) -> None:
    assert run(definition(actions)).seconds == seconds


def waits_of(ran: Ran) -> list[float]:
    times = [
        e.event.at for e in ran.journal.read(ran.document["run"]) if e.event.kind == "task.failed"
    ]
    return [later - earlier for earlier, later in pairwise(times)]


URL = "uri: https://api.test/x"
HTTP = "type: http, inputs: {$URL}"
GET = "method: GET, $URL"
FIXED = "type: fixed, count: 2, interval: PT5S"
TRIED = "{type: Http, inputs: {$GET, retryPolicy: {$FIXED}}}"
LISTED = "{type: Http, inputs: {$GET, retryPolicy: {$FIXED, httpStatusCodes: [404]}}}"
LEAST = "count: 2, interval: PT1S, minimumInterval: PT4S"
DRAWN = """{type: Http, inputs: {$GET, retryPolicy:
            {type: exponential, count: 4, interval: PT10S, minimumInterval: PT5S}}}"""
FIVE, TWICE = (5.0, 5.0), (4.0, 4.0)


@pytest.mark.parametrize(
    ("actions", "statuses", "waits"),
    [
        # Only the statuses that are listed.
        ('c: {$HTTP, retry: {type: fixed, count: 5, interval: PT2S, "on": ["503"]}}',
         [503, 503, 404], [(2, 2), (2, 2)]),
        # Without conditions after every error.
        ("c: {$HTTP, retry: {type: fixed}}", [404], [FIVE] * 3),
        # It doubles, within a tenth and within its bounds.
        ("c: {$HTTP, retry: {type: exponential, count: 4, interval: PT1S, maxInterval: PT3S}}",
         [500], [(1.00001, 1.1), (1.8, 2.2), (3, 3), (3, 3)]),
        # A least wait that is written raises the interval, wherever it stands; the usual one not.
        ("c: {type: http, inputs: {$URL, retry: {type: fixed, $LEAST}}}", [500], [TWICE] * 2),
        ("c: {$HTTP, retry: {type: fixed, $LEAST, maxInterval: PT2S}}", [500], [TWICE] * 2),
        ("c: {$HTTP, retry: {type: exponential, $LEAST}}", [500], [TWICE] * 2),
        ("c: {type: http, inputs: {$URL, retry: {type: exponential, $LEAST, maxInterval: PT2S}"
         "}}", [500], [TWICE] * 2),
        ("c: {$HTTP, retry: {type: exponential, count: 1, interval: PT0.1S}}",
         [500], [(0.1, 0.11)]),
        # A scope waits as a call does.
        ('b: {type: scope, retry: {type: exponential, count: 2, interval: PT4S, "on": ["503"]},'
         " actions: {c: {$HTTP}}}", [503], [(4, 4.4), (8, 8.8)]),
        # In Azure a wait is drawn between the one before and twice that.
        *((f"{name}: $DRAWN", [500], [(5, 10), (10, 20), (20, 40), (40, 80)]) for name in "ABC"),
        # After passing faults only, unless statuses are listed.
        *(("C: $TRIED", [status], [FIVE] * 2) for status in (408, 429, 500)),
        *(("C: $TRIED", [status], []) for status in (404, 400)),
        ("C: $LISTED", [404], [FIVE] * 2),
        ("C: $LISTED", [500], []),
        # Four times unless it says otherwise.
        ("C: {type: Http, inputs: {$GET}}", [500], [(0, 3_600)] * 4),
        ("C: {type: Http, inputs: {$GET, retryPolicy: {type: none}}}", [500], []),
    ],
)  # fmt: skip
def test_how_often_and_when_a_call_is_tried_again(
    actions: str, statuses: list[int], waits: list[tuple[float, float]]
) -> None:
    ran = run(definition(actions), web={"GET /x": [(status, "") for status in statuses]})
    found = waits_of(ran)

    assert (ran.status, ran.world.used["GET /x"]) == ("failed", len(waits) + 1)
    for wait, (least, most) in zip(found, waits, strict=True):
        assert least - 1e-6 <= wait <= most + 1e-6
    if "$DRAWN" in actions:
        assert len({wait / most for wait, (_, most) in zip(found, waits, strict=True)}) == 4


REPLY = "type: Response, inputs: {statusCode: 200, body: 1}"


def test_a_response_is_given_once_and_only_where_it_is_reached() -> None:
    unreached = """
        Bad: {type: Compose, inputs: "@div(1, 0)"}
        Reply: {$REPLY, runAfter: {Bad: [Succeeded]}}
    """
    again = """
        Reply: {$REPLY}
        S: {type: Scope, actions: {Again: {$REPLY}}, runAfter: {Reply: [Succeeded]}}
    """
    ran = run(definition(again))

    assert run(definition(unreached)).outputs == {}
    assert (ran.status, ran.actions["Again"]["status"]) == ("failed", "Failed")
    assert "'Reply' has already" in ran.actions["Again"]["error"]["message"]


def told(actions: str) -> list[dict[str, Any]]:
    """The events of a run under the dialect's names."""
    ran = run(definition(actions))
    translator = Translator("run", read(definition(actions)).workflow)
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
def test_an_event_reports_each_iteration(kind: str, condition: str, results: list[bool]) -> None:
    """A loop that checks first tells of the check that let the iteration begin."""
    loop = f'type: {kind}, condition: "{condition}"'
    events = told("""
        turn: {LOOP, actions: {
          w: $WAIT, x: {type: compose, inputs: {n: "@variables('loopCount')"}}}}
    """.replace("LOOP", loop))  # fmt: skip

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


def test_a_result_that_grows_is_sent_in_parts() -> None:
    """Otherwise the journal would grow as the square of the iterations."""
    events = told("""
        turn:
          type: until
          condition: "@equals(variables('loopIndex'), 40)"
          actions:
            many: {type: compose, inputs: "@range(0, mul(100, variables('loopCount')))"}
    """)

    assert events[0]["result"] == [*range(100)]
    assert events[39]["result"] == "(a list, too large to be shown here)"


@pytest.mark.parametrize("count", [3, 300])
def test_an_ended_loop_keeps_only_its_last_iteration(count: int) -> None:
    """That one is kept so that a person can have the loop go on."""
    loop = {
        "type": "until",
        "condition": f"@equals(variables('loopIndex'), {count})",
        "actions": {"x": {"type": "compose", "inputs": "@variables('loopIndex')"}},
        "limit": {"count": 1000},
    }
    state = run({"actions": {"turn": loop}}).machine.state

    assert state["pending"] == {}
    assert len(state["frames"]) == 3
    assert len(state["scopes"]) == 2
