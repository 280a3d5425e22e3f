"""Where a writer is: the node, and how values are said there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.loom.texts import has_expression
from whorl.dialects.loom.writing.crossing import Crossing, kind_of
from whorl.dialects.writing import Spot
from whorl.dialects.writing.unsaid import lose_unsaid
from whorl.language import LanguageError
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from whorl.dialects.loom.writing.scope import Scope
    from whorl.dialects.writing import Ledger

TARGET = "the format of Logic Apps"
LOGIC = ("logic", "logic-lenient")


@dataclass(frozen=True, slots=True)
class Page:
    """What all places of one definition share.

    A lenient definition follows the rules of files with `condition`, any other one Azure's.
    """

    workflow: ir.Workflow
    ledger: Ledger
    files: Mapping[str, str]
    lenient: bool
    key: str = ""
    # The types of the variables that the definition declares, by name; empty: none is known.
    declared: dict[str, str] = field(default_factory=dict)
    # The actions that declare them.
    first_settings: frozenset[str] = frozenset()
    responses: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether the workflow was read from a definition."""
        return self.workflow.dialect == "loom"

    def word(self, name: str) -> str:
        """A type of actions in the letters of the definition."""
        return name[0].lower() + name[1:] if self.lenient else name


@dataclass(frozen=True, slots=True)
class Here:
    """A place in the workflow that is being written."""

    page: Page
    crossing: Crossing
    path: str = ""
    place: str = ""
    is_in_each: bool = False

    @property
    def spot(self) -> Spot:
        """The place, for losses."""
        return Spot(self.path, self.place, self.page.key)

    def at(self, node: ir.Node) -> Here:
        """The place of a node in this block."""
        path = f"{self.path}/{node.name}" if self.path else node.name
        return replace(self, path=path, place=node.place)

    def where(self, scope: Scope) -> Here:
        """The same place with other names."""
        return replace(self, crossing=Crossing(scope))

    def with_block(self, block: ir.Block) -> Here:
        """The same place with the results of the steps of a block."""
        if self.page.is_own:
            return self
        return self.where(self.crossing.scope.with_block(block, kind_of))

    def inside(self, slot: str = "") -> Here:
        """The block of a node; of several, that of the slot."""
        return replace(self, path=f"{self.path}@{slot}") if slot else self

    def lose(self, what: str, why: str) -> None:
        """Lists what the format cannot say here."""
        self.page.ledger.lose(self.spot, what, why)

    def lose_unsaid(self, item: Any, said: Collection[str]) -> None:
        """Lists whatever a part of the IR says beside the fields that are written."""
        lose_unsaid(self.page.ledger, self.spot, item, said, target=TARGET)

    def value(self, value: ir.Value | None) -> Any:
        """A value with its expressions as strings."""
        match value:
            case None:
                return None
            case ir.Constant():
                return value.value if self.page.is_own else escaped(value.value)
            case ir.Expression():
                return self.source(value)
            case ir.Items():
                return [self.value(item) for item in value.items]
            case ir.Fields():
                return {self._key(key): self.value(one) for key, one in value.entries}

    def _key(self, key: str | ir.Expression) -> str:
        if isinstance(key, ir.Expression):
            return self.source(key)
        return key if self.page.is_own else str(escaped(key))

    def source(self, expression: ir.Expression, *, condition: bool = False) -> str:
        """An expression as a string; a condition must be true or false."""
        if expression.syntax in LOGIC:
            return expression.source
        try:
            return self.crossing.said(expression, condition=condition)
        except CannotSay as loss:
            self.lose(f"{loss.what} in {expression.source[:80]!r}", loss.why)
            return self._nearly(expression, condition=condition)
        except LanguageError as fault:
            self.lose(f"the expression {expression.source[:80]!r}", fault.message)
        return "@false" if condition else str(escaped(expression.source))

    def _nearly(self, expression: ir.Expression, *, condition: bool) -> str:
        """The nearest thing to an expression that cannot be said, for who wants it all the same."""
        try:
            return replace(self.crossing, strict=False).said(expression, condition=condition)
        except CannotSay:
            return "@false" if condition else str(escaped(expression.source))


def escaped(value: Any) -> Any:
    """A JSON value whose texts hold no expressions."""
    if isinstance(value, str):
        if not has_expression(value):
            return value
        marked = value.replace("@{", "@@{")
        return f"@{marked}" if marked[0] == "@" and not marked.startswith("@@{") else marked
    if isinstance(value, list):
        return [escaped(item) for item in value]
    if isinstance(value, dict):
        return {escaped(key): escaped(item) for key, item in value.items()}
    return value
