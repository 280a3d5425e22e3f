"""Nodes that reach outside: HTTP, files and commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.shell import PREFIX
from whorl.dialects.native.shell import read_script as read_shell
from whorl.dialects.studio.canvas.handles import RESULTS
from whorl.dialects.studio.nodes.config import Config
from whorl.dialects.studio.texts.placeholders import (
    own_input,
    piped,
    read_text,
    read_tree,
    resolve,
    text_source,
    unknown_field,
)
from whorl.dialects.studio.texts.scripts import ScriptFault, read_script
from whorl.dialects.studio.texts.sources import called, expression, quoted
from whorl.ir.checks.suggest import suggest
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import CanvasNode
    from whorl.dialects.studio.scene import Scene

HTTP_TIMEOUT_S = 30.0
SHELL_TIMEOUT_S = 30.0
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_MODES = ("text", "json", "csv", "binary")
_AUTH = ("none", "bearer", "basic", "api_key")

Inputs = list[tuple[str, ir.Value]]


def read_http(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Calls a web service; any status is a result."""
    config = Config(scene.draft, node)
    if not config.text("url"):
        incoming = scene.incoming(node.id)
        if "url" not in incoming:
            config.missing("url", "the address to call")
    headers = _table(scene, config, "headers")
    inputs: Inputs = [
        ("method", ir.Constant(config.word("method", _METHODS, "GET"))),
        ("url", _field(scene, config, "url")),
        ("headers", _headers(scene, config, headers)),
        ("body", _body(scene, config)),
        ("accept_status", ir.Constant("any")),
        *_credentials(config),
    ]
    return [ir.Task(kind="http", inputs=ir.Fields(tuple(inputs)), **config.common(HTTP_TIMEOUT_S))]


def _headers(scene: Scene, config: Config, written: Inputs) -> ir.Value:
    """Those of the node, and those that come in, which count where both have one."""
    incoming = scene.incoming(config.node.id).get("headers")
    if incoming is None:
        return ir.Fields(tuple(written))
    return expression(called("merged", _source(scene, config, "headers"), incoming))


def _source(scene: Scene, config: Config, name: str) -> str:
    """An object of texts as the source of an expression."""
    parts: list[str] = []
    written = config.get(name)
    for entry in written if isinstance(written, Mapping) else ():
        if isinstance(entry.value, Scalar):
            text = text_source(scene, config.node.id, entry.value) or quoted(entry.value.text)
            parts += [quoted(entry.name), text]
    return called("fields", "none", *parts)


def _body(scene: Scene, config: Config) -> ir.Value:
    if config.word("method", _METHODS, "GET") in ("GET", "HEAD", "OPTIONS"):
        return ir.Constant(None)
    written = config.get("body")
    if isinstance(written, Scalar) and written.text.strip():
        return read_text(scene, config.node.id, written)
    if written is not None and not isinstance(written, Scalar):
        return read_tree(scene, config.node.id, written)
    incoming = scene.incoming(config.node.id)
    source = incoming.get("body") or own_input(scene, config.node.id)
    return ir.Constant(None) if source is None else expression(source)


def _credentials(config: Config) -> Inputs:
    """Keys belong to the operator: a file can name one, but not hold it."""
    if config.word("auth", _AUTH, "none") == "none":
        return []
    if not config.text("authTokenSettingsKey"):
        config.missing("authTokenSettingsKey", "the name of a key of the operator")
    named = ir.Constant(config.text("authTokenSettingsKey"))
    return [("auth", ir.Fields((("type", ir.Constant("Key")), ("name", named))))]


