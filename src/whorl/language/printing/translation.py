"""Expressions of one syntax and library in another: other names, other words, the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from whorl.language import tree
from whorl.language.expression import Expression, parse
from whorl.language.libraries import open_library
from whorl.language.names import free_names_of
from whorl.language.printing.faults import CannotSay
from whorl.language.printing.pairs import to_jinja
from whorl.language.printing.printers import print_tree
from whorl.language.printing.rebuilding import Change, rebuild

# What stands for a name of the scope; None leaves the name as it is. May raise CannotSay.
Replace: TypeAlias = Callable[[str], tree.Expr | None]

_GIVING_TEXTS = frozenset(("lower", "upper", "trim", "replace"))
_TEXTUAL = frozenset(("jinja", "template", "plain"))


def translate(
    expression: Expression,
    syntax: str,
    library: str = "",
    *,
    change: Change | None = None,
    names: Replace | None = None,
    then: Change | None = None,
) -> Expression:
    """Say an expression in another syntax; raises CannotSay.

    Three things may differ elsewhere, in this order: `change` is given each part of the tree (for
    functions that have other words), `names` says what stands for a name of the scope, and `then`
    is given each part once more. An expression that needs none of it is kept as it is written.
    """
    source = parse(expression)
    changed = source if change is None else rebuild(source, change)
    if source.syntax not in _TEXTUAL and syntax in _TEXTUAL:
        changed = _crossed(changed)
    changed = _renamed(changed, names or _no_other, then or _as_it_is)
    _check_semantics(source, syntax, library)
    # Nodes are told apart by identity: an unchanged tree is the same one.
    if (expression.syntax, expression.library) == (syntax, library) and _is_kept(source, changed):
        return expression
    return print_tree(changed, syntax, library)


def changed_tree(
    expression: Expression,
    *,
    change: Change | None = None,
    names: Replace | None = None,
    then: Change | None = None,
) -> tree.Expr:
    """The same for an expression that becomes a part of another one; a text becomes a `~`."""
    source = parse(expression)
    changed = source if change is None else rebuild(source, change)
    changed = _renamed(changed, names or _no_other, then or _as_it_is)
    if changed.value is not None:
        return changed.value
    if not all(isinstance(one, tree.Text | tree.Emit) for one in changed.body):
        raise CannotSay("a template with tags", "it cannot be a part of another expression")
    parts = [_piece(one) for one in changed.body if isinstance(one, tree.Text | tree.Emit)]
    return tree.Concat((*parts, tree.Literal("")), 0)


def _piece(statement: tree.Text | tree.Emit) -> tree.Expr:
    return tree.Literal(statement.text) if isinstance(statement, tree.Text) else statement.value


def _no_other(name: str) -> tree.Expr | None:
    return None


def _as_it_is(node: tree.Expr) -> tree.Expr:
    return node


def _is_kept(before: tree.Tree, after: tree.Tree) -> bool:
    if before.value is not None:
        return before.value is after.value
    return before.body is after.body


def _check_semantics(source: tree.Tree, syntax: str, library: str) -> None:
    """Refuse a change between rules by which members are read and values become texts."""
    if source.syntax in _TEXTUAL and syntax not in _TEXTUAL:
        raise CannotSay(
            f"an expression of {source.syntax}", f"{syntax} compares and prints values otherwise"
        )
    if source.library != library:
        for one in (source.library, library):
            if one and open_library(one).semantics is not None:
                raise CannotSay(
                    f"an expression of {one}", f"{one} reads members and prints values its own way"
                )


def _crossed(source: tree.Tree) -> tree.Tree:
    """An expression of Logic Apps in words of Jinja, where there are some."""
    changed = rebuild(source, to_jinja)
    for statement in changed.body:
        if isinstance(statement, tree.Emit) and not _is_text(statement.value):
            raise CannotSay("`@{...}` of a value that may be no text", "Jinja prints it otherwise")
    return changed


def _is_text(value: tree.Expr) -> bool:
    match value:
        case tree.Literal():
            return isinstance(value.value, str)
        case tree.Apply():
            return value.function.name in _GIVING_TEXTS and value.function.kind == "filter"
        case _:
            return False


def _renamed(source: tree.Tree, names: Replace, then: Change) -> tree.Tree:
    free = {use.name for use in free_names_of(source)}

    def change(node: tree.Expr) -> tree.Expr:
        other = names(node.name) if isinstance(node, tree.Name) and node.name in free else None
        if other is None:
            return then(_picked(node))
        assert isinstance(node, tree.Name)
        if node.name in source.bound:
            raise CannotSay(f"the name {node.name!r}", "the template uses it for itself, too")
        return other

    return rebuild(source, change)


def _picked(node: tree.Expr) -> tree.Expr:
    """A member of an object that is written out is the value that stands there."""
    match node:
        case tree.Member(target=tree.ObjectDisplay() as target, name=name):
            pass
        case tree.Item(
            target=tree.ObjectDisplay() as target, key=tree.Literal(value=str() as name)
        ):
            pass
        case _:
            return node
    for key, value in target.pairs:
        if isinstance(key, tree.Literal) and key.value == name:
            return value
    return node
