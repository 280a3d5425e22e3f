"""The dialect's own words for what a run tells, as data that the interfaces can print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.language import Json

VOCABULARY: dict[str, Json] = {
    "events": {
        "iteration_started": {
            "event": "workflow.node.iteration",
            "fields": {
                "node_id": "node",
                "index": "index",
                "total": "limit",
                "input_preview": "told.input",
            },
        },
        "streaming": {
            "event": "workflow.node.streaming",
            "fields": {"node_id": "node", "tokens": "text"},
        },
        "loop_finished": {
            "event": "workflow.node.completed",
            "fields": {
                "node_id": "node",
                "iterations_run": "iterations",
                "exit_reason": "exit_reason",
            },
        },
        "run_started": {"event": "workflow.started", "fields": {"session_id": "run"}},
        "node_started": {"event": "workflow.node.started", "fields": {"node_id": "node"}},
        "node_finished": {
            "event": "workflow.node.completed",
            "fields": {
                "node_id": "node",
                "output_preview": "preview",
                "duration_ms": "duration_ms",
            },
        },
        "node_skipped": {"event": "workflow.node.skipped", "fields": {"node_id": "node"}},
        "node_failed": {
            "event": "workflow.node.error",
            "fields": {"node_id": "node", "error": "error"},
        },
        "waiting": {
            "event": "workflow.node.waiting",
            "fields": {"node_id": "node", "message": "message"},
        },
        "run_succeeded": {
            "event": "workflow.completed",
            "fields": {"session_id": "run", "outputs": "outputs"},
        },
        "run_failed": {
            "event": "workflow.failed",
            "fields": {"session_id": "run", "error": "error"},
        },
    },
    # Why a loop ended: the engine's reason, or `condition_met` with what stopped it.
    "exit_reasons": {
        "condition_met.branch": "evaluator_done",
        "condition_met.stable": "stable_output",
        "failed": "error",
    },
}
