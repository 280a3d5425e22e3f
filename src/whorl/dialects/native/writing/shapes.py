"""Results that a dialect gives another shape: native steps give theirs as they are.

So wherever an expression reads such a result, what the shape makes of it is written there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from whorl import ir
from whorl.dialects.writing.meanings import About, with_meanings
from whorl.ir.walk import names_given
from whorl.language import tree
from whorl.language.printing import CannotSay, changed_tree

Replacement: TypeAlias = "tree.Expr | CannotSay"
Make: TypeAlias = Callable[[tree.Expr], tree.Expr]
# The names under which an iteration sees the results of others.
_RESULTS_OF_OTHERS = ("previous", "best")


@dataclass(frozen=True, slots=True)
class Shapes:
    """How the results of nodes are shaped: of nodes by name, of those inside by both names."""

    workflows: Mapping[str, ir.Workflow] = field(default_factory=dict)
    names: dict[str, Make] = field(default_factory=dict)
    members: dict[tuple[str, str], Make] = field(default_factory=dict)

    def with_block(self, block: ir.Block) -> Shapes:
        """The same with the nodes of a block, which hide others of their names."""
        names, members = dict(self.names), dict(self.members)
        for name, node in names_given(block):
            names.pop(name, None)
            for one in [one for one in members if one[0] == name]:
                del members[one]
            inner = dict(self._of_children(node))
            members |= {(name, child): make for child, make in inner.items()}
            if node.shape is not None:
                names[name] = self._make(node, node.shape, inner)
        return Shapes(self.workflows, names, members)

    def within(self, loop: ir.Loop) -> Shapes:
        """The same inside of a loop."""
        found = self.with_block(loop.body)
        inner = dict(found._named(names_given(loop.body)))
        for fact in _RESULTS_OF_OTHERS:
            found.members.update({(fact, child): make for child, make in inner.items()})
        return found

    def of_name(self, name: str, read: tree.Expr) -> tree.Expr | None:
        """What stands for the result of a node, given the expression that reads it."""
        make = self.names.get(name)
        return None if make is None else make(read)

    def of_member(self, node: tree.Expr) -> tree.Expr:
        """What stands for a result inside of another one."""
        match node:
            case tree.Member(target=tree.Name(name=name), name=child):
                pass
            case tree.Item(target=tree.Name(name=name), key=tree.Literal(value=str() as child)):
                pass
            case _:
                return node
        make = self.members.get((name, child))
        return node if make is None else make(node)

    def _of_children(self, node: ir.Node) -> Iterable[tuple[str, Make]]:
        if (isinstance(node, ir.Loop) and node.returns != "all") or isinstance(node, ir.Group):
            yield from self._named(names_given(node.body))

    def _named(self, steps: Iterable[tuple[str, ir.Node]]) -> Iterable[tuple[str, Make]]:
        for name, node in steps:
            if node.shape is not None:
                yield name, self._make(node, node.shape, dict(self._of_children(node)))

    def _make(self, node: ir.Node, shape: ir.Value, inner: dict[str, Make]) -> Make:
        change = {
            one.library: with_meanings(one.library, About(self.workflows, node))
            for one in _expressions(shape)
        }

        def make(it: tree.Expr) -> tree.Expr:
            def then(part: tree.Expr) -> tree.Expr:
                if isinstance(part, tree.Member) and part.target is it and part.name in inner:
                    return inner[part.name](part)
                return part

            def build(expression: ir.Expression) -> tree.Expr:
                return changed_tree(
                    expression,
                    change=change[expression.library],
                    names=lambda name: it if name == "it" else None,
                    then=then,
                )

            return tree_of(shape, build)

        return make


def _expressions(value: ir.Value) -> list[ir.Expression]:
    from whorl.ir.expressions import expressions_in

    return list(expressions_in(value))


def tree_of(value: ir.Value, build: Callable[[ir.Expression], tree.Expr]) -> tree.Expr:
    """A value of the IR as one expression."""
    match value:
        case ir.Constant():
            return constant_tree(value.value)
        case ir.Expression():
            return build(value)
        case ir.Items():
            return tree.ListDisplay(tuple(tree_of(item, build) for item in value.items), 0)
        case ir.Fields():
            pairs = ((_key(key, build), tree_of(one, build)) for key, one in value.entries)
            return tree.ObjectDisplay(tuple(pairs), 0)


def _key(key: str | ir.Expression, build: Callable[[ir.Expression], tree.Expr]) -> tree.Expr:
    return tree.Literal(key) if isinstance(key, str) else build(key)


def constant_tree(value: object) -> tree.Expr:
    """A JSON value as an expression."""
    if isinstance(value, list):
        return tree.ListDisplay(tuple(map(constant_tree, value)), 0)
    if isinstance(value, dict):
        pairs = ((tree.Literal(key), constant_tree(item)) for key, item in value.items())
        return tree.ObjectDisplay(tuple(pairs), 0)
    assert value is None or isinstance(value, bool | int | float | str)
    return tree.Literal(value)
