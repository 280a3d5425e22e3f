"""Nodes that use other systems: HTTP, files, commands and tools.

Text from a model or an input becomes a shell script only after a person has read it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.shell import PREFIX
from whorl.dialects.native.shell import read_script as read_shell
from whorl.dialects.reading.texts import Placeholder, called, json_in, quoted
from whorl.errors import did_you_mean
from whorl.formats.studio.scope import expression, value_of
from whorl.formats.studio.texts import is_written
from whorl.source import Mapping, Scalar, plain

if TYPE_CHECKING:
    from whorl.formats.studio.texts import Inputs, NodeReader

TIMEOUT_S = 30.0
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_MODES = ("text", "json", "csv", "binary")
_BUILT_IN = "builtin"
_SHELL, _READ, _WRITE = _TOOLS = ("shell", "read_file", "write_file")


def read_http(node: NodeReader) -> list[ir.Node]:
    """Calls a web service; any status is a result."""
    if not node.text("url") and "url" not in node.incoming:
        node.missing("url", "the address to call")
    method = node.word("method", _METHODS, "GET")
    inputs: Inputs = {
        "method": method,
        "url": node.given("url"),
        "headers": _headers(node),
        "body": None if method in ("GET", "HEAD", "OPTIONS") else _body(node),
        "accept_status": "any",
    }
    # Keys belong to the operator: a file can name one, but not hold it.
    if node.word("auth", ("none", "bearer", "basic", "api_key"), "none") != "none":
        key = node.text("authTokenSettingsKey")
        if not key:
            node.missing("authTokenSettingsKey", "the name of a key of the operator")
        inputs["auth"] = ir.Fields((("type", ir.Constant("Key")), ("name", ir.Constant(key))))
    return [node.task("http", inputs, timeout_s=TIMEOUT_S)]


def _headers(node: NodeReader) -> ir.Value:
    """Returns the headers of the file and the incoming ones, which win if both have one."""
    if "headers" not in node.incoming:
        return ir.Fields(_entries(node, "headers"))
    parts: list[str] = []
    written = node.get("headers")
    for entry in written if isinstance(written, Mapping) else ():
        if isinstance(entry.value, Scalar):
            parts += [quoted(entry.name), node.text_source(entry.value)]
    own = called("fields", "none", *parts)
    return expression(called("merged", own, node.incoming["headers"]))


def _body(node: NodeReader) -> ir.Value:
    written = node.get("body")
    if is_written(written):
        return node.read(written)
    if written is not None and not isinstance(written, Scalar):
        return node.tree(written)
    source = node.incoming.get("body") or node.input
    return ir.Constant(None) if source is None else expression(source)


def _entries(node: NodeReader, name: str) -> tuple[tuple[str, ir.Value], ...]:
    """Returns an object of texts, which may be written as JSON in a text."""
    written = node.get(name)
    if isinstance(written, Mapping):
        return tuple((entry.name, node.tree(entry.value)) for entry in written)
    if not is_written(written):
        return ()
    table = json_in(written.text)
    if not isinstance(table, dict):
        node.wrong(name, "an object")
        return ()
    scalars = {k: v for k, v in table.items() if v is None or isinstance(v, str | int | float)}
    return tuple((key, node.read(Scalar(v, written.span))) for key, v in scalars.items())


def read_shell_exec(node: NodeReader) -> list[ir.Node]:
    """Runs a command; values enter it as variables, never as text of the script."""
    written = node.scalar("command")
    if not is_written(written):
        node.missing("command", "the command to run")
        return node.compute(None)
    inputs: Inputs = {
        **_script(node, written),
        "shell": node.text("shell", "bash"),
        "folder": node.given("workingDir"),
        "env": ir.Fields(_entries(node, "envVars")),
        "stdin": node.given("stdin"),
        "check": False,
    }
    return [node.task("run", inputs, timeout_s=TIMEOUT_S)]


def _script(node: NodeReader, written: Scalar) -> Inputs:
    """Returns a script, and the values that enter it as variables."""
    script = read_shell(written.text)
    for fault in script.faults:
        span = written.locate(fault.offset, fault.length)
        node.context.report("W021", fault.message, span, label="here", help=fault.help)
    variables: list[tuple[str, ir.Value]] = []
    for placed in script.placed:
        place = Placeholder(f"{{{{{placed.source}}}}}", placed.source, written, placed.offset)
        source = node.placed(place, stays=False)
        variables.append((placed.name, expression(source or "none")))
    if script.text.strip() == f'"${{{PREFIX}1}}"':
        message = f"the whole command of {node.id!r} is a value, so it is run as one program "
        message += "and never as a script"
        advice = "write the command here, with values as its arguments"
        node.context.warn("W021", message, written.span, label="one program", help=advice)
    return {"script": script.text, "variables": ir.Fields(tuple(variables))}


def read_file_glob(node: NodeReader) -> list[ir.Node]:
    inputs: Inputs = {
        "folder": _place(node, "directory"),
        "pattern": node.given("pattern"),
        "mode": node.word("mode", (*_MODES, "paths"), "text"),
        "recursive": node.flag("recursive", default=False),
        "files_max": node.number("maxFiles"),
        "size_max_mb": node.number("maxSize"),
        "sort": node.word("sortBy", ("name", "modified", "size"), "name"),
        "descending": node.word("sortOrder", ("asc", "desc"), "asc") == "desc",
    }
    paths = "it.files | map(attribute='path') | list"
    return [node.task("file_glob", inputs, shape=called("fields", "it", '"paths"', paths))]


def read_file_read(node: NodeReader) -> list[ir.Node]:
    inputs: Inputs = {
        "path": _path(node),
        "mode": node.word("mode", _MODES, "text"),
        "size_max_mb": node.number("maxSize"),
        "delimiter": node.text("delimiter") or None,
        "header": node.flag("hasHeader", default=True),
    }
    shape = called("fields", "it", '"rows"', "it.content") if node.text("mode") == "csv" else ""
    return [node.task("file_read", inputs, shape=shape)]


def read_file_write(node: NodeReader) -> list[ir.Node]:
    content = node.template("content")
    if "content" in node.incoming or content in (ir.Constant(None), ir.Constant("")):
        content = expression(node.incoming.get("content") or node.input or "none")
    written = node.word("writeMode", ("overwrite", "append", "create", "create_new"), "overwrite")
    inputs: Inputs = {
        "path": _path(node),
        "content": content,
        "mode": node.word("mode", _MODES, "text"),
        "write": "create" if written == "create_new" else written,
        "folders": node.flag("createDirs", default=True),
    }
    return [node.task("file_write", inputs, shape=called("fields", "it", '"bytes"', "it.size"))]


def _place(node: NodeReader, name: str) -> ir.Value:
    """Returns a file or folder of the project, also for a path on the author's machine."""
    place = node.given(name)
    text = place.value if isinstance(place, ir.Constant) else None
    if not isinstance(text, str) or not text.startswith(("~/", "/")):
        return place
    inside = text.removeprefix("~").lstrip("/") or "."
    message = (
        f"{name!r} of {node.id!r} is a path of another machine: {inside[:80]!r} in the project "
    )
    advice = "write it relative to the project's folder"
    node.context.warn("W023", f"{message}is used", node.span(name), label="absolute", help=advice)
    return ir.Constant(inside)


