"""Jinja expressions as expressions of Logic Apps, where both give the same for all JSON values.

The two compare, print and calculate by other rules: booleans and fractions print otherwise, a
condition must be a boolean, a division of whole numbers is cut. So each part is told with the kind
of its values, as far as that is known, and whatever depends on more than that cannot be said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.loom.texts import quote
from whorl.dialects.loom.writing.scope import NO_SCOPE, Said
from whorl.language import LanguageError, parse, tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl import ir
    from whorl.dialects.loom.writing.scope import Scope

_ORDER = {"<": "less", "<=": "lessOrEquals", ">": "greater", ">=": "greaterOrEquals"}
_SUMS = {"+": "add", "-": "sub", "*": "mul"}
_NUMBERS = ("integer", "number")
_PRINTED = ("text", "integer")
_WORDS = ("true", "false")
_WHY = "Logic Apps compares, prints and calculates by other rules"


@dataclass(frozen=True, slots=True)
class Crossing:
    """Says expressions at a place whose names are known.

    One that is not strict says the nearest thing where both do not mean the same.
    """

    scope: Scope = field(default_factory=lambda: NO_SCOPE)
    strict: bool = True

    def said(self, expression: ir.Expression, *, condition: bool = False) -> str:
        """An expression as a string of a definition; raises CannotSay."""
        if expression.library:
            raise CannotSay(f"a function of {expression.library}", _WHY)
        source = parse(expression)
        if source.value is not None:
            found = self.part(source.value)
            if condition and found.kind != "boolean" and self.strict:
                raise CannotSay("a condition that is no boolean", _WHY)
            return f"@{found.source}"
        if condition:
            raise CannotSay("a text as a condition", _WHY)
        return "".join(self._piece(one) for one in source.body)

    def _piece(self, statement: tree.Stmt) -> str:
        match statement:
            case tree.Text():
                return _literal_text(statement.text)
            case tree.Emit():
                return f"@{{{self._printed(statement.value)}}}"
            case _:
                raise CannotSay("a tag of a template", "a text holds expressions only")

    def _printed(self, node: tree.Expr) -> str:
        found = self.part(node)
        if found.kind not in _PRINTED and self.strict:
            raise CannotSay("a value that is printed and may be no text", _WHY)
        return found.source

    def part(self, node: tree.Expr) -> Said:
        """A part of an expression, with the kind of its values; raises CannotSay."""
        match node:
            case tree.Literal():
                return _literal(node.value)
            case tree.Name():
                return self.scope.name(node.name)
            case tree.Member():
                return self._member(node.target, node.name)
            case tree.Item(key=tree.Literal(value=str() as name)):
                return self._member(node.target, name)
            case tree.Comparison():
                return self._comparison(node)
            case tree.Logic() if node.operator in ("and", "or"):
                parts = [self._condition(part) for part in node.operands]
                return Said(f"{node.operator}({', '.join(parts)})", "boolean")
            case tree.Unary(operator="not"):
                return Said(f"not({self._condition(node.operand)})", "boolean")
            case tree.Concat():
                parts = [self._printed(part) for part in node.parts]
                return Said(f"concat({', '.join(parts)})", "text")
            case tree.Arithmetic():
                return self._arithmetic(node)
            case tree.Conditional() if node.otherwise is not None:
                return self._choice(node, node.otherwise)
            case tree.Apply():
                return self._applied(node)
            case _:
                words = type(node).__name__.lower()
                raise CannotSay(f"the construct {words!r}", _WHY)

    def _condition(self, node: tree.Expr) -> str:
        found = self.part(node)
        if found.kind != "boolean" and self.strict:
            raise CannotSay("a condition that is no boolean", _WHY)
        return found.source

    def _member(self, target: tree.Expr, name: str) -> Said:
        if isinstance(target, tree.Name):
            known = self.scope.member(target.name, name)
            if known is not None:
                return known
        elif isinstance(target, tree.Member) and isinstance(target.target, tree.Name):
            known = self.scope.member(target.target.name, f"{target.name}.{name}")
            if known is not None:
                return known
        found = self.part(target)
        if found.kind not in ("any", "object"):
            raise CannotSay(f"the member {name!r} of a {found.kind}", _WHY)
        return Said(f"{found.source}?[{quote(name)}]", "any")

    def _comparison(self, node: tree.Comparison) -> Said:
        before, parts = self.part(node.first), []
        for symbol, operand in node.rest:
            after = self.part(operand)
            parts.append(_compared(symbol, before, after, strict=self.strict))
            before = after
        return Said(parts[0] if len(parts) == 1 else f"and({', '.join(parts)})", "boolean")

    def _arithmetic(self, node: tree.Arithmetic) -> Said:
        found = self.part(node.first)
        for symbol, operand in node.rest:
            other = self.part(operand)
            kinds = {found.kind, other.kind}
            if symbol not in _SUMS or (self.strict and not kinds <= set(_NUMBERS)):
                raise CannotSay(f"the operator {symbol!r}", _WHY)
            kind = "integer" if kinds == {"integer"} else "number"
            found = Said(f"{_SUMS[symbol]}({found.source}, {other.source})", kind)
        return found

    def _choice(self, node: tree.Conditional, otherwise: tree.Expr) -> Said:
        test, then, other = self._condition(node.test), self.part(node.then), self.part(otherwise)
        kind = then.kind if then.kind == other.kind else "any"
        return Said(f"if({test}, {then.source}, {other.source})", kind)

    def _applied(self, node: tree.Apply) -> Said:
        name = node.function.name
        if node.function.kind == "filter" and name in ("length", "count"):
            found = self.part(node.arguments[0])
            if found.kind == "list" or not self.strict:
                return Said(f"length({found.source})", "integer")
        raise CannotSay(f"the {node.function.kind} {name!r}", _WHY)


def kind_of(expression: ir.Expression, scope: Scope) -> str:
    """The kind of values that an expression has; `any` where that is not known."""
    try:
        value = parse(expression).value
        return "text" if value is None else Crossing(scope).part(value).kind
    except (CannotSay, LanguageError):
        return "any"


def _literal_text(text: str) -> str:
    return text.replace("@{", "@@{")


def _literal(value: bool | float | str | None) -> Said:
    match value:
        case None:
            return Said("null", "null")
        case bool():
            return Said(str(value).lower(), "boolean", is_literal=True)
        case str():
            return Said(quote(value), "text", is_literal=True)
        case int():
            return Said(str(value), "integer", is_literal=True)
        case _:
            return Said(repr(value), "number", is_literal=True)


def _compared(symbol: str, left: Said, right: Said, *, strict: bool) -> str:
    is_equality = symbol in ("==", "!=")
    if is_equality and (not strict or are_alike(left, right) or are_alike(right, left)):
        equal = f"equals({left.source}, {right.source})"
        return equal if symbol == "==" else f"not({equal})"
    if symbol in _ORDER and (not strict or are_ordered(left, right)):
        return f"{_ORDER[symbol]}({left.source}, {right.source})"
    if symbol in ("in", "not in"):
        is_text = left.kind == right.kind == "text"
        is_item = right.kind == "list" and left.kind in ("text", "integer")
        if is_text or is_item or not strict:
            found = f"contains({right.source}, {left.source})"
            return found if symbol == "in" else f"not({found})"
    raise CannotSay(f"the comparison {symbol!r} of values of any kind", _WHY)


def are_alike(left: Said, right: Said) -> bool:
    """Whether two values are equal by both rules: texts, numbers, or a literal that is clear."""
    if left.kind in ("text", "boolean") and left.kind == right.kind:
        return True
    if left.kind in _NUMBERS and right.kind in _NUMBERS:
        return True
    if left.kind != "any" or not right.is_literal:
        return False
    if right.kind == "text":
        return right.source.strip("'") not in _WORDS
    return right.kind in _NUMBERS and right.source not in ("0", "1")


def are_ordered(left: Said, right: Said) -> bool:
    kinds = (left.kind, right.kind)
    if kinds == ("text", "text"):
        return True
    if all(kind in _NUMBERS for kind in kinds):
        return True
    is_any = "any" in kinds and any(kind in _NUMBERS for kind in kinds)
    return is_any and (left.is_literal or right.is_literal)
