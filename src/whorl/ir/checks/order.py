"""`after` names nodes of the same block (W010)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.checks.blocks import blocks_in
from whorl.ir.checks.suggest import suggest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject


def check_order(subject: Subject) -> Iterator[Diagnostic]:
    """Reports an `after` that names nothing."""
    for path, block in blocks_in(subject.workflow.body):
        names = {node.name for node in block.nodes}
        for node in block.nodes:
            here = f"{path}/{node.name}" if path else node.name
            for after in node.after:
                if after.node in names:
                    continue
                yield Diagnostic(
                    "W010",
                    f"{node.name!r} waits for {after.node[:60]!r}, which is no step beside it",
                    subject.places.part(after) or subject.places.node(here),
                    "unknown step",
                    suggest(after.node, names - {node.name}) or "there is no other step beside it",
                )
