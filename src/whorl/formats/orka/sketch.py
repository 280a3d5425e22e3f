"""The picture of an agent file: its agents, and inside of loops those of their workflows."""

from __future__ import annotations

from dataclasses import replace
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
    from whorl.source import Document, Value
    from whorl.wings.editor.kit.sketch import Body

_DEEP_MAX = 16


class OrkaChanges(ListChanges):
    """The changes that work: set fields, remove and reorder agents; the rest is edited as text."""

    @classmethod
    def draw(cls, document: Document) -> Sketch:
        drawing = _Drawing()
        drawing.agents(document.root, (), "")
        return Sketch(tuple(drawing.nodes), tuple(drawing.edges))

    def orders(self, node: SketchNode) -> list[Keys]:
        where = (*node.where[:-2], "orchestrator", "agents")
        names = at(self.editor.now.root, *where)
        listed = [text_of(item) for item in names] if isinstance(names, Sequence) else []
        return [(*where, index) for index, name in enumerate(listed) if name == node.title]


class _Drawing:
    def __init__(self) -> None:
        self.nodes: list[SketchNode] = []
        self.edges: list[SketchEdge] = []
        self._taken: set[str] = set()

    def agents(self, level: Value | None, where: Keys, parent: str, depth: int = 0) -> None:
        """Draws the agents of a workflow, in the order of the file."""
        agents, before = at(level, "agents"), ""
        for index, item in enumerate(agents if isinstance(agents, Sequence) else ()):
            name = text_of(at(item, "id"))
            if not name:
                continue
            path = unique_path(self._taken, joined(parent, name))
            own, inner = (*where, "agents", index), at(item, "internal_workflow")
            body: Body = "inline" if inner is not None else "none"
            node = SketchNode(path, text_of(at(item, "type")), own, parent, title=name, body=body)
            self.nodes.append(replace(node, value=item))
            if before:
                self.edges.append(SketchEdge(before, path))
            before = path
            if inner is not None and depth < _DEEP_MAX:
                self.agents(inner, (*own, "internal_workflow"), path, depth + 1)
