"""The picture of an agent file: its agents, and inside of loops those of their workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.wings.editor.kit import sketch
from whorl.wings.editor.kit.canvas import ListChanges

if TYPE_CHECKING:
    from whorl.source import Document, Value
    from whorl.wings.editor.kit.sketch import Body

_DEEP_MAX = 16


class OrkaChanges(ListChanges):
    """The changes that work: set fields, remove and reorder agents; the rest is edited as text."""

    @classmethod
    def draw(cls, document: Document) -> sketch.Sketch:
        drawing = sketch.Drawing()
        _draw(drawing, document.root, (), "")
        return drawing.sketch()

    def orders(self, node: sketch.SketchNode) -> list[sketch.Keys]:
        where = (*node.where[:-2], "orchestrator", "agents")
        listed = [text_of(item) for item in sketch.items_at(self.editor.now.root, *where)]
        return [(*where, index) for index, name in enumerate(listed) if name == node.title]


def _draw(
    drawing: sketch.Drawing, level: Value | None, where: sketch.Keys, parent: str, depth: int = 0
) -> None:
    """Draws the agents of a workflow, in the order of the file, and the edges between them."""
    before = ""
    for index, item in enumerate(sketch.items_at(level, "agents")):
        name = text_of(sketch.at(item, "id"))
        if not name:
            continue
        path = drawing.path(parent, name)
        own, inner = (*where, "agents", index), sketch.at(item, "internal_workflow")
        body: Body = "inline" if inner is not None else "none"
        kind = text_of(sketch.at(item, "type"))
        node = sketch.SketchNode(path, kind, own, parent, title=name, body=body, value=item)
        drawing.nodes.append(node)
        drawing.edges += [sketch.SketchEdge(before, path)] if before else []
        before = path
        if inner is not None and depth < _DEEP_MAX:
            _draw(drawing, inner, (*own, "internal_workflow"), path, depth + 1)
