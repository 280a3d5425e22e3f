"""Trees with other names or functions in them: a copy, changed from the leaves up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias, cast

from whorl.language import tree
from whorl.language.entry import FunctionEntry

Change: TypeAlias = Callable[[tree.Expr], tree.Expr]


def rebuild(source: tree.Tree, change: Change) -> tree.Tree:
    """Copy a tree; `change` is given each expression in it, the inner ones first."""
    value = None if source.value is None else cast("tree.Expr", _rebuilt(source.value, change))
    body = cast("tree.Body", _rebuilt(source.body, change))
    if value is not None and len(body) == 1 and isinstance(body[0], tree.Emit):
        # A template of one expression holds it twice.
        body = (replace(body[0], value=value),)
    return replace(source, value=value, body=body)


def _rebuilt(node: Any, change: Change) -> Any:
    if isinstance(node, tuple):
        parts = tuple(_rebuilt(part, change) for part in node)
        # What is unchanged stays the same object, so that it can be told.
        return node if all(a is b for a, b in zip(parts, node, strict=True)) else parts
    if not is_dataclass(node) or isinstance(node, type | FunctionEntry):
        return node
    before = {field.name: getattr(node, field.name) for field in fields(node)}
    after = {name: _rebuilt(value, change) for name, value in before.items()}
    if any(after[name] is not before[name] for name in before):
        node = type(node)(**after)
    return change(node) if isinstance(node, _EXPRESSIONS) else node


_EXPRESSIONS = (
    tree.Literal,
    tree.Name,
    tree.Member,
    tree.Item,
    tree.Slice,
    tree.ListDisplay,
    tree.ObjectDisplay,
    tree.Unary,
    tree.Arithmetic,
    tree.Comparison,
    tree.Logic,
    tree.Concat,
    tree.Conditional,
    tree.Apply,
    tree.MethodCall,
    tree.MacroCall,
)
