"""Nodes that reach outside: tools, HTTP, files, commands, and what an operator provides."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native.shell import PREFIX
from whorl.dialects.studio.nodes.outside import HTTP_TIMEOUT_S, SHELL_TIMEOUT_S
from whorl.dialects.studio.writing.asking import inputs_of, spoken
from whorl.dialects.studio.writing.fields import constant, number, seconds
from whorl.dialects.studio.writing.texts import feed, text, words, written
from whorl.dialects.studio.writing.trees import called, text_of, tree_of
from whorl.language import tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl.dialects.studio.writing.sketch import Here

# The fields of tasks that reach files, by the names that nodes have for them.
_FILES = {
    "file_glob": {
        "directory": "folder",
        "pattern": "pattern",
        "mode": "mode",
        "recursive": "recursive",
        "maxFiles": "files_max",
        "maxSize": "size_max_mb",
        "sortBy": "sort",
        "sortOrder": "descending",
    },
    "file_read": {
        "path": "path",
        "mode": "mode",
        "maxSize": "size_max_mb",
        "delimiter": "delimiter",
        "hasHeader": "header",
    },
    "file_write": {
        "path": "path",
        "content": "content",
        "mode": "mode",
        "writeMode": "write",
        "createDirs": "folders",
    },
}
_USUAL = {
    "mode": "text",
    "recursive": False,
    "sort": "name",
    "descending": False,
    "header": True,
    "write": "overwrite",
    "folders": True,
}


_HTTP = ("method", "url", "headers", "body", "accept_status")
_SHELL = ("script", "variables", "shell", "folder", "env", "check")


def _lose_foreign(here: Here, node: ir.Task, known: tuple[str, ...], limit_s: float) -> None:
    for name in inputs_of(node):
        if name not in known:
            here.lose(f"the input {name!r} of the task", "such a node has no field for it")
    if node.timeout_s is None:
        here.lose("a task without a limit of time", f"such a node takes {limit_s:g} s at most")
    here.lose_unsaid(node, ("name", "after", "timeout_s", "shape", "kind", "inputs"))


def draw_files(here: Here, node: ir.Task) -> dict[str, Any]:
    """Files that are found, read or written."""
    inputs = inputs_of(node)
    data: dict[str, Any] = {}
    for name, theirs in _FILES[node.kind].items():
        value = inputs.get(theirs)
        if isinstance(value, ir.Constant):
            data[name] = None if _USUAL.get(theirs) == value.value else number(value.value)
        elif isinstance(value, ir.Expression):
            data[name] = _place(here, value, name)
    if data.get("sortOrder"):
        data["sortOrder"] = "desc"
    return data | seconds(node)


def _place(here: Here, value: ir.Expression, name: str) -> object:
    parsed = tree_of(value)
    if called(parsed)[0] == "main" and name == "path":
        return spoken(here, called(parsed)[1][0], value)
    return spoken(here, parsed, value, "input" if name == "content" else name)


def draw_http(here: Here, node: ir.Task) -> dict[str, Any]:
    """A call of a web service."""
    inputs = inputs_of(node)
    if not here.sketch.is_own:
        _lose_foreign(here, node, _HTTP, HTTP_TIMEOUT_S)
        if constant(inputs.get("accept_status")) != "any":
            here.lose("a status that is a failure", "any status is a result there")
    headers = inputs.get("headers", ir.Fields())
    data: dict[str, Any] = {
        "url": _field(here, inputs.get("url"), "url"),
        "method": constant(inputs.get("method")) or "GET",
        "headers": written(here, headers) or None,
        "body": _field(here, inputs.get("body"), "input"),
    }
    data["method"] = None if data["method"] == "GET" else data["method"]
    return data | seconds(node, HTTP_TIMEOUT_S)


def _field(here: Here, value: ir.Value | None, handle: str) -> object:
    if isinstance(value, ir.Expression):
        return spoken(here, tree_of(value), value, handle)
    return written(here, value)


def draw_shell(here: Here, node: ir.Task) -> dict[str, Any]:
    """A command; values stand in it as places again."""
    inputs = inputs_of(node)
    if not here.sketch.is_own:
        _lose_foreign(here, node, _SHELL, SHELL_TIMEOUT_S)
        if constant(inputs.get("check")) is not False:
            here.lose("a command whose failure is one", "any end of a command is a result there")
    shell = constant(inputs.get("shell"))
    data: dict[str, Any] = {
        "command": _command(here, inputs),
        "workingDir": _field(here, inputs.get("folder"), "workingDir"),
        "shell": None if shell == "bash" else shell,
        "envVars": written(here, inputs.get("env", ir.Fields())) or None,
    }
    return data | seconds(node, SHELL_TIMEOUT_S)


def _command(here: Here, inputs: dict[str, ir.Value]) -> str:
    script = str(constant(inputs.get("script")) or "")
    if "argv" in inputs:
        here.lose("a command that is a list", "a node has a script")
        listed = constant(inputs["argv"])
        script = shlex.join(map(str, listed)) if isinstance(listed, list) else "false"
    variables = inputs.get("variables", ir.Fields())
    for name, value in variables.entries if isinstance(variables, ir.Fields) else ():
        if not isinstance(value, ir.Expression):
            continue
        if not here.sketch.is_own:
            here.lose("a value in a command", "it is written as it stands")
            continue
        place = f'"${{{name}}}"'
        if place not in script or not str(name).startswith(PREFIX):
            here.lose("a value in a command", "it cannot be put back into its place")
        script = script.replace(place, _placed(here, value), 1)
    return script


def _placed(here: Here, value: ir.Expression) -> str:
    """A value of a command; how its place was written is not kept, but what it stands for is."""
    parsed = tree_of(value)
    name, arguments = called(parsed)
    if name == "dig":
        source, path = arguments[0], arguments[2:]
        inner, held = called(source)
        base = held[0] if inner == "main" else source
        inner, held = called(base)
        if inner in ("known", "field") and text_of(held[0]):
            return f"{{{{{_reference(here, base, path)}}}}}"
    here.lose(f"the value {value.source[:80]!r} in a command", "a place names a node or the input")
    return ""


def _reference(here: Here, base: tree.Expr, path: list[tree.Expr]) -> str:
    _, held = called(base)
    name = text_of(held[0]) or ""
    steps = "".join(_step(part) for part in path)
    if name == here.around:
        try:
            feed(here, base)
        except CannotSay as loss:
            here.lose(loss.what, loss.why)
        return f"input{steps}"
    here.sketch.references.setdefault(here.node.name, []).append(name)
    return f"{name}{steps}"


def _step(part: tree.Expr) -> str:
    name = text_of(part)
    return f".{name}" if name is not None else f"[{getattr(part, 'value', 0)}]"


def draw_tool(here: Here, node: ir.Task) -> dict[str, Any]:
    """A tool of a server, after a question where a gate stands before it."""
    inputs = inputs_of(node)
    asks = f"{node.name}.approval" in here.sketch.nodes
    data: dict[str, Any] = {
        "serverName": constant(inputs.get("server")),
        "toolName": constant(inputs.get("tool")),
        "approval": "ask" if asks else None,
    }
    given = inputs.get("arguments")
    if isinstance(given, ir.Expression):
        data["toolInput"] = _arguments(here, given)
    return data | seconds(node)


def _arguments(here: Here, given: ir.Expression) -> object:
    name, arguments = called(tree_of(given))
    if name == "object_of":
        return spoken(here, arguments[0], given)
    if name != "fields":
        return text(here, given)
    found: dict[str, object] = {}
    for key, value in zip(arguments[1::2], arguments[2::2], strict=True):
        found[text_of(key) or ""] = _json(here, value, given)
    return found


def _json(here: Here, value: tree.Expr, whole: ir.Expression) -> object:
    if isinstance(value, tree.Apply) and value.function.name == "fromjson":
        return json.loads(text_of(value.arguments[0]) or "null")
    try:
        return words(here, value)
    except CannotSay as loss:
        here.lose(f"{loss.what} in {whole.source[:80]!r}", loss.why)
        return ""


def draw_provided(here: Here, node: ir.Task) -> tuple[str, dict[str, Any]]:
    """A task of the operator's that has a node of its own."""
    inputs = inputs_of(node)
    kind = str(constant(inputs.get("task")))
    given = inputs.get("with", ir.Fields())
    data: dict[str, Any] = {}
    for key, value in given.entries if isinstance(given, ir.Fields) else ():
        assert isinstance(key, str)
        data[key] = _field(here, value, key)
    return kind, data | seconds(node)
