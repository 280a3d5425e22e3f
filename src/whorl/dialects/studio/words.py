"""The words of the dialect: types of nodes with their fields and handles, limits, events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reading.scalars import words

if TYPE_CHECKING:
    from whorl.language import Json

LIBRARY = "studio"

# Fields that any node may have, most of them for the eye.
SHARED = frozenset({"label", "description", "timeout", "icon", "color", "collapsed", "status"})

_MODEL = frozenset({"provider", "model", "systemPrompt", "prompt", "temperature", "maxTokens"})

# The fields of each type; None means that any field will do.
FIELDS: dict[str, frozenset[str] | None] = {
    "input": frozenset({"name", "inputName", "dataType", "default", "defaultValue"}),
    "output": frozenset({"name", "format"}),
    "llm": _MODEL | {"sessionMode", "maxHistory", "streaming"},
    "router": _MODEL | {"mode", "branches"},
    "transform": frozenset({"mode", "template", "inputs"}),
    "tool": frozenset({"toolName", "serverName", "approval", "toolInput"}),
    "approval": frozenset({"message", "showData"}),
    "subworkflow": frozenset({"workflowId", "workflowName"}),
    "http_request": frozenset(
        words("url method headers body auth authTokenSettingsKey authHeader maxResponseBytes")
    ),
    "file_glob": frozenset(
        words("directory pattern mode recursive maxFiles maxSize sortBy sortOrder")
    ),
    "file_read": frozenset({"path", "mode", "maxSize", "delimiter", "hasHeader"}),
    "file_write": frozenset({"path", "content", "mode", "writeMode", "createDirs"}),
    "shell_exec": frozenset({"command", "workingDir", "shell", "envVars"}),
    "validator": frozenset({"schema", "failOnError"}),
    "iterator": frozenset({"mode", "expression", "maxConcurrency"}),
    "aggregator": frozenset({"strategy", "separator"}),
    "loop": frozenset({"maxIterations", "exitCondition", "stabilityThreshold", "feedbackMode"}),
    "exit": frozenset(),
    **dict.fromkeys(("knowledge_base", "webhook_trigger", "cron_trigger", "email_send", "note")),
}
# The fields of a canvas, and of its nodes and edges beside what editors add.
CANVAS_FIELDS = words("id name description version nodes edges variables timeout budget viewport")
NODE_FIELDS = words("id type data position style width height")
EDGE_FIELDS = words("id type source target sourceHandle targetHandle data label style")
# What these do depends on their fields alone, so one that is nearly known can only be misspelt.
STRICT = frozenset({"http_request", "transform"})

TRIGGERS = frozenset({"webhook_trigger", "cron_trigger"})
BEGINNINGS = TRIGGERS.union(
    words("input file_read file_glob iterator loop tool http_request shell_exec")
)
ENDINGS = frozenset({"output", "file_write", "aggregator", "exit"})

# What opens a region of the canvas, and what closes it.
CLOSED_BY = {"loop": "exit", "iterator": "aggregator"}
# The branches of a router that decides a loop.
DONE, CONTINUE = "done", "continue"

ROUTER_HANDLES = ("output", "value", "selectedBranch", "explanation")
# The fields of what a node gives, which are its handles, too. Nodes of other types give anything.
RESULTS: dict[str, frozenset[str]] = {
    "llm": frozenset({"response", "content", "usage", "cost"}),
    "http_request": frozenset({"status", "headers", "body", "encoding"}),
    "shell_exec": frozenset({"stdout", "stderr", "exit_code"}),
    "file_glob": frozenset({"files", "count", "paths"}),
    "file_read": frozenset({"path", "content", "size", "rows"}),
    "file_write": frozenset({"path", "size", "bytes"}),
    "validator": frozenset({"valid", "data", "errors"}),
    "router": frozenset(ROUTER_HANDLES) - {"output"},
    "loop": frozenset({"iterations", "count", "exit_reason"}),
    "iterator": frozenset({"item", "items", "index", "total", "result", "count"}),
    "aggregator": frozenset({"result", "count"}),
}
# What the handle `output` carries of results that have a main part.
MAIN_FIELDS = {"llm": "response", "file_read": "content"}
# The handles by which edges leave a node, and those at which they end.
SOURCE_HANDLES = {**RESULTS, "approval": frozenset({"approved", "rejected"})}
TARGET_HANDLES: dict[str, frozenset[str]] = {
    "llm": frozenset({"prompt", "system", "context"}),
    "http_request": frozenset({"url", "body", "headers"}),
    "shell_exec": frozenset({"command", "stdin", "workingDir"}),
    "file_glob": frozenset({"directory", "pattern"}),
    "file_read": frozenset({"path"}),
    "file_write": frozenset({"path", "content"}),
}

# How large a canvas may be; a hostile one ends here and not in time.
LIMITS = {"nodes": 1_000, "edges": 10_000, "routers": 200, "loops": 100}
DEPTH_MAX = 16


def _event(event: str, **fields: str) -> dict[str, Json]:
    return {"event": event, "fields": {**fields}}


# The dialect's own words for what a run tells, as data that the interfaces can print.
VOCABULARY: dict[str, Json] = {
    "events": {
        "iteration_started": _event(
            "workflow.node.iteration",
            node_id="node",
            index="index",
            total="limit",
            input_preview="told.input",
        ),
        "streaming": _event("workflow.node.streaming", node_id="node", tokens="text"),
        "loop_finished": _event(
            "workflow.node.completed",
            node_id="node",
            iterations_run="iterations",
            exit_reason="exit_reason",
        ),
        "run_started": _event("workflow.started", session_id="run"),
        "node_started": _event("workflow.node.started", node_id="node"),
        "node_finished": _event(
            "workflow.node.completed",
            node_id="node",
            output_preview="preview",
            duration_ms="duration_ms",
        ),
        "node_skipped": _event("workflow.node.skipped", node_id="node"),
        "node_failed": _event("workflow.node.error", node_id="node", error="error"),
        "waiting": _event("workflow.node.waiting", node_id="node", message="message"),
        "run_succeeded": _event("workflow.completed", session_id="run", outputs="outputs"),
        "run_failed": _event("workflow.failed", session_id="run", error="error"),
    },
    # Why a loop ended: the engine's reason, or `condition_met` with what stopped it.
    "exit_reasons": {
        "condition_met.branch": "evaluator_done",
        "condition_met.stable": "stable_output",
        "failed": "error",
    },
}
