"""Whether two trees mean the same by their shape: all but offsets, and how texts are cut up."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from whorl.language import tree
from whorl.language.entry import FunctionEntry

# Where a node stands, and what its reader counted for the evaluator.
_LEFT_OUT = frozenset(("offset", "depth", "uses_loop"))


def is_same(left: tree.Tree, right: tree.Tree) -> bool:
    """Tell whether two sources are read into the same tree, whatever their syntax."""
    return meaning_of(left) == meaning_of(right)


def meaning_of(source: tree.Tree) -> object:
    """A tree as a value that equals that of every source which is read in the same way."""
    return ("text", _plain(source.body)) if source.value is None else _plain(source.value)


def _plain(node: object) -> object:
    """A node as nested tuples that can be compared."""
    match node:
        case FunctionEntry():
            return id(node.call), node.kind, node.name
        case tree.Literal():
            return _literal(node.value)
        case tree.Unary(operator="-"):
            return _negated(_plain(node.operand))
        case tree.Arithmetic(rest=()):
            return _plain(node.first)
        case tuple():
            return tuple(_plain(part) for part in _joined(node))
    if is_dataclass(node) and not isinstance(node, type):
        names = [field.name for field in fields(node) if field.name not in _LEFT_OUT]
        return (type(node).__name__, *(_plain(getattr(node, name)) for name in names))
    return node


def _literal(value: object) -> object:
    return ("Literal", type(value).__name__, value)


def _negated(operand: object) -> object:
    """A number below zero is written as the negation of one above it."""
    match operand:
        case ("Literal", "int" | "float" as kind, int() | float() as value):
            return ("Literal", kind, -value)
    return ("Unary", "-", operand)


def _joined(parts: tuple[object, ...]) -> list[object]:
    """Neighbouring texts of a body as one."""
    found: list[object] = []
    for part in parts:
        before = found[-1] if found else None
        if isinstance(part, tree.Text) and isinstance(before, tree.Text):
            found[-1] = tree.Text(before.text + part.text)
        elif not (isinstance(part, tree.Text) and not part.text):
            found.append(part)
    return found
