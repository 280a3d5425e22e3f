"""The words of the dialect: types of nodes with their fields and handles, and names of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whorl.dialects.reading.fields import words

if TYPE_CHECKING:
    from whorl.language import Json


LIBRARY = "studio"
# Fields that any node may have, most of them for the eye.
SHARED = words("label description timeout icon color collapsed status")
_MODEL = "provider model systemPrompt prompt temperature maxTokens"
_HTTP = "url method headers body auth authTokenSettingsKey authHeader maxResponseBytes"
_GLOB = "directory pattern mode recursive maxFiles maxSize sortBy sortOrder"


class _Kind(NamedTuple):
    """The fields of a type of nodes (None: any will do), those of what it gives, what comes in.

    The latter two are its handles.
    """

    fields: str | None = None
    gives: str = ""
    takes: str = ""


KINDS = {
    "input": _Kind("name inputName dataType default defaultValue"),
    "output": _Kind("name format"),
    "llm": _Kind(
        f"{_MODEL} sessionMode maxHistory streaming",
        "response content usage cost",
        "prompt system context",
    ),
    "router": _Kind(f"{_MODEL} mode branches", "value selectedBranch explanation"),
    "transform": _Kind("mode template inputs"),
    "tool": _Kind("toolName serverName approval toolInput"),
    "approval": _Kind("message showData"),
    "subworkflow": _Kind("workflowId workflowName"),
    "http_request": _Kind(_HTTP, "status headers body encoding", "url body headers"),
    "file_glob": _Kind(_GLOB, "files count paths", "directory pattern"),
    "file_read": _Kind("path mode maxSize delimiter hasHeader", "path content size rows", "path"),
    "file_write": _Kind(
        "path content mode writeMode createDirs", "path size bytes", "path content"
    ),
    "shell_exec": _Kind(
        "command workingDir shell envVars", "stdout stderr exit_code", "command stdin workingDir"
    ),
    "validator": _Kind("schema failOnError", "valid data errors"),
    "iterator": _Kind("mode expression maxConcurrency", "item items index total result count"),
    "aggregator": _Kind("strategy separator", "result count"),
    "loop": _Kind(
        "maxIterations exitCondition stabilityThreshold feedbackMode",
        "iterations count exit_reason",
    ),
    "exit": _Kind(""),
    **dict.fromkeys(words("knowledge_base webhook_trigger cron_trigger email_send note"), _Kind()),
}
TYPES = frozenset(KINDS)


def fields_of_type(kind: str) -> tuple[str, ...]:
    """The fields that a type of nodes has, and a label."""
    return ("label", *words(KINDS[kind].fields or ""))


# The fields of what a node gives; nodes of other types give anything.
RESULTS = {name: words(kind.gives) for name, kind in KINDS.items() if kind.gives}
# What the handle `output` carries of results that have a main part.
MAIN_FIELDS = {"llm": "response", "file_read": "content"}
# The handles by which edges leave a node.
SOURCE_HANDLES = {**RESULTS, "approval": ("approved", "rejected")}
# What a loop is connected by, on the left and on the right.
LOOP_PORTS = {"inputs": ["input"], "outputs": ["output", "iterations", "count"]}
TRIGGERS = ("cron_trigger", "webhook_trigger")
BEGINNINGS = words("input file_read file_glob iterator loop tool http_request shell_exec")
ENDINGS = words("output file_write aggregator exit")
# What opens a region of the canvas, and what closes it.
CLOSED_BY = {"loop": "exit", "iterator": "aggregator"}


def _event(event: str, **fields: str) -> dict[str, Json]:
    """An event of a node or of the run, with what it tells beside which one it is."""
    subject = {"node_id": "node"} if event.startswith("workflow.node.") else {"session_id": "run"}
    return {"event": event, "fields": {**subject, **fields}}


# The dialect's own words for what a run tells, as data that the interfaces can print.
VOCABULARY: dict[str, Json] = {
    "events": {
        "iteration_started": _event(
            "workflow.node.iteration", index="index", total="limit", input_preview="told.input"
        ),
        "streaming": _event("workflow.node.streaming", tokens="text"),
        "loop_finished": _event(
            "workflow.node.completed", iterations_run="iterations", exit_reason="exit_reason"
        ),
        "run_started": _event("workflow.started"),
        "node_started": _event("workflow.node.started"),
        "node_finished": _event(
            "workflow.node.completed", output_preview="preview", duration_ms="duration_ms"
        ),
        "node_skipped": _event("workflow.node.skipped"),
        "node_failed": _event("workflow.node.error", error="error"),
        "waiting": _event("workflow.node.waiting", message="message"),
        "run_succeeded": _event("workflow.completed", outputs="outputs"),
        "run_failed": _event("workflow.failed", error="error"),
    },
    # Why a loop ended: the engine's reason, or `condition_met` with what stopped it.
    "exit_reasons": {
        "condition_met.branch": "evaluator_done",
        "condition_met.stable": "stable_output",
        "failed": "error",
    },
}
