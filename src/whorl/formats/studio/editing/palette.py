"""What can be added to a canvas: the types of nodes in the public system's groups, their forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.formats.studio.editing.sketch import outputs_of
from whorl.formats.studio.kinds import fields_of_type
from whorl.wings.editor.kit.canvas import Row, data_field

if TYPE_CHECKING:
    from whorl.wings.editor.kit.changes import FormField

NEW: dict[str, Any] = {
    "input": {"name": "task", "dataType": "text"},
    "output": {"name": "text"},
    "llm": {"prompt": "{{input}}"},
    "router": {"mode": "llm", "prompt": "{{input}}", "branches": ["done", "continue"]},
    "transform": {"mode": "template", "template": "{{input}}"},
    "tool": {"serverName": "server", "toolName": "tool"},
    "approval": {"message": "Continue?"},
    "subworkflow": {"workflowName": "other"},
    "http_request": {"method": "GET", "url": "https://example.org"},
    "file_glob": {"pattern": "*.txt"},
    "file_read": {"path": "input.txt"},
    "file_write": {"path": "output.txt", "content": "{{input}}"},
    "shell_exec": {"command": "echo hello"},
    "validator": {"schema": {"type": "object"}},
    "iterator": {"mode": "sequential"},
    "aggregator": {"strategy": "array"},
    "loop": {"maxIterations": 3, "exitCondition": "max_iterations", "feedbackMode": "replace"},
    "exit": {},
    "note": {"label": "Note"},
}
GROUPS: dict[str, tuple[str, ...]] = {
    "IO": ("input", "output"),
    "AI": ("llm", "router"),
    "TOOLS": ("tool", "subworkflow", "http_request", "shell_exec"),
    "FILES": ("file_glob", "file_read", "file_write"),
    "LOGIC": ("approval", "transform", "validator", "iterator", "aggregator", "loop", "exit"),
    "MORE": ("note",),
}
TITLES = {"llm": "LLM", "http_request": "HTTP request"}
NEEDS = {"shell_exec": "[allow] commands", "tool": "[mcp]", "file_write": "[allow] files"}
_ENDS, _MODELS, _TOOLS, _FILES, _LOGIC, _LOOPS, _NOTES = (
    "#2f5a3c", "#2a4a7a", "#6a4a1f", "#3f5060", "#6a3a4a", "#4a2a6a", "#4a5560"
)  # fmt: skip
LOOKS = {
    "input": ("log-in", _ENDS),
    "output": ("circle-dot", _ENDS),
    "llm": ("message-square", _MODELS),
    "router": ("split", _MODELS),
    "tool": ("wrench", _TOOLS),
    "subworkflow": ("workflow", _TOOLS),
    "http_request": ("globe", _TOOLS),
    "shell_exec": ("terminal", _TOOLS),
    "file_glob": ("folder-search", _FILES),
    "file_read": ("file-text", _FILES),
    "file_write": ("file-pen", _FILES),
    "approval": ("user-check", _LOGIC),
    "transform": ("braces", _LOGIC),
    "validator": ("check-check", _LOGIC),
    "iterator": ("list", _LOOPS),
    "aggregator": ("combine", _LOOPS),
    "loop": ("repeat", _LOOPS),
    "exit": ("log-out", _LOOPS),
    "note": ("sticky-note", _NOTES),
}
PORTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    kind: (
        () if kind in ("input", "note") else ("input",),
        outputs_of(kind, NEW[kind].get("branches", [])),
    )
    for kind in NEW
}
EMPTY = """\
{
  "name": "new",
  "nodes": [
    {"id": "task", "type": "input", "position": {"x": 0, "y": 0}, "data": {"name": "task"}},
    {"id": "write", "type": "llm", "position": {"x": 240, "y": 0}, "data": {"prompt": "{{input}}"}},
    {"id": "text", "type": "output", "position": {"x": 480, "y": 0}, "data": {"name": "text"}}
  ],
  "edges": [
    {"id": "e1", "source": "task", "target": "write"},
    {"id": "e2", "source": "write", "target": "text"}
  ]
}
"""
_CONTENTS = ("text", "json", "csv", "binary")
# By field, or by type and field.
_FIELDS: dict[str, Row] = {
    "label": ("Label", "text", None),
    "name": ("Name", "text", None),
    "inputName": ("Name, in older files", "text", None),
    "dataType": ("Type", ("text", "number", "boolean", "json", "file", "array"), None),
    "default": ("Default", "json", None),
    "defaultValue": ("Default, in older files", "json", None),
    "format": ("Format", "text", None),
    "provider": ("Provider", "text", None),
    "model": ("Model", "text", None),
    "systemPrompt": ("System prompt", "long text", None),
    "prompt": ("Prompt", "long text", None),
    "temperature": ("Temperature", "number", None),
    "maxTokens": ("Max tokens of the answer", "number", None),
    "sessionMode": ("Conversation", ("stateless", "session"), "stateless"),
    "maxHistory": ("Max messages to keep", "number", 20),
    "streaming": ("Stream the answer", "boolean", True),
    "router.mode": ("Decided by", ("llm", "pattern"), None),
    "branches": ("Branches", "json", None),
    "toolName": ("Tool", "text", None),
    "serverName": ("Server", "text", None),
    "approval": ("Approval", ("auto", "ask", "always", "deny"), "auto"),
    "toolInput": ("Inputs", "json", None),
    "workflowId": ("Workflow ID", "text", None),
    "workflowName": ("Workflow", "text", None),
    "url": ("Address", "text", None),
    "method": ("Method", ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"), "GET"),
    "headers": ("Headers", "json", None),
    "body": ("Body", "long text", None),
    "auth": ("Authentication", ("none", "bearer", "basic", "api_key"), "none"),
    "authTokenSettingsKey": ("Secret name", "text", None),
    "authHeader": ("Header for the secret", "text", None),
    "maxResponseBytes": ("Max answer size in bytes", "number", None),
    "command": ("Command", "long text", None),
    "workingDir": ("Folder", "text", None),
    "shell": ("Shell", "text", "bash"),
    "envVars": ("Environment", "json", None),
    "directory": ("Folder", "text", None),
    "pattern": ("Pattern", "text", None),
    "file_glob.mode": ("Read as", (*_CONTENTS, "paths"), "text"),
    "file_read.mode": ("Read as", _CONTENTS, "text"),
    "file_write.mode": ("Write as", _CONTENTS, "text"),
    "recursive": ("Include subfolders", "boolean", False),
    "maxFiles": ("Max files", "number", None),
    "maxSize": ("Max file size in MB", "number", None),
    "sortBy": ("Sort by", ("name", "modified", "size"), "name"),
    "sortOrder": ("Order", ("asc", "desc"), "asc"),
    "path": ("File", "text", None),
    "delimiter": ("Delimiter", "text", None),
    "hasHeader": ("First line has the column names", "boolean", True),
    "content": ("Content", "long text", None),
    "writeMode": (
        "If the file exists",
        ("overwrite", "append", "create", "create_new"),
        "overwrite",
    ),
    "createDirs": ("Create missing folders", "boolean", True),
    "message": ("Question", "long text", None),
    "showData": ("Show the input", "boolean", True),
    "transform.mode": ("Mode", ("template", "jsonpath", "script"), "template"),
    "template": ("Template", "long text", None),
    "inputs": ("Inputs", "json", None),
    "schema": ("Schema", "json", None),
    "failOnError": ("Fail if the value is not valid", "boolean", False),
    "iterator.mode": ("Process the items", ("sequential", "parallel"), "sequential"),
    "expression": ("Items", "expression", None),
    "maxConcurrency": ("Items at the same time", "number", 1),
    "strategy": ("Collect as", ("array", "concat", "merge"), "array"),
    "separator": ("Separator", "text", None),
    "maxIterations": ("Max iterations", "number", None),
    "exitCondition": (
        "Exit", ("max_iterations", "evaluator", "stable_output"), "max_iterations"
    ),
    "stabilityThreshold": ("Stability threshold", "number", None),
    "feedbackMode": ("Feedback", ("replace", "append"), "replace"),
}  # fmt: skip
_HELP = {
    "maxIterations": "from 1 to 50",
    "stabilityThreshold": "from 0 to 1: how similar two outputs in a row must be (stable_output)",
    "exitCondition": "evaluator: a router of the body decides by its branches done and continue",
    "feedbackMode": "what the next iteration gets: the last output, or all so far",
}


def form_of(kind: str) -> list[FormField]:
    return [_field(kind, name) for name in fields_of_type(kind)]


def _field(kind: str, name: str) -> FormField:
    row = _FIELDS.get(f"{kind}.{name}") or _FIELDS[name]
    return data_field(name, row, words=_HELP.get(name, ""), is_rare="older" in row[0])
