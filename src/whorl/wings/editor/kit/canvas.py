"""Operations on canvases (nodes with ids, edges between their handles), and on lists of steps."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from whorl.dialects.reading.fields import scalars
from whorl.lazily import dataclass
from whorl.source.editing.text import TAKEN, UNKNOWN
from whorl.wings.editor.kit.changes import AS_TEXT, Changes, FormField
from whorl.wings.editor.kit.operations import CONNECTED, READ, UNAVAILABLE, Operation, refuse
from whorl.wings.editor.kit.sketch import (
    Keys,
    Name,
    SketchNode,
    at,
    is_in,
    items_at,
    joined,
    reached,
    text_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whorl.source import Json, Value
    from whorl.wings.editor.kit.changes import Widget

# A field of a form: its label, its widget or its choices, and its default.
Row: TypeAlias = "tuple[str, Widget | tuple[str, ...], Json]"
PLACE = re.compile(r"\{\{([^{}]*)\}\}")
# The size of a node on a canvas with the space around it, and that space alone.
_NODE: tuple[float, float] = (240, 200)
_GAP = 40
_ID = re.compile(r"[^\s{}\[\]|/]{1,128}")


def field_row(name: str, rows: dict[str, Row], widgets: dict[Widget, tuple[str, ...]]) -> Row:
    """Returns the row of a field. Most fields are known by name, and so is their widget."""
    label = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()
    found = [widget for widget, names in widgets.items() if name in names]
    return rows.get(name, (label, found[0] if found else "text", None))


def data_field(name: str, row: Row, *, words: str = "", is_rare: bool = False) -> FormField:
    """Returns the form field for a field of the data of nodes."""
    label, widget, default = row
    choices = widget if isinstance(widget, tuple) else ()
    typed: Widget = "choice" if isinstance(widget, tuple) else widget
    group = "more" if is_rare else ""
    return FormField(("data", name), typed, words, choices, False, label, default, group)


def _ends(edge: Value) -> tuple[str, str]:
    return text_at(edge, "source"), text_at(edge, "target")


@dataclass(eq=False, repr=False)
class CanvasChanges(Changes):
    """A canvas of one or several levels; a level is a value with `nodes` and `edges`."""

    # The keys below a node that lead to its size.
    size_at: ClassVar[Keys] = ()
    # The ids of each level, for the text that was read last.
    _ids: tuple[object, dict[Keys, list[str]]] = (None, {})

    def level(self, node: SketchNode) -> Keys:
        """Returns the keys of the graph that contains a node."""
        return node.where[:-2]

    def items(self, level: Keys, name: str) -> list[Value]:
        return items_at(self.editor.now.root, *level, name)

    def id_of(self, node: SketchNode) -> str:
        return text_at(self.editor.now.root, *node.where, "id")

    def ids(self, level: Keys) -> list[str]:
        if self._ids[0] is not self.editor.now:
            self._ids = (self.editor.now, {})
        known = self._ids[1]
        if level not in known:
            known[level] = [text_at(item, "id") for item in self.items(level, "nodes")]
        return known[level]

    def edges_at(self, level: Keys, name: str) -> Iterator[tuple[int, str, str]]:
        """Yields the edges that touch a node, the last one first: index, source and target."""
        items = self.items(level, "edges")
        for index in reversed(range(len(items))):
            ends = _ends(items[index])
            if name in ends:
                yield index, *ends

    # What a dialect knows about nodes: their inputs and outputs by name and type, the node that a
    # placeholder names with its offset, and how an edge names a port.

    def given(self, node: SketchNode) -> Iterator[tuple[str, str]]:
        raise NotImplementedError

    def gives(self, node: SketchNode) -> Iterator[tuple[str, str]]:
        raise NotImplementedError

    def head_of(self, node: SketchNode, content: str, names: set[str]) -> tuple[int, str] | None:
        raise NotImplementedError

    def handle(self, end: str, port: str) -> str | None:
        raise NotImplementedError

    def make_unwrap(self, operation: Operation) -> None:
        raise NotImplementedError

    def sees(self, node: SketchNode, other: SketchNode) -> bool:
        """Returns whether a node can read another one, beside it or beside a node around it."""
        return not other.parent or is_in(node.path, other.parent)

    def mentions(self, level: Keys, node: SketchNode) -> Iterator[Keys]:
        """Yields the fields of a node that name others of a level by id; by default none."""
        return iter(())

    def names_at(self, path: str) -> list[Name]:
        """Returns a node's inputs and the outputs of the nodes before it, the nearest first."""
        if not path:
            return []
        node = self.node(path)
        found = [Name(name, word) for name, word in self.given(node)]
        for before in self._before(node):
            reading = self.reading(self.level(node), {self.id_of(before)})
            readers = dict.fromkeys(self.place_of(where) for _, where, _, _ in reading)
            notes = tuple(sorted(readers, key=lambda one: one.line))
            found += [Name(name, word, before.path, notes) for name, word in self.gives(before)]
        return found

    def _before(self, node: SketchNode) -> list[SketchNode]:
        """Returns the nodes that lead to a node, as far as it can see them."""
        level, found = self.level(node), [self.id_of(node)]
        beside = {self.id_of(each): each for each in self.sketch.nodes if self.level(each) == level}
        for name in found:
            sources = (source for _, source, target in self.edges_at(level, name) if target == name)
            found += [source for source in sources if source in beside and source not in found]
        return [beside[name] for name in found[1:] if self.sees(node, beside[name])]

    def reading(self, level: Keys, names: set[str]) -> Iterator[tuple[SketchNode, Keys, int, str]]:
        """Yields the places that name nodes of a level: reader, keys, offset and named node."""
        for node in self.sketch.nodes:
            if node.where[: len(level)] != level:
                continue
            own = self.level(node)
            # A node further inside hides an outer node of the same id.
            seen = names - set(self.ids(own)) if own != level else names
            for where, text in self.texts_of(node):
                for match in PLACE.finditer(text):
                    # Most placeholders name other nodes; a cheap test finds them.
                    is_near = any(name in match[1] for name in seen)
                    found = self.head_of(node, match[1], seen) if is_near else None
                    if found is not None:
                        yield node, where, match.start(1) + found[0], found[1]
        for node in self.sketch.nodes:
            for where in self.mentions(level, node):
                head = text_at(self.editor.now.root, *where).partition(".")[0]
                if head in names:
                    yield node, where, 0, head

    def texts_of(self, node: SketchNode) -> Iterator[tuple[Keys, str]]:
        """Yields the texts of a node itself, without those of the nodes inside it."""
        data = (*node.where, "data")
        for where, scalar in scalars(at(self.editor.now.root, *data), data):
            owner = self.sketch.owner(where)
            is_inside = owner is not None and len(owner.where) > len(node.where)
            if isinstance(scalar.value, str) and not is_inside:
                yield where, scalar.value

    def list_readers(self, places: Iterable[Keys]) -> None:
        for where in places:
            note = self.place_of(where)
            if note not in self.outcome.rewired:
                self.outcome.rewired.append(note)

    def append(self, level: Keys, name: str, value: Json, index: int | None = None) -> None:
        """Adds a node or an edge at the end of its list, or before an index."""
        where = (*level, name)
        if at(self.editor.now.root, *where) is None:
            self.editor.set(list(where), [])
        place = len(self.items(level, name)) if index is None else index
        self.editor.insert(self.path(where), place, None, value)

    def cut_item(self, level: Keys, name: str, index: int) -> None:
        self.editor.cut(self.path((*level, name, index)))

    def new_edge(
        self, level: Keys, ends: tuple[str, str], ports: tuple[str, str]
    ) -> dict[str, Json]:
        taken = {text_at(item, "id") for item in self.items(level, "edges")}
        edge: dict[str, Json] = {"id": self.free_name(f"{ends[0]}-{ends[1]}", taken)}
        edge |= {"source": ends[0], "target": ends[1]}
        for end, port in zip(("source", "target"), ports, strict=True):
            handle = self.handle(end, port)
            if handle is not None:
                edge[f"{end}Handle"] = handle
        return edge

    def ends(self, operation: Operation) -> tuple[SketchNode, SketchNode, tuple[str, str]]:
        given = [operation.get(end) for end in ("from", "to")]
        source, target = (self.node(str(end.get("at", ""))) for end in given)
        if self.level(source) != self.level(target):
            self.refuse_at(CONNECTED, "the two nodes are not on the same level", target.where)
        ports = [str(end.get("port") or "") for end in given]
        return source, target, (ports[0], ports[1])

    def make_connect(self, operation: Operation) -> None:
        source, target, ports = self.ends(operation)
        level, ends = self.level(source), (self.id_of(source), self.id_of(target))
        if self._edge(operation) is None:
            self.check_edge(level, ends, ports, target)
            self.append(level, "edges", self.new_edge(level, ends, ports))

    def check_edge(
        self, level: Keys, ends: tuple[str, str], ports: tuple[str, str], target: SketchNode
    ) -> None:
        """Refuses an edge that would make a cycle."""
        if ends[0] in reached(ends[1], map(_ends, self.items(level, "edges"))):
            message = f"{ends[1]!r} leads to {ends[0]!r} already; an edge back would make a cycle"
            advice = "end the path here: what arrives at the end is the next input of the loop"
            self.refuse_at(CONNECTED, message, target.where, advice)

    def _edge(self, operation: Operation) -> Keys | None:
        source, target, ports = self.ends(operation)
        for edge in self.sketch.edges:
            is_same = (edge.source, edge.target) == (source.path, target.path)
            own = (edge.from_port, edge.to_port)
            fits = all(port in ("", other) for port, other in zip(ports, own, strict=True))
            if is_same and fits and edge.where is not None:
                return edge.where
        return None

    def _edge_keys(self, operation: Operation) -> Keys:
        where = self._edge(operation)
        if where is None:
            raise refuse(UNKNOWN, "there is no such edge")
        return where

    def make_disconnect(self, operation: Operation) -> None:
        self.editor.cut(self.path(self._edge_keys(operation)))

    def make_place(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        for axis in "xy":
            self.editor.set([*node.where, "position", axis], operation.get(axis))
        for side in ("width", "height"):
            if side in operation.fields:
                self.editor.set([*node.where, *self.size_at, side], operation.get(side))

    def make_remove(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        if operation.get("inside", "with") == "keep" and self.sketch.inside(node.path):
            self.make_unwrap(operation)
            return
        level = self.level(node)
        gone = [each for each in self.sketch.nodes if is_in(each.path, node.path)]
        names = {self.id_of(each) for each in gone if self.level(each) == level}
        found = [one for one in self.reading(level, names) if not is_in(one[0].path, node.path)]
        for reader, where, _, _ in found if self.rewires else ():
            advice = "change the reader first, or use `readers: leave`"
            self.refuse_at(READ, f"{reader.path} reads {node.path}", where, advice)
        self.list_readers(where for _, where, _, _ in found)
        if operation.get("bridge") and len(names) == 1:
            self.bridge(level, self.id_of(node))
        self.cut_nodes(level, names)

    def cut_nodes(self, level: Keys, names: set[str]) -> None:
        """Removes nodes with all edges that touch them."""
        for name in names:
            for index, _, _ in self.edges_at(level, name):
                self.cut_item(level, "edges", index)
        for index, name in reversed(list(enumerate(self.ids(level)))):
            if name in names:
                self.cut_item(level, "nodes", index)

    def bridge(self, level: Keys, name: str) -> None:
        """Takes a node out of its path. Connects its neighbours if it has one on each side."""
        touching = list(self.edges_at(level, name))
        before = [(i, s) for i, s, t in touching if t == name]
        behind = [(i, t) for i, s, t in touching if s == name]
        if len(before) == 1 and len(behind) == 1:
            self.join(level, name, lambda before, behind: True)
        for index, _, _ in touching:
            self.cut_item(level, "edges", index)

    def join(self, level: Keys, name: str, fits: Callable[[Value, Value], bool]) -> None:
        """Connects the nodes before a node with those behind it, for each two edges that fit."""
        items = self.items(level, "edges")
        befores = [item for item in items if _ends(item)[1] == name != _ends(item)[0]]
        behinds = [item for item in items if _ends(item)[0] == name != _ends(item)[1]]
        for before, behind in product(befores, behinds):
            if fits(before, behind):
                ends = _ends(before)[0], _ends(behind)[1]
                edge = self.new_edge(level, ends, ("", ""))
                for handle, item in (("sourceHandle", before), ("targetHandle", behind)):
                    if port := text_at(item, handle):
                        edge[handle] = port
                self.append(level, "edges", edge)

    def make_rename(self, operation: Operation) -> None:
        node, name = self.node(operation.at[0]), operation.get("name")
        level, old = self.level(node), self.id_of(node)
        if name in self.ids(level) or not _ID.fullmatch(name):
            advice = "choose another id, without spaces, braces and '/'"
            self.refuse_at(TAKEN, f"a node cannot be called {name[:60]!r}", node.where, advice)

        def change() -> None:
            readers = list(self.reading(level, {old}))
            for where in self._id_places(level, old):
                self.editor.set(list(where), name)
            if self.rewires:
                self.respell((where, at, at + len(old), name) for _, where, at, _ in readers)
            self.list_readers(where for _, where, _, _ in readers)

        self.soundly(change, is_strict=True)
        self.outcome.select = [joined(node.parent, name)]

    def _id_places(self, level: Keys, name: str) -> list[Keys]:
        """Returns the places with the id of a node: in itself, in edges, and in nodes inside it."""
        found: list[Keys] = []
        for kind, fields in (("nodes", ("id", "parentId")), ("edges", ("source", "target"))):
            for index, item in enumerate(self.items(level, kind)):
                named = (field for field in fields if text_at(item, field) == name)
                found += [(*level, kind, index, field) for field in named]
        return found

    def new_node(self, level: Keys, operation: Operation) -> dict[str, Json]:
        """Returns a node of the palette with a free id, and with a place if one was given."""
        kind, data = operation.get("kind", ""), self.new_fields(operation, "node")
        name = self.free_name(operation.get("name") or kind, set(self.ids(level)))
        node: dict[str, Json] = {"id": name, "type": kind}
        place = operation.get("place")
        if place is not None:
            node["position"] = {axis: place.get(axis, 0) for axis in "xy"}
        elif all(at(item, "position") is not None for item in self.items(level, "nodes")):
            # Right of all other nodes.
            boxes = self._boxes(level)
            x, y = (max((box[side] for box in boxes), default=0) for side in (3, 0))
            node["position"] = {"x": x, "y": y}
        return node | {"data": data}

    def _boxes(self, level: Keys) -> list[tuple[float, float, float, float]]:
        """Returns the boxes of the nodes of a level, upper first: top, left, bottom and right."""
        nodes = [node for node in self.sketch.nodes if self.level(node) == level]
        free = [(n, *n.position) for n in nodes if n.position and at(n.value, "parentId") is None]
        rooms = [(x, y, *self._room(node)) for node, x, y in free]
        return sorted((y, x, y + height, x + width) for x, y, width, height in rooms)

    def _room(self, node: SketchNode) -> tuple[float, float]:
        """Returns the width and height of a node, including the nodes in a level of its own."""
        rooms = [_NODE]
        if node.size:
            rooms.append((node.size[0] + _GAP, node.size[1] + _GAP))
        for each in self.sketch.inside(node.path):
            if each.position and self.level(each) != self.level(node):
                (x, y), (width, height) = each.position, self._room(each)
                rooms.append((x + width + _GAP, y + height + _GAP))
        return max(width for width, _ in rooms), max(height for _, height in rooms)

    def below_others(self, level: Keys, x: float, y: float, width: float = _NODE[0]) -> float:
        """Returns the `y` at which something wide covers no other node."""
        for top, left, bottom, right in self._boxes(level):
            if left < x + width and x < right and top < y + _NODE[1] and y < bottom:
                y = bottom
        return y

    def split(self, level: Keys, edge: dict[str, Any], name: str, last: str) -> None:
        """Leads an edge through a node: its first end to `name`, `last` to its other end."""
        where = self._edge_keys(Operation("connect", edge))
        old = at(self.editor.now.root, *where)
        target, handle = text_at(old, "target"), text_at(old, "targetHandle")
        self.editor.set([*where, "target"], name)
        if handle:
            self.editor.unset([*where, "targetHandle"], keeps=len(where))
        new = self.new_edge(level, (last, target), ("", ""))
        self.append(level, "edges", new | ({"targetHandle": handle} if handle else {}))


# Operations on files with steps in lists or under names: remove, and move in one list.


class ListChanges(Changes):
    """The operations of all dialects, and those that remove steps from a list or reorder it."""

    def orders(self, node: SketchNode) -> list[Keys]:
        """Returns the places where the order of work names a step. They move with the step."""
        return []

    def make_remove(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        if operation.get("inside", "with") == "keep" and self.sketch.inside(node.path):
            raise refuse(UNAVAILABLE, "the steps inside cannot be kept in this format", AS_TEXT)

        def change() -> None:
            for where in reversed(self.orders(node)):
                self.editor.unset(list(where), keeps=len(where) - 1)
            self.editor.cut(self.path(node.where))

        self.soundly(change)
        self.outcome.select = [node.parent] if node.parent else []

    def make_move(self, operation: Operation) -> None:
        node, after = self.node(operation.at[0]), operation.get("after")
        if len(operation.at) > 1 or operation.get("into") != node.parent:
            what = "in this format a step can only be moved alone, inside its own list"
            raise refuse(UNAVAILABLE, what, AS_TEXT)
        before = None if after is None else self.node(after)
        block, is_placed = node.where[:-1], "after" in operation.fields
        if before is not None and (before.where[:-1] != block or before.path == node.path):
            self.refuse_at(UNKNOWN, f"{after!r} is not in the same list", node.where)

        def change() -> None:
            orders = [self.orders(each) if each else [] for each in (node, before)]
            # First the names in lists of order, since they may be in steps that change places then.
            for own in orders[0]:
                other = next((each for each in orders[1] if each[:-1] == own[:-1]), None)
                if isinstance(own[-1], int) and (other or before is None):
                    self._reorder(own, other, is_placed)
            self._reorder(node.where, before.where if before else None, is_placed)

        self.soundly(change)
        self.outcome.select = [node.path]

    def _reorder(self, where: Keys, after: Keys | None, is_placed: bool) -> None:
        """Moves an entry of a list behind another one, or to the front (`is_placed`) or end."""
        block, path = self.path(where[:-1]), self.path(where)
        behind = None if after is None else self.path(after)[-1]
        piece = self.editor.cut(path)
        last = len(self.editor.now.container(block))
        index = (0 if is_placed else last) if behind is None else behind + (behind < path[-1])
        self.editor.paste(block, index, piece)
