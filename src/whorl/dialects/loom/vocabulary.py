"""The dialect's own words for what a run tells, as data that the interfaces can print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.language import Json

LIMIT_WORDS: tuple[tuple[str, str], ...] = (
    ("max_iterations", "Loop exceeded maximum iterations: {iterations}; raise limit.count"),
    ("timeout", "Loop timeout after {ms}ms; raise limit.timeout"),
)

AZURE_LIMIT_WORDS: tuple[tuple[str, str], ...] = (
    ("max_iterations", "the loop reached its limit.count of {iterations} iterations"),
    ("timeout", "the loop reached its limit.timeout of {ms} ms"),
)

VOCABULARY: dict[str, Json] = {
    # An event for each iteration, filled from the facts of the notes about it.
    "events": {
        "iteration_finished": {
            "event": "loop:iteration",
            "fields": {
                "workflowId": "run",
                "actionName": "node",
                "loopType": "loop.type",
                "iteration": "index",
                "conditionResult": "checked",
                "result": "told.result",
                "duration": "duration_ms",
                "timestamp": "time_text",
            },
        }
    },
    # What `status` prints about a run, line by line.
    "status": [
        "Workflow: {workflow}",
        "Status: {status}",
        "Current Action: {loop} ({type})",
        "  Iteration: {number}/{limit}",
        "  Condition: {condition}",
        "  Duration: {seconds}s",
        "  Last Result: {result}",
    ],
}
