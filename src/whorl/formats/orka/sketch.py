"""The picture of an agent file: its agents, and inside of loops those of their workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.source import Sequence
from whorl.wings.editor.kit import sketch
from whorl.wings.editor.kit.canvas import ListChanges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Document, Value
    from whorl.wings.editor.kit.sketch import Body

_DEEP_MAX = 16


class OrkaChanges(ListChanges):
    """The changes that work: set fields, remove and reorder agents; the rest is edited as text."""

    @classmethod
    def draw(cls, document: Document) -> sketch.Sketch:
        parts = list(_drawn(document.root, (), "", set()))
        nodes = tuple(part for part in parts if isinstance(part, sketch.SketchNode))
        edges = tuple(part for part in parts if isinstance(part, sketch.SketchEdge))
        return sketch.Sketch(nodes, edges)

    def orders(self, node: sketch.SketchNode) -> list[sketch.Keys]:
        where = (*node.where[:-2], "orchestrator", "agents")
        names = sketch.at(self.editor.now.root, *where)
        listed = [text_of(item) for item in names] if isinstance(names, Sequence) else []
        return [(*where, index) for index, name in enumerate(listed) if name == node.title]


def _drawn(
    level: Value | None, where: sketch.Keys, parent: str, taken: set[str], depth: int = 0
) -> Iterator[sketch.SketchNode | sketch.SketchEdge]:
    """Yields the agents of a workflow, in the order of the file, and the edges between them."""
    agents, before = sketch.at(level, "agents"), ""
    for index, item in enumerate(agents if isinstance(agents, Sequence) else ()):
        name = text_of(sketch.at(item, "id"))
        if not name:
            continue
        path = sketch.unique_path(taken, sketch.joined(parent, name))
        own, inner = (*where, "agents", index), sketch.at(item, "internal_workflow")
        body: Body = "inline" if inner is not None else "none"
        kind = text_of(sketch.at(item, "type"))
        yield sketch.SketchNode(path, kind, own, parent, title=name, body=body, value=item)
        if before:
            yield sketch.SketchEdge(before, path)
        before = path
        if inner is not None and depth < _DEEP_MAX:
            yield from _drawn(inner, (*own, "internal_workflow"), path, taken, depth + 1)