def _path(node: NodeReader) -> ir.Value:
    path = _place(node, "path")
    if path != ir.Constant(None):
        return path
    source = node.input if node.node.type == "file_read" else None
    if source is None:
        node.missing("path", "a path below the project's folder")
        return ir.Constant("")
    return expression(called("main", source, quoted("path")))


def read_tool(node: NodeReader) -> list[ir.Node]:
    """Uses a tool of an MCP server, a built-in one or one of the operator's.

    Whorl asks a person first if the author wants that or if the command of a shell is an input.
    """
    server, shown = node.text("serverName"), node.text("toolName")
    tool = shown
    if not server and "__" in tool:
        server, _, tool = tool.partition("__")
    tool = tool.removeprefix(f"{server}__")
    if not tool:
        node.missing("toolName", "the tool, such as 'server__tool'")
    approval = node.word("approval", ("auto", "ask", "always", "deny"), "auto")
    if approval == "deny":
        message = f"tool {shown!r} of {node.id!r} is denied; set its approval to 'auto' or 'ask'"
        node.context.warn("W023", message, node.span("approval"), label="never allowed")
        return node.compute(called("refuse", quoted(message)))
    if approval == "auto" and (server, tool) == (_BUILT_IN, _SHELL) and _command(node) is None:
        approval = "ask"
        message = f"{node.owner} runs a command that is not in the file: "
        message += "a person is asked each time"
        advice = 'write the command as "toolInput": {"command": ...}, with values as its arguments'
        node.context.warn("W023", message, node.place, label="not in the file", help=advice)
    given = _arguments(node, server, tool)
    before: list[ir.Node] = []
    if approval != "auto":
        # The person sees exactly the input of the tool.
        name = node.scope.helper(node.id, "input")
        gate = ir.Gate(
            name=node.scope.helper(node.id, "approval"),
            message=ir.Constant(f"may {node.id!r} use the tool {shown!r}?"),
            show=expression(value_of(name)),
            on_reject="fail",
            place=node.node.place,
        )
        before = [ir.Compute(name=name, value=expression(given)), gate]
        edited = f"{value_of(gate.name)}.value"
        given = f"({edited} if {edited} is defined else {value_of(name)})"
    return [*before, _tool_task(node, server, tool, given)]


