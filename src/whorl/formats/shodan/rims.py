"""Loops of a graph file in an editor: the picture of them, and nodes that go into them and out.

An edge across the rim of an inline loop becomes a port of the loop, an edge to or from that port,
and a mapping; out again, the mapping becomes an edge.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.lazily import dataclass
from whorl.source import Sequence
from whorl.source.editing.text import TAKEN
from whorl.wings.editor.kit.operations import CONNECTED, READ, refuse
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
    from whorl.source import Document, Json, Value
    from whorl.wings.editor.kit.canvas import CanvasChanges
    from whorl.wings.editor.kit.sketch import Body, EdgeKind

_MEMBER = re.compile(r"\.([\w-]+)")
_LEAVE = "change the reader first, or use `readers: leave`"


@dataclass(frozen=True, slots=True)
class _Edge:
    """An edge in the list of a canvas, with the names of its ports; empty: it names none."""

    index: int
    source: str
    target: str
    out: str
    into: str


def _port(item: Value, end: str) -> str:
    kind, mark, port = text_of(at(item, f"{end}Handle")).partition(":")
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
        """The keys of the loop; other nodes of its level may come and go."""
        return (*self._level, "nodes", self._changes.ids(self._level).index(self._loop))

    @property
    def inside(self) -> Keys:
        return (*self._where, *INLINE)

    def _listed(self, name: str) -> list[Value]:
        listed = at(self._editor.now.root, *self._where, "data", name)
        return list(listed.items) if isinstance(listed, Sequence) else []

    def _push(self, name: str, value: Json) -> None:
        where = (*self._where, "data", name)
        if not isinstance(at(self._editor.now.root, *where), Sequence):
            self._editor.set(list(where), [])
        path = self._changes.path(where)
        self._editor.insert(path, len(self._listed(name)), None, value)

    def _drop(self, name: str, index: int) -> None:
        self._editor.cut(self._changes.path((*self._where, "data", name, index)))

    def _edges(self, level: Keys, names: set[str]) -> list[_Edge]:
        """The edges that touch nodes, the last one first."""
        found = []
        for index, item in reversed(list(enumerate(self._changes.items(level, "edges")))):
            ends = [text_of(at(item, end)) for end in ("source", "target")]
            if names & set(ends):
                ports = [_port(item, end) for end in ("source", "target")]
                found.append(_Edge(index, *ends, *ports))
        return found

    def _type(self, level: Keys, node: str, side: str, port: str) -> str:
        index = self._changes.ids(level).index(node)
        listed = at(self._editor.now.root, *level, "nodes", index, "data", side)
        for item in listed.items if isinstance(listed, Sequence) else ():
            if text_of(at(item, "name")) == port:
                return text_of(at(item, "type")) or "any"
        return "any"

    def _new_port(self, side: str, wanted: str, kind: str) -> str:
        taken = {text_of(at(item, "name")) for item in self._listed(side)}
        name = self._changes.free_name(wanted, taken)
        self._push(side, {"name": name, "type": kind})
        return name

    def _give(self, level: Keys, node: str, output: str) -> str:
        """The output of the loop that an output of a node goes out by; made where it is missing."""
        for item in self._listed("outputMappings"):
            pair = text_of(at(item, "source", "node")), text_of(at(item, "source", "output"))
            if pair == (node, output) and text_of(at(item, "take")) in ("", "last"):
                return text_of(at(item, "target"))
        port = self._new_port("outputs", output, self._type(level, node, "outputs", output))
        source: Json = {"node": node, "output": output}
        self._push("outputMappings", {"source": source, "target": port, "take": "last"})
        return port

    def _take(self, level: Keys, node: str, into: str) -> str:
        """A new input of the loop that leads to an input of a node."""
        port = self._new_port("inputs", into, self._type(level, node, "inputs", into))
        source: Json = {"type": "outer", "name": port}
        target: Json = {"node": node, "input": into}
        self._push("inputMappings", {"source": source, "target": target, "iterations": "all"})
        return port

    def _connect(self, level: Keys, source: tuple[str, str], target: tuple[str, str]) -> None:
        ends, ports = (source[0], target[0]), (source[1], target[1])
        same = [(e.source, e.out, e.target, e.into) for e in self._edges(level, {source[0]})]
        if (*source, *target) not in same:
            self._changes.append(level, "edges", self._changes.new_edge(level, ends, ports))

    def _turn(self, level: Keys, edge: _Edge, end: str, node: str, port: str) -> None:
        """Leads one end of an edge to another node."""
        where = (*level, "edges", edge.index)
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

    def enter(self, names: set[str]) -> None:
        """Nodes of the level of the loop go into it, with the edges among themselves."""
        readers = self._outside_readers(names)
        for edge in self._edges(self._level, names):
            if edge.source in names and edge.target in names:
                self._carry("edges", edge.index, inwards=True)
            elif self._loop in (edge.source, edge.target):
                self._join(edge)
            elif edge.target in names:
                port = edge.into and self._take(self._level, edge.target, edge.into)
                self._turn(self._level, edge, "target", self._loop, port)
            else:
                port = edge.out and self._give(self._level, edge.source, edge.out)
                self._turn(self._level, edge, "source", self._loop, port)
        for where, offset, name, output in readers:
            port = self._give(self._level, name, output)
            self._respell(where, offset, (name, output), (self._loop, port))
        for name in names:
            for where, port, is_source in self._mentions(name):
                own = self._give if is_source else self._take
                self._name(where, self._loop, own(self._level, name, port))
        self._carry_nodes(names, inwards=True)

    def _mentions(self, name: str) -> list[tuple[Keys, str, bool]]:
        """What the loop around this one says of a node: where, of which port, if it reads it."""
        found, root = [], self._editor.now.root
        around = self._level[: -len(INLINE)]
        node = self._changes.sketch.at(around) if around else None
        for where in () if node is None else self._changes.mentions(self._level, node):
            text = text_of(at(root, *where))
            if where[-1] == "output" and text.partition(".")[0] == name:
                found.append((where, text.partition(".")[2], True))
            elif where[-1] == "node" and text == name:
                is_source = where[-2] == "source"
                field = "output" if is_source else "input"
                found.append((where, text_of(at(root, *where[:-1], field)), is_source))
        return found

    def _name(self, where: Keys, node: str, port: str) -> None:
        """Writes another node with its port where the loop around this one names one."""
        if where[-1] == "output":
            self._editor.set(list(where), f"{node}.{port}")
            return
        self._editor.set(list(where), node)
        field = "output" if where[-2] == "source" else "input"
        self._editor.set([*where[:-1], field], port)

    def _join(self, edge: _Edge) -> None:
        """An edge to or from the loop becomes one inside of it, by what its mappings say."""
        self._changes.cut_item(self._level, "edges", edge.index)
        if edge.source == self._loop:
            for item in self._listed("outputMappings") if edge.out else ():
                source = at(item, "source")
                if text_of(at(item, "target")) == edge.out and text_of(at(source, "node")):
                    pair = text_of(at(source, "node")), text_of(at(source, "output"))
                    self._connect(self.inside, pair, (edge.target, edge.into))
            return
        mappings = self._listed("inputMappings") if edge.into else []
        for index in reversed(range(len(mappings))):
            source, target = (at(mappings[index], side) for side in ("source", "target"))
            is_outer = text_of(at(source, "type")) == "outer"
            if is_outer and text_of(at(source, "name")) == edge.into:
                pair = text_of(at(target, "node")), text_of(at(target, "input"))
                if text_of(at(mappings[index], "iterations")) not in ("", "all"):
                    self._refuse(f"{edge.into!r} is given only in some iterations")
                self._drop("inputMappings", index)
                self._connect(self.inside, (edge.source, edge.out), pair)
        self._drop_port("inputs", edge.into)

    def _drop_port(self, side: str, name: str) -> None:
        for index, item in reversed(list(enumerate(self._listed(side)))):
            if text_of(at(item, "name")) == name:
                self._drop(side, index)

    def leave(self, names: set[str]) -> None:
        """Nodes inside of the loop go to its own level."""
        is_whole = names == set(self._changes.ids(self.inside))
        edges = self._edges(self.inside, names)
        across = [e for e in edges if not {e.source, e.target} <= names]
        if len({e.source in names for e in across}) > 1:
            self._refuse("they are between other nodes of the loop")
        self._check_named(names, is_whole=is_whole)
        for edge in edges:
            if edge in across:
                self._changes.cut_item(self.inside, "edges", edge.index)
            else:
                self._carry("edges", edge.index, inwards=False)
        self._open_inputs(names, is_whole=is_whole)
        self._open_outputs(names)
        for edge in reversed(across):
            self._map(edge, names)
        self._carry_nodes(names, inwards=False)

    def _map(self, edge: _Edge, names: set[str]) -> None:
        """An edge inside of the loop leads through the rim."""
        if edge.source in names:
            port = edge.into and self._take(self.inside, edge.target, edge.into)
            self._connect(self._level, (edge.source, edge.out), (self._loop, port))
        else:
            port = edge.out and self._give(self.inside, edge.source, edge.out)
            self._connect(self._level, (self._loop, port), (edge.target, edge.into))

    def _check_named(self, names: set[str], *, is_whole: bool) -> None:
        """Refuses nodes by which the loop decides, or which feed its next iteration."""
        root, data = self._editor.now.root, (*self._where, "data")
        kinds = (text_of(at(item, "type")) for item in self._changes.items(self.inside, "nodes"))
        if is_whole and any(kind.startswith("interface-") for kind in kinds):
            self._refuse("the loop has interface nodes")
        if is_whole:
            return
        for field in ("continueWhile", "exitWhen"):
            if text_of(at(root, *data, field, "output")).partition(".")[0] in names:
                self._refuse(f"{field!r} of the loop names it")
        for item in self._listed("inputMappings"):
            ends = {text_of(at(item, side, "node")) for side in ("source", "target")} - {""}
            if text_of(at(item, "source", "type")) == "previous" and ends & names:
                self._refuse("it gives or gets a value of the previous iteration")

    def _open_inputs(self, names: set[str], *, is_whole: bool) -> None:
        """What is mapped to the nodes is brought to them by edges."""
        for index, item in reversed(list(enumerate(self._listed("inputMappings")))):
            node, port = (text_of(at(item, "target", part)) for part in ("node", "input"))
            if node not in names:
                continue
            when, outer = text_of(at(item, "iterations")), text_of(at(item, "source", "name"))
            if text_of(at(item, "source", "type")) == "outer" and when != "subsequent":
                if when == "first" and not is_whole:
                    self._refuse(f"{port!r} is given in the first iteration only")
                self._bring(outer, node, port)
            self._drop("inputMappings", index)
            left = self._listed("inputMappings")
            if outer and outer not in [text_of(at(each, "source", "name")) for each in left]:
                for edge in self._feeding(outer):
                    self._changes.cut_item(self._level, "edges", edge.index)
                self._drop_port("inputs", outer)

    def _bring(self, outer: str, node: str, port: str) -> None:
        feeding = self._feeding(outer)
        mentions = [where for where, own, is_source in self._mentions(self._loop)
                    if not is_source and own == outer]  # fmt: skip
        for where in mentions:
            self._name(where, node, port)
        if not feeding and not mentions and outer != port:
            # What nobody feeds is an input of the workflow, by its own name.
            self._refuse(f"its input {port!r} is the input {outer!r} of the workflow")
        for edge in feeding:
            self._connect(self._level, (edge.source, edge.out), (node, port))

    def _open_outputs(self, names: set[str]) -> None:
        """What is mapped from the nodes leads from them."""
        for index, item in reversed(list(enumerate(self._listed("outputMappings")))):
            node, output = (text_of(at(item, "source", part)) for part in ("node", "output"))
            if node not in names:
                continue
            target = text_of(at(item, "target"))
            if text_of(at(item, "take")) not in ("", "last"):
                self._refuse(f"its output {output!r} is collected from several iterations")
            for edge in self._edges(self._level, {self._loop}):
                if edge.source == self._loop and edge.out == target:
                    self._turn(self._level, edge, "source", node, output)
            for where, port, is_source in self._mentions(self._loop):
                if is_source and port == target:
                    self._name(where, node, output)
            for where, offset, name, port in self._outside_readers({self._loop}):
                if port == target:
                    self._respell(where, offset, (name, port), (node, output))
            self._drop("outputMappings", index)
            self._drop_port("outputs", target)

    def _feeding(self, port: str) -> list[_Edge]:
        """The edges that lead to an input of the loop, the last one first."""
        edges = self._edges(self._level, {self._loop})
        return [edge for edge in edges if edge.target == self._loop and edge.into == port]

    def _outside_readers(self, names: set[str]) -> list[tuple[Keys, int, str, str]]:
        """The texts outside that read nodes, the last place first: where, whom and which output."""
        found, ids = [], enumerate(self._changes.ids(self._level))
        moved = {(*self._level, "nodes", index) for index, each in ids if each in names}
        for node, where, offset, name in self._changes.reading(self._level, names):
            is_text = where[len(node.where) :][-1:] not in (("node",), ("output",))
            is_inside = where[: len(self._where)] == self._where
            is_moved = where[: len(self._level) + 2] in moved
            if not self._changes.rewires or is_inside or is_moved or not is_text:
                continue
            text = text_of(at(self._editor.now.root, *where))
            member = _MEMBER.match(text, offset + len(name))
            if member is None:
                words = f"{node.path} reads all of {name}, and cannot see into {self._loop}"
                self._changes.refuse_at(READ, words, where, _LEAVE)
            found.append((where, offset, name, member[1]))
        return sorted(found, key=lambda one: (str(one[0]), one[1]), reverse=True)

    def _respell(
        self, where: Keys, offset: int, old: tuple[str, str], new: tuple[str, str]
    ) -> None:
        text = text_of(at(self._editor.now.root, *where))
        end = offset + len(".".join(old))
        self._editor.set(list(where), text[:offset] + ".".join(new) + text[end:])

    def _refuse(self, why: str) -> None:
        message = f"this cannot be moved into or out of the loop {self._loop!r}: {why}"
        self._changes.refuse_at(CONNECTED, message, self._where, "edit the mappings first")


# By how much a rim is larger than the corners of what it holds.
_LEFT, _TOP, _RIGHT, _BOTTOM = 40, 60, 300, 180


def frame(nodes: list[SketchNode]) -> tuple[dict[str, Json], dict[str, Json]]:
    """Where a rim around nodes stands, and how large it is."""
    points = [node.position for node in nodes if node.position]
    left, top = min(x for x, _ in points) - _LEFT, min(y for _, y in points) - _TOP
    right, bottom = max(x for x, _ in points) + _RIGHT, max(y for _, y in points) + _BOTTOM
    return {"x": left, "y": top}, {"width": right - left, "height": bottom - top}


# The picture of a graph file: loops around their nodes, whichever way the file holds these.

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