def read_shell_exec(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Runs a command; values enter it as variables, never as text of the script."""
    config = Config(scene.draft, node)
    written = config.scalar("command")
    if written is None or not written.text.strip():
        config.missing("command", "the command to run")
        return [ir.Compute(value=ir.Constant(None), **config.common())]
    inputs: Inputs = [
        *script_inputs(scene, config, written),
        ("shell", ir.Constant(config.text("shell", "bash"))),
        ("folder", _field(scene, config, "workingDir")),
        ("env", ir.Fields(tuple(_table(scene, config, "envVars")))),
        ("stdin", _field(scene, config, "stdin")),
        ("check", ir.Constant(False)),
    ]
    return [ir.Task(kind="run", inputs=ir.Fields(tuple(inputs)), **config.common(SHELL_TIMEOUT_S))]


def script_inputs(scene: Scene, config: Config, written: Scalar) -> Inputs:
    """A script, and the values that enter it as variables."""
    script = read_shell(written.text)
    for fault in script.faults:
        span = written.locate(fault.offset, fault.length)
        scene.draft.report("W021", fault.message, span, label="here", help=fault.help)
    variables: Inputs = []
    for number, placed in enumerate(script.placed, start=1):
        source = _placed(scene, config.node.id, placed.source)
        content = placed.source.strip()
        lacking = unknown_field(scene, config.node.id, content.partition("|")[0].strip())
        if source is None or lacking is not None:
            known = lacking and sorted(RESULTS[scene.canvas.nodes[lacking[0]].type])
            scene.draft.report(
                "W005",
                f"{{{{{content[:60]}}}}} in the command of {config.node.id!r} stands for nothing",
                written.locate(placed.offset, max(1, len(placed.source))),
                label="unknown name",
                help=suggest(lacking[1], known)
                if lacking and known
                else "name the input, a node before this one, or item",
            )
        variables.append((f"{PREFIX}{number}", expression(source or "none")))
    if script.text.strip() == f'"${{{PREFIX}1}}"':
        scene.draft.warn(
            "W021",
            f"the whole command of {config.node.id!r} is a value: it is taken for the name of one "
            "program, never for a script",
            written.span,
            label="no script",
            help="write the command here, with values as its arguments",
        )
    return [("script", ir.Constant(script.text)), ("variables", ir.Fields(tuple(variables)))]


def _placed(scene: Scene, node: str, content: str) -> str | None:
    if "|" not in content:
        return resolve(scene, node, content.strip(), "")
    try:
        script = read_script(content)
    except ScriptFault:
        return None
    found = resolve(scene, node, script.reference or "input", "")
    return None if found is None else piped(found, script)


def read_file_glob(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Finds files of a folder."""
    config = Config(scene.draft, node)
    inputs: Inputs = [
        ("folder", _field(scene, config, "directory")),
        ("pattern", _field(scene, config, "pattern")),
        (
            "mode",
            ir.Constant(config.word("mode", (*_MODES, "paths"), "text")),
        ),
        ("recursive", ir.Constant(config.flag("recursive", default=False))),
        ("files_max", ir.Constant(config.number("maxFiles"))),
        ("size_max_mb", ir.Constant(config.number("maxSize"))),
        ("sort", ir.Constant(config.word("sortBy", ("name", "modified", "size"), "name"))),
        ("descending", ir.Constant(config.word("sortOrder", ("asc", "desc"), "asc") == "desc")),
    ]
    paths = "it.files | map(attribute='path') | list"
    return [_file_task("file_glob", config, inputs, paths=paths)]


def read_file_read(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Reads a file."""
    config = Config(scene.draft, node)
    inputs: Inputs = [
        ("path", _path(scene, config)),
        ("mode", ir.Constant(config.word("mode", _MODES, "text"))),
        ("size_max_mb", ir.Constant(config.number("maxSize"))),
        ("delimiter", ir.Constant(config.text("delimiter") or None)),
        ("header", ir.Constant(config.flag("hasHeader", default=True))),
    ]
    is_table = config.text("mode") == "csv"
    return [_file_task("file_read", config, inputs, **({"rows": "it.content"} if is_table else {}))]


def read_file_write(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Writes a file."""
    config = Config(scene.draft, node)
    incoming = scene.incoming(node.id)
    content: ir.Value = read_text(scene, node.id, config.scalar("content"))
    if "content" in incoming or content == ir.Constant(None) or content == ir.Constant(""):
        source = incoming.get("content") or own_input(scene, node.id) or "none"
        content = expression(source)
    written = config.word("writeMode", ("overwrite", "append", "create", "create_new"), "overwrite")
    inputs: Inputs = [
        ("path", _path(scene, config)),
        ("content", content),
        ("mode", ir.Constant(config.word("mode", _MODES, "text"))),
        ("write", ir.Constant("create" if written == "create_new" else written)),
        ("folders", ir.Constant(config.flag("createDirs", default=True))),
    ]
    return [_file_task("file_write", config, inputs, bytes="it.size")]


def _path(scene: Scene, config: Config) -> ir.Value:
    found = _field(scene, config, "path")
    if found != ir.Constant(None):
        return found
    source = own_input(scene, config.node.id) if config.node.type == "file_read" else None
    if source is None:
        config.missing("path", "a path below the project's folder")
        return ir.Constant("")
    return expression(called("main", source, quoted("path")))


def _file_task(kind: str, config: Config, inputs: Inputs, **more: str) -> ir.Task:
    """A task with files; `more` are fields of its result that have other names here."""
    parts = [part for name, source in more.items() for part in (quoted(name), source)]
    shape = expression(called("fields", "it", *parts)) if parts else None
    return ir.Task(kind=kind, inputs=ir.Fields(tuple(inputs)), shape=shape, **config.common())


def _field(scene: Scene, config: Config, name: str) -> ir.Value:
    """What comes in at the handle of that name, or the field with places in it."""
    incoming = scene.incoming(config.node.id)
    if name in incoming:
        return expression(incoming[name])
    found = read_text(scene, config.node.id, config.scalar(name))
    return ir.Constant(None) if found == ir.Constant("") else found


def _table(scene: Scene, config: Config, name: str) -> Inputs:
    """An object of texts, which may be written as JSON in a text."""
    written = config.get(name)
    if isinstance(written, Mapping):
        return [(e.name, read_tree(scene, config.node.id, e.value)) for e in written]
    if not isinstance(written, Scalar) or not written.text.strip():
        return []
    try:
        found = json.loads(written.text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        config.wrong(name, "an object", written)
        return []
    return [
        (key, read_text(scene, config.node.id, Scalar(value, written.span)))
        for key, value in found.items()
        if value is None or isinstance(value, str | int | float | bool)
    ]
