"""Nodes do not wait for each other in a circle (W011)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.checks.blocks import blocks_in

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
        here = f"{path}/{first}" if path else first
        shown = " -> ".join([*circle[:_SHOWN_MAX], *(["..."] if len(circle) > _SHOWN_MAX else [])])
        yield Diagnostic(
            "W011",
            f"steps wait for each other: {shown} -> {first}",
            subject.places.node(here),
            "waits for itself",
            "remove one `after`; to do steps again, put them into a `repeat`",
        )


def _circle(block: Block) -> list[str]:
    """Takes away what can start until nothing more can; whatever is left is in or behind one."""
    names = {node.name for node in block.nodes}
    waits = {
        node.name: {after.node for after in node.after if after.node in names}
        for node in block.nodes
    }
    followers: dict[str, list[str]] = {name: [] for name in names}
    for name, others in waits.items():
        for other in others:
            followers[other].append(name)
    ready = [name for name, others in waits.items() if not others]
    for name in ready:
        for follower in followers[name]:
            waits[follower].discard(name)
            if not waits[follower]:
                ready.append(follower)
    left = {name: others for name, others in waits.items() if others}
    return _follow(left)


def _follow(left: dict[str, set[str]]) -> list[str]:
    if not left:
        return []
    seen: dict[str, int] = {}
    name = next(iter(left))
    while name not in seen:
        seen[name] = len(seen)
        name = min(other for other in left[name] if other in left)
    return list(seen)[seen[name] :]
