"""What a rule looks at: a workflow, and where its parts stand; what to say about unknown names."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.ir.expressions import conditions_in
from whorl.ir.nodes import Loop
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.errors import Span
    from whorl.ir.expressions import Names
    from whorl.ir.nodes import Node, Workflow
    from whorl.ir.places import Places
    from whorl.ir.values import Condition

_LISTED_MAX = 12
# Comparing names costs time, and a hostile file has many of both.
_COMPARED_MAX = 500


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
        return walk(self.workflow.body)

    def loops(self) -> Iterator[tuple[str, Loop]]:
        for path, node in self.nodes():
            if isinstance(node, Loop):
                yield path, node

    def conditions(self) -> Iterator[tuple[str, Loop, Condition, Span | None]]:
        """All conditions of loops, each with its loop and where it stands."""
        for path, loop in self.loops():
            for condition in conditions_in(loop.until):
                yield path, loop, condition, self.places.part(condition) or self.places.node(path)


def suggest(name: str, known: Iterable[str]) -> str:
    """Returns a help text: the nearest name, or what there is to choose from."""
    names = list(dict.fromkeys(islice(known, _COMPARED_MAX)))
    question = did_you_mean(name, names)
    if question or not names:
        return question
    listed = ", ".join(names[:_LISTED_MAX])
    return f"there is {listed}" + (", ..." if len(names) > _LISTED_MAX else "")
