"""Where a writer is: the node, its losses, and what names mean in the templates there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whorl.dialects.writing import Spot
from whorl.dialects.writing.unsaid import lose_unsaid
from whorl.language import tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from whorl import ir
    from whorl.dialects.writing import Ledger
    from whorl.language.printing import CannotSay

TARGET = "orka"


@dataclass(frozen=True, slots=True)
class Here:
    """A place in the workflow; `names` are what other dialects' names are in templates here.

    `is_own` says that the workflow was read from this dialect, so that its expressions are kept;
    `defaults` are what a file of another one says for all questions.
    """

    ledger: Ledger
    is_own: bool
    spot: Spot = field(default_factory=Spot)
    names: Mapping[str, tree.Expr | CannotSay] = field(default_factory=dict)
    defaults: Mapping[str, ir.Value] = field(default_factory=dict)

    def at(self, node: ir.Node) -> Here:
        """The same at a node of the block."""
        path = f"{self.spot.path}/{node.name}" if self.spot.path else node.name
        return replace(self, spot=replace(self.spot, path=path, place=node.place))

    def knowing(self, names: Mapping[str, tree.Expr | CannotSay]) -> Here:
        """The same with further names."""
        return replace(self, names={**self.names, **names})

    def lose(self, what: str, why: str) -> None:
        """Lists what the dialect cannot say here."""
        self.ledger.lose(self.spot, what, why)

    def lose_unsaid(self, item: Any, said: Collection[str]) -> None:
        """Lists whatever a part of the IR says beside the fields that are written."""
        lose_unsaid(self.ledger, self.spot, item, said, target=TARGET)


def results_of(names: Iterable[str]) -> dict[str, tree.Expr | CannotSay]:
    """What reads the result of each agent."""
    previous = tree.Name("previous_outputs", 0)
    return {
        name: tree.Member(previous, name, 0)
        if name.isidentifier()
        else tree.Item(previous, tree.Literal(name), 0)
        for name in names
    }
