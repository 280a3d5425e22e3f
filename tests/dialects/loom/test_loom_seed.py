"""The document itself: its examples, line by line, and a test for each sentence that promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from loom_runs import PROJECT, SHARED, read, run

from whorl.errors import InvalidWorkflow

SEEDS = sorted((SHARED / "seeds").glob("003_*.txt"))
needs_seed = pytest.mark.skipif(not SEEDS, reason="the document is not here")
HERE = Path(__file__).parent
CASES = PROJECT / "conformance" / "loom"

# What the document promises, and where it is held to it: a test of this folder, or the title of a
# conformance case.
PROMISES = {
    "until evaluates the condition, and if it is false executes the actions": (
        "until checks first and may run zero times"
    ),
    "waits for the delay, then repeats": "test_delay_stands_between_iterations",
    "stops when the condition is true": "The last allowed iteration may meet the condition",
    "stops at the iteration limit": "The count of the limit",
    "stops at the timeout": "The time of the limit, with a delay between iterations",
    "the default is 60 iterations": "Sixty iterations, unless it says otherwise",
    "the default is one hour": "test_default_limits",
    "while is until with the condition inverted": "while is the inverse of until",
    "retry as an action": "retry as an action, three times unless it says otherwise",
    "fixed: the same delay between retries": ("test_a_retry_takes_only_the_statuses_that_it_lists"),
    "exponential: the delay doubles each time, with jitter": (
        "test_an_exponential_retry_doubles_within_a_tenth_and_within_its_bounds"
    ),
    "none: no retries": "A retry of kind none",
    "doUntil executes once first, then checks": "doUntil runs once, then checks as until does",
    "loopIndex, loopResult, loopCount": "Index, count, the result before, and the names",
    "loopStartTime": "When the loop began is known",
    "loop variables are available in condition and actions": (
        "The last allowed iteration may meet the condition"
    ),
    "loop state survives a restart": "test_a_snapshot_holds_all_that_a_run_needs",
    "a count above 1000 is refused, a timeout above 24 hours is": (
        "Caps: a thousand iterations and a day"
    ),
    "an event for each iteration": "test_an_event_tells_of_each_iteration",
    "an inner loop sees the variables of the outer one by its name": (
        "Index, count, the result before, and the names"
    ),
    "retry on any action, on listed statuses": (
        "test_a_retry_takes_only_the_statuses_that_it_lists"
    ),
    "without conditions every error is retried": (
        "test_a_retry_without_conditions_tries_again_after_every_error"
    ),
    "polling until complete": "test_polling_until_complete",
    "a ReAct agent loop": "test_react_agent_loop",
    "batch processing with pagination": "test_batch_processing_with_pagination",
    "a queue until it is empty": "test_a_condition_that_never_changes_is_a_warning",
    "a queue until it is empty, as it is meant": "test_queue",
    "both defaults can be configured": "test_a_run_keeps_the_usual_limits_of_its_project",
    "every loop has limits, so none is endless": "Sixty iterations, unless it says otherwise",
    "iterations are tracked, and the state is seen from outside": (
        "test_status_shows_where_a_loop_is"
    ),
    "a long loop can be paused and resumed": (
        "A long loop can be paused and resumed in the same iteration"
    ),
    "loops over data that is known at run time": (
        "How often a loop turns may depend on what is known only when it runs"
    ),
    "state is saved before each iteration, and a crash resumes in it": (
        "test_a_snapshot_holds_all_that_a_run_needs"
    ),
    "state is deleted on completion": "test_an_ended_loop_keeps_only_its_last_iteration",
    "an iteration's event has all its fields": "test_an_event_tells_of_each_iteration",
    "the progress of a loop, as the status shows it": "test_status_shows_where_a_loop_is",
    "nested loops, and for-each in a loop": "A for-each inside of a loop, and item() and items()",
    "a loop in a for-each": "A loop inside of a for-each",
    "how retries are done unless the file says it": "test_default_retry",
    "retry waits at most maxInterval": (
        "test_an_exponential_retry_doubles_within_a_tenth_and_within_its_bounds"
    ),
    "loops of Azure run there as here": (
        "Azure's Until runs, then checks; a limit that is reached is no failure"
    ),
    "what Azure does not have is named": "test_what_only_this_dialect_has_is_named",
    "retry until success": "test_retry_until_success",
    "paginated calls": "test_pages",
}


@pytest.mark.parametrize("promise", PROMISES)
def test_each_promise_has_a_test(promise: str) -> None:
    texts = [*HERE.glob("test_*.py"), *CASES.glob("*.md")]
    wanted = PROMISES[promise]
    found = [
        file.name
        for file in texts
        if f"def {wanted}(" in (text := file.read_text(encoding="utf-8"))
        or f"\n# {wanted}" in text
        or text.startswith(f"# {wanted}")
    ]

    assert found, wanted


def block(first: int, last: int) -> Any:
    text = "\n".join(SEEDS[0].read_text(encoding="utf-8").split("\n")[first - 1 : last])
    return json.loads(text)


def test_default_limits() -> None:
    loop: Any = read(
        {"actions": {"a": {"type": "until", "condition": "@true", "actions": {}}}}
    ).workflow.body.nodes[0]

    assert (loop.limits.iterations, loop.limits.time_s) == (60, 3_600)


def test_default_retry() -> None:
    """Three retries, after five seconds, then twice that, up to a minute; a tenth is chance."""
    action = {"type": "retry", "action": {"type": "http", "inputs": {"uri": "https://a.test"}}}
    node: Any = read({"actions": {"a": action}}).workflow.body.nodes[0]
    retry = node.retry

    assert (retry.times, retry.backoff, retry.wait_max_s, retry.wait_min_s) == (3, 2.0, 60.0, 1.0)
    assert retry.wait_s * (1 - retry.jitter) == pytest.approx(5.0)
    assert retry.wait_s * (1 + retry.jitter) == pytest.approx(5.5)
    assert retry.on == ("*",)


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


@needs_seed
def test_retry_until_success() -> None:
    """Nothing sets the status: the loop ends at its limit, and a warning has said why."""
    ran = run({"actions": {"poll": block(23, 47)}}, web={"GET /status": [(200, {})]})

    assert ran.loops["poll"]["iterations"] == 10
    assert "Loop exceeded maximum iterations: 10" in ran.document["error"]["message"]


@needs_seed
def test_a_condition_that_never_changes_is_a_warning() -> None:
    """The queue and paging examples compute what they should set."""
    for first, last in ((52, 68), (73, 88)):
        warnings = read({"actions": {"loop": block(first, last)}}).warnings

        assert any(w.code == "W023" and "no action of loop" in w.message for w in warnings)


@needs_seed
def test_polling_until_complete() -> None:
    replies = [(200, {"status": "queued"}), (200, {"status": "complete"})]
    ran = run(
        {"actions": {"waitForJob": block(711, 731)}}, {"jobId": 7}, web={"GET /jobs/7": replies}
    )

    assert ran.loops["waitForJob"]["iterations"] == 2
    assert ran.output == {"status": "complete"}
    assert ran.seconds == 20


@needs_seed
def test_react_agent_loop() -> None:
    searched: list[Any] = []

    def search(input: Any) -> str:  # noqa: A002
        searched.append(input)
        return "found it"

    ran = run(
        {"actions": {"agentLoop": block(736, 769)}},
        {"observations": "none"},
        answers=['{"action": "SEARCH", "input": "loops"}', '{"action": "FINAL_ANSWER"}'],
        functions={"activity:search": search},
    )

    assert ran.status == "succeeded"
    assert ran.loops["agentLoop"]["iterations"] == 2
    assert searched == [{"query": "loops"}]
    assert ran.actions["observe"]["outputs"] == "none\n"


@needs_seed
def test_batch_processing_with_pagination() -> None:
    pages = [(200, {"items": [1, 2], "nextPageToken": "p2"}), (200, {"items": [3]})]
    seen: list[Any] = []

    def processor(input: Any) -> Any:  # noqa: A002
        seen.append(input)
        return input

    ran = run(
        {"actions": {"processAllPages": block(774, 801)}},
        {"nextPageToken": "p1"},
        web={"GET /data": pages},
        functions={"actor:processor": processor},
    )

    assert ran.status == "succeeded"
    assert seen == [1, 2, 3]
    assert [str(r.inputs["url"])[-2:] for r in ran.world.requests if r.kind == "http"] == [
        "p1",
        "p2",
    ]


@needs_seed
def test_every_whole_example_loads() -> None:
    """Those that leave something out say so, at its place; all others load."""
    import re

    text = SEEDS[0].read_text(encoding="utf-8")
    for found in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        if "..." in found.replace('"..."', ""):
            with pytest.raises(InvalidWorkflow):
                read(found)
        else:
            assert read(found).workflow.body.nodes
