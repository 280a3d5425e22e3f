"""Canvas files in an editor: the container between a loop and its exit, and what changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.formats.studio.editing import palette
from whorl.formats.studio.editing.sketch import draw, outputs_of
from whorl.formats.studio.kinds import CLOSED_BY
from whorl.formats.studio.texts import heads
from whorl.source.editing.text import UNKNOWN
from whorl.wings.editor.kit.canvas import CanvasChanges
from whorl.wings.editor.kit.operations import CONNECTED, Operation, refuse
from whorl.wings.editor.kit.sketch import Sketch, SketchNode, at, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Document, Json
    from whorl.wings.editor.kit.changes import FormField

# An edge: its index, source and target.
_Link = tuple[int, str, str]
# How far the end of a new container stands from its beginning, and how wide a node is.
_WIDE, _NODE_WIDE = 480, 240
# What a placeholder means before any node does.
_RESERVED = frozenset({"input", "inputs", "item", "index", "total", "iteration"})


_TYPES = dict.fromkeys(
    ("count", "index", "total", "status", "exit_code", "size", "bytes"), "number"
)
_TYPES |= dict.fromkeys(("response", "content", "stdout", "stderr", "path"), "text")
_TYPES |= {"valid": "boolean", "iterations": "list", "items": "list", "files": "list"}


class StudioChanges(CanvasChanges):
    new, groups, titles, needs = palette.NEW, palette.GROUPS, palette.TITLES, palette.NEEDS
    looks, ports, empty = palette.LOOKS, palette.PORTS, palette.EMPTY

    @classmethod
    def form_of(cls, kind: str) -> list[FormField]:
        return palette.form_of(kind)

    @classmethod
    def draw(cls, document: Document) -> Sketch:
        return draw(document)

    def handle(self, end: str, port: str) -> str | None:
        usual = "output" if end == "source" else "input"
        return port if port and port != usual else None

    def head_of(self, node: SketchNode, content: str, names: set[str]) -> tuple[int, str] | None:
        ids = set(self.ids(()))
        for head, _ in heads(content):
            if head in _RESERVED:
                return None
            if head in ids:
                return (content.index(head), head) if head in names else None
        return None

    def given(self, node: SketchNode) -> Iterator[tuple[str, str]]:
        yield "input", "any"
        for each in self.sketch.nodes:
            if each.kind == "input":
                name = text_of(at(self.editor.now.root, *each.where, "data", "name"))
                yield f"inputs.{name or self.id_of(each)}", "any"
        if node.parent:
            around = self.node(node.parent)
            yield from ((name, "number") for name in ("iteration", "index", "total"))
            yield from [("item", "any")] if around.kind == "iterator" else ()

    def gives(self, node: SketchNode) -> Iterator[tuple[str, str]]:
        name = self.id_of(node)
        for output in outputs_of(node.kind, ["output"]):
            yield f"{name}.{output}", _TYPES.get(output, "any")

    def sees(self, node: SketchNode, other: SketchNode) -> bool:
        # Outside of a container its end stands for it.
        is_end = other.kind in CLOSED_BY.values() and bool(other.parent)
        return super().sees(node, self.node(other.parent) if is_end else other)

    def make_add(self, operation: Operation) -> None:
        node = self.new_node((), operation)
        name, kind = str(node["id"]), str(node["type"])
        last, position = name, node.get("position")
        if kind in CLOSED_BY and operation.get("on_edge") and isinstance(position, dict):
            # The nodes at both ends of a short edge stand where the container would.
            x, y = position["x"], position["y"]
            assert isinstance(x, int | float)
            assert isinstance(y, int | float)
            position["y"] = self.below_others((), x, y, _WIDE + _NODE_WIDE)
        self.append((), "nodes", node)
        if kind in CLOSED_BY:
            last = self.free_name(CLOSED_BY[kind], set(self.ids(())))
            closing: dict[str, Json] = {"id": last, "type": CLOSED_BY[kind]}
            if isinstance(position, dict):
                x, y = position["x"], position["y"]
                assert isinstance(x, int | float)
                closing["position"] = {"x": x + _WIDE, "y": y}
            self.append((), "nodes", closing | {"data": dict(self.new[CLOSED_BY[kind]])})
            self.append((), "edges", self.new_edge((), (name, last), ("", "")))
        if operation.get("on_edge"):
            self.split((), operation.get("on_edge"), name, last)
        self._select(name)

    def _select(self, name: str) -> None:
        # Edges decide what holds a node, and so its path.
        self.outcome.select = [each.path for each in self.sketch.nodes if self.id_of(each) == name]

    def make_move(self, operation: Operation) -> None:
        """Membership is made by edges: a node that leaves its container leaves its edges."""
        place = operation.get("place")
        for path in operation.at:
            node = self.node(path)
            if node.parent != operation.get("into"):
                touching = list(self.edges_at((), self.id_of(node)))
                if len(touching) > 2:
                    message = (
                        f"{path!r} has {len(touching)} edges now; remove those that you do not want"
                    )
                    self.refuse_at(CONNECTED, message, node.where)
                self.bridge((), self.id_of(node))
            if place is not None:
                now = self.sketch.node(joined("", self.id_of(node))) or self.node(path)
                fields = {"at": now.path, **{axis: place.get(axis, 0) for axis in "xy"}}
                self.make_place(Operation("place", fields))

    def make_wrap(self, operation: Operation) -> None:
        written = operation.get("kind")
        kind = {"repeat": "loop", "each": "iterator"}.get(written, written)
        if kind not in CLOSED_BY:
            raise refuse(UNKNOWN, f"nodes cannot be wrapped in {kind!r}", "known: repeat, each")
        nodes = [self.node(path) for path in operation.at]
        fields = dict(operation.get("fields", {}))
        if "until" in fields:
            raise refuse(UNKNOWN, "a loop of a canvas ends by its exitCondition", "set that field")
        if "at_most" in fields:
            fields["maxIterations"] = fields.pop("at_most")
        given = {"kind": kind, "name": operation.get("name"), "fields": fields}
        begin = self.new_node((), Operation("add", given))
        opening = str(begin["id"])
        end = self.free_name(CLOSED_BY[kind], {*self.ids(()), opening})
        borders = self._borders(nodes)

        def change() -> None:
            self._put_around(nodes, begin, (end, CLOSED_BY[kind]))
            self._lead_through(borders, opening, end)

        self.soundly(change)
        self._select(opening)

    def _borders(self, nodes: list[SketchNode]) -> tuple[list[_Link], list[_Link], list[str]]:
        """The edges into some nodes, those out of them, and the nodes themselves."""
        inside = [
            self.id_of(each)
            for each in self.sketch.nodes
            if any(each.path == n.path or each.path.startswith(f"{n.path}/") for n in nodes)
        ]
        links = self._links()
        entering = [link for link in links if link[2] in inside and link[1] not in inside]
        leaving = [link for link in links if link[1] in inside and link[2] not in inside]
        if len({source for _, source, _ in entering}) > 1:
            advice = "merge them with a transform first"
            self.refuse_at(CONNECTED, "more than one value comes in", nodes[0].where, advice)
        return entering, leaving, inside

    def _lead_through(
        self, borders: tuple[list[_Link], list[_Link], list[str]], opening: str, closing: str
    ) -> None:
        """Leads what comes in through the beginning of a container, and out by its end."""
        entering, leaving, inside = borders
        links = self._links()
        firsts = [name for name in inside if name not in [link[2] for link in links]]
        lasts = [name for name in inside if name not in [link[1] for link in links]]
        inner: list[dict[str, Json]] = []
        for index, _, target in entering:
            handle = self._turn(index, "target", opening)
            inner.append({"source": opening, "target": target, **handle})
        for index, source, _ in leaving:
            handle = self._turn(index, "source", closing)
            inner.append({"source": source, "target": closing, **handle})
        inner += [{"source": opening, "target": name} for name in ([] if entering else firsts)]
        inner += [{"source": name, "target": closing} for name in ([] if leaving else lasts)]
        for edge in inner:
            self._add_edge(edge)

    def _turn(self, index: int, end: str, name: str) -> dict[str, Json]:
        """Leads one end of an edge to another node; gives the handle that it had there."""
        field = f"{end}Handle"
        handle = text_of(at(self.editor.now.root, "edges", index, field))
        self.editor.set(["edges", index, end], name)
        if not handle:
            return {}
        self.editor.unset(["edges", index, field], keeps=2)
        return {field: handle}

    def _links(self) -> list[_Link]:
        return [
            (index, text_of(at(item, "source")), text_of(at(item, "target")))
            for index, item in enumerate(self.items((), "edges"))
        ]

    def _add_edge(self, edge: dict[str, Json]) -> None:
        ends = str(edge["source"]), str(edge["target"])
        if ends not in [(source, target) for _, source, target in self._links()]:
            self.append((), "edges", {**self.new_edge((), ends, ("", "")), **edge})

    def _put_around(
        self, nodes: list[SketchNode], begin: dict[str, Json], closing: tuple[str, str]
    ) -> None:
        """Adds the two ends of a container left and right of what it will hold."""
        points = [node.position for node in nodes if node.position]
        end: dict[str, Json] = {"id": closing[0], "type": closing[1]}
        if points and len(points) == len(nodes):
            left, right = min(x for x, _ in points), max(x for x, _ in points)
            begin["position"] = {"x": left - 240, "y": points[0][1]}
            end["position"] = {"x": right + 240, "y": points[0][1]}
        self.append((), "nodes", begin)
        self.append((), "nodes", end | {"data": dict(self.new[closing[1]])})

    def make_unwrap(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        opening = self.id_of(node)
        closing = next((self.id_of(each) for each in self.sketch.inside(node.path)
                        if each.kind == CLOSED_BY.get(node.kind)), "")  # fmt: skip
        if not closing:
            self.refuse_at(UNKNOWN, f"{opening!r} is not a container", node.where)

        def change() -> None:
            self._join(opening, closing)
            self._join(closing, opening)
            self.cut_nodes((), {opening, closing})

        self.soundly(change)

    def _join(self, name: str, other: str) -> None:
        """Connects what comes into a node with what it leads to, past the other end."""
        items, links = self.items((), "edges"), self._links()
        befores = [items[index] for index, source, target in links if target == name != source]
        behinds = [items[index] for index, source, target in links if source == name != target]
        for before in befores:
            for behind in behinds:
                ends = {"source": text_of(at(before, "source")),
                        "target": text_of(at(behind, "target"))}  # fmt: skip
                if other in ends.values():
                    continue
                handles = {"sourceHandle": text_of(at(before, "sourceHandle")),
                           "targetHandle": text_of(at(behind, "targetHandle"))}  # fmt: skip
                kept = {field: text for field, text in handles.items() if text}
                self._add_edge({**ends, **kept})
