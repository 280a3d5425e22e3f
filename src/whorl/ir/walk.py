"""Walking over a workflow: its blocks and nodes, each with the path that names it for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from whorl.ir.loop import Loop
from whorl.ir.nodes import (
    Assign,
    Branch,
    Break,
    Call,
    Compute,
    Continue,
    ForEach,
    Gate,
    Group,
    Stop,
    Task,
    Wait,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.nodes import Block, Node
    from whorl.ir.workflow import Workflow


def blocks_of(node: Node) -> tuple[tuple[str, Block], ...]:
    """The blocks that a node holds, each with the name of its slot."""
    match node:
        case Loop() | ForEach() | Group():
            return (("body", node.body),)
        case Branch():
            cases = tuple((f"case.{case.name}", case.body) for case in node.cases)
            return (*cases, ("default", node.default.body)) if node.default else cases
        case Task() | Call() | Compute() | Assign() | Wait() | Gate() | Stop():
            return ()
        case Break() | Continue():
            return ()
        case _:
            assert_never(node)


def walk(block: Block, path: str = "") -> Iterator[tuple[str, Node]]:
    """All nodes of a block and of the blocks inside it, outermost first."""
    for node in block.nodes:
        here = f"{path}/{node.name}" if path else node.name
        yield here, node
        for slot, inner in blocks_of(node):
            yield from walk(inner, here if slot == "body" else f"{here}@{slot}")


def names_given(block: Block) -> Iterator[tuple[str, Node]]:
    """The names under which a block gives results, open blocks inside it included."""
    for node in block.nodes:
        yield node.name, node
        for _, inner in blocks_of(node):
            if inner.open:
                yield from names_given(inner)


def workflows_of(workflow: Workflow) -> Iterator[tuple[str, Workflow]]:
    """The workflow itself, with an empty key, and all that it calls."""
    yield "", workflow
    yield from workflow.workflows


def index_nodes(workflow: Workflow) -> dict[str, Node]:
    """Every node by its path; a called workflow's paths begin with its key and a colon."""
    found: dict[str, Node] = {}
    for key, part in workflows_of(workflow):
        prefix = f"{key}:" if key else ""
        for path, node in walk(part.body):
            found[prefix + path] = node
    return found
