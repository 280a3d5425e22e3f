"""Expressions of Logic Apps in Jinja, where both give the same for all JSON values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.writing.crossing import are_alike, are_ordered
from whorl.dialects.loom.writing.outward.results import (
    Actions,
    Place,
    body_of,
    outputs_of,
    part_of,
)
from whorl.dialects.loom.writing.scope import Said
from whorl.language import LanguageError, parse, tree
from whorl.language.printing import CannotSay, literal
from whorl.language.printing.jinja import printed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

_ORDER = {"less": "<", "lessOrEquals": "<=", "greater": ">", "greaterOrEquals": ">="}
_SUMS = {"add": "+", "sub": "-", "mul": "*"}
_NUMBERS = ("integer", "number")
_PRINTED = ("text", "integer")
_WHY = "Jinja compares, prints and calculates by other rules"


@dataclass(frozen=True, slots=True)
class Outward:
    """Says expressions that stand at a place."""

    actions: Actions
    place: Place = field(default_factory=Place)
    # What variables() finds, by name in lower case.
    variables: Mapping[str, Said] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    item: Said | None = None
    # The kind of a variable, by name in lower case, once it is set.
    kinds: Mapping[str, str] = field(default_factory=dict)

    def said(self, expression: ir.Expression, *, condition: bool = False) -> ir.Expression:
        """An expression in Jinja; raises CannotSay."""
        source = parse(expression)
        if source.value is not None:
            found = self.part(source.value)
            if condition and found.kind != "boolean":
                raise CannotSay("a condition that may be no boolean", _WHY)
            return ir.Expression("jinja", _tidy(found.source))
        pieces = [self._piece(one) for one in source.body]
        return ir.Expression("template", "".join(pieces))

    def kind(self, expression: ir.Expression) -> str:
        """The kind of an expression's values."""
        try:
            value = parse(expression).value
            return "text" if value is None else self.part(value).kind
        except (CannotSay, LanguageError):
            return "any"

    def _piece(self, statement: tree.Stmt) -> str:
        if isinstance(statement, tree.Text):
            return literal(statement.text)
        assert isinstance(statement, tree.Emit)
        return f"{{{{ {_tidy(self._printed(statement.value))} }}}}"

    def _printed(self, node: tree.Expr) -> str:
        found = self.part(node)
        if found.kind not in _PRINTED:
            raise CannotSay("a value that is printed and may be no text", _WHY)
        return found.source

    def part(self, node: tree.Expr) -> Said:
        """A part of an expression, with the kind of its values; raises CannotSay."""
        match node:
            case tree.Literal():
                return _literal(node.value)
            case tree.Item(key=tree.Literal(value=str() as name)):
                return self._member(node.target, name)
            case tree.Logic() if node.operator in ("and", "or"):
                parts = [self._condition(part) for part in node.operands]
                return Said(f"({f' {node.operator} '.join(parts)})", "boolean")
            case tree.Conditional() if node.otherwise is not None:
                test = self._condition(node.test)
                then, other = self.part(node.then), self.part(node.otherwise)
                kind = then.kind if then.kind == other.kind else "any"
                return Said(f"({then.source} if {test} else {other.source})", kind)
            case tree.Apply():
                return self._call(node.function.name, [*node.arguments, *node.extra])
            case _:
                words = type(node).__name__.lower()
                raise CannotSay(f"the construct {words!r}", _WHY)

    def _condition(self, node: tree.Expr) -> str:
        if isinstance(node, tree.Apply) and node.function.name in ("and", "or", "if"):
            # The check for a boolean that stands around each condition.
            node = node.arguments[0]
        found = self.part(node)
        if found.kind != "boolean":
            raise CannotSay("a condition that may be no boolean", _WHY)
        return found.source

    def _member(self, target: tree.Expr, name: str) -> Said:
        action = _text(target, "outputs")
        if action is not None:
            held = self.actions.find(action)
            known = part_of(held, *self.place.path_to(held), name)
            if known is not None:
                return known
        found = self.part(target)
        if found.kind not in ("any", "object"):
            raise CannotSay(f"the member {name!r} of a {found.kind}", _WHY)
        if name.isidentifier() and name not in ("loop",):
            return Said(f"{found.source}.{name}")
        return Said(f"{found.source}[{quoted(name)}]")

    def _call(self, name: str, given: list[tree.Expr]) -> Said:
        first = given[0] if given else None
        named = first.value if isinstance(first, tree.Literal) else None
        match name:
            case "parameters" if named in self.parameters:
                return Said(str(named))
            case "variables" if isinstance(named, str) and named.lower() in self.variables:
                return self._variable(named.lower())
            case "body" | "outputs" if isinstance(named, str):
                held = self.actions.find(named)
                read = body_of if name == "body" else outputs_of
                return read(held, *self.place.path_to(held), self.kind)
            case "item" if self.item is not None:
                return self.item
            case "not":
                return Said(f"(not {self._condition(given[0])})", "boolean")
        return self._operator(name, [self.part(one) for one in given])

    def _variable(self, name: str) -> Said:
        found = self.variables[name]
        if name in self.kinds and self.place.is_set(name, self.actions):
            return replace(found, kind=self.kinds[name])
        return found

    def _operator(self, name: str, given: list[Said]) -> Said:
        if name == "concat" and all(one.kind in _PRINTED for one in given):
            return Said(f"({' ~ '.join([one.source for one in given] + [quoted('')])})", "text")
        if name == "length" and given[0].kind == "list":
            return Said(f"({given[0].source} | length)", "integer")
        if len(given) != 2:
            raise CannotSay(f"the function {name!r}", _WHY)
        left, right = given
        if name == "equals" and (are_alike(left, right) or are_alike(right, left)):
            return Said(f"({left.source} == {right.source})", "boolean")
        if name in _ORDER and are_ordered(left, right):
            return Said(f"({left.source} {_ORDER[name]} {right.source})", "boolean")
        if name == "contains" and left.kind == right.kind == "text":
            return Said(f"({right.source} in {left.source})", "boolean")
        if name == "contains" and left.kind == "list" and right.kind in ("text", "integer"):
            return Said(f"({right.source} in {left.source})", "boolean")
        if name in _SUMS and {left.kind, right.kind} <= set(_NUMBERS):
            kind = "integer" if left.kind == right.kind == "integer" else "number"
            return Said(f"({left.source} {_SUMS[name]} {right.source})", kind)
        raise CannotSay(f"the function {name!r}", _WHY)


def _text(node: tree.Expr, function: str) -> str | None:
    if isinstance(node, tree.Apply) and node.function.name == function:
        first = node.arguments[0]
        if isinstance(first, tree.Literal) and isinstance(first.value, str):
            return first.value
    return None


def _literal(value: bool | float | str | None) -> Said:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "text"}
    return Said(printed(tree.Literal(value)), kinds.get(type(value), "null"), is_literal=True)


def _tidy(source: str) -> str:
    """The same without needless parentheses."""
    value = parse(ir.Expression("jinja", source)).value
    assert value is not None
    return printed(value)
