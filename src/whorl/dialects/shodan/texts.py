"""Templates: `{{ task }}`, `{{ inputs.x }}`, `{{ node.output }}`, `{{ iteration_count }}`.

One that stands for nothing stays as it is written, with a warning; a near miss of a name, and an
input that a node does not declare, are errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.shell import PREFIX, read_script
from whorl.dialects.shodan.parts import COUNT
from whorl.dialects.shodan.ports import TAKEN, Reference
from whorl.dialects.shodan.sources import called, expression, quoted
from whorl.errors import nearest
from whorl.ir.checks.suggest import suggest

if TYPE_CHECKING:
    from whorl.dialects.native.shell import Fault
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode
    from whorl.errors import Span
    from whorl.source import Scalar

NUMBERS = "WHORL_N"
_PLACE = re.compile(r"\{\{([^{}]*+)\}\}")
_WORDS = re.compile(r"[A-Za-z0-9_-]+(?:\[\d{1,4}\])?(?:\.[A-Za-z0-9_-]+(?:\[\d{1,4}\])?)*")
_COUNTS = (COUNT, "iteration")
# Comparing names costs time, and a hostile file has many of both.
_COMPARED_MAX = 500


@dataclass(frozen=True, slots=True)
class Place:
    """What stands between two braces of a text, and where."""

    content: str
    scalar: Scalar
    offset: int

    @property
    def span(self) -> Span:
        """Where it stands in the file."""
        return self.scalar.locate(self.offset, max(1, len(self.content)))


def _place(written: str, scalar: Scalar, offset: int) -> Place:
    return Place(written.strip(), scalar, offset + len(written) - len(written.lstrip()))


def read_text(level: Level, node: GraphNode, scalar: Scalar | None) -> ir.Value:
    """A field of a node with places in it, as a text."""
    if scalar is None:
        return ir.Constant(None)
    source = text_source(level, node, scalar)
    return ir.Constant(scalar.text) if source is None else expression(source)


def text_source(level: Level, node: GraphNode, scalar: Scalar) -> str | None:
    """The source of a text; None if no place in it stands for anything."""
    text = scalar.text
    parts: list[str] = []
    end = 0
    for place in _PLACE.finditer(text):
        here = _place(place[1], scalar, place.start(1))
        source = resolve(level, node, here)
        if source is None:
            _warn(level, node, here)
            continue
        if place.start() > end:
            parts.append(quoted(text[end : place.start()]))
        parts.append(called("shown", source))
        end = place.end()
    if not parts:
        return None
    if end < len(text):
        parts.append(quoted(text[end:]))
    return " ~ ".join(parts)


def read_shell(
    level: Level, node: GraphNode, scalar: Scalar
) -> tuple[str, list[tuple[str, ir.Value]]]:
    """A script whose places are variables, and the variables."""
    variables: list[tuple[str, ir.Value]] = []
    text = _numbers(level, node, scalar, variables)
    script = read_script(text)
    for fault in script.faults:
        span = scalar.locate(fault.offset, fault.length)
        level.draft.report("W021", fault.message, span, label="here", help=fault.help)
    for number, placed in enumerate(script.placed, start=1):
        here = _place(placed.source, scalar, placed.offset)
        source = resolve(level, node, here)
        if source is None:
            _warn(level, node, here)
            source = quoted(f"{{{{ {here.content} }}}}")
        variables.append((f"{PREFIX}{number}", expression(called("shown", source))))
    return script.text, variables


def _numbers(
    level: Level, node: GraphNode, scalar: Scalar, variables: list[tuple[str, ir.Value]]
) -> str:
    """Puts variables for the places in calculations; they can hold nothing but whole numbers."""
    text = scalar.text
    faults: list[Fault] = [
        fault for fault in read_script(text).faults if "calculation of the shell" in fault.message
    ]
    for fault in reversed(faults):
        written = text[fault.offset : fault.offset + fault.length]
        place = _PLACE.fullmatch(written)
        here = _place(written[2:-2], scalar, fault.offset + 2)
        source = resolve(level, node, here) if place else None
        if source is None:
            continue
        name = f"{NUMBERS}{len(variables) + 1}"
        # Spaces, which mean nothing in a calculation, keep later places where they stand.
        variable = f"${{{name}}}".ljust(fault.length)
        text = text[: fault.offset] + variable + text[fault.offset + fault.length :]
        what = quoted(f"{written} in the script of {node.id!r}")
        variables.append((name, expression(called("whole", source, what))))
    return text


def resolve(level: Level, node: GraphNode, place: Place) -> str | None:
    """The source of what a place stands for at a node; None if it stands for nothing."""
    if not _WORDS.fullmatch(place.content):
        return None
    words = place.content.split(".")
    if words[0] == "inputs" and len(words) > 1:
        return _own(level, node, words[1:])
    found = _own(level, node, words)
    if found is not None:
        return found
    if place.content in _COUNTS:
        scene = next((one.loop for one in level.chain() if one.loop is not None), None)
        return None if scene is None else scene.counted
    return _of_node(level, node, place) if len(words) > 1 else None


def _own(level: Level, node: GraphNode, words: list[str]) -> str | None:
    """An input of the node itself; the names of ports may hold dots."""
    for count in range(len(words), 0, -1):
        source = level.own(node, ".".join(words[:count]))
        if source is not None:
            return _dug(source, words[count:])
    return None


def _of_node(level: Level, node: GraphNode, place: Place) -> str | None:
    name, output, *path = place.content.split(".")
    inside = node.id
    for home in level.chain():
        other = home.named(name)
        if other is not None:
            if other.id == inside:
                return None
            level.draft.references.append(Reference(home, other, "output", output, place.span))
            if home.leads_to(other.id, inside):
                return None
            source = level.value_at(other.id, ("output", output, ""), node.id)
            return None if source is None else _dug(source, path)
        if home.loop is not None:
            inside = home.loop.node.id
            if name in (inside, home.loop.node.slug):
                source = home.loop.seen(("input", output, ""))
                return None if source is None else _dug(source, path)
    return None


def _dug(source: str, path: list[str]) -> str:
    return called("dig", source, *map(quoted, path)) if path else source


def _warn(level: Level, node: GraphNode, place: Place) -> None:
    if level.draft.has_warned_enough or level.draft.is_full:
        return
    content = place.content
    if _lacks_input(level, node, place):
        return
    near = _near_miss(level, node, content)
    if near:
        level.draft.report(
            "W010",
            f"{{{{ {content[:60]} }}}} in {node.id!r} stands for nothing here",
            place.span,
            label="unknown name",
            help=f"did you mean {near!r}?",
        )
        return
    names = [port.name for port in node.inputs] + _nodes_seen(level, node)
    level.draft.warn(
        "W005",
        f"{{{{ {content[:60]} }}}} in {node.id!r} stands for nothing here, and stays as written",
        place.span,
        label="unknown name",
        help=suggest(content.partition(".")[0], names) or "name an input, or a node before it",
    )


def _lacks_input(level: Level, node: GraphNode, place: Place) -> bool:
    """Whether `inputs.x` names an input that the node cannot have, which is reported."""
    words = place.content.split(".")
    if words[0] != "inputs" or len(words) == 1 or not _WORDS.fullmatch(place.content):
        return False
    name, known = words[1], level.input_names(node)
    is_open = not node.inputs and nearest(name, known[:_COMPARED_MAX]) is None
    taken = TAKEN if node.type == "agent" else ()
    if is_open or name.partition("[")[0] in (*known, *taken):
        return False
    level.draft.report(
        "W010",
        f"{node.type} {node.id!r} has no input {name[:60]!r}",
        place.span,
        label="no such input",
        help=suggest(name, known),
    )
    return True


def _nodes_seen(level: Level, node: GraphNode) -> list[str]:
    return [one.id for home in level.chain() for one in home.members if one.id != node.id]


def _near_miss(level: Level, node: GraphNode, content: str) -> str | None:
    """The name that is probably meant; None if none is near, or if it is the name of a node."""
    words = content.split(".")
    if not _WORDS.fullmatch(content):
        return None
    inputs = [port.name for port in node.inputs]
    if words[0] == "inputs":
        return None
    counts = _COUNTS if any(home.loop is not None for home in level.chain()) else ()
    seen = {name for home in level.chain() for one in home.members for name in (one.id, one.slug)}
    loops = {home.loop.node.id for home in level.chain() if home.loop is not None}
    if words[0] in seen | loops:
        return None
    names = [*_nodes_seen(level, node), *inputs] if len(words) > 1 else [*inputs, *counts]
    return nearest(words[0], names[:_COMPARED_MAX])
