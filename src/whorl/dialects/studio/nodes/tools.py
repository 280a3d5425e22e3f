"""Tool nodes: tools of MCP servers, those that are built in, and those that the operator provides.

Text that a model or an input gives becomes no shell script unless a person has read it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.studio.nodes.config import Config
from whorl.dialects.studio.nodes.outside import script_inputs
from whorl.dialects.studio.texts.placeholders import text_source
from whorl.dialects.studio.texts.sources import called, expression, known, quoted
from whorl.errors import did_you_mean
from whorl.source import Mapping, Scalar, plain

if TYPE_CHECKING:
    from whorl.dialects.studio.canvas.parts import CanvasNode
    from whorl.dialects.studio.scene import Scene
    from whorl.source import Value

_BUILT_IN = "builtin"
_SHELL, _READ, _WRITE = _TOOLS = ("shell", "read_file", "write_file")
_APPROVALS = ("auto", "ask", "always", "deny")
SHELL_S = 30

Inputs = list[tuple[str, ir.Value]]


def read_tool(scene: Scene, node: CanvasNode) -> list[ir.Node]:
    """Uses a tool, after asking a person if its author wants that."""
    config = Config(scene.draft, node)
    server, tool = _named(config)
    if not tool:
        config.missing("toolName", "the tool, such as 'server__tool'")
    approval = _approval(scene, config)
    common = config.common()
    if approval == "deny":
        shown = config.text("toolName")
        message = f"tool {shown!r} of {node.id!r} is denied; set its approval to 'auto' or 'ask'"
        scene.draft.warn("W023", message, config.span("approval"), label="never allowed")
        return [ir.Compute(value=expression(called("refuse", quoted(message))), **common)]
    if approval == "auto" and _is_told_what_to_run(server, tool, config):
        approval = _ask_all_the_same(scene, config)
    given = _arguments(scene, config)
    built: list[ir.Node] = []
    if approval != "auto":
        # What a person is shown is what the tool is given, to the letter.
        name = scene.helper(node.id, "input")
        built.append(ir.Compute(name=name, value=expression(given)))
        given = known(name)
        built.append(_gate(scene, config, given))
    kind, inputs, shape = _work(scene, config, (server, tool), given)
    task = ir.Task(kind=kind, inputs=ir.Fields(tuple(inputs)), shape=shape, **common)
    return [*built, task]


def _named(config: Config) -> tuple[str, str]:
    """The server and the tool: `server__tool`, or both in fields of their own."""
    server, tool = config.text("serverName"), config.text("toolName")
    if not server and "__" in tool:
        server, _, tool = tool.partition("__")
    return server, tool.removeprefix(f"{server}__")


def _approval(scene: Scene, config: Config) -> str:
    found = config.word("approval", _APPROVALS, "auto")
    if found == "always":
        scene.draft.warn(
            "W023",
            f"tool {config.node.id!r} has the approval 'always': a person is asked each time",
            config.span("approval"),
            label="taken as 'ask'",
            help="write 'ask', or 'auto' where nobody is to be asked",
        )
    return found


def _is_told_what_to_run(server: str, tool: str, config: Config) -> bool:
    """Whether it runs a command that does not stand in the file."""
    return (server, tool) == (_BUILT_IN, _SHELL) and _command(config) is None


def _ask_all_the_same(scene: Scene, config: Config) -> str:
    scene.draft.warn(
        "W023",
        f"tool {config.node.id!r} runs a command that is not in the file: a person is asked each "
        "time",
        config.node.span,
        label="the command comes in",
        help='write the command as "toolInput": {"command": ...}, with values as its arguments',
    )
    return "ask"


def _command(config: Config) -> Scalar | None:
    """The command of the built-in shell, where the file has it."""
    written = config.get("toolInput")
    found = written.get("command") if isinstance(written, Mapping) else None
    return found if isinstance(found, Scalar) and found.text.strip() else None


def _gate(scene: Scene, config: Config, shown: str) -> ir.Gate:
    node = config.node
    return ir.Gate(
        name=scene.helper(node.id, "approval"),
        message=ir.Constant(f"may {node.id!r} use the tool {config.text('toolName')!r}?"),
        show=expression(shown),
        on_reject="fail",
        place=f"{node.span.line}:{node.span.column}",
    )


def _work(
    scene: Scene, config: Config, named: tuple[str, str], given: str
) -> tuple[str, Inputs, ir.Value | None]:
    """The kind of task that does the work, its inputs, and what becomes of its result."""
    server, tool = named
    if server == _BUILT_IN and tool in _TOOLS:
        return _built_in(scene, config, tool, given)
    if server and server != _BUILT_IN:
        inputs: Inputs = [
            ("server", ir.Constant(server)),
            ("tool", ir.Constant(tool)),
            ("arguments", expression(given)),
        ]
        return "tool", inputs, None
    scene.draft.warn(
        "W022",
        f"tool {config.node.id!r} uses {tool!r}, which neither a server has nor is built in",
        config.span("toolName"),
        label="needs a task",
        help=did_you_mean(tool, _TOOLS)
        or f'name its server, or add {tool} = "python:MODULE:FUNCTION" to [tasks] of whorl.toml',
    )
    return "use", [("task", ir.Constant(tool)), ("with", expression(given))], None


def _built_in(
    scene: Scene, config: Config, tool: str, given: str
) -> tuple[str, Inputs, ir.Value | None]:
    node = quoted(config.node.id)
    if tool == _SHELL:
        written = _command(config)
        script: Inputs = [("script", expression(called("needed", given, '"command"', node)))]
        if written is not None:
            script = script_inputs(scene, config, written)
        inputs: Inputs = [
            *script,
            ("shell", ir.Constant("bash")),
            ("folder", expression(called("optional", given, '"cwd"', "none"))),
            ("stop_after_s", expression(called("optional", given, '"timeout"', str(SHELL_S)))),
            ("check", ir.Constant(False)),
        ]
        return "run", inputs, expression(called("shell_text", "it"))
    inputs = [("path", expression(called("needed", given, '"path"', node)))]
    if tool == _READ:
        return "file_read", inputs, expression(called("file_text", "it"))
    inputs.append(("content", expression(called("needed", given, '"content"', node))))
    return "file_write", inputs, expression(called("written_text", "it"))


def _arguments(scene: Scene, config: Config) -> str:
    """What the tool is given: its own `toolInput` with places in it, or what comes in."""
    node = config.node.id
    server, tool = _named(config)
    # A tool of a server says by name what it takes; these take one text as well.
    bare = {(_BUILT_IN, _SHELL): "command"}.get((server, tool), "")
    if server in ("", _BUILT_IN) and tool not in _TOOLS:
        bare = "input"
    written = config.get("toolInput")
    if isinstance(written, Mapping) and written.entries:
        parts = [
            part
            for entry in written
            for part in (quoted(entry.name), _json_source(scene, node, entry.value))
        ]
        return called("fields", "none", *parts)
    source = scene.value(node)
    if isinstance(written, Scalar) and written.text.strip():
        source = text_source(scene, node, written) or quoted(written.text)
    return called("object_of", source, quoted(node), quoted(bare))


def _json_source(scene: Scene, node: str, value: Value) -> str:
    if isinstance(value, Scalar) and isinstance(value.value, str):
        return text_source(scene, node, value) or quoted(value.value)
    return f"({quoted(json.dumps(plain(value), ensure_ascii=False))} | fromjson)"
