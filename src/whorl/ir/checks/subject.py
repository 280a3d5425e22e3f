"""What a rule looks at: a workflow, and where its parts stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.ir.nodes import Loop
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.expressions import Names
    from whorl.ir.nodes import Node, Workflow
    from whorl.ir.places import Places


@dataclass(frozen=True, slots=True)
class Subject:
    """One workflow of one file; the workflows that it calls were checked when they were read."""

    workflow: Workflow
    places: Places
    names: Names
    is_budget_needed: bool = False
    facts: tuple[str, ...] = ()
    is_text_suspicious: bool = False

    def nodes(self) -> Iterator[tuple[str, Node]]:
        """All nodes, each with its path."""
        return walk(self.workflow.body)

    def loops(self) -> Iterator[tuple[str, Loop]]:
        """All loops, each with its path."""
        for path, node in self.nodes():
            if isinstance(node, Loop):
                yield path, node
