"""Walks over a workflow: its blocks and nodes, each with its permanent path.

Also the places of its parts in its file, and the nodes whose results are hidden: secure tasks, and
the nodes around them.
"""

from __future__ import annotations

from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING, assert_never

from whorl.ir import nodes
from whorl.ir.nodes import Block, Branch, Call, Case, ForEach, Group, Loop, Node, Task, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whorl.errors import Span
    from whorl.source import Scalar


def blocks_of(node: Node) -> tuple[tuple[str, Block], ...]:
    """Returns the blocks of a node, each with the name of its slot."""
    match node:
        case Loop() | ForEach() | Group():
            return (("body", node.body),)
        case Branch():
            cases = tuple((f"case.{case.name}", case.body) for case in node.cases)
            return (*cases, ("default", node.default.body)) if node.default else cases
        case Task() | Call() | nodes.Compute() | nodes.Assign() | nodes.Wait() | nodes.Gate():
            return ()
        case nodes.Stop() | nodes.Break() | nodes.Continue() | nodes.Program():
            return ()
        case _:
            assert_never(node)


def is_program(workflow: Workflow) -> bool:
    """Returns whether code says what a workflow does."""
    return any(isinstance(node, nodes.Program) for node in workflow.body.nodes)


def node_path(holder: str, name: str) -> str:
    """Returns the path of a node in a block; that of the block is its holder's."""
    return f"{holder}/{name}" if holder else name


def slot_path(path: str, slot: str) -> str:
    return path if slot == "body" else f"{path}@{slot}"


def walk(block: Block, path: str = "") -> Iterator[tuple[str, Node]]:
    """Returns all nodes of a block and of the blocks inside it, outermost first."""
    for node in block.nodes:
        at = node_path(path, node.name)
        yield at, node
        for slot, inner in blocks_of(node):
            yield from walk(inner, slot_path(at, slot))


def blocks_in(block: Block, path: str = "") -> Iterator[tuple[str, Block]]:
    """Returns a block and all blocks inside of it, each with its path."""
    yield path, block
    for node in block.nodes:
        for slot, inner in blocks_of(node):
            yield from blocks_in(inner, slot_path(node_path(path, node.name), slot))


def names_given(block: Block) -> Iterator[tuple[str, Node]]:
    """Returns the names under which a block gives results, open blocks inside it included."""
    for node in block.nodes:
        yield node.name, node
        for _, inner in blocks_of(node):
            if inner.open:
                yield from names_given(inner)


def with_nodes(block: Block, change: Callable[[Node], Node]) -> Block:
    """Returns the block with each node changed, inner ones first; unchanged parts stay the same."""
    changed = tuple(change(_with_inner(node, change)) for node in block.nodes)
    # Places and names are known by the object that they belong to.
    return block if all(map(is_, changed, block.nodes)) else replace(block, nodes=changed)


def _with_inner(node: Node, change: Callable[[Node], Node]) -> Node:
    match node:
        case Loop() | ForEach() | Group():
            body = with_nodes(node.body, change)
            return node if body is node.body else replace(node, body=body)
        case Branch():
            cases = tuple(_with_case(case, change) for case in node.cases)
            default = None if node.default is None else _with_case(node.default, change)
            is_same = default is node.default and all(map(is_, cases, node.cases))
            return node if is_same else replace(node, cases=cases, default=default)
        case _:
            return node


def _with_case(case: Case, change: Callable[[Node], Node]) -> Case:
    body = with_nodes(case.body, change)
    return case if body is case.body else replace(case, body=body)


def with_all_nodes(workflow: Workflow, change: Callable[[Node], Node]) -> Workflow:
    """Returns the workflow, and those that it calls, with every node changed."""
    called = tuple((key, with_all_nodes(other, change)) for key, other in workflow.workflows)
    return replace(workflow, body=with_nodes(workflow.body, change), workflows=called)


def workflows_of(workflow: Workflow) -> Iterator[tuple[str, Workflow]]:
    """Returns the workflow itself, with an empty key, and all that it calls."""
    yield "", workflow
    yield from workflow.workflows


def index_nodes(workflow: Workflow) -> dict[str, Node]:
    """Returns every node by its path; a called workflow's paths begin with its key and a colon."""
    parts = ((f"{key}:" * bool(key), part.body) for key, part in workflows_of(workflow))
    return {key + path: node for key, body in parts for path, node in walk(body)}


def is_hidden(node: Node, called: Mapping[str, Workflow]) -> bool:
    """Checks whether the result of a node is hidden from viewers, or may hold a hidden result."""
    if node.secure_outputs:
        return True
    if isinstance(node, Call):
        return node.workflow in called and bool(called[node.workflow].hidden_outputs)
    inside = (node for _, block in blocks_of(node) for node in block.nodes)
    return any(is_hidden(part, called) for part in inside)


def hides(block: Block, name: str, called: Mapping[str, Workflow]) -> bool:
    """Checks whether a node of this name, anywhere in a block, gives a hidden result."""
    return any(node.name == name and is_hidden(node, called) for _, node in walk(block))


class Places:
    """Spans of expressions, of nodes by path, and of any other part of the IR.

    The IR is data without positions; a reader remembers them here, by identity, while it reads.
    """

    __slots__ = ("_fields", "_nodes", "_parts", "_texts")

    def __init__(self) -> None:
        # The part itself is kept beside its place, so that its id stays its own.
        self._texts: dict[int, tuple[object, Scalar, int]] = {}
        self._parts: dict[int, tuple[object, Span]] = {}
        self._nodes: dict[str, Span] = {}
        self._fields: dict[tuple[str, str], Span] = {}

    def remember(self, expression: object, scalar: Scalar, offset: int = 0) -> None:
        """Remembers that an expression is this scalar's text from `offset` on."""
        self._texts[id(expression)] = (expression, scalar, offset)

    def remember_part(self, part: object, span: Span) -> None:
        """Remembers the place of a condition, an order or another part of the IR."""
        self._parts[id(part)] = (part, span)

    def remember_node(self, path: str, span: Span) -> None:
        self._nodes.setdefault(path, span)

    def remember_field(self, path: str, field: str, span: Span) -> None:
        self._fields.setdefault((path, field), span)

    def span(self, expression: object, offset: int | None = None, length: int = 1) -> Span | None:
        """Returns the place of the characters of an expression, as far as it is known."""
        place = self._texts.get(id(expression))
        if place is None:
            return self.part(expression)
        _, scalar, start = place
        if offset is None:
            return scalar.span
        return scalar.locate(max(0, start + offset), length)

    def text(self, expression: object) -> tuple[Scalar, int] | None:
        """Returns the scalar that an expression was read from, and its offset in that text."""
        place = self._texts.get(id(expression))
        return None if place is None else place[1:]

    def part(self, part: object) -> Span | None:
        place = self._parts.get(id(part))
        return None if place is None else place[1]

    def node(self, path: str) -> Span | None:
        """Returns the place of the node of this path, or of its nearest holder if unknown."""
        while path not in self._nodes and "/" in path:
            holder = path.rpartition("/")[0]
            path = holder if holder in self._nodes else holder.split("@")[0]
        return self._nodes.get(path)

    def field(self, path: str, field: str) -> Span | None:
        return self._fields.get((path, field)) or self.node(path)


def timed_as_a_whole(node: Node) -> Node:
    """Returns the node; the timeout of a task becomes that of all its attempts together."""
    if not isinstance(node, Task):
        return node
    return replace(node, timeout_s=None, total_timeout_s=node.timeout_s)
