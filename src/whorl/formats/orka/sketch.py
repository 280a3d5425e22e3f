"""The picture of an agent file: its agents, and inside of loops those of their workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.source import Sequence
from whorl.wings.editor.kit.canvas import ListChanges
from whorl.wings.editor.kit.sketch import (
    Keys,
    Sketch,
    SketchEdge,
    SketchNode,
    at,
    joined,
    unique_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Document, Value
    from whorl.wings.editor.kit.sketch import Body

_DEEP_MAX = 16


class OrkaChanges(ListChanges):
    """The changes that work: set fields, remove and reorder agents; the rest is edited as text."""

    @classmethod
    def draw(cls, document: Document) -> Sketch:
        parts = list(_drawn(document.root, (), "", set()))
        nodes = (part for part in parts if isinstance(part, SketchNode))
        return Sketch(tuple(nodes), tuple(part for part in parts if isinstance(part, SketchEdge)))

    def orders(self, node: SketchNode) -> list[Keys]:
        where = (*node.where[:-2], "orchestrator", "agents")
        names = at(self.editor.now.root, *where)
        listed = [text_of(item) for item in names] if isinstance(names, Sequence) else []
        return [(*where, index) for index, name in enumerate(listed) if name == node.title]


def _drawn(
    level: Value | None, where: Keys, parent: str, taken: set[str], depth: int = 0
) -> Iterator[SketchNode | SketchEdge]:
    """Yields the agents of a workflow, in the order of the file, and the edges between them."""
    agents, before = at(level, "agents"), ""
    for index, item in enumerate(agents if isinstance(agents, Sequence) else ()):
        name = text_of(at(item, "id"))
        if not name:
            continue
        path, kind = unique_path(taken, joined(parent, name)), text_of(at(item, "type"))
        own, inner = (*where, "agents", index), at(item, "internal_workflow")
        body: Body = "inline" if inner is not None else "none"
        yield SketchNode(path, kind, own, parent, title=name, body=body, value=item)
        if before:
            yield SketchEdge(before, path)
        before = path
        if inner is not None and depth < _DEEP_MAX:
            yield from _drawn(inner, (*own, "internal_workflow"), path, taken, depth + 1)
