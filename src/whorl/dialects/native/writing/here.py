"""Where a writer is: the node, the names that mean something else here, and how values are said."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.native.names import RESULTS
from whorl.dialects.native.scalars import is_template
from whorl.dialects.native.writing.naming import PLAIN, Naming, is_name, word_for
from whorl.dialects.native.writing.shapes import Replacement, Shapes, constant_tree, tree_of
from whorl.dialects.writing import Spot
from whorl.dialects.writing.meanings import About, with_meanings
from whorl.dialects.writing.unsaid import lose_unsaid
from whorl.language import LanguageError, tree
from whorl.language.printing import CannotSay, changed_tree, literal, translate
from whorl.language.printing.jinja import printed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from whorl.dialects.native.writing.files import Companions
    from whorl.dialects.writing import Ledger

_FALSE_TEXTS = ("", "false", "no", "0")


@dataclass(frozen=True, slots=True)
class Here:
    """A place in the workflow that is being written."""

    ledger: Ledger
    companions: Companions
    naming: Naming
    shapes: Shapes
    spot: Spot = field(default_factory=Spot)
    replaced: Mapping[str, Replacement] = field(default_factory=dict)
    loops: tuple[str, ...] = ()

    def at(self, path: str, place: str) -> Here:
        """The same at another node."""
        return replace(self, spot=replace(self.spot, path=path, place=place))

    def lose(self, what: str, why: str) -> None:
        """Lists what the format cannot say here."""
        self.ledger.lose(self.spot, what, why)

    def lose_unsaid(self, item: Any, said: Collection[str]) -> None:
        """Lists whatever a part of the IR says beside the fields that are written."""
        lose_unsaid(self.ledger, self.spot, item, said, target="the native format")

    def is_read_as_it_is(self, name: str) -> bool:
        """Whether the result of a step has its own name and shape in the file."""
        return self.naming.of(name) == name and name not in self.shapes.names

    def result_name(self, name: str) -> str:
        """The name of an output or of a collected result, which people see."""
        if is_name(name):
            return name
        other = self.naming.others.get(name) or word_for(name)
        self.lose(f"the name {name!r}", f"native names are words of their own; it is {other!r}")
        return other

    def value(self, value: ir.Value | None) -> Any:
        """A value with its expressions as templates."""
        match value:
            case None:
                return None
            case ir.Constant():
                return constant(value.value)
            case ir.Expression():
                return self.template(value)
            case ir.Items():
                return [self.value(item) for item in value.items]
            case ir.Fields():
                return {self._key(key): self.value(entry) for key, entry in value.entries}

    def text(self, value: ir.Value) -> str:
        """A value where the format has texts only."""
        written = self.value(value)
        if isinstance(written, str):
            return written
        return f"{{{{ {_displayed(written)} }}}}"

    def computed(self, value: ir.Value) -> Any:
        """A value where a bare text is an expression."""
        if isinstance(value, ir.Expression) and value.syntax == "jinja":
            source = self._said(value, "jinja")
            return source if not is_template(source) else self.template(value)
        written = self.value(value)
        if isinstance(written, str) and not is_template(written):
            return f"{{{{ {_displayed(written)} }}}}"
        return written

    def template(self, expression: ir.Expression) -> str:
        """An expression as a template, which keeps the type of a single value."""
        return self._said(expression, "template")

    def test(self, expression: ir.Expression) -> str | bool:
        """An expression as a condition."""
        said = self._said(expression, "jinja")
        return {"true": True, "false": False}.get(said, said)

    def built(self, value: ir.Value, node: ir.Node) -> tree.Expr:
        """A value that a node computes, as a part of another expression; raises CannotSay."""
        about = About(self.companions.workflows, node)

        def build(expression: ir.Expression) -> tree.Expr:
            return changed_tree(
                expression,
                change=with_meanings(expression.library, about),
                names=self._replace,
                then=self.shapes.of_member,
            )

        return tree_of(value, build)

    def _key(self, key: str | ir.Expression) -> str:
        if isinstance(key, str):
            return key
        self.lose(f"the computed key {key.source[:60]!r}", "keys of native files are texts")
        return key.source

    def _said(self, expression: ir.Expression, syntax: str) -> str:
        is_test = syntax == "jinja" and expression.syntax != "jinja"
        try:
            said = translate(
                expression,
                syntax,
                change=with_meanings(expression.library, About(self.companions.workflows)),
                names=self._replace,
                then=self.shapes.of_member,
            )
        except CannotSay as loss:
            self.lose(f"{loss.what} in {expression.source[:80]!r}", loss.why)
            return literal(expression.source) if syntax == "template" else "false"
        except LanguageError as fault:
            self.lose(f"the expression {expression.source[:80]!r}", fault.message)
            return literal(expression.source) if syntax == "template" else "false"
        return _as_test(said.source) if is_test else said.source

    def _replace(self, name: str) -> tree.Expr | None:
        found = self.replaced.get(name)
        if isinstance(found, CannotSay):
            raise found
        if found is not None:
            return found
        other = self.naming.of(name)
        read: tree.Expr = tree.Name(other, 0)
        if not PLAIN.fullmatch(other):
            read = tree.Item(tree.Name(RESULTS, 0), tree.Literal(other), 0)
        shaped = self.shapes.of_name(name, read)
        if shaped is not None:
            return shaped
        return None if other == name and isinstance(read, tree.Name) else read


def _as_test(source: str) -> str:
    """A condition that takes the texts `false`, `no` and `0` for false, as other syntaxes do."""
    texts = ", ".join(f"'{text}'" for text in _FALSE_TEXTS)
    return f"({source} | trim | lower not in [{texts}]) if ({source}) is string else {source}"


def constant(value: Any) -> Any:
    """A JSON value; texts that look like templates are written so that they are none."""
    if isinstance(value, str):
        return literal(value) if is_template(value) else value
    if isinstance(value, list):
        return [constant(item) for item in value]
    if isinstance(value, dict):
        return {key: constant(item) for key, item in value.items()}
    return value


def _displayed(value: Any) -> str:
    """A JSON value as a literal of an expression."""
    return printed(constant_tree(value))
