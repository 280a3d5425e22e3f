"""Edges that carry nothing: they keep the nodes of a stretch together, and in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.studio.writing.block import is_helper
from whorl.dialects.studio.writing.drawing import Wire

if TYPE_CHECKING:
    from whorl.dialects.studio.writing.sketch import Sketch

_AFTER = "after"


def join_blocks(sketch: Sketch, block: ir.Block, start: str = "") -> None:
    """Draws what is missing between the nodes of a block, and inside of its stretches."""
    for node in block.nodes:
        if not is_helper(sketch, node):
            _join_order(sketch, node, start)
    if start:
        _join_ends(sketch, block, start)
    for node in block.nodes:
        if isinstance(node, ir.Loop | ir.ForEach):
            join_blocks(sketch, node.body, node.name)


def _join_order(sketch: Sketch, node: ir.Node, start: str) -> None:
    drawing = sketch.drawing
    inside = _inside(sketch, node)
    told = {source for name in inside for source in drawing.sources(name)}
    told |= {source for name in inside for source in sketch.references.get(name, ())}
    told = {_owner(sketch, name) for name in told}
    for after in node.after:
        if _owner(sketch, after.node) not in told and not is_helper(sketch, _node(sketch, after)):
            _connect(sketch, after.node, node.name)
    if start and not drawing.sources(node.name):
        same = [one.node for one in node.after if one.node in drawing.nodes]
        for one in same:
            _connect(sketch, one, node.name)
        if not same:
            drawing.connect(Wire(start), node.name)


def _node(sketch: Sketch, after: ir.After) -> ir.Node:
    return sketch.nodes[after.node]


def _owner(sketch: Sketch, name: str) -> str:
    """The node that stands for another one on the level outside of its stretch."""
    return next((start for start, end in sketch.ends.items() if end == name), name)


def _inside(sketch: Sketch, node: ir.Node) -> list[str]:
    found = [node.name]
    if isinstance(node, ir.Loop | ir.ForEach):
        for inner in node.body.nodes:
            found += _inside(sketch, inner)
    return found


def _connect(sketch: Sketch, source: str, target: str) -> None:
    """An order; where something comes in already, it takes a handle that nobody reads."""
    drawing = sketch.drawing
    kind = drawing.nodes.get(target, ("", {}))[0]
    if kind in ("output", "transform") and drawing.sources(target):
        return
    handle = _AFTER if drawing.sources(target) else "input"
    drawing.connect(Wire(sketch.ends.get(source, source)), target, handle)


def _join_ends(sketch: Sketch, block: ir.Block, start: str) -> None:
    """Whatever leads nowhere is led to who waits for it."""
    drawing, end = sketch.drawing, sketch.ends[start]
    for node in block.nodes:
        name = sketch.ends.get(node.name, node.name)
        if is_helper(sketch, node) or node.name == end or drawing.targets(name):
            continue
        waiting = [
            other.name
            for other in block.nodes
            if any(one.node == node.name for one in other.after) and other.name in drawing.nodes
        ]
        for other in waiting:
            if other != end:
                _connect(sketch, node.name, other)
                break
