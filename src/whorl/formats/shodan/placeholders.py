"""The templates in the texts of nodes, such as `{{ inputs.x }}` or `{{ node.output }}`.

One that stands for nothing stays as it is written, with a warning; a near miss of a name,
and an input that a node does not declare, are errors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.tasks.shell import read_script
from whorl.dialects.reading.context import REPORTED_MAX
from whorl.dialects.reading.texts import Placeholder, called, joined, quoted, split_text
from whorl.errors import nearest
from whorl.formats.shodan.graph import COUNT, GraphNode
from whorl.formats.shodan.levels import Level, expression
from whorl.formats.shodan.ports import TAKEN
from whorl.ir.checks.scopes import suggest

if TYPE_CHECKING:
    from whorl.source import Scalar


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
    """The source of a text; None if no placeholder in it stands for anything."""

    def source_of(place: Placeholder) -> str | None:
        return _shown(level, node, _trimmed(place.content, scalar, place.offset), "worded")

    return joined(split_text(scalar, _PLACE, source_of))


def read_shell(level: Level, node: GraphNode, scalar: Scalar) -> tuple[str, Entries]:
    """A script whose placeholders are variables, and the variables."""
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
    """Puts variables for the placeholders in calculations; they can hold only whole numbers."""
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
    """A placeholder that begins and ends with what stands inside, without the blanks."""
    offset += len(written) - len(written.lstrip())
    return Placeholder(written, written.strip(), scalar, offset)


def _shown(level: Level, node: GraphNode, place: Placeholder, how: str = "shown") -> str | None:
    """What a placeholder stands for, as a text; None if that is nothing, which is warned of."""
    source = _resolve(level, node, place)
    if source is None:
        _warn(level, node, place)
        return None
    return called(how, source)


def _resolve(level: Level, node: GraphNode, place: Placeholder) -> str | None:
    """The source of what a placeholder stands for at a node; None if it stands for nothing."""
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
    """Warns of a placeholder that stands for nothing; a name that nearly is another is an error."""
    context, content, label = level.context, place.content, "unknown name"
    if len(context.warnings) >= REPORTED_MAX or context.is_full or _lacks_input(level, node, place):
        return
    first = content.partition(".")[0]
    inputs = [port.name for port in node.inputs]
    members = [member for home in level.chain() for member in home.members]
    nodes = [member.id for member in members if member.id != node.id]
    loops = {home.loop.id for home in level.chain() if home.loop is not None}
    visible = {"inputs", *loops}.union(*((member.id, member.slug) for member in members))
    message = f"{{{{ {content[:60]} }}}} in {node.id!r} has no meaning here"
    if _WORDS.fullmatch(content) and first not in visible:
        names = [*nodes, *inputs] if "." in content else [*inputs, *(_COUNTS if loops else ())]
        near = nearest(first, names[:_COMPARED_MAX])
        if near:
            context.report("W010", message, place.span, label=label, help=f"did you mean {near!r}?")
            return
    message += ", and stays as written"
    advice = suggest(first, [*inputs, *nodes]) or "name an input, or a node before it"
    context.warn("W005", message, place.span, label=label, help=advice)


def _lacks_input(level: Level, node: GraphNode, place: Placeholder) -> bool:
    """Whether `inputs.x` names an input that the node cannot have, which is reported."""
    words = place.content.split(".")
    if words[0] != "inputs" or len(words) == 1 or not _WORDS.fullmatch(place.content):
        return False
    name, inputs = words[1], level.input_names(node)
    is_open = not node.inputs and nearest(name, inputs[:_COMPARED_MAX]) is None
    if is_open or name.partition("[")[0] in (*inputs, *(TAKEN if node.type == "agent" else ())):
        return False
    message, advice = f"{node.type} {node.id!r} has no input {name[:60]!r}", suggest(name, inputs)
    level.context.report("W010", message, place.span, label="no such input", help=advice)
    return True
