"""Blocks: the nodes of one level, each behind all that it waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.loops.loop import read_loop
from whorl.dialects.shodan.nodes.agent import read_agent
from whorl.dialects.shodan.nodes.component import read_component
from whorl.dialects.shodan.nodes.function import read_function
from whorl.dialects.shodan.nodes.plain import (
    read_constant,
    read_trigger,
    read_wire,
    read_workdir,
)
from whorl.dialects.shodan.nodes.script import read_script_node
from whorl.dialects.shodan.nodes.shell import read_shell_node
from whorl.dialects.shodan.sources import called, expression, given, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.shodan.draft import Draft
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode

# How many nodes of a graph run at once.
CONCURRENCY = 3
_READERS: dict[str, Callable[[Level, GraphNode], list[ir.Node]]] = {
    "trigger": read_trigger,
    "shell": read_shell_node,
    "script": read_script_node,
    "agent": read_agent,
    "constant": read_constant,
    "function": read_function,
    "workdir": read_workdir,
    "wire": read_wire,
}
_CHECKED = frozenset({"shell", "script", "agent", "function", "wire"})


def build_block(
    level: Level, read_inline: Callable[[Draft, str], ir.Workflow], path: str = ""
) -> ir.Block:
    """The block of a level."""
    level.draft.levels.append(level)
    built: list[tuple[GraphNode, list[ir.Node]]] = []
    for node in level.members:
        if node.type.startswith("interface-"):
            continue
        here = f"{path}/{node.id}" if path else node.id
        level.draft.places.remember_node(here, node.span)
        built.append((node, _read(level, node, read_inline, here)))
    order = {node.id: place for place, node in enumerate(level.members)}
    found: list[ir.Node] = []
    for node, nodes in built:
        found.extend(_ordered(sorted(level.before(node.id), key=order.__getitem__), nodes))
    found.extend(_ordered([nodes[-1].name for _, nodes in built], _settled(level)))
    return ir.Block(tuple(found), concurrency=CONCURRENCY)


def _read(
    level: Level,
    node: GraphNode,
    read_inline: Callable[[Draft, str], ir.Workflow],
    path: str,
) -> list[ir.Node]:
    if node.type == "loop":
        return read_loop(level, node, lambda inner: build_block(inner, read_inline, path))
    if node.type == "component":
        return read_component(level, node, read_inline)
    nodes = _READERS[node.type](level, node)
    check = level.checked(node) if node.type in _CHECKED else ""
    if check:
        nodes[0] = replace(nodes[0], when=expression(check))
    return nodes


def _ordered(before: list[str], nodes: list[ir.Node]) -> list[ir.Node]:
    """The first node waits for all that its own waits for, each other one for the one before."""
    after = tuple(ir.After(name) for name in before)
    found: list[ir.Node] = []
    for one in nodes:
        found.append(replace(one, after=after))
        after = (ir.After(one.name),)
    return found


def _settled(level: Level) -> list[ir.Node]:
    """Nodes that fail a level at its end, for those that failed while the others went on."""
    return [
        ir.Compute(
            name=level.free_name(f"{node.id}.status"),
            value=expression(called("settled", given(node.id), quoted(node.id))),
            place=f"{node.span.line}:{node.span.column}",
        )
        for node in level.tolerated()
    ]
