"""`after` names nodes of the same block (W010)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.checks.suggest import suggest
from whorl.ir.walk import blocks_in, node_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject


def check_order(subject: Subject) -> Iterator[Diagnostic]:
    """Reports an `after` that names nothing."""
    for path, block in blocks_in(subject.workflow.body):
        names = {node.name for node in block.nodes}
        for node in block.nodes:
            for after in node.after:
                if after.node in names:
                    continue
                yield Diagnostic(
                    "W010",
                    f"{node.name!r} waits for {after.node[:60]!r}, which is no step beside it",
                    subject.places.part(after) or subject.places.node(node_path(path, node.name)),
                    "unknown step",
                    suggest(after.node, names - {node.name}) or "there is no other step beside it",
                )
