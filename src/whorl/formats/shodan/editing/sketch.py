"""The picture of a graph file: loops around their nodes, whichever way the file holds these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.source import Sequence
from whorl.wings.editor.kit.sketch import (
    Keys,
    Sketch,
    SketchEdge,
    SketchNode,
    at,
    joined,
    number_pair,
)

if TYPE_CHECKING:
    from whorl.source import Document, Value
    from whorl.wings.editor.kit.sketch import Body, EdgeKind

INLINE = ("data", "inlineWorkflow")
_DEEP_MAX = 16


def draw(document: Document) -> Sketch:
    drawing = _Drawing(document.root)
    drawing.level((), "")
    return Sketch(tuple(drawing.nodes), tuple(drawing.edges))


def _items(value: Value | None) -> list[Value]:
    return list(value.items) if isinstance(value, Sequence) else []


class _Drawing:
    def __init__(self, root: Value) -> None:
        self._root = root
        self.nodes: list[SketchNode] = []
        self.edges: list[SketchEdge] = []

    def level(self, where: Keys, parent: str, depth: int = 0) -> None:
        """Draws the nodes of a file or of an inline workflow, outer ones before inner ones."""
        items: dict[str, tuple[int, Value]] = {}
        for index, item in enumerate(_items(at(self._root, *where, "nodes"))):
            items.setdefault(text_of(at(item, "id")), (index, item))
        items.pop("", None)
        paths = {name: self._path(items, name, parent) for name in items}
        for name in sorted(items, key=lambda name: paths[name].count("/")):
            index, item = items[name]
            self._node(item, (*where, "nodes", index), paths[name])
        for index, item in enumerate(_items(at(self._root, *where, "edges"))):
            self._edge(item, (*where, "edges", index), paths)
        if depth < _DEEP_MAX:
            for name, (index, item) in items.items():
                if at(item, *INLINE) is not None:
                    self.level((*where, "nodes", index, *INLINE), paths[name], depth + 1)

    def _path(self, items: dict[str, tuple[int, Value]], name: str, parent: str) -> str:
        chain, holder = [name], text_of(at(items[name][1], "parentId"))
        while holder in items and holder not in chain and _kind(items[holder][1]) == "loop":
            chain.append(holder)
            holder = text_of(at(items[holder][1], "parentId"))
        for each in reversed(chain):
            parent = joined(parent, each)
        return parent

    def _node(self, item: Value, where: Keys, path: str) -> None:
        kind = _kind(item)
        file = text_of(at(item, "data", "workflowRef" if kind == "loop" else "workflowPath"))
        body: Body = "file" if file else "none"
        if kind == "loop" and not file:
            body = "inline" if at(item, *INLINE) is not None else "members"
        size = number_pair(at(item, "style"), "width", "height")
        self.nodes.append(
            SketchNode(
                path,
                kind,
                where,
                parent=path.rpartition("/")[0],
                title=text_of(at(item, "data", "label")),
                body=body,
                file=file,
                position=number_pair(at(item, "position"), "x", "y"),
                size=size or number_pair(item, "width", "height"),
                inputs=_ports(item, "inputs"),
                outputs=_ports(item, "outputs"),
                value=item,
                slots={"": (*where, *INLINE, "nodes")} if kind == "loop" else {},
            )
        )

    def _edge(self, item: Value, where: Keys, paths: dict[str, str]) -> None:
        ends = [text_of(at(item, end)) for end in ("source", "target")]
        if not all(end in paths for end in ends):
            return
        handles = [text_of(at(item, f"{end}Handle")) for end in ("source", "target")]
        kind: EdgeKind = "feedback" if handles[1].startswith("dock:") else "data"
        ports = [handle.partition(":")[2] if handle.startswith(("output:", "input:")) else handle
                 for handle in handles]  # fmt: skip
        usual = ports[0] or "output", ports[1] or "input"
        self.edges.append(SketchEdge(paths[ends[0]], paths[ends[1]], kind, *usual, where=where))


def _kind(item: Value) -> str:
    return text_of(at(item, "data", "nodeType")) or text_of(at(item, "type"))


def _ports(item: Value, side: str) -> tuple[str, ...]:
    names = (text_of(at(port, "name")) for port in _items(at(item, "data", side)))
    return tuple(name for name in names if name)
