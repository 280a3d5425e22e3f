"""Nodes go to a canvas of their own, which a subworkflow node calls, and come back from there.

One value goes in and one comes out, by edges; so a node, or a container with all that it holds,
goes there as it is written.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whorl.dialects.reader import parse
from whorl.dialects.reading.fields import text_of
from whorl.formats.studio.kinds import CLOSED_BY
from whorl.source.editing.editor import Editor
from whorl.source.editing.text import TAKEN
from whorl.wings.editor.kit.bodies import (
    check_new_file,
    give_file,
    inside_of,
    opened_file,
    refuse_body,
)
from whorl.wings.editor.kit.operations import CONNECTED, UNAVAILABLE
from whorl.wings.editor.kit.sketch import PortEdge, SketchNode, at, number_pair

if TYPE_CHECKING:
    from whorl.source import Json
    from whorl.wings.editor.kit.canvas import CanvasChanges

# What stands for the file itself, or for the other end of a container.
_ENDS = ("input", "output", "note", *CLOSED_BY.values())
_WIDE = 240
_OUTPUT = re.compile(r"(?:\.output)?\s*(?:\||$)")


def _edges(changes: CanvasChanges) -> list[PortEdge]:
    found = []
    for index, item in enumerate(changes.items((), "edges")):
        ends = [text_of(at(item, end)) for end in ("source", "target")]
        ports = [text_of(at(item, f"{end}Handle")) for end in ("source", "target")]
        usual = [port if port not in ("output", "input") else "" for port in ports]
        found.append(PortEdge(index, ends[0], ends[1], usual[0], usual[1]))
    return found


def extract(changes: CanvasChanges, node: SketchNode, file: str) -> None:
    """Moves a node, or a container with all that it holds, to a new file, and calls that."""
    check_new_file(changes, node, file)
    if node.kind in _ENDS or not file.endswith(".json"):
        message = f"{file[:120]!r} is not the name of a .json file"
        if node.kind in _ENDS:
            message = f"{node.path!r} cannot be moved to its own canvas"
        changes.refuse_at(
            UNAVAILABLE, message, node.where, "for example, extract a loop to body.json"
        )
    group = _Group(changes, node)
    _check_texts(changes, group.names, group.source)
    stem, source = file.rpartition("/")[2][:-5], _named(changes, group.source)
    name = text_of(at(changes.editor.now.root, *source.where, "data", "name"))
    last = changes.free_name("output", group.names)
    left, right, top = group.bounds()
    new = _editor(file, {"name": stem, "nodes": [], "edges": []})
    begins: dict[str, Json] = {"id": group.source, "type": "input"}
    begins |= {"position": {"x": left - _WIDE, "y": top}, "data": {"name": name or group.source}}
    ends: dict[str, Json] = {"id": last, "type": "output"}
    ends |= {"position": {"x": right + _WIDE, "y": top}, "data": {"name": "output"}}
    taken = {text_of(at(item, "id")) for item in changes.items((), "edges")}
    ways = [(group.source, group.begin), (group.end, last)]
    links: list[Json] = [
        {"id": changes.free_name(f"{a}-{b}", taken), "source": a, "target": b} for a, b in ways
    ]

    def change() -> None:
        for edge in reversed(_edges(changes)):
            if edge.source in group.names and edge.target in group.names:
                _carry(changes, new, "edges", edge.index)
            elif edge.source in group.names:
                changes.editor.set(["edges", edge.index, "source"], group.begin)
        index = changes.ids(()).index(group.begin)
        for at_ in reversed(range(len(changes.ids(())))):
            if changes.ids(())[at_] in group.names:
                _carry(changes, new, "nodes", at_)
        _put(new, "nodes", begins, 0)
        _put(new, "nodes", ends)
        _put(new, "edges", links[0], 0)
        _put(new, "edges", links[1])
        new.verify()
        give_file(changes, file, new.text)
        call: dict[str, Json] = {"id": group.begin, "type": "subworkflow"}
        if node.position is not None:
            call["position"] = dict(zip("xy", node.position, strict=True))
        call["data"] = {"workflowId": file, "workflowName": stem}
        changes.append((), "nodes", call, index)

    changes.soundly(change)
    changes.outcome.select = [node.path]


class _Group:
    """What goes: the ids of its nodes, where it begins and ends, and where its value is from."""

    def __init__(self, changes: CanvasChanges, node: SketchNode) -> None:
        self._nodes = list(inside_of(changes, node.path))
        self.names = {changes.id_of(each) for each in self._nodes}
        self.begin = self.end = changes.id_of(node)
        for each in changes.sketch.inside(node.path):
            if each.kind == CLOSED_BY.get(node.kind):
                self.end = changes.id_of(each)
        edges = _edges(changes)
        coming = [e for e in edges if e.target in self.names and e.source not in self.names]
        going = [e for e in edges if e.source in self.names and e.target not in self.names]
        is_plain = [(e.target, e.into) for e in coming] == [(self.begin, "")]
        if not is_plain or any((e.source, e.out) != (self.end, "") for e in going):
            message = f"{node.path!r} has more than one value that comes in, or that goes out"
            advice = "merge what comes in with a transform first"
            changes.refuse_at(CONNECTED, message, node.where, advice)
        self.source = coming[0].source

    def bounds(self) -> tuple[float, float, float]:
        """Where it begins and ends from left to right, and how high its beginning stands."""
        points = [node.position for node in self._nodes if node.position] or [(0, 0)]
        return min(x for x, _ in points), max(x for x, _ in points), points[0][1]


def _check_texts(changes: CanvasChanges, names: set[str], source: str) -> None:
    """Refuses texts that read across the border anything but the one value that comes in."""
    for reader, where, offset, name in changes.reading((), set(changes.ids(()))):
        is_inside = changes.id_of(reader) in names
        if is_inside == (name in names):
            continue
        text = text_of(at(changes.editor.now.root, *where))
        is_value = (
            is_inside
            and name == source
            and _OUTPUT.match(text[offset + len(name) :].partition("}}")[0])
        )
        if not is_value:
            refuse_body(changes, where, f"{reader.path} reads {name}")


def _editor(file: str, value: dict[str, Json]) -> Editor:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return Editor(text, lambda source: parse(source, file, lenient=True), is_json=True)


def _put(new: Editor, name: str, value: Json, index: int | None = None) -> None:
    path = new.now.find((name,)) or ()
    new.insert(path, len(new.now.container(path)) if index is None else index, None, value)


def _carry(changes: CanvasChanges, new: Editor, name: str, index: int) -> None:
    """Takes an item out, and puts its text before all others of the other file."""
    piece = changes.editor.cut(changes.path((name, index)))
    new.paste(new.now.find((name,)) or (), 0, piece)


def _named(changes: CanvasChanges, name: str) -> SketchNode:
    return next(node for node in changes.sketch.nodes if changes.id_of(node) == name)


def inline(changes: CanvasChanges, node: SketchNode) -> None:
    """Puts the nodes of a called canvas in the place of the call; the file stays as it is."""
    called = opened_file(changes, node, node.file)
    assert isinstance(called, type(changes))
    ends = {
        kind: [n for n in called.sketch.nodes if n.kind == kind] for kind in ("input", "output")
    }
    if any(len(found) != 1 for found in ends.values()):
        message = f"{node.file!r} has not exactly one input and one output"
        changes.refuse_at(UNAVAILABLE, message, node.where)
    begin, end = (called.id_of(ends[kind][0]) for kind in ("input", "output"))
    names = set(called.ids(())) - {begin, end}
    name = changes.id_of(node)
    clash = names & (set(changes.ids(())) - {name})
    if clash:
        changes.refuse_at(TAKEN, f"there is a {min(clash)!r} already", node.where, "rename one")
    inner, outer = _edges(called), _edges(changes)
    coming = [edge for edge in outer if edge.target == name]
    firsts = [edge for edge in inner if edge.source == begin]
    lasts = [edge for edge in inner if edge.target == end]
    if len(coming) != 1 or len(firsts) != 1 or len(lasts) != 1:
        message = f"more than one value comes into {node.path!r}, or goes through its file"
        changes.refuse_at(CONNECTED, message, node.where, "merge them with a transform first")
    _check_texts(called, names, coming[0].source if coming[0].source == begin else "")
    for reader, where, _, _ in changes.reading((), {name}):
        refuse_body(changes, where, f"{reader.path} reads {name}")
    shift = _shift(called, node, firsts[0].target)

    def change() -> None:
        _turn(changes, coming[0], "target", firsts[0].target, firsts[0].into)
        for edge in outer:
            if edge.source == name:
                _turn(changes, edge, "source", lasts[0].source, lasts[0].out)
        index = changes.ids(()).index(name)
        changes.cut_item((), "nodes", index)
        for edge in reversed(inner):
            if edge not in (*firsts, *lasts):
                piece = called.editor.cut(called.path(("edges", edge.index)))
                changes.editor.paste(changes.path(("edges",)), coming[0].index + 1, piece)
        for at_, each in reversed(list(enumerate(called.ids(())))):
            if each in names:
                piece = called.editor.cut(called.path(("nodes", at_)))
                changes.editor.paste(changes.path(("nodes",)), index, piece)
                _move(changes, index, shift)

    changes.soundly(change)
    changes.outcome.select = [firsts[0].target]


def _turn(changes: CanvasChanges, edge: PortEdge, end: str, name: str, port: str) -> None:
    """Leads one end of an edge to another node."""
    where: tuple[str | int, ...] = ("edges", edge.index)
    changes.editor.set([*where, end], name)
    if port:
        changes.editor.set([*where, f"{end}Handle"], port)
    elif at(changes.editor.now.root, *where, f"{end}Handle") is not None:
        changes.editor.unset([*where, f"{end}Handle"], keeps=len(where))


def _shift(called: CanvasChanges, node: SketchNode, first: str) -> tuple[float, float]:
    """How far nodes go so that the first of them stands where the call was."""
    place = _named(called, first).position
    if place is None or node.position is None:
        return 0, 0
    return node.position[0] - place[0], node.position[1] - place[1]


def _move(changes: CanvasChanges, index: int, shift: tuple[float, float]) -> None:
    where = ("nodes", index, "position")
    old = number_pair(at(changes.editor.now.root, *where), "x", "y")
    for axis, number, delta in zip("xy", old or (), shift, strict=False):
        if delta:
            changes.editor.set([*where, axis], number + delta)
