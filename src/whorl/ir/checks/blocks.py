"""The blocks of a workflow, each with its path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.ir.walk import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.nodes import Block


def blocks_in(block: Block, path: str = "") -> Iterator[tuple[str, Block]]:
    """A block and all blocks inside of it; the path is that of the nodes' holder."""
    yield path, block
    for node in block.nodes:
        here = f"{path}/{node.name}" if path else node.name
        for slot, inner in blocks_of(node):
            yield from blocks_in(inner, here if slot == "body" else f"{here}@{slot}")
