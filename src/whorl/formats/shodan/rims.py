"""Loops of a graph file in an editor: their picture, and nodes that move into and out of them.

An edge across the rim of an inline loop becomes a port of the loop, an edge to or from that port,
and a mapping; out again, the mapping becomes an edge.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from whorl.dialects.reading.fields import text_of
from whorl.lazily import dataclass
from whorl.source.editing.text import TAKEN
from whorl.wings.editor.kit.operations import CONNECTED, READ, refuse
from whorl.wings.editor.kit.sketch import (
    Drawing,
    Keys,
    Sketch,
    SketchEdge,
    SketchNode,
    at,
    items_at,
    joined,
    number_pair,
    text_at,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Document, Json, Value
    from whorl.wings.editor.kit.canvas import CanvasChanges
    from whorl.wings.editor.kit.sketch import Body, EdgeKind

# The keys of a text, and from where to where in it.
Stretch: TypeAlias = "tuple[Keys, int, int]"
_MEMBER = re.compile(r"\.([\w-]+)")
_LEAVE = "change the reader first, or use `readers: leave`"


@dataclass(frozen=True, slots=True)
class PortPlace:
    """The place at which a text, or the loop around a node, names the node and one of its ports.

    `is_source` says whether that is an output; an empty port means all outputs of the node.
    """

    reader: SketchNode
    name: str
    at_name: Stretch
    at_port: Stretch
    port: str
    is_source: bool
    is_text: bool


def port_places(changes: CanvasChanges, level: Keys, names: set[str]) -> Iterator[PortPlace]:
    """Yields the places that name a node of the level with a port, apart from edges."""
    root = changes.editor.now.root
    for reader, where, offset, name in changes.reading(level, names):
        end, own, is_source = offset + len(name), where, True
        member = _MEMBER.match(text_at(root, *where), end)
        port, start = (member[1], member.start(1)) if member else ("", end)
        if where[-1] == "node":
            is_source = where[-2] == "source"
            own, start = (*where[:-1], "output" if is_source else "input"), 0
            port = text_at(root, *own)
        at_port = own, start, start + len(port)
        is_text = where[-1] not in ("node", "output")
        yield PortPlace(reader, name, (where, offset, end), at_port, port, is_source, is_text)


@dataclass(frozen=True, slots=True)
class _Edge:
    """An edge in the list of a canvas, with the names of its ports; "" means no port."""

    index: int
    source: str
    target: str
    out: str
    into: str


@dataclass(frozen=True, slots=True)
class _Mapping:
    """A row of `inputMappings` or `outputMappings`: a port inside, and the one of the loop.

    `when` says for which iterations.
    """

    index: int
    node: str
    port: str
    outer: str
    when: str


def _port(item: Value, end: str) -> str:
    kind, mark, port = text_at(item, f"{end}Handle").partition(":")
    if kind == "dock":
        reason = "edges at the dock slots of a loop cannot be moved into or out of another loop"
        raise refuse(CONNECTED, reason)
    return port if mark else kind


class LoopPorts:
    """The rim of one inline loop, which is named by its level and its id."""

    def __init__(self, changes: CanvasChanges, level: Keys, loop: str) -> None:
        self._changes = changes
        self._editor = changes.editor
        self._level = level
        self._loop = loop

    @property
    def _where(self) -> Keys:
        """Returns the current keys of the loop, whose index changes with other nodes."""
        return (*self._level, "nodes", self._changes.ids(self._level).index(self._loop))

    @property
    def inside(self) -> Keys:
        return (*self._where, *INLINE)

    @property
    def _data(self) -> Keys:
        return (*self._where, "data")

    def _drop_port(self, side: str, name: str) -> None:
        for index, item in reversed(list(enumerate(self._changes.items(self._data, side)))):
            if text_at(item, "name") == name:
                self._changes.cut_item(self._data, side, index)

    def _mappings(self, side: str) -> list[_Mapping]:
        """Returns the mappings of a side of the loop, the last one first."""
        rows = []
        for index, item in enumerate(self._changes.items(self._data, f"{side}Mappings")):
            source, target = at(item, "source"), at(item, "target")
            if side == "output":
                ends = text_at(source, "node"), text_at(source, "output"), text_of(target)
                rows.append(_Mapping(index, *ends, text_at(item, "take") or "last"))
                continue
            outer = text_at(source, "name") if text_at(source, "type") == "outer" else ""
            ends = text_at(target, "node"), text_at(target, "input"), outer
            rows.append(_Mapping(index, *ends, text_at(item, "iterations") or "all"))
        return rows[::-1]

    def _edges(self, level: Keys, names: set[str]) -> list[_Edge]:
        """Returns the edges that touch nodes, the last one first."""
        found = []
        for index, item in reversed(list(enumerate(self._changes.items(level, "edges")))):
            ends = [text_at(item, end) for end in ("source", "target")]
            if names & set(ends):
                ports = [_port(item, end) for end in ("source", "target")]
                found.append(_Edge(index, *ends, *ports))
        return found

    def _new_port(self, level: Keys, node: str, side: str, wanted: str) -> str:
        """Adds a port to the loop for one of a node, with its type."""
        own = (*level, "nodes", self._changes.ids(level).index(node), "data")
        listed = self._changes.items(own, side)
        kinds = (at(port, "type") for port in listed if text_at(port, "name") == wanted)
        taken = {text_at(item, "name") for item in self._changes.items(self._data, side)}
        name = self._changes.free_name(wanted, taken)
        port: Json = {"name": name, "type": text_of(next(kinds, None)) or "any"}
        self._changes.append(self._data, side, port)
        return name

    def _give(self, level: Keys, node: str, output: str) -> str:
        """Returns the output of the loop for an output of a node; adds it if it is missing."""
        for row in self._mappings("output"):
            if (row.node, row.port, row.when) == (node, output, "last"):
                return row.outer
        port = self._new_port(level, node, "outputs", output)
        source: Json = {"node": node, "output": output}
        mapping: Json = {"source": source, "target": port, "take": "last"}
        self._changes.append(self._data, "outputMappings", mapping)
        return port

    def _take(self, level: Keys, node: str, into: str) -> str:
        """Adds an input to the loop that leads to an input of a node."""
        port = self._new_port(level, node, "inputs", into)
        source: Json = {"type": "outer", "name": port}
        target: Json = {"node": node, "input": into}
        row: Json = {"source": source, "target": target, "iterations": "all"}
        self._changes.append(self._data, "inputMappings", row)
        return port

    def _connect(self, level: Keys, source: tuple[str, str], target: tuple[str, str]) -> None:
        ends, ports = (source[0], target[0]), (source[1], target[1])
        same = [(e.source, e.out, e.target, e.into) for e in self._edges(level, {source[0]})]
        if (*source, *target) not in same:
            self._changes.append(level, "edges", self._changes.new_edge(level, ends, ports))

    def _turn(self, edge: _Edge, end: str, node: str, port: str) -> None:
        """Leads one end of an edge outside of the loop to another node."""
        where = (*self._level, "edges", edge.index)
        self._editor.set([*where, end], node)
        handle = f"{'output' if end == 'source' else 'input'}:{port}"
        if port:
            self._editor.set([*where, f"{end}Handle"], handle)
        elif at(self._editor.now.root, *where, f"{end}Handle") is not None:
            self._editor.unset([*where, f"{end}Handle"], keeps=len(where))

    def _carry(self, kind: str, index: int, *, inwards: bool) -> None:
        """Moves the text of a node or an edge to the other side of the rim."""
        source = self._level if inwards else self.inside
        piece = self._editor.cut(self._changes.path((*source, kind, index)))
        target = self.inside if inwards else self._level
        if at(self._editor.now.root, *target, kind) is None:
            self._editor.set([*target, kind], [])
        count = len(self._changes.items(target, kind))
        self._editor.paste(self._changes.path((*target, kind)), count, piece)

    def _carry_nodes(self, names: set[str], *, inwards: bool) -> None:
        changes = self._changes
        source, target = (self._level, self.inside) if inwards else (self.inside, self._level)
        clash = names & set(changes.ids(target))
        if clash:
            message = f"there is a {min(clash)!r} already"
            changes.refuse_at(TAKEN, message, self._where, "rename one of them first")
        for name in [each for each in changes.ids(source) if each in names]:
            source = self._level if inwards else self.inside
            self._carry("nodes", changes.ids(source).index(name), inwards=inwards)

    def _places(self, names: set[str]) -> list[PortPlace]:
        """Returns the places outside the loop that name nodes of its level, except in the nodes."""
        ids = enumerate(self._changes.ids(self._level))
        nodes = [(*self._level, "nodes", at_) for at_, name in ids if name in {*names, self._loop}]
        found = []
        for place in port_places(self._changes, self._level, names):
            where = place.at_name[0]
            is_within = any(where[: len(own)] == own for own in nodes)
            if place.is_text and (is_within or not self._changes.rewires):
                continue
            if place.is_text and not place.port:
                words = f"{place.reader.path} reads all of {place.name}, "
                words += f"and cannot see into {self._loop}"
                self._changes.refuse_at(READ, words, where, _LEAVE)
            found.append(place)
        return found

    def enter(self, names: set[str]) -> None:
        """Moves nodes of the level of the loop into it, with the edges among themselves."""
        places = self._places(names)
        for edge in self._edges(self._level, names):
            if edge.source in names and edge.target in names:
                self._carry("edges", edge.index, inwards=True)
            elif self._loop in (edge.source, edge.target):
                self._join(edge)
            elif edge.target in names:
                port = edge.into and self._take(self._level, edge.target, edge.into)
                self._turn(edge, "target", self._loop, port)
            else:
                port = edge.out and self._give(self._level, edge.source, edge.out)
                self._turn(edge, "source", self._loop, port)
        spellings = []
        for place in places:
            own = self._give if place.is_source else self._take
            port = own(self._level, place.name, place.port)
            spellings += [(*place.at_name, self._loop), (*place.at_port, port)]
        self._changes.respell(spellings)
        self._carry_nodes(names, inwards=True)

    def _join(self, edge: _Edge) -> None:
        """Turns an edge to or from the loop into one inside of it, by the mappings of its port."""
        self._changes.cut_item(self._level, "edges", edge.index)
        if edge.source == self._loop:
            for row in self._mappings("output") if edge.out else ():
                if row.outer == edge.out and row.node:
                    self._connect(self.inside, (row.node, row.port), (edge.target, edge.into))
            return
        for row in self._mappings("input") if edge.into else ():
            if row.outer == edge.into:
                if row.when != "all":
                    self._refuse(f"{edge.into!r} is given only in some iterations")
                self._changes.cut_item(self._data, "inputMappings", row.index)
                self._connect(self.inside, (edge.source, edge.out), (row.node, row.port))
        self._drop_port("inputs", edge.into)

    def leave(self, names: set[str]) -> None:
        """Moves nodes inside of the loop to its own level."""
        is_whole = names == set(self._changes.ids(self.inside))
        kinds = [text_at(item, "type") for item in self._changes.items(self.inside, "nodes")]
        if is_whole and any(kind.startswith("interface-") for kind in kinds):
            self._refuse("the loop has interface nodes")
        edges = self._edges(self.inside, names)
        across = [e for e in edges if not {e.source, e.target} <= names]
        if len({e.source in names for e in across}) > 1:
            self._refuse("they are between other nodes of the loop")
        for edge in edges:
            if edge in across:
                self._changes.cut_item(self.inside, "edges", edge.index)
            else:
                self._carry("edges", edge.index, inwards=False)
        self._open_inputs(names, is_whole=is_whole)
        self._open_outputs(names)
        for edge in reversed(across):
            if edge.source in names:
                port = edge.into and self._take(self.inside, edge.target, edge.into)
                self._connect(self._level, (edge.source, edge.out), (self._loop, port))
            else:
                port = edge.out and self._give(self.inside, edge.source, edge.out)
                self._connect(self._level, (self._loop, port), (edge.target, edge.into))
        self._carry_nodes(names, inwards=False)

    def _open_inputs(self, names: set[str], *, is_whole: bool) -> None:
        """Replaces mappings to the nodes by edges."""
        for row in self._mappings("input"):
            if row.node not in names:
                continue
            if not is_whole and (not row.outer or row.when != "all"):
                self._refuse(f"{row.port!r} is not the same in all iterations")
            if row.outer and row.when != "subsequent":
                self._bring(row)
            self._changes.cut_item(self._data, "inputMappings", row.index)
            if row.outer and row.outer not in [left.outer for left in self._mappings("input")]:
                for edge in self._feeding(row.outer):
                    self._changes.cut_item(self._level, "edges", edge.index)
                self._drop_port("inputs", row.outer)

    def _bring(self, row: _Mapping) -> None:
        feeding = self._feeding(row.outer)
        is_named = self._rename_port(row.outer, row, is_source=False)
        if not feeding and not is_named and row.outer != row.port:
            # An unconnected input is an input of the workflow, by its own name.
            self._refuse(f"its input {row.port!r} is the input {row.outer!r} of the workflow")
        for edge in feeding:
            self._connect(self._level, (edge.source, edge.out), (row.node, row.port))

    def _rename_port(self, port: str, row: _Mapping, *, is_source: bool) -> bool:
        """Replaces the loop by the inner node in the places that name the port; False if none."""
        spellings = []
        for place in self._places({self._loop}):
            if (place.port, place.is_source) == (port, is_source):
                spellings += [(*place.at_name, row.node), (*place.at_port, row.port)]
        self._changes.respell(spellings)
        return bool(spellings)

    def _open_outputs(self, names: set[str]) -> None:
        """Replaces mappings from the nodes by edges."""
        for row in self._mappings("output"):
            if row.node not in names:
                continue
            if row.when != "last":
                self._refuse(f"its output {row.port!r} is collected from several iterations")
            for edge in self._edges(self._level, {self._loop}):
                if edge.source == self._loop and edge.out == row.outer:
                    self._turn(edge, "source", row.node, row.port)
            self._rename_port(row.outer, row, is_source=True)
            self._changes.cut_item(self._data, "outputMappings", row.index)
            self._drop_port("outputs", row.outer)

    def _feeding(self, port: str) -> list[_Edge]:
        """Returns the edges that lead to an input of the loop, the last one first."""
        edges = self._edges(self._level, {self._loop})
        return [edge for edge in edges if edge.target == self._loop and edge.into == port]

    def _refuse(self, why: str) -> None:
        message = f"this cannot be moved into or out of the loop {self._loop!r}: {why}"
        self._changes.refuse_at(CONNECTED, message, self._where, "edit the mappings first")


# The picture of a graph file: loops around their nodes, whichever way the file holds these.

INLINE = ("data", "inlineWorkflow")
_DEEP_MAX = 16


def draw(document: Document) -> Sketch:
    drawing = _Drawing(document.root)
    drawing.level((), "")
    return drawing.sketch()


class _Drawing(Drawing):
    def __init__(self, root: Value) -> None:
        super().__init__()
        self._root = root

    def level(self, where: Keys, parent: str, depth: int = 0) -> None:
        """Draws the nodes of a file or of an inline workflow, outer ones before inner ones."""
        items: dict[str, tuple[int, Value]] = {}
        for index, item in enumerate(items_at(self._root, *where, "nodes")):
            items.setdefault(text_at(item, "id"), (index, item))
        items.pop("", None)
        paths = {name: self._path(items, name, parent) for name in items}
        for name in sorted(items, key=lambda name: paths[name].count("/")):
            index, item = items[name]
            self._node(item, (*where, "nodes", index), paths[name])
        for index, item in enumerate(items_at(self._root, *where, "edges")):
            self._edge(item, (*where, "edges", index), paths)
        if depth < _DEEP_MAX:
            for name, (index, item) in items.items():
                if at(item, *INLINE) is not None:
                    self.level((*where, "nodes", index, *INLINE), paths[name], depth + 1)

    def _path(self, items: dict[str, tuple[int, Value]], name: str, parent: str) -> str:
        chain, holder = [name], text_at(items[name][1], "parentId")
        while holder in items and holder not in chain and _kind(items[holder][1]) == "loop":
            chain.append(holder)
            holder = text_at(items[holder][1], "parentId")
        for each in reversed(chain):
            parent = joined(parent, each)
        return parent

    def _node(self, item: Value, where: Keys, path: str) -> None:
        kind = _kind(item)
        file = text_at(item, "data", "workflowRef" if kind == "loop" else "workflowPath")
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
                title=text_at(item, "data", "label"),
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
        ends = [text_at(item, end) for end in ("source", "target")]
        if not all(end in paths for end in ends):
            return
        handles = [text_at(item, f"{end}Handle") for end in ("source", "target")]
        kind: EdgeKind = "feedback" if handles[1].startswith("dock:") else "data"
        ports = [handle.partition(":")[2] if handle.startswith(("output:", "input:")) else handle
                 for handle in handles]  # fmt: skip
        usual = ports[0] or "output", ports[1] or "input"
        self.edges.append(SketchEdge(paths[ends[0]], paths[ends[1]], kind, *usual, where=where))


def _kind(item: Value) -> str:
    return text_at(item, "data", "nodeType") or text_at(item, "type")


def _ports(item: Value, side: str) -> tuple[str, ...]:
    names = (text_at(port, "name") for port in items_at(item, "data", side))
    return tuple(name for name in names if name)
