"""The expressions of a workflow's parts, and the names that they mention."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from whorl.ir import nodes, values
from whorl.ir.nodes import Block, ForEach, Loop, Node
from whorl.ir.values import AllOf, AnyOf, Condition, Constant, Expression, Fields, Items, Value
from whorl.ir.walk import blocks_of
from whorl.language import LanguageError, free_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.language import NameUse


def expressions_in(value: Value | None) -> Iterator[Expression]:
    match value:
        case None | Constant():
            return
        case Expression():
            yield value
        case Items():
            for item in value.items:
                yield from expressions_in(item)
        case Fields():
            for key, entry in value.entries:
                if isinstance(key, Expression):
                    yield key
                yield from expressions_in(entry)
        case _:
            assert_never(value)


def conditions_in(condition: Condition | None) -> Iterator[Condition]:
    """Returns a condition and all its parts."""
    if condition is None:
        return
    yield condition
    if isinstance(condition, AnyOf | AllOf):
        for part in condition.conditions:
            yield from conditions_in(part)


def outer_values(node: Node) -> Iterator[Value | None]:
    """Returns the values that a node evaluates in the scope around it."""
    yield node.when
    yield node.echo
    match node:
        case nodes.Task():
            yield from (node.inputs, node.unsubscribe)
        case nodes.Call():
            yield node.inputs
        case Loop():
            yield from (carry.first for carry in node.carry)
            limits = (node.limits.iterations, node.limits.time_s)
            yield from (limit for limit in limits if isinstance(limit, Expression))
        case ForEach():
            yield node.items
        case nodes.Branch():
            yield node.subject
            for case in node.cases:
                yield from (case.when, case.equals)
        case nodes.Compute():
            yield from (node.value, node.over, node.keep)
        case nodes.Assign():
            yield from (value for _, value in node.sets)
        case nodes.Wait():
            yield from (node.duration, node.until)
        case nodes.Gate():
            yield from (node.message, node.show)
        case nodes.Stop():
            yield from (node.message, node.code, node.output)
        case nodes.Group() | nodes.Break() | nodes.Continue() | nodes.Program():
            return
        case _:
            assert_never(node)


def inner_values(loop: Loop) -> Iterator[Value | None]:
    """Returns the values that a loop evaluates in the scope of an iteration."""
    for condition in conditions_in(loop.until):
        match condition:
            case values.When():
                yield condition.test
            case values.Score():
                yield condition.source
            case values.Judge():
                yield from (condition.question, condition.subject, condition.inputs)
            case values.Stable():
                yield condition.subject
            case values.BranchTaken() | values.Plateau() | AnyOf() | AllOf():
                pass
            case _:
                assert_never(condition)
    yield from (carry.later for carry in loop.carry)
    yield from (collect.value for collect in loop.collect)
    yield from (value for _, value in (*loop.bind, *loop.tells, *loop.tells_after))
    yield loop.delay
    if loop.memory is not None:
        yield loop.memory.record
        yield from (value for _, value in loop.memory.bind)


def bound_names(node: Node) -> Iterator[str]:
    """Returns the names that a node gives to the block inside of it."""
    if isinstance(node, Loop):
        yield from (name for name, _ in node.facts)
        yield from (name for name, _ in node.bind)
        yield from (carry.name for carry in node.carry)
    elif isinstance(node, ForEach):
        yield node.item_name
        if node.index_name:
            yield node.index_name


class Names:
    """The free names of expressions and nodes, each computed once."""

    __slots__ = ("_nodes", "_uses")

    def __init__(self) -> None:
        # The key's object is kept beside its names, so that its id is not reused.
        self._uses: dict[int, tuple[Expression, tuple[NameUse, ...] | LanguageError]] = {}
        self._nodes: dict[int, tuple[Node, frozenset[str]]] = {}

    def uses(self, expression: Expression) -> tuple[NameUse, ...]:
        """Returns the names that an expression uses; raises LanguageError if it does not parse."""
        cached = self._uses.get(id(expression))
        if cached is None:
            try:
                cached = (expression, free_names(expression))
            except LanguageError as fault:
                cached = (expression, fault)
            self._uses[id(expression)] = cached
        if isinstance(cached[1], LanguageError):
            raise cached[1]
        return cached[1]

    def in_values(self, values: Iterable[Value | None]) -> set[str]:
        """Returns the names in values; an expression that cannot be parsed has none."""
        names: set[str] = set()
        for value in values:
            for expression in expressions_in(value):
                try:
                    names.update(use.name for use in self.uses(expression))
                except LanguageError:
                    continue
        return names

    def in_block(self, block: Block) -> set[str]:
        """Returns the names that the nodes of a block use, except those bound further inside."""
        names: set[str] = set()
        for node in block.nodes:
            names |= self._in_node(node)
        return names

    def _in_node(self, node: Node) -> frozenset[str]:
        cached = self._nodes.get(id(node))
        if cached is not None:
            return cached[1]
        inside: set[str] = set()
        for _, inner in blocks_of(node):
            inside |= self.in_block(inner)
        if isinstance(node, Loop):
            inside |= self.in_values(inner_values(node))
        inside.difference_update(bound_names(node))
        names = frozenset(inside | self.in_values(outer_values(node)))
        self._nodes[id(node)] = (node, names)
        return names
