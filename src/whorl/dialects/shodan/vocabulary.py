"""The dialect's own words for what a run tells, as data that the interfaces can print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.language import Json

VOCABULARY: dict[str, Json] = {
    "events": {
        "node_started": {"event": "node-start", "fields": {"nodeId": "node"}},
        "node_finished": {
            "event": "node-complete",
            "fields": {"nodeId": "node", "result": "preview"},
        },
        "node_failed": {
            "event": "node-complete",
            "fields": {"nodeId": "node", "error": "error"},
        },
        "streaming": {"event": "node-output", "fields": {"nodeId": "node", "chunk": "text"}},
        "iteration_started": {
            "event": "iteration-start",
            "fields": {"loopId": "node", "iteration": "number"},
        },
        "iteration_finished": {
            "event": "iteration-complete",
            "fields": {"loopId": "node", "iteration": "number", "success": "succeeded"},
        },
        "run_succeeded": {"event": "workflow-complete", "fields": {"success": "succeeded"}},
        "run_failed": {
            "event": "workflow-complete",
            "fields": {"success": "succeeded", "error": "error"},
        },
    },
    # Why a loop ended, in the words of the dialect's results.
    "exit_reasons": {
        "condition_met": "condition",
        "max_iterations": "max_iterations",
        "failed": "error",
    },
}
