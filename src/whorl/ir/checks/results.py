"""What is known about a node's result before it runs: the names in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.ir.loop import Loop
from whorl.ir.nodes import Branch, Call, Gate, Group, Task
from whorl.ir.walk import blocks_of, names_given

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.ir.nodes import Node
    from whorl.ir.workflow import Workflow

_KINDS = {
    "run": frozenset({"stdout", "stderr", "exit_code"}),
    "http": frozenset({"status", "headers", "body", "encoding"}),
}


def members_of(node: Node, called: Mapping[str, Workflow]) -> frozenset[str] | None:
    """The names in a node's result; None where they are not known."""
    if node.shape is not None:
        return None
    match node:
        case Task() if node.returns is not None:
            return _properties(node)
        case Task():
            return _KINDS.get(node.kind)
        case Call() if node.workflow in called:
            return frozenset(name for name, _ in called[node.workflow].outputs) or None
        case Gate():
            return frozenset({"approved", "feedback"})
        case Loop():
            names = {name for name, _ in names_given(node.body)}
            return frozenset(names | {collect.name for collect in node.collect} | {"loop"})
        case Group() | Branch():
            inner = [block for _, block in blocks_of(node)]
            if all(block.open for block in inner):
                return frozenset(
                    {"branch", *(name for block in inner for name, _ in names_given(block))}
                )
    return None


def _properties(node: Task) -> frozenset[str] | None:
    schema = node.returns
    if not isinstance(schema, dict) or schema.get("additionalProperties") is not False:
        return None
    properties = schema.get("properties")
    return frozenset(properties) if isinstance(properties, dict) else None
