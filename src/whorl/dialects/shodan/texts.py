"""Templates: `{{ task }}`, `{{ inputs.x }}`, `{{ node.output }}`, `{{ iteration_count }}`.

One that stands for nothing stays as it is written, with a warning; a near miss of a name, and an
input that a node does not declare, are errors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.shell import PREFIX, read_script
from whorl.dialects.reading.context import REPORTED_MAX
from whorl.dialects.reading.texts import Placeholder, called, joined, quoted, split_text
from whorl.dialects.shodan.graph import COUNT
from whorl.dialects.shodan.levels import expression
from whorl.dialects.shodan.ports import TAKEN
from whorl.errors import nearest
from whorl.ir.checks.subject import suggest

if TYPE_CHECKING:
    from whorl.dialects.shodan.graph import GraphNode
    from whorl.dialects.shodan.levels import Level
    from whorl.source import Scalar

NUMBERS = "WHORL_N"
_PLACE = re.compile(r"\{\{([^{}]*+)\}\}")
_WORDS = re.compile(r"[A-Za-z0-9_-]+(?:\[\d{1,4}\])?(?:\.[A-Za-z0-9_-]+(?:\[\d{1,4}\])?)*")
_COUNTS = (COUNT, "iteration")
# Comparing names costs time, and a hostile file has many of both.
_COMPARED_MAX = 500

Variables = list[tuple[str, ir.Value]]


def read_text(level: Level, node: GraphNode, scalar: Scalar | None) -> ir.Value:
    """A field of a node with placeholders in it, as a text."""
    if scalar is None:
        return ir.Constant(None)
    source = text_source(level, node, scalar)
    return ir.Constant(scalar.text) if source is None else expression(source)


def text_source(level: Level, node: GraphNode, scalar: Scalar) -> str | None:
    """The source of a text; None if no placeholder in it stands for anything."""

    def source_of(place: Placeholder) -> str | None:
        source = _resolve_or_warn(level, node, _trimmed(place.content, scalar, place.offset))
        return None if source is None else called("shown", source)

    return joined(split_text(scalar, _PLACE, source_of))


def read_shell(level: Level, node: GraphNode, scalar: Scalar) -> tuple[str, Variables]:
    """A script whose placeholders are variables, and the variables."""
    variables: Variables = []
    script = read_script(_put_numbers(level, node, scalar, variables))
    for fault in script.faults:
        span = scalar.locate(fault.offset, fault.length)
        level.context.report("W021", fault.message, span, label="here", help=fault.help)
    for number, placed in enumerate(script.placed, start=1):
        place = _trimmed(placed.source, scalar, placed.offset)
        source = _resolve_or_warn(level, node, place) or quoted(f"{{{{ {place.content} }}}}")
        variables.append((f"{PREFIX}{number}", expression(called("shown", source))))
    return script.text, variables


def _put_numbers(level: Level, node: GraphNode, scalar: Scalar, variables: Variables) -> str:
    """Puts variables for the placeholders in calculations; they can hold only whole numbers."""
    text = scalar.text
    for fault in reversed(read_script(text).faults):
        if "calculation of the shell" not in fault.message:
            continue
        written = text[fault.offset : fault.offset + fault.length]
        place = _trimmed(written[2:-2], scalar, fault.offset + 2)
        source = resolve(level, node, place) if _PLACE.fullmatch(written) else None
        if source is None:
            continue
        name = f"{NUMBERS}{len(variables) + 1}"
        # Spaces, which mean nothing in a calculation, keep later placeholders where they stand.
        variable = f"${{{name}}}".ljust(fault.length)
        text = text[: fault.offset] + variable + text[fault.offset + fault.length :]
        what = quoted(f"{written} in the script of {node.id!r}")
        variables.append((name, expression(called("whole", source, what))))
    return text


def _trimmed(written: str, scalar: Scalar, offset: int) -> Placeholder:
    """A placeholder that begins and ends with what stands inside, without the blanks."""
    offset += len(written) - len(written.lstrip())
    return Placeholder(written, written.strip(), scalar, offset)


def _resolve_or_warn(level: Level, node: GraphNode, place: Placeholder) -> str | None:
    source = resolve(level, node, place)
    if source is None:
        _warn(level, node, place)
    return source


def resolve(level: Level, node: GraphNode, place: Placeholder) -> str | None:
    """The source of what a placeholder stands for at a node; None if it stands for nothing."""
    if not _WORDS.fullmatch(place.content):
        return None
    words = place.content.split(".")
    if words[0] == "inputs" and len(words) > 1:
        return _own(level, node, words[1:])
    source = _own(level, node, words)
    if source is not None:
        return source
    if place.content in _COUNTS:
        loop = next((home.loop for home in level.chain() if home.loop is not None), None)
        return None if loop is None else loop.counted
    return _of_node(level, node, place) if len(words) > 1 else None


def _own(level: Level, node: GraphNode, words: list[str]) -> str | None:
    """An input of the node itself; the names of ports may hold dots."""
    for count in range(len(words), 0, -1):
        source = level.own(node, ".".join(words[:count]))
        if source is not None:
            return _part(source, words[count:])
    return None


def _of_node(level: Level, node: GraphNode, place: Placeholder) -> str | None:
    name, output, *path = place.content.split(".")
    inside = node.id
    for home in level.chain():
        other = home.named(name)
        if other is not None:
            if other.id == inside:
                return None
            home.expect(other, "output", output, place.span)
            if home.leads_to(other.id, inside):
                return None
            return _part(level.value_at(other.id, ("output", output, ""), node.id), path)
        if home.loop is not None:
            inside = home.loop.node.id
            if name in (inside, home.loop.node.slug):
                return _part(home.loop.value_of(("input", output, "")), path)
    return None


def _part(source: str | None, path: list[str]) -> str | None:
    return called("dig", source, *map(quoted, path)) if source is not None and path else source


def _warn(level: Level, node: GraphNode, place: Placeholder) -> None:
    context, content = level.context, place.content
    if len(context.warnings) >= REPORTED_MAX or context.is_full:
        return
    if _lacks_input(level, node, place):
        return
    near = _near_miss(level, node, content)
    message = f"{{{{ {content[:60]} }}}} in {node.id!r} stands for nothing here"
    if near:
        advice = f"did you mean {near!r}?"
        context.report("W010", message, place.span, label="unknown name", help=advice)
        return
    names = [port.name for port in node.inputs] + _nodes_seen(level, node)
    advice = suggest(content.partition(".")[0], names) or "name an input, or a node before it"
    message += ", and stays as written"
    context.warn("W005", message, place.span, label="unknown name", help=advice)


def _lacks_input(level: Level, node: GraphNode, place: Placeholder) -> bool:
    """Whether `inputs.x` names an input that the node cannot have, which is reported."""
    words = place.content.split(".")
    if words[0] != "inputs" or len(words) == 1 or not _WORDS.fullmatch(place.content):
        return False
    name, inputs = words[1], level.input_names(node)
    is_open = not node.inputs and nearest(name, inputs[:_COMPARED_MAX]) is None
    taken = TAKEN if node.type == "agent" else ()
    if is_open or name.partition("[")[0] in (*inputs, *taken):
        return False
    message, advice = f"{node.type} {node.id!r} has no input {name[:60]!r}", suggest(name, inputs)
    level.context.report("W010", message, place.span, label="no such input", help=advice)
    return True


def _nodes_seen(level: Level, node: GraphNode) -> list[str]:
    return [other.id for home in level.chain() for other in home.members if other.id != node.id]


def _near_miss(level: Level, node: GraphNode, content: str) -> str | None:
    """The name that is probably meant; None if none is near, or if it is the name of a node."""
    words = content.split(".")
    if not _WORDS.fullmatch(content) or words[0] == "inputs":
        return None
    inputs = [port.name for port in node.inputs]
    loops = {home.loop.node.id for home in level.chain() if home.loop is not None}
    members = [member for home in level.chain() for member in home.members]
    if words[0] in loops or any(words[0] in (member.id, member.slug) for member in members):
        return None
    counts = _COUNTS if loops else ()
    names = [*_nodes_seen(level, node), *inputs] if len(words) > 1 else [*inputs, *counts]
    return nearest(words[0], names[:_COMPARED_MAX])
