"""Expressions taken apart: which function is called with what."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from whorl.language import LanguageError, parse, tree

if TYPE_CHECKING:
    from whorl import ir

Called: TypeAlias = "tuple[str, list[tree.Expr]]"
NOTHING: Called = ("", [])


def tree_of(expression: ir.Expression) -> tree.Expr | None:
    """The tree of an expression that is one value; None where it is none, or cannot be read."""
    try:
        return parse(expression).value
    except LanguageError:
        return None


def called(node: tree.Expr | None) -> Called:
    """The name of a function that is called, and what it is given; empty for anything else."""
    if isinstance(node, tree.Apply) and node.function.kind == "function":
        return node.function.name, [*node.arguments, *node.extra]
    return NOTHING


def text_of(node: tree.Expr | None) -> str | None:
    """A text that stands there as it is."""
    if isinstance(node, tree.Literal) and isinstance(node.value, str):
        return node.value
    return None


def texts_of(nodes: list[tree.Expr]) -> list[str]:
    """The texts among some values."""
    return [text for text in map(text_of, nodes) if text is not None]


def literal_of(node: tree.Expr | None) -> object:
    """What a literal says; None for anything else."""
    return node.value if isinstance(node, tree.Literal) else None


def list_of(node: tree.Expr | None) -> list[str]:
    """A list of texts that stands there as it is."""
    return texts_of(list(node.items)) if isinstance(node, tree.ListDisplay) else []


def alternatives(node: tree.Expr | None) -> list[tree.Expr]:
    """The parts of an `or`, or the one part that there is."""
    if node is None:
        return []
    if isinstance(node, tree.Logic) and node.operator == "or":
        return list(node.operands)
    return [node]
