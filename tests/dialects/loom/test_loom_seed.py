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