def _command(node: NodeReader) -> Scalar | None:
    """Returns the command of the built-in shell, if the file has it."""
    written = node.get("toolInput")
    command = written.get("command") if isinstance(written, Mapping) else None
    return command if is_written(command) else None


def _tool_task(node: NodeReader, server: str, tool: str, given: str) -> ir.Task:
    if server == _BUILT_IN and tool in _TOOLS:
        return _built_in(node, tool, given)
    if server and server != _BUILT_IN:
        return node.task("tool", {"server": server, "tool": tool, "arguments": expression(given)})
    message = f"{node.owner} uses {tool!r}, which is not built in, and no server is named for it"
    advice = f'name its server, or add {tool} = "python:MODULE:FUNCTION" to [tasks] of whorl.toml'
    advice = did_you_mean(tool, _TOOLS) or advice
    node.context.warn("P114", message, node.span("toolName"), label="needs a task", help=advice)
    return node.task("use", {"task": tool, "with": expression(given)})


# The required input fields of each built-in tool.
_NEEDED = {_SHELL: ("command",), _READ: ("path",), _WRITE: ("path", "content")}


def _built_in(node: NodeReader, tool: str, given: str) -> ir.Task:
    written = node.get("toolInput")
    given_fields = written if isinstance(written, Mapping) else Mapping((), node.span("toolInput"))
    for name in _NEEDED[tool] if given_fields.entries else ():
        if name not in given_fields:
            message = f"'toolInput' of {node.owner} lacks {name!r}, which {tool!r} needs"
            advice = f"add {name!r} to it"
            node.context.report("W006", message, given_fields.span, label="here", help=advice)

    def needed(name: str) -> ir.Expression:
        return expression(called("needed", given, quoted(name), quoted(node.id)))

    def optional(name: str, default: str) -> ir.Expression:
        return expression(called("optional", given, quoted(name), default))

    if tool == _READ:
        return node.task("file_read", {"path": needed("path")}, shape=called("file_text", "it"))
    if tool == _WRITE:
        inputs: Inputs = {"path": needed("path"), "content": needed("content")}
        return node.task("file_write", inputs, shape=called("written_text", "it"))
    command = _command(node)
    script: Inputs = {"script": needed("command")}
    inputs = {
        **(script if command is None else _script(node, command)),
        "shell": "bash",
        "folder": optional("cwd", "none"),
        "stop_after_s": optional("timeout", f"{TIMEOUT_S:g}"),
        "check": False,
    }
    return node.task("run", inputs, shape=called("shell_text", "it"))


def _arguments(node: NodeReader, server: str, tool: str) -> str:
    """Returns the tool's input: its own `toolInput` with placeholders, or the incoming value."""
    # A tool of a server says by name what it takes; these take one text as well.
    bare = "command" if (server, tool) == (_BUILT_IN, _SHELL) else ""
    if server in ("", _BUILT_IN) and tool not in _TOOLS:
        bare = "input"
    written = node.get("toolInput")
    if not isinstance(written, Mapping) or not written.entries:
        source = node.text_source(written) if is_written(written) else node.value
        return called("object_of", source, quoted(node.id), quoted(bare))
    parts: list[str] = []
    for entry in written:
        value = entry.value
        if isinstance(value, Scalar) and isinstance(value.value, str):
            source = node.text_source(value)
        else:
            source = f"({quoted(json.dumps(plain(value), ensure_ascii=False))} | fromjson)"
        parts += [quoted(entry.name), source]
    return called("fields", "none", *parts)
