"""`break` and `continue` name a loop that they stand in (W010)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.checks.suggest import suggest
from whorl.ir.nodes import Break, Continue, Loop
from whorl.ir.walk import blocks_of, node_path, slot_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject
    from whorl.ir.nodes import Block


def check_jumps(subject: Subject) -> Iterator[Diagnostic]:
    """Reports jumps out of loops that are not around them."""
    yield from _check(subject, subject.workflow.body, "", ())


def _check(
    subject: Subject, block: Block, path: str, loops: tuple[str, ...]
) -> Iterator[Diagnostic]:
    for node in block.nodes:
        at = node_path(path, node.name)
        if isinstance(node, Break | Continue) and node.loop and node.loop not in loops:
            yield Diagnostic(
                "W010",
                f"{node.name!r} names {node.loop[:60]!r}, which is no loop around it",
                subject.places.node(at),
                "no such loop",
                suggest(node.loop, loops) or "put it inside of the loop",
            )
        inside = (*loops, node.name) if isinstance(node, Loop) else loops
        for slot, inner in blocks_of(node):
            yield from _check(subject, inner, slot_path(at, slot), inside)
