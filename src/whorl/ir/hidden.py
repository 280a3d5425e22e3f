"""Which nodes give what nobody is shown: secure tasks, and what holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.ir.nodes import Call, Task
from whorl.ir.walk import blocks_of, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.ir.nodes import Block, Node
    from whorl.ir.workflow import Workflow


def is_hidden(node: Node, called: Mapping[str, Workflow]) -> bool:
    """Whether the result of a node is, or may hold, what a secure task gave."""
    held = (inside for _, block in blocks_of(node) for _, inside in walk(block))
    return any(_is_secure(one, called) for one in (node, *held))


def _is_secure(node: Node, called: Mapping[str, Workflow]) -> bool:
    if isinstance(node, Task):
        return node.secure_outputs
    if isinstance(node, Call):
        return node.workflow in called and bool(called[node.workflow].hidden_outputs)
    return False


def hides(block: Block, name: str, called: Mapping[str, Workflow]) -> bool:
    """Whether the node of a name, anywhere in a block, gives what nobody is shown."""
    return any(node.name == name and is_hidden(node, called) for _, node in walk(block))
