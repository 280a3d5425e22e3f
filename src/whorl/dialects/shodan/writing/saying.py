"""Values of this dialect in plain words, where that is the same for all that can arrive."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.shodan.sources import LIBRARY, quoted
from whorl.dialects.shodan.writing.adopting.work import type_of
from whorl.dialects.shodan.writing.parts import called, plain, tree_of
from whorl.language import tree
from whorl.language.printing import CannotSay, literal
from whorl.language.printing.jinja import quoted as jinja_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    Port = tuple[str, str]

_PRINTED = ("text", "integer", "boolean", "list", "object")
_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
_FITS = {
    "string": ("text",),
    "file": ("text",),
    "number": ("integer", "number"),
    "boolean": ("boolean",),
}
OTHERWISE = CannotSay("a value that may be changed on its way", "it is typed or printed there")


@dataclass(frozen=True, slots=True)
class Said:
    """A value in plain words, its type, and whether it may be null."""

    source: str
    type: str = "any"
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """What outputs of nodes and given names are in plain words."""

    outputs: Mapping[Port, Said] = field(default_factory=dict)
    given: Mapping[str, Said] = field(default_factory=dict)
    # By the key of a called workflow: what it gives, by name.
    called: Mapping[str, Mapping[str, Said]] = field(default_factory=dict)

    def knowing(
        self, outputs: Mapping[Port, Said] | None = None, given: Mapping[str, Said] | None = None
    ) -> Scope:
        """The same with further names."""
        known = {**self.outputs, **(outputs or {})}
        return Scope(known, {**self.given, **(given or {})}, self.called)

    def say(self, node: tree.Expr | None) -> Said:
        """A value in plain words; raises CannotSay."""
        if isinstance(node, tree.Literal):
            return Said(literal_of(node.value), type_of(node.value), node.value is None)
        call = called(node)
        found: Said | None = None
        match call.function:
            case "port":
                found = self.outputs.get((call.text(0), call.text(1)))
            case "given":
                found = self.given.get(call.text(0))
            case "arrive":
                found = _arrived(self.say(call.arguments[0]), json.loads(call.text(2)))
            case "mapped":
                found = self._mapped(call.arguments)
        if found is None:
            raise OTHERWISE
        return found

    def _mapped(self, arguments: tuple[tree.Expr, ...]) -> Said | None:
        words = [plain(when) for when in arguments[1::2]]
        sources = [self.say(source) for source in arguments[2::2]]
        number = self.say(arguments[0]).source
        if words == ["subsequent"]:
            # What is of the iteration before is null in the first one anyway.
            return sources[0] if sources[0].nullable else None
        if words != ["first", "subsequent"]:
            return None
        first, later = sources
        kind = first.type if first.type == later.type else "any"
        return Said(f"({first.source} if {number} == 1 else {later.source})", kind, first.nullable)

    def expression(self, value: ir.Value | None) -> ir.Value:
        """A single value."""
        if not isinstance(value, ir.Expression):
            return ir.Constant(None) if value is None else value
        return in_jinja(self.say(tree_of(value)).source)

    def text(self, value: ir.Value | tree.Expr | None) -> ir.Value:
        """A text with places."""
        if isinstance(value, ir.Constant):
            return value
        node = tree_of(value) if isinstance(value, ir.Expression) else value
        parts = node.parts if isinstance(node, tree.Concat) else (node,)
        source = "".join(self._piece(part) for part in parts)  # type: ignore[arg-type]
        if len(parts) == 1 and isinstance(node, tree.Literal):
            return ir.Constant(node.value)
        return ir.Expression("template", source, LIBRARY if "given(" in source else "")

    def _piece(self, part: tree.Expr) -> str:
        if isinstance(part, tree.Literal):
            return literal(str(part.value))
        call = called(part)
        if call.function != "shown":
            raise OTHERWISE
        said = self.say(call.arguments[0])
        if said.type not in _PRINTED or said.nullable:
            raise OTHERWISE
        return f"{{{{ {said.source} }}}}"


def literal_of(value: Any) -> str:
    """A scalar as an expression writes it."""
    if isinstance(value, str):
        return jinja_text(value)
    return {None: "none", True: "true", False: "false"}.get(value, repr(value))


def _arrived(said: Said, spec: dict[str, Any]) -> Said:
    """What a port makes of a value; raises CannotSay where it may change it."""
    kind, default = str(spec.get("type", "any")), spec.get("default")
    fits = kind == "any" or said.type in _FITS.get(kind, ())
    if not fits or (default is None and spec.get("required") and said.nullable):
        raise OTHERWISE
    if default is None or not said.nullable:
        return said
    if not isinstance(default, str | int | float | bool):
        raise OTHERWISE
    same = said.type if said.type == type_of(default) else "any"
    source = f"({said.source} if {said.source} is not none else {literal_of(default)})"
    return Said(source, same)


def in_jinja(source: str) -> ir.Expression:
    """An expression in plain words, or with names that only a function spells."""
    return ir.Expression("jinja", source, LIBRARY if "given(" in source else "")


def name_of(name: str) -> str:
    """A name in an expression; one that no expression can spell is given by a function."""
    return name if name.isidentifier() else f"given({quoted(name)})"


def member(name: str, part: str) -> str:
    """A part of what a name stands for."""
    return f"{name_of(name)}.{part}" if part.isidentifier() else f"{name_of(name)}[{quoted(part)}]"


def input_of(port: ir.Port) -> Said:
    """An input of a workflow in plain words."""
    is_there = port.required or port.default is not None
    return Said(name_of(port.name), _TYPES.get(port.type, "any"), nullable=not is_there)
