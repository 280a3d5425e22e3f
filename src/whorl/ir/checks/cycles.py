"""Nodes do not wait for each other in a circle (W011)."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.walk import blocks_in, node_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject
    from whorl.ir.nodes import Block

_SHOWN_MAX = 8


def check_cycles(subject: Subject) -> Iterator[Diagnostic]:
    """Reports one circle of each block."""
    for path, block in blocks_in(subject.workflow.body):
        circle = _circle(block)
        if not circle:
            continue
        first = circle[0]
        shown = " -> ".join([*circle[:_SHOWN_MAX], *(["..."] if len(circle) > _SHOWN_MAX else [])])
        yield Diagnostic(
            "W011",
            f"steps wait for each other: {shown} -> {first}",
            subject.places.node(node_path(path, first)),
            "waits for itself",
            "remove one `after`; to do steps again, put them into a `repeat`",
        )


def _circle(block: Block) -> list[str]:
    """A circle of nodes, each of which waits for the next one; it begins with the first written."""
    names = [node.name for node in block.nodes]
    waits = {
        node.name: [after.node for after in node.after if after.node in names]
        for node in block.nodes
    }
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as fault:
        circle: list[str] = fault.args[1][:0:-1]
        first = circle.index(min(circle, key=names.index))
        return circle[first:] + circle[:first]
    return []
