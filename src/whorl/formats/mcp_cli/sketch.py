"""The picture of a workflow file: its steps and loops, in the order of the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of, texts_of
from whorl.wings.editor.kit.canvas import ListChanges
from whorl.wings.editor.kit.sketch import Keys, Sketch, SketchEdge, SketchNode, at, items_at, joined

if TYPE_CHECKING:
    from whorl.source import Document


class McpCliChanges(ListChanges):
    """The changes that work: set fields, remove and reorder steps; the rest is edited as text."""

    def orders(self, node: SketchNode) -> list[Keys]:
        found: list[Keys] = []
        for other in self.sketch.nodes:
            needed = at(self.editor.now.root, *other.where, "needs")
            names = texts_of(needed)
            if names == (node.title,):
                found.append((*other.where, "needs"))
            else:
                listed = [i for i, name in enumerate(names) if name == node.title]
                found += [(*other.where, "needs", index) for index in listed]
        return found

    @classmethod
    def draw(cls, document: Document) -> Sketch:
        nodes: dict[str, SketchNode] = {}
        waits: list[tuple[str, str]] = []
        for list_name in ("steps", "loops"):
            for index, item in enumerate(items_at(document.root, list_name)):
                name = text_of(at(item, "name"))
                path = joined("", name)
                if not name or path in nodes:
                    continue
                file = text_of(at(item, "workflow"))
                kind, where = list_name.removesuffix("s"), (list_name, index)
                node = SketchNode(path, kind, where, title=name, file=file, value=item)
                nodes[path] = replace(node, body="file" if file else "none")
                needed = at(item, "needs")
                waits += [(joined("", each), path) for each in texts_of(needed)]
        edges = [SketchEdge(source, target) for source, target in waits if source in nodes]
        return Sketch(tuple(nodes.values()), tuple(edges))
