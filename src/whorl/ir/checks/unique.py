"""Names are unique within a scope, which open blocks share with what is around them (W012)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.walk import blocks_of, node_path, slot_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject
    from whorl.ir.nodes import Block


def check_unique(subject: Subject) -> Iterator[Diagnostic]:
    """Reports names that two nodes of one scope have."""
    yield from _check_scope(subject, subject.workflow.body, "", {})


def _check_scope(
    subject: Subject, block: Block, path: str, taken: dict[str, str]
) -> Iterator[Diagnostic]:
    for node in block.nodes:
        at = node_path(path, node.name)
        if node.name in taken:
            first = subject.places.node(taken[node.name])
            where = f" on line {first.line}" if first else ""
            yield Diagnostic(
                "W012",
                f"two steps are called {node.name[:60]!r}",
                subject.places.node(at),
                f"the first one is{where}" if where else "again",
                "choose another name for one of them",
            )
        taken.setdefault(node.name, at)
        for slot, inner in blocks_of(node):
            names = taken if inner.open else {}
            yield from _check_scope(subject, inner, slot_path(at, slot), names)
