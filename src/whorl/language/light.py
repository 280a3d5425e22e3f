"""Tells expressions that stay cheap where they read small values from those that may not.

A light expression takes about as long as what it reads is large: it repeats nothing, searches for
no pattern and makes nothing large of something small. All others may use up their fuel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIMES_MAX = 1_000
_NAMES = """
    upper lower capitalize title trim string safe truncate wordcount escape e split startswith
    endswith length count first last join list items attr default d min max sum abs int float round
    tojson sha256 strip lstrip rstrip splitlines find index get keys values
    and or not if equals greater greaterorequals less lessorequals add sub div mod bool json concat
    coalesce empty contains tolower toupper createarray array
"""
_LIGHT = frozenset(_NAMES.split())
_HEAVY_TESTS = frozenset({"search", "match", "filter", "test"})
_HEAVY = (tree.For, tree.Macro, tree.MacroCall, tree.CallBlock)


def is_light(source: tree.Tree) -> bool:
    """Whether an expression is cheap whatever it reads, as long as that is small."""
    return all(map(_is_light, _nodes(source)))


def _is_light(node: tree.Expr | tree.Stmt) -> bool:
    match node:
        case tree.Apply():
            function = node.function
            if function.kind == "test":
                return function.name not in _HEAVY_TESTS
            return bool(function.reads) or function.name.lower() in _LIGHT
        case tree.MethodCall():
            return node.name in _LIGHT
        case tree.Arithmetic():
            return all(_is_small(step, node.first) for step in node.rest)
    return not isinstance(node, _HEAVY)


def _is_small(step: tuple[str, tree.Expr], first: tree.Expr) -> bool:
    operator, operand = step
    if operator not in ("*", "**"):
        return True
    literals = [n.value for n in (first, operand) if isinstance(n, tree.Literal)]
    numbers = [n for n in literals if isinstance(n, int | float) and abs(n) <= _TIMES_MAX]
    return operator == "*" and bool(numbers)


def _nodes(source: tree.Tree) -> Iterator[tree.Expr | tree.Stmt]:
    waiting: list[object] = [source.value, *source.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(node)
        elif isinstance(node, tree.Node):
            yield node  # type: ignore[misc]
            waiting.extend(vars(node).values())
