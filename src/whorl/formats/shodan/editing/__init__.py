"""Graph files in an editor: what operations do to nodes, edges, mappings and loops of any form."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.formats.shodan.editing import palette
from whorl.formats.shodan.editing.docks import Dock, frame
from whorl.formats.shodan.editing.loop_ports import LoopPorts
from whorl.formats.shodan.editing.ports import PortName, side_of
from whorl.formats.shodan.editing.room import GAP, drawn, uncovered
from whorl.formats.shodan.editing.sketch import INLINE, draw
from whorl.formats.shodan.graph import COUNT
from whorl.formats.shodan.ports import USUAL
from whorl.source import Sequence
from whorl.source.editing.text import UNKNOWN
from whorl.wings.editor.kit.canvas import CanvasChanges
from whorl.wings.editor.kit.operations import CONNECTED, UNAVAILABLE, Operation, refuse
from whorl.wings.editor.kit.sketch import Keys, Sketch, SketchNode, at, joined, number_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Document, Json
    from whorl.wings.editor.kit.changes import FormField


_OUTPUT = re.compile(r"[\w-]+\.[\w-]+")


class ShodanChanges(CanvasChanges):
    size_at = ("style",)
    new, groups, titles, needs = palette.NEW, palette.GROUPS, palette.TITLES, palette.NEEDS
    looks, ports, empty = palette.LOOKS, palette.PORTS, palette.EMPTY
    names_ports = True

    @classmethod
    def form_of(cls, kind: str) -> list[FormField]:
        return palette.form_of(kind)

    @classmethod
    def draw(cls, document: Document) -> Sketch:
        return draw(document)

    def handle(self, end: str, port: str) -> str | None:
        usual = "output" if end == "source" else "input"
        if not port or port == usual:
            return None
        return port if port.partition(":")[0] in ("dock", "input", "output") else f"{usual}:{port}"

    def check_edge(
        self, level: Keys, ends: tuple[str, str], ports: tuple[str, str], target: SketchNode
    ) -> None:
        if "dock:" in ports[1]:
            return
        edges = [edge for edge in self.sketch.edges if edge.target == target.path]
        wanted = ports[1].removeprefix("input:") or "input"
        if any(edge.to_port == wanted for edge in edges) and not self._is_list(target, wanted):
            message = f"the input {wanted!r} of {target.path!r} has an edge already"
            advice = "remove that one first, or give the node an input for each"
            self.refuse_at(CONNECTED, message, target.where, advice)
        if ":internal" not in ports[0] and "dock:" not in ports[0]:
            super().check_edge(level, ends, ports, target)

    def _is_list(self, node: SketchNode, port: str) -> bool:
        listed = at(self.editor.now.root, *node.where, "data", "inputs")
        for item in listed.items if isinstance(listed, Sequence) else ():
            if text_of(at(item, "name")) == port:
                return text_of(at(item, "type")) in ("array", "files", "list")
        return False

    def head_of(self, node: SketchNode, content: str, names: set[str]) -> tuple[int, str] | None:
        head, dot, _ = content.strip().partition(".")
        # An input of the node itself comes first.
        if not dot or head not in names or head == "inputs" or head in node.inputs:
            return None
        return content.index(head), head

    def given(self, node: SketchNode) -> Iterator[tuple[str, str]]:
        yield from self._ports(node, "inputs")
        if node.parent:
            yield COUNT, "number"

    def gives(self, node: SketchNode) -> Iterator[tuple[str, str]]:
        name, ports = self.id_of(node), dict.fromkeys(USUAL.get(node.kind, ()), "any")
        for port, word in (ports | dict(self._ports(node, "outputs"))).items():
            yield f"{name}.{port}", word

    def _ports(self, node: SketchNode, side: str) -> Iterator[tuple[str, str]]:
        listed = at(self.editor.now.root, *node.where, "data", side)
        for item in listed.items if isinstance(listed, Sequence) else ():
            word = text_of(at(item, "type")) or "any"
            yield text_of(at(item, "name")), "text" if word == "string" else word

    def mentions(self, level: Keys, node: SketchNode) -> Iterator[Keys]:
        """The mappings and conditions of a loop name the nodes inside of it."""
        data = (*node.where, "data")
        is_inline = (*node.where, *INLINE) == level
        if node.kind != "loop" or not (is_inline or self.level(node) == level):
            return
        for name in ("continueWhile", "exitWhen"):
            yield (*data, name, "output")
        for name in ("inputMappings", "outputMappings"):
            listed = at(self.editor.now.root, *data, name)
            for index in range(len(listed) if isinstance(listed, Sequence) else 0):
                yield from ((*data, name, index, side, "node") for side in ("source", "target"))

    def make_rename(self, operation: Operation) -> None:
        port = operation.get("port")
        if port is None:
            super().make_rename(operation)
            return
        node, (side, name) = self.node(operation.at[0]), side_of(port)
        if not side:
            raise refuse(UNKNOWN, f"{port[:60]!r} is not a port", "write input:NAME or output:NAME")

        def change() -> None:
            found = PortName(self, node, side, name).rename(operation.get("name"))
            self.list_readers(found)

        if self.rewires:
            self.checked(change, is_strict=True)
        else:
            change()
        self.outcome.select = [node.path]

    def make_add(self, operation: Operation) -> None:
        into = operation.get("into")
        level, more = ((), {}) if not into else self._inside(self.node(into))
        node = self.new_node(level, operation)
        place = operation.get("place")
        if node["type"] == "loop" and place is not None:
            x, y = (place.get(axis, 0) for axis in "xy")
            node["position"] = {"x": x, "y": uncovered(self.sketch, into, x, y)}
        self.append(level, "nodes", {**node, **more})
        name = str(node["id"])
        if operation.get("on_edge"):
            self.split(level, operation.get("on_edge"), name, name)
        self.outcome.select = [joined(into, name)]

    def free_position(self, level: Keys) -> dict[str, Json]:
        """Right of all others, however wide what stands there is drawn."""
        nodes = (node for node in self.sketch.nodes if self.level(node) == level and node.position)
        boxes = [drawn(self.sketch, node) for node in nodes if not at(node.value, "parentId")]
        right = max((x + max(width + GAP, 240) for x, _, width, _ in boxes), default=0)
        return {"x": right, "y": max((y for _, y, _, _ in boxes), default=0)}

    def _inside(self, loop: SketchNode) -> tuple[Keys, dict[str, Json]]:
        """The level inside of a loop, and what a node there has beside its own fields."""
        if loop.kind != "loop" or loop.body == "file":
            self.refuse_at(UNKNOWN, f"{loop.path!r} has no nodes in this file", loop.where)
        if loop.body == "inline":
            return (*loop.where, *INLINE), {}
        others = [at(self.editor.now.root, *node.where) for node in self.sketch.inside(loop.path)]
        is_bound = any(at(item, "extent") is not None for item in others)
        more: dict[str, Json] = {"extent": "parent"} if is_bound else {}
        return self.level(loop), {"parentId": self.id_of(loop), **more}

    def make_move(self, operation: Operation) -> None:
        into, place = operation.get("into"), operation.get("place")
        nodes = [self.node(path) for path in operation.at]
        for node in nodes:
            if into == node.path or into.startswith(f"{node.path}/"):
                self.refuse_at(UNKNOWN, "a node cannot be moved into itself", node.where)
        if len({node.parent for node in nodes}) > 1:
            raise refuse(UNKNOWN, "the nodes do not all have the same parent")
        names = {self.id_of(node) for node in nodes}
        parent = nodes[0].parent
        change = partial(self._move, parent, into, names)
        # A loop that is left empty is a file in the making.
        is_emptied = bool(parent) and len(self.sketch.inside(parent)) == len(nodes)
        (change if is_emptied else partial(self.soundly, change))()
        for name in names if place is not None else ():
            fields = {"at": joined(into, name), **{axis: place.get(axis, 0) for axis in "xy"}}
            self.make_place(Operation("place", fields))
        self.outcome.select = [joined(into, self.id_of(node)) for node in nodes]

    def _move(self, parent: str, into: str, names: set[str]) -> None:
        """Moves nodes out of the loops that they leave, one after the other, then inwards."""
        while parent and not (into == parent or into.startswith(f"{parent}/")):
            self._cross(self.node(parent), names, inwards=False)
            parent = self.node(parent).parent
        while parent != into:
            rest = into.removeprefix(f"{parent}/" if parent else "")
            parent = f"{parent}/{rest.partition('/')[0]}" if parent else rest.partition("/")[0]
            self._cross(self.node(parent), names, inwards=True)

    def _cross(self, loop: SketchNode, names: set[str], *, inwards: bool) -> None:
        """Moves nodes across the rim of one loop, in the way that the loop holds its nodes."""
        level, more = self._inside(loop)
        if level != self.level(loop):
            rim = LoopPorts(self, self.level(loop), self.id_of(loop))
            (rim.enter if inwards else rim.leave)(names)
            return
        for name in names:
            where = (*level, "nodes", self.ids(level).index(name))
            for field in ("parentId", "extent"):
                if inwards and field in more:
                    self.editor.set([*where, field], more[field])
                elif at(self.editor.now.root, *where, field) is not None:
                    self.editor.unset([*where, field], keeps=len(where))
            self._shift(where, loop, -1 if inwards else 1)

    def _shift(self, where: Keys, loop: SketchNode, sign: int) -> None:
        """A place inside of a loop counts from the corner of the loop."""
        old = number_pair(at(self.editor.now.root, *where, "position"), "x", "y")
        for axis, number, corner in zip("xy", old or (), loop.position or (), strict=False):
            self.editor.set([*where, "position", axis], number + sign * corner)

    def make_wrap(self, operation: Operation) -> None:
        if operation.get("kind") not in ("repeat", "loop"):
            raise refuse(UNKNOWN, "nodes are wrapped in a loop", "known: repeat")
        nodes = [self.node(path) for path in operation.at]
        parent, names = nodes[0].parent, {self.id_of(node) for node in nodes}
        if len({node.parent for node in nodes}) > 1:
            raise refuse(UNKNOWN, "the nodes do not all have the same parent")
        level = self.level(nodes[0])
        given = {"kind": "loop", "name": operation.get("name") or "loop"}
        loop = self.new_node(level, Operation("add", given))
        data: dict[str, Json] = {**self.new["loop"], **self._loop_fields(operation, nodes)}
        loop["data"] = data
        points = [node.position for node in nodes if node.position]
        name = str(loop["id"])

        def change() -> None:
            self.append(level, "nodes", loop)
            LoopPorts(self, level, name).enter(names)

        def change_dock() -> None:
            first = min(self.ids(level).index(each) for each in names)
            self.append(level, "nodes", loop, first)
            Dock(self, level, name).enter(names)
            self._cross(self.node(joined(parent, name)), names, inwards=True)

        if any(node.body == "members" for node in self.sketch.nodes if node.kind == "loop"):
            # A file keeps the form of loops that it has.
            for field in ("inlineWorkflow", "inputMappings", "outputMappings"):
                data.pop(field, None)
            if len(points) == len(nodes):
                loop["position"], loop["style"] = frame(nodes)
            if parent:
                loop |= self._inside(self.node(parent))[1]
            self.soundly(change_dock)
        else:
            if points and "position" in loop:
                loop["position"] = {"x": min(x for x, _ in points), "y": min(y for _, y in points)}
            self.soundly(change)
        self.outcome.select = [joined(parent, name)]

    def _loop_fields(self, operation: Operation, nodes: list[SketchNode]) -> dict[str, Json]:
        """The fields of a new loop; `until` and `at_most` say what they say of any loop."""
        given = dict(operation.get("fields", {}))
        most, until = given.pop("at_most", None), given.pop("until", None)
        if most is not None:
            given["maxIterations"] = most
        if until is not None:
            if not _OUTPUT.fullmatch(str(until)):
                raise refuse(
                    UNKNOWN, f"{str(until)[:60]!r} does not name an output", "write NODE.OUTPUT"
                )
            given["continueWhile"] = {"output": until, "operator": "!=", "value": True}
        last = nodes[-1]
        output = next(iter([*last.outputs, *USUAL.get(last.kind, ())]), "output")
        usual: Json = {"output": f"{self.id_of(last)}.{output}", "operator": "!=", "value": "done"}
        return {"continueWhile": usual, **given}

    def make_unwrap(self, operation: Operation) -> None:
        loop = self.node(operation.at[0])
        if loop.kind != "loop" or loop.body == "file":
            message = f"{loop.path!r} has no nodes in this file"
            self.refuse_at(UNAVAILABLE, message, loop.where)
        level, name = self.level(loop), self.id_of(loop)
        is_inline = loop.body == "inline"
        members = {self.id_of(node) for node in self.sketch.inside(loop.path)}
        names = set(self.ids((*loop.where, *INLINE))) if is_inline else members

        def change() -> None:
            if is_inline:
                LoopPorts(self, level, name).leave(names)
            else:
                Dock(self, level, name).open()
                self._cross(self.node(loop.path), names, inwards=False)
                self._hand_on(loop, names)
            self.cut_nodes(level, {name})

        self.soundly(change)
        self.outcome.select = [joined(loop.parent, each) for each in names]

    def _hand_on(self, loop: SketchNode, names: set[str]) -> None:
        """Nodes that leave a loop stand in the one that is around it."""
        if loop.parent:
            around = self.node(loop.parent)
            level, more = self._inside(around)
            for name in names if level == self.level(loop) else ():
                for field, value in more.items():
                    where = (*level, "nodes", self.ids(level).index(name), field)
                    self.editor.set(list(where), value)
