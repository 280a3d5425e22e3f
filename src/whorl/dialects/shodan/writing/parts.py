"""What expressions of the dialect read: outputs of nodes, what a loop or a file is given, mappings.

The reader puts every value of a graph into an expression of few forms; here they are told apart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl import ir
from whorl.language import LanguageError, parse, tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Out:
    """An output of a node."""

    node: str
    port: str


@dataclass(frozen=True, slots=True)
class Given:
    """A name that a file, a loop or a for-each binds."""

    name: str


@dataclass(frozen=True, slots=True)
class Dug:
    """A part of a value."""

    source: Source
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrived:
    """What a declared port takes in."""

    source: Source
    node: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mapped:
    """What arrives in the first iteration, in later ones, or in all."""

    choices: tuple[tuple[str, Source], ...]


@dataclass(frozen=True, slots=True)
class Gathered:
    """What arrives at the ports of a list."""

    parts: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that is written down."""

    value: Any


@dataclass(frozen=True, slots=True)
class Doubled:
    """More than one edge to an input, of which nobody knows where they come from."""

    name: str


Source: TypeAlias = Doubled | Out | Given | Dug | Arrived | Mapped | Gathered | Fixed


@dataclass(frozen=True, slots=True)
class Called:
    """A function of the library, and its arguments as trees."""

    function: str = ""
    arguments: tuple[tree.Expr, ...] = ()

    def text(self, index: int) -> str:
        """An argument that is a text."""
        return str(plain(self.arguments[index]))


def tree_of(value: object) -> tree.Expr | None:
    """The tree of an expression of the dialect."""
    if not isinstance(value, ir.Expression) or value.syntax != "jinja":
        return None
    try:
        return parse(value).value
    except LanguageError:
        return None


def called(value: object) -> Called:
    """The call that an expression or a tree is; one without a name if it is none."""
    node = tree_of(value) if isinstance(value, ir.Expression) else value
    if isinstance(node, tree.Apply) and node.function.kind == "function":
        return Called(node.function.name, (*node.arguments, *node.extra))
    return Called()


def source_of(node: tree.Expr | None) -> Source:
    """What an expression reads; raises CannotSay."""
    if node is None:
        raise CannotSay("a value that is computed", "ports take outputs of nodes as they are")
    match node:
        case tree.ListDisplay():
            return Gathered(tuple(source_of(item) for item in node.items))
        case tree.Arithmetic(first=first, rest=(("+", tree.Literal(value=1)),)):
            # The number of an item, from 1.
            return source_of(first)
    call = called(node)
    match call.function:
        case "port":
            return Out(call.text(0), call.text(1))
        case "given":
            return Given(call.text(0))
        case "dig":
            path = tuple(str(plain(part)) for part in call.arguments[1:])
            return Dug(source_of(call.arguments[0]), path)
        case "arrive":
            return Arrived(source_of(call.arguments[0]), call.text(1), json.loads(call.text(2)))
        case "refuse":
            return Doubled(call.text(0).partition("input '")[2].partition("' of ")[0])
        case "mapped":
            return Mapped(_choices(call.arguments[1:]))
    return Fixed(plain(node))


def _choices(arguments: Sequence[tree.Expr]) -> tuple[tuple[str, Source], ...]:
    pairs = zip(arguments[::2], arguments[1::2], strict=True)
    return tuple((str(plain(when)), source_of(source)) for when, source in pairs)


def plain(node: tree.Expr) -> Any:
    """The value that a literal stands for; raises CannotSay."""
    match node:
        case tree.Literal():
            return node.value
        case tree.Apply() if node.function.name == "fromjson":
            return json.loads(str(plain(node.arguments[0])))
    raise CannotSay("a value that is computed", "ports take outputs of nodes as they are")
