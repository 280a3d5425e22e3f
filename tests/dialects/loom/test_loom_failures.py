"""What a failed action of a loop leaves behind, where another action deals with the failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from loom_runs import run

if TYPE_CHECKING:
    from loom_runs import Ran

LOOK = {"type": "http", "inputs": {"uri": "https://api.test/x"}, "retry": {"type": "none"}}
NOTE = {"type": "compose", "inputs": "@actions('x').status", "runAfter": {"x": ["Failed"]}}
PAUSE = {"type": "wait", "inputs": {"interval": {"count": 1}}, "runAfter": {"x": ["Failed"]}}


def polled(condition: str, deal: dict[str, Any], replies: list[tuple[int, Any]]) -> Ran:
    body = {"x": LOOK, "deal": deal}
    loop = {"type": "doUntil", "condition": condition, "limit": {"count": 4}, "actions": body}
    return run({"actions": {"poll": loop}}, web={"GET /x": replies})


@pytest.mark.parametrize("body", [{"error": "down"}, "down", None])
def test_the_body_of_a_failed_call_meets_no_condition(body: Any) -> None:
    """It is no result of the loop either, whatever deals with the failure."""
    condition = "@not(equals(body('x').status, 'pending'))"
    ran = polled(condition, PAUSE, [(500, body), (200, {"status": "done"})])
    failed = polled(condition.replace("x", "X"), PAUSE, [(500, body)])

    assert ran.output == {"status": "done"}
    assert ran.loops["poll"]["iterations"] == 2
    assert failed.status == "failed"
    assert failed.loops["poll"]["exit_reason"] == "max_iterations"
    assert [told["result"] for told in failed.bodies("iteration.finished")] == [None] * 4


def test_a_condition_need_not_give_a_truth_value() -> None:
    ran = polled("@body('x').done", PAUSE, [(200, {}), (500, ""), (200, {"done": "yes"})])

    assert ran.loops["poll"]["iterations"] == 3
    assert ran.output == {"done": "yes"}


def test_how_a_call_failed_may_meet_a_condition() -> None:
    ran = polled("@equals(outputs('x').statusCode, 404)", NOTE, [(200, {}), (404, {"e": 1})])

    assert ran.loops["poll"]["iterations"] == 2
    assert ran.output == "Failed"


def test_what_deals_with_failures_gives_the_result_only_where_there_was_one() -> None:
    each = {"type": "foreach", "foreach": [1, 2, 3], "actions": {"x": LOOK, "deal": PAUSE}}
    ran = run({"actions": {"each": each}}, web={"GET /x": [(200, 1), (500, "no"), (200, 3)]})

    assert ran.output == [1, None, 3]
    assert run({"actions": {"x": LOOK, "deal": NOTE}}, web={"GET /x": [(200, 1)]}).output == 1
    failed = run({"actions": {"x": LOOK, "deal": PAUSE}}, web={"GET /x": [(500, "no")]})
    assert (failed.status, failed.output) == ("succeeded", None)
