"""The types of nodes: which fields each has, and where a run may begin and end."""

from __future__ import annotations

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
        {"url", "method", "headers", "body", "auth", "authTokenSettingsKey", "authHeader"}
        | {"maxResponseBytes"}
    ),
    "file_glob": frozenset(
        {"directory", "pattern", "mode", "recursive", "maxFiles", "maxSize", "sortBy", "sortOrder"}
    ),
    "file_read": frozenset({"path", "mode", "maxSize", "delimiter", "hasHeader"}),
    "file_write": frozenset({"path", "content", "mode", "writeMode", "createDirs"}),
    "shell_exec": frozenset({"command", "workingDir", "shell", "envVars"}),
    "validator": frozenset({"schema", "failOnError"}),
    "iterator": frozenset({"mode", "expression", "maxConcurrency"}),
    "aggregator": frozenset({"strategy", "separator"}),
    "loop": frozenset({"maxIterations", "exitCondition", "stabilityThreshold", "feedbackMode"}),
    "exit": frozenset(),
    "knowledge_base": None,
    "webhook_trigger": None,
    "cron_trigger": None,
    "email_send": None,
    "note": None,
}

BEGINNINGS = frozenset(
    {"input", "file_read", "file_glob", "iterator", "loop", "tool", "http_request", "shell_exec"}
    | {"webhook_trigger", "cron_trigger"}
)
ENDINGS = frozenset({"output", "file_write", "aggregator", "exit"})
TRIGGERS = frozenset({"webhook_trigger", "cron_trigger"})

# What opens a stretch of the canvas, and what closes it.
CLOSED_BY = {"loop": "exit", "iterator": "aggregator"}

# The handles of a loop that carry something only when it has ended.
LOOP_RESULTS = frozenset({"iterations", "count", "exit_reason"})

# What the handle `output` carries of results that have a main part.
MAIN_FIELDS = {"llm": "response", "file_read": "content"}

# How large a canvas may be; a hostile one ends here and not in time.
NODES_MAX = 1_000
EDGES_MAX = 10_000
ROUTERS_MAX = 200
REGIONS_MAX = 100
DEPTH_MAX = 16
