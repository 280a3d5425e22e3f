"""Loops that hold their nodes by `parentId`: edges lead to a port of the rim, and on inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.source import Sequence
from whorl.wings.editor.kit.operations import READ
from whorl.wings.editor.kit.sketch import Keys, at

if TYPE_CHECKING:
    from whorl.source import Json, Value
    from whorl.wings.editor.kit.canvas import CanvasChanges
    from whorl.wings.editor.kit.sketch import SketchNode

_INTERNAL = ":internal"
_USUAL = {"source": "output", "target": "input"}
# By how much a rim is larger than the corners of what it holds.
_LEFT, _TOP, _RIGHT, _BOTTOM = 40, 60, 300, 180


def frame(nodes: list[SketchNode]) -> tuple[dict[str, Json], dict[str, Json]]:
    """Where a rim around nodes stands, and how large it is."""
    points = [node.position for node in nodes if node.position]
    left, top = min(x for x, _ in points) - _LEFT, min(y for _, y in points) - _TOP
    right, bottom = max(x for x, _ in points) + _RIGHT, max(y for _, y in points) + _BOTTOM
    return {"x": left, "y": top}, {"width": right - left, "height": bottom - top}


class Dock:
    """The rim of one loop, which is named by its level and its id."""

    def __init__(self, changes: CanvasChanges, level: Keys, loop: str) -> None:
        self._changes = changes
        self._editor = changes.editor
        self._level = level
        self._loop = loop

    def _edges(self) -> list[tuple[int, str, str]]:
        items = enumerate(self._changes.items(self._level, "edges"))
        return [(at_, text_of(at(e, "source")), text_of(at(e, "target"))) for at_, e in items]

    def _edge(self, index: int) -> Value | None:
        return at(self._editor.now.root, *self._level, "edges", index)

    def _port(self, index: int, end: str) -> str:
        """The name of the port at one end of an edge."""
        kind, mark, rest = text_of(at(self._edge(index), f"{end}Handle")).partition(":")
        if kind == "dock":
            return rest.partition(":")[0]
        return (rest if mark else kind) or _USUAL[end]

    def enter(self, names: set[str]) -> None:
        """Leads the edges between nodes that will be inside and others through the rim."""
        for node, where, _, name in list(self._changes.reading(self._level, names)):
            if self._changes.rewires and self._changes.id_of(node) not in {*names, self._loop}:
                words = f"{node.path} reads {name}, and cannot see into {self._loop}"
                advice = "change the reader first, or use `readers: leave`"
                self._changes.refuse_at(READ, words, where, advice)
        for index, source, target in self._edges():
            if (source in names) != (target in names) and self._loop not in (source, target):
                self._lead(index, "target" if target in names else "source")

    def _lead(self, index: int, end: str) -> None:
        """Leads the end of an edge that is inside to a port of the rim, and another one onward."""
        inner = text_of(at(self._edge(index), end))
        handle = text_of(at(self._edge(index), f"{end}Handle"))
        where = [*self._level, "edges", index]
        port = self._given(inner, end, self._port(index, end), handle)
        self._editor.set([*where, end], self._loop)
        self._editor.set([*where, f"{end}Handle"], f"{_USUAL[end]}:{port}")

    def _given(self, node: str, end: str, wanted: str, handle: str) -> str:
        """The port of the rim that stands for one of a node; made where it is missing."""
        side = "inputs" if end == "target" else "outputs"
        word = _USUAL[end]
        if end == "source":
            for index, source, target in self._edges():
                own = text_of(at(self._edge(index), "sourceHandle"))
                onward = text_of(at(self._edge(index), "targetHandle"))
                is_same = (source, target, own) == (node, self._loop, handle)
                if is_same and onward.endswith(_INTERNAL):
                    return onward.removesuffix(_INTERNAL).partition(":")[2]
        port = self._new_port(side, wanted)
        ends = (self._loop, node) if end == "target" else (node, self._loop)
        edge = self._changes.new_edge(self._level, ends, ("", ""))
        edge[f"{_other(end)}Handle"] = f"{word}:{port}{_INTERNAL}"
        if handle:
            edge[f"{end}Handle"] = handle
        self._changes.append(self._level, "edges", edge)
        return port

    def _new_port(self, side: str, wanted: str) -> str:
        index = self._changes.ids(self._level).index(self._loop)
        where = (*self._level, "nodes", index, "data", side)
        listed = at(self._editor.now.root, *where)
        items = list(listed.items) if isinstance(listed, Sequence) else []
        if not isinstance(listed, Sequence):
            self._editor.set(list(where), [])
        name = self._changes.free_name(wanted, {text_of(at(item, "name")) for item in items})
        port: Json = {"name": name, "type": "any"}
        self._editor.insert(self._changes.path(where), len(items), None, port)
        return name

    def open(self) -> None:
        """Joins each edge to a port of the rim with those that lead on from it."""
        found = self._edges()
        for index, source, target in found:
            if target == self._loop != source:
                handle = text_of(at(self._edge(index), "targetHandle"))
                self._join(index, handle + _INTERNAL if handle else "", found)
        for index, _, _ in reversed([edge for edge in found if self._loop in edge[1:]]):
            self._changes.cut_item(self._level, "edges", index)

    def _join(self, index: int, handle: str, found: list[tuple[int, str, str]]) -> None:
        before = self._edge(index)
        inward = text_of(at(before, "targetHandle"))
        wanted = inward.removesuffix(_INTERNAL) if inward.endswith(_INTERNAL) else handle
        for other, source, target in found:
            if source != self._loop or target == self._loop or not wanted:
                continue
            if text_of(at(self._edge(other), "sourceHandle")) == wanted:
                ends = text_of(at(before, "source")), target
                edge = self._changes.new_edge(self._level, ends, ("", ""))
                for end, item in (("sourceHandle", before), ("targetHandle", self._edge(other))):
                    if written := text_of(at(item, end)):
                        edge[end] = written
                self._changes.append(self._level, "edges", edge)


def _other(end: str) -> str:
    return "source" if end == "target" else "target"
