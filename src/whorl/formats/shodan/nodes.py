"""Single nodes: triggers, constants, scripts, functions, agents, folders and wires."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.shell import read_script
from whorl.dialects.reading import REPORTED_MAX
from whorl.dialects.reading.fields import scalar_of, span_of, text_of
from whorl.dialects.reading.texts import Placeholder, called, joined, quoted, split_text
from whorl.errors import nearest
from whorl.formats.shodan.answers import BESIDE
from whorl.formats.shodan.graph import COUNT, GraphNode
from whorl.formats.shodan.levels import Level, expression, literal, packed
from whorl.formats.shodan.ports import SESSION, TAKEN, promised_outputs, read_schema, trigger_ports
from whorl.ir.checks.scopes import suggest
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json


# The templates in the texts of nodes, such as `{{ inputs.x }}` or `{{ node.output }}`.
#
# A placeholder without a meaning stays as it is written, with a warning; a near miss of a name, and
# an input that a node does not declare, are errors.

_PLACE = re.compile(r"\{\{([^{}]*+)\}\}")
_WORDS = re.compile(r"[A-Za-z0-9_-]+(?:\[\d{1,4}\])?(?:\.[A-Za-z0-9_-]+(?:\[\d{1,4}\])?)*")
_COUNTS = (COUNT, "iteration")
# Comparing names costs time, and a hostile file has many of both.
_COMPARED_MAX = 500
# No value that a run can hold is deeper.
_STEPS_MAX = 64
Entries = list[tuple[str, ir.Value]]


def read_text(level: Level, node: GraphNode, scalar: Scalar | None) -> ir.Value:
    if scalar is None:
        return ir.Constant(None)
    source = text_source(level, node, scalar)
    return ir.Constant(scalar.text) if source is None else expression(source)


def text_source(level: Level, node: GraphNode, scalar: Scalar) -> str | None:
    """Returns the source of a text; None if none of its placeholders has a meaning."""

    def source_of(place: Placeholder) -> str | None:
        return _shown(level, node, _trimmed(place.content, scalar, place.offset), "worded")

    return joined(split_text(scalar, _PLACE, source_of))


def read_shell(level: Level, node: GraphNode, scalar: Scalar) -> tuple[str, Entries]:
    """Reads a script whose placeholders are variables, and the variables."""
    variables: Entries = []
    script = read_script(_put_numbers(level, node, scalar, variables))
    for fault in script.faults:
        span = scalar.locate(fault.offset, fault.length)
        level.context.report("W021", fault.message, span, label="here", help=fault.help)
    for placed in script.placed:
        place = _trimmed(placed.source, scalar, placed.offset)
        source = _shown(level, node, place) or called("shown", quoted(f"{{{{ {place.content} }}}}"))
        variables.append((placed.name, expression(source)))
    return script.text, variables


def _put_numbers(level: Level, node: GraphNode, scalar: Scalar, variables: Entries) -> str:
    """Replaces the placeholders in calculations by variables, which can hold only whole numbers."""
    text = scalar.text
    for fault in reversed(read_script(text).faults):
        if "in shell arithmetic" not in fault.message:
            continue
        written = text[fault.offset : fault.offset + fault.length]
        place = _trimmed(written[2:-2], scalar, fault.offset + 2)
        source = _resolve(level, node, place) if _PLACE.fullmatch(written) else None
        if source is None:
            continue
        name = f"WHORL_N{len(variables) + 1}"
        # Spaces, which mean nothing in a calculation, keep later placeholders where they stand.
        variable = f"${{{name}}}".ljust(fault.length)
        text = text[: fault.offset] + variable + text[fault.offset + fault.length :]
        what = quoted(f"{written} in the script of {node.id!r}")
        variables.append((name, expression(called("whole", source, what))))
    return text


def _trimmed(written: str, scalar: Scalar, offset: int) -> Placeholder:
    """Returns a placeholder without the blanks at both ends."""
    offset += len(written) - len(written.lstrip())
    return Placeholder(written, written.strip(), scalar, offset)


def _shown(level: Level, node: GraphNode, place: Placeholder, how: str = "shown") -> str | None:
    """Returns the text source of a placeholder; if it has no meaning, None with a warning."""
    source = _resolve(level, node, place)
    if source is None:
        _warn(level, node, place)
        return None
    return called(how, source)


def _resolve(level: Level, node: GraphNode, place: Placeholder) -> str | None:
    """Returns the source of a placeholder at a node; None if it has no meaning."""
    if not _WORDS.fullmatch(place.content) or place.content.count(".") > _STEPS_MAX:
        return None
    words = place.content.split(".")
    is_input = words[0] == "inputs" and len(words) > 1
    own = words[1:] if is_input else words
    # The names of ports may hold dots.
    for count in range(len(own), 0, -1):
        source = level.own(node, ".".join(own[:count]))
        if source is not None:
            return _part(source, own[count:])
    if place.content in _COUNTS:
        return next((home.counted for home in level.chain() if home.loop is not None), None)
    if len(words) == 1 or is_input:
        return None
    name, output, *path = words
    inside = node.id
    for home in level.chain():
        other = home.named(name)
        if other is not None and other.id == inside:
            return None
        if other is not None:
            home.expect(other, "output", output, place.span)
            if home.leads_to(other.id, inside):
                return None
            return _part(level.value_at(other.id, ("output", output, ""), node.id), path)
        if home.loop is not None:
            inside = home.loop.id
            if name in (inside, home.loop.slug):
                return _part(home.value_of(("input", output, "")), path)
    return None


def _part(source: str | None, path: list[str]) -> str | None:
    return called("dig", source, *map(quoted, path)) if source is not None and path else source


def _warn(level: Level, node: GraphNode, place: Placeholder) -> None:
    """Warns of a placeholder without a meaning.

    A near miss of a name, or an input that the node does not declare, is an error.
    """
    context, content = level.context, place.content
    if len(context.warnings) >= REPORTED_MAX or context.is_full:
        return
    words = content.split(".")
    is_input = words[0] == "inputs" and len(words) > 1
    members = [member for home in level.chain() for member in home.members]
    loops = [home.loop.id for home in level.chain() if home.loop is not None]
    known = level.input_names(node)
    seen = {"inputs", *loops}.union(*((member.id, member.slug) for member in members))
    if is_input:
        known += TAKEN if node.type == "agent" else ()
        seen = set(known)
    elif "." in content:
        known = [*(member.id for member in members if member is not node), *known]
    elif loops:
        known += _COUNTS
    name = (words[1] if is_input else words[0]).partition("[")[0]
    is_strange = _WORDS.fullmatch(content) is not None and name not in seen
    near = nearest(name, known[:_COMPARED_MAX]) if is_strange else None
    message = f"{{{{ {content[:60]} }}}} in {node.id!r} has no meaning here"
    if near or (is_strange and is_input and node.inputs):
        advice = f"did you mean {near!r}?" if near else suggest(name, known)
        context.report("W005", message, place.span, label="unknown name", help=advice)
        return
    advice = suggest(name, known) or "name an input, or a node before it"
    message += ", and stays as written"
    context.warn("W005", message, place.span, label="unknown name", help=advice)


AGENTS = {"claude-code": "claude", "gemini-cli": "gemini"}
AGENTS |= {name: name for name in ("claude", "codex", "gemini")}
_SCHEMA_TYPES = ("string", "number", "boolean", "array", "object")
_CONSTANTS = {"boolean": (bool,), "number": (int, float), "string": (str,)}


def _read_trigger(level: Level, node: GraphNode) -> ir.Node:
    """Reads the start of a workflow; its outputs are the inputs of the workflow."""
    kind = text_of(node.fields.get("triggerType")) or "manual"
    if kind != "manual":
        message = f"trigger {node.id!r} is of the type {kind[:40]!r}, but Whorl does not start it"
        span = span_of(node.fields, "triggerType")
        advice = "run the workflow by hand, or from a scheduler of your system"
        level.context.warn("W023", message, span, label="never fires", help=advice)
    outputs: dict[str, ir.Value] = {
        "timestamp": expression("timestamp()"),
        "type": ir.Constant(kind if kind in ("manual", "cron", "idle") else "manual"),
    }
    for port in trigger_ports(level, node):
        source: str | None = None
        if level.ports is not None:
            source = level.workflow_input(port)
        elif level.loop is not None:
            source = level.value_of(("input", port.name, ""))
        outputs[port.name] = expression(source or literal(port.default))
    return _compute(node, outputs)


def _compute(node: GraphNode, outputs: dict[str, ir.Value]) -> ir.Node:
    return ir.Compute(name=node.id, value=ir.Fields(tuple(outputs.items())))


def _read_constant(level: Level, node: GraphNode) -> ir.Node:
    written = node.fields.get("value")
    value = None if written is None else plain(written)
    wanted = text_of(node.fields.get("valueType"))
    is_wrong = wanted in _CONSTANTS and not isinstance(value, _CONSTANTS[wanted])
    if is_wrong or (wanted == "number" and isinstance(value, bool)):
        fields = level.fields(node)
        advice = f"write a {wanted}, or change its valueType"
        if written is None:
            fields.missing("value", advice)
        else:
            fields.wrong("value", f"a {wanted}", advice)
    return _compute(node, {"value": ir.Constant(value)})


def _read_shell_node(level: Level, node: GraphNode) -> ir.Node:
    """Reads a shell node: files unchanged, then the script or older commands with placeholders."""
    scripts = [text for text in _listed_files(level, node, "scriptFiles") if text.strip()]
    variables: Entries = []
    written = scalar_of(node.fields.get("script"))
    if written is None or not written.text.strip():
        commands = node.fields.get("commands")
        items = commands if isinstance(commands, Sequence) else ()
        lines = [item for item in items if isinstance(item, Scalar) and item.text.strip()]
        written = lines[0] if lines else None
        if len(lines) > 1:
            written = Scalar(_one_by_one([line.text for line in lines]), lines[0].span)
    if written is not None:
        script, variables = read_shell(level, node, written)
        scripts.append(script)
    if not scripts:
        nothing = literal({"stdout": "", "stderr": "", "exit_code": 0})
        return ir.Compute(name=node.id, value=_shape("finished", nothing, node))
    inputs: dict[str, ir.Value] = {
        "script": ir.Constant(_one_by_one(scripts)),
        "variables": ir.Fields(tuple(variables)),
        "folder": _read_folder(level, node),
        # A tolerated failure is a result, so that other nodes can read its exit code.
        "check": ir.Constant(not node.is_tolerated),
    }
    return _task(node, "run", inputs, _shape("finished", "it", node))


def _one_by_one(scripts: list[str]) -> str:
    """Returns a script that runs each script in its own shell until one fails."""
    if len(scripts) == 1:
        return scripts[0]
    # A shell refuses to hold nothing but remarks, so there is always a command in it.
    return " && ".join(f"( :\n{script}\n)" for script in scripts)


def _task(node: GraphNode, kind: str, inputs: dict[str, ir.Value], shape: ir.Value) -> ir.Task:
    return ir.Task(name=node.id, kind=kind, inputs=ir.Fields(tuple(inputs.items())), shape=shape)


def _shape(function: str, source: str, node: GraphNode) -> ir.Expression:
    ports = packed([port.packed() for port in node.outputs])
    return expression(called(function, source, quoted(node.id), ports))


def _read_folder(level: Level, node: GraphNode) -> ir.Value:
    """Returns the working folder of a command or an agent: its own, or that of the whole file."""
    path = scalar_of(node.fields.get("path"))
    if path is None or not path.text.strip():
        return ir.Constant(level.context.folder or None)
    return read_text(level, node, path)


def _listed_files(level: Level, node: GraphNode, field: str) -> list[str]:
    written = node.fields.get(field)
    texts: list[str] = []
    for item in written if isinstance(written, Sequence) else ():
        name = item if isinstance(item, Scalar) else None
        if isinstance(item, Mapping):
            name = scalar_of(item.get("path")) or scalar_of(item.get("name"))
        if name is None:
            level.context.report("W007", f"{field!r} must be a list of paths", item.span)
        elif file := level.context.read_file(name):
            texts.append(file[1])
    return texts


def _read_function(level: Level, node: GraphNode) -> ir.Node:
    """Reads a function: a body in JavaScript, or the default export of a file."""
    code, file = (scalar_of(node.fields.get(name)) for name in ("code", "file"))
    name, text = "", "" if code is None else code.text
    if code is None and file is not None:
        name, text = level.context.read_file(file) or ("", "")
    elif code is None:
        level.fields(node).missing("code", "return { ... }, or file: with a default export")
    names = level.input_names(node)
    inputs: dict[str, ir.Value] = {
        "code": ir.Constant(text),
        "module": ir.Constant(bool(name)),
        "name": ir.Constant(name or node.id),
        "inputs": ir.Fields(tuple((n, expression(level.own(node, n) or "none")) for n in names)),
    }
    task = _task(node, "javascript", inputs, _shape("returned", "it", node))
    return replace(task, example=_example(node))


def _read_agent(level: Level, node: GraphNode) -> ir.Node:
    """Reads an agent: it asks an agent program or a model, whose answer fills the outputs."""
    runner = text_of(node.fields.get("runner")) or "claude-code"
    model = text_of(node.fields.get("model")) or None
    prompt, session = _prompt(level, node), level.own(node, SESSION) or "none"
    program, answer = AGENTS.get(runner), "it"
    if program is not None:
        ends = {(edge.source, edge.out[1]) for edge in level.graph.edges}
        ends |= {(edge.target, edge.into[1]) for edge in level.graph.edges}
        if program == "gemini" and (node.id, SESSION) in ends.union(level.mappings, level.previous):
            message = f"agent {node.id!r} continues a session, but runner {runner!r} cannot"
            advice = "use claude-code, codex or openai, or leave sessionId unconnected"
            span = span_of(node.fields, "runner")
            level.context.report("W007", message, span, label="keeps no sessions", help=advice)
        inputs: dict[str, ir.Value] = {
            "agent": ir.Constant(program),
            "prompt": expression(prompt),
            "model": ir.Constant(model),
            "folder": _read_folder(level, node),
            "whole": ir.Constant(True),
        }
        if program != "gemini":
            keeps = SESSION in promised_outputs(level.context, node)
            inputs |= {"session": expression(session), "keep_session": ir.Constant(keeps)}
    else:
        # A model keeps no session: the next call continues from the conversation itself.
        is_openai = runner == "openai"
        inputs = {
            "messages": expression(called("messages", session, prompt)),
            "provider": ir.Constant(runner),
            "model": ir.Constant(model or ("gpt-4o" if is_openai else None)),
        }
        if is_openai:
            inputs["temperature"] = ir.Constant(0.7)
        answer = called("conversed", "it", session, prompt)
    task = _task(node, "agent" if program else "ask", inputs, _shape("answered", answer, node))
    example = _example(node)
    if program is not None and example is not None:
        example = {"type": "object", "properties": {"text": {"type": "string"}, "value": example}}
    written = text_of(node.fields.get("outputSchema"))
    schema = read_schema(written)
    if written.strip() and schema is None:
        level.fields(node).wrong("outputSchema", "a text with a JSON Schema")
    return replace(task, returns=schema, example=example)


def _example(node: GraphNode) -> Json:
    """Returns a JSON Schema of the declared outputs, without those that every agent has."""
    fields: dict[str, Json] = {}
    for port in node.outputs:
        if port.extract is None and (node.type != "agent" or port.name not in BESIDE):
            fields[port.name] = {"type": port.type} if port.type in _SCHEMA_TYPES else {}
    return {"type": "object", "properties": fields} if fields else None


def _prompt(level: Level, node: GraphNode) -> str:
    """Returns the prompt; an input at the port `prompt` replaces it unless the text contains it."""
    written = scalar_of(node.fields.get("prompt"))
    source = quoted("")
    if written is not None:
        source = text_source(level, node, written) or quoted(written.text)
    for text in _listed_files(level, node, "promptFiles"):
        source += f" ~ {quoted(chr(10) * 2 + text)}"
    override = level.own(node, "prompt")
    if override is not None and (written is None or "inputs.prompt" not in written.text):
        return called("overridden", override, source)
    if written is None and "promptFiles" not in node.fields:
        level.fields(node).missing("prompt", "what the agent must do")
    return source


NODE_READERS: dict[str, Callable[[Level, GraphNode], ir.Node]] = {
    "trigger": _read_trigger,
    "shell": _read_shell_node,
    "agent": _read_agent,
    "constant": _read_constant,
    "function": _read_function,
    "workdir": lambda level, node: _compute(
        node, {"path": read_text(level, node, scalar_of(node.fields.get("path")))}
    ),
    "wire": lambda level, node: _compute(
        node, {"value": expression(level.own(node, "value") or "none")}
    ),
}
