"""Graph files in an editor: the changes to nodes, edges, mappings and loops of any form."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from whorl.dialects.reading.fields import words
from whorl.formats.shodan.functions import TYPES
from whorl.formats.shodan.graph import COUNT, FIELDS
from whorl.formats.shodan.ports import USUAL
from whorl.formats.shodan.rims import INLINE, LoopPorts, draw, port_places
from whorl.source.editing.text import TAKEN, UNKNOWN
from whorl.wings.editor.kit.canvas import PLACE, CanvasChanges, Row, data_field, field_row
from whorl.wings.editor.kit.operations import CONNECTED, READ, UNAVAILABLE, Kind, Operation, refuse
from whorl.wings.editor.kit.sketch import Keys, SketchNode, at, is_in, joined, number_pair, text_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Json, Value
    from whorl.wings.editor.kit.changes import FormField, Widget


# The place of a text that names a port: the node, its keys, and the start of the name.
_Reader: TypeAlias = "tuple[SketchNode, Keys, int]"
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*")
# Texts that name ports in a language of their own, which is not read here.
_FOREIGN = ("code", "outputSchema")
# The mark of a port of a loop that is meant as its own nodes see it.
_INTERNAL = ":internal"


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


# What can be added to a graph file: the types of nodes with what a new one says, their forms.

_STARTS, _MODELS, _WORKS, _VALUES, _LOOPS, _RIMS = (
    "#2f5a3c", "#2a4a7a", "#6a4a1f", "#3f5060", "#4a2a6a", "#4a5560"
)  # fmt: skip
_LOOP: dict[str, Json] = {
    "maxIterations": 5,
    "continueWhile": {"output": "work.result", "operator": "!=", "value": "done"},
    "inputMappings": [],
    "outputMappings": [],
    "inlineWorkflow": {"nodes": [], "edges": []},
}
_TEXT: dict[str, Json] = {"valueType": "string", "value": "text"}
_BODY: dict[str, Json] = {
    "code": "return {result: 1}",
    "outputs": [{"name": "result", "type": "any"}],
}
# By kind: its group and looks, and the data of a new one.
_KINDS: dict[str, tuple[str, str, str, dict[str, Json]]] = {
    "trigger": ("START", "play", _STARTS, {"label": "Start", "triggerType": "manual"}),
    "agent": ("WORK", "bot", _MODELS, {"label": "Agent", "runner": "demo", "prompt": "Say hello."}),
    "shell": ("WORK", "terminal", _WORKS, {"label": "Shell", "script": "echo hello"}),
    "function": ("WORK", "code", _WORKS, {"label": "Function", **_BODY}),
    "constant": ("WORK", "hash", _VALUES, {"label": "Constant", **_TEXT}),
    "workdir": ("WORK", "folder", _VALUES, {"label": "Folder", "path": "."}),
    "wire": ("WORK", "minus", _VALUES, {"label": "Wire"}),
    "component": ("WORK", "workflow", _WORKS, {"label": "Component", "workflowPath": "other.yaml"}),
    "loop": ("LOGIC", "repeat", _LOOPS, {"label": "Loop", **_LOOP}),
    "interface-input": ("INTERFACE", "log-in", _RIMS, {"label": "Input"}),
    "interface-output": ("INTERFACE", "circle-dot", _RIMS, {"label": "Output"}),
    "interface-continue": ("INTERFACE", "skip-forward", _RIMS, {"label": "Continue"}),
}
_NEEDS = {"shell": "[allow] commands", "agent": "[allow] commands, for agent programs"}
# The ports of a new node; ports of any name can be declared.
PORTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    kind: ((), USUAL.get(kind, ())) for kind in _KINDS
}
PORTS |= {"wire": (("value",), USUAL["wire"]), "agent": (("prompt",), USUAL["agent"])}
PORTS["function"] = ((), ("result",))
EMPTY = """\
version: 1
metadata: {name: new}
nodes:
  - {id: start, type: trigger, position: {x: 0, y: 0}, data: {nodeType: trigger, label: Start}}
  - id: write
    type: agent
    position: {x: 240, y: 0}
    data:
      nodeType: agent
      label: Write
      runner: demo
      prompt: "{{ inputs.input }}"
      inputs: [{name: input, type: string}]
      outputs: [{name: output, type: string}]
edges:
  - {id: e1, source: start, target: write, sourceHandle: "output:text", targetHandle: "input:input"}
"""
# The fields that have such a widget and no default; those that are in no list hold texts.
_WIDGETS: dict[Widget, tuple[str, ...]] = {
    "number": words("idleMinutes maxIterations timeout"),
    "long text": words("prompt script code outputSchema"),
    "json": words(
        "promptFiles scriptFiles commands value continueWhile inputMappings outputMappings "
        "dockSlots forEach exitWhen inputs outputs"
    ),
}
_FIELDS: dict[str, Row] = {
    "triggerType": ("Start", ("manual", "cron", "idle"), "manual"),
    "runner": ("Runner", "text", "claude-code"),
    "valueType": ("Type", TYPES[:4], None),
    "workflowRef": ("Inner workflow, in a file", "text", None),
    "continueOnFailure": ("Continue on failure", "boolean", False),
}
_RARE = ("commands", "forEach", "exitWhen", "dockSlots", "timeout", "continueOnFailure")


class ShodanChanges(CanvasChanges):
    size_at = ("style",)
    kinds = tuple(
        Kind(group, name, icon, colour, {"nodeType": name, **new}, _NEEDS.get(name, ""))
        for name, (group, icon, colour, new) in _KINDS.items()
    )
    ports, empty = PORTS, EMPTY
    names_ports = True

    draw = staticmethod(draw)

    @classmethod
    def form_of(cls, kind: str) -> list[FormField]:
        names = (name for name in FIELDS[kind] if name != "inlineWorkflow")
        return [
            data_field(name, field_row(name, _FIELDS, _WIDGETS), is_rare=name in _RARE)
            for name in ("label", *names, "inputs", "outputs", "continueOnFailure")
        ]

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
        is_list = dict(self._ports(target, "inputs")).get(wanted) in ("array", "files")
        if any(edge.to_port == wanted for edge in edges) and not is_list:
            message = f"the input {wanted!r} of {target.path!r} has an edge already"
            advice = "remove that one first, or give the node an input for each"
            self.refuse_at(CONNECTED, message, target.where, advice)
        if ":internal" not in ports[0] and "dock:" not in ports[0]:
            super().check_edge(level, ends, ports, target)

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
        for item in self.items((*node.where, "data"), side):
            word = text_at(item, "type") or "any"
            yield text_at(item, "name"), "text" if word == "string" else word

    def mentions(self, level: Keys, node: SketchNode) -> Iterator[Keys]:
        """Yields the mappings and conditions of a loop, which name the nodes inside of it."""
        data = (*node.where, "data")
        own = (*node.where, *INLINE) if node.body == "inline" else self.level(node)
        if node.kind != "loop" or own != level:
            return
        for name in ("continueWhile", "exitWhen"):
            yield (*data, name, "output")
        for name in ("inputMappings", "outputMappings"):
            for index in range(len(self.items(data, name))):
                yield from ((*data, name, index, side, "node") for side in ("source", "target"))

    def make_rename(self, operation: Operation) -> None:
        port = operation.get("port")
        if port is None:
            super().make_rename(operation)
            return
        node, (kind, _, name) = self.node(operation.at[0]), port.partition(":")
        if kind not in ("input", "output"):
            raise refuse(UNKNOWN, f"{port[:60]!r} is not a port", "write input:NAME or output:NAME")

        new, end = operation.get("name"), len(name)
        declared = self._declared(node, kind, name, new)

        def change() -> None:
            readers = [*self._port_readers(node, kind, name)] if self.rewires else []
            self.respell((where, start, start + end, new) for _, where, start in readers)
            self.editor.set(list(declared), new)
            self.list_readers(w for each, w, _ in readers if w[: len(each.where)] == each.where)

        self.soundly(change, is_strict=True)
        self.outcome.select = [node.path]

    def _declared(self, node: SketchNode, kind: str, name: str, new: str) -> Keys:
        """Returns the place at which a port is declared; refuses a name that it cannot have."""
        root, data, side = self.editor.now.root, (*node.where, "data"), f"{kind}s"
        items = self.items(data, side)
        names = [text_at(item, "name") for item in items]
        if name not in names:
            message = f"{self.id_of(node)!r} does not declare the {kind} {name[:60]!r}"
            self.refuse_at(UNKNOWN, message, node.where, "name a port that it declares")
        if new in names or not _NAME.fullmatch(new):
            message = f"an {kind} cannot be called {new[:60]!r}"
            self.refuse_at(TAKEN, message, node.where, "choose another name, without spaces")
        foreign = [one for one in _FOREIGN if _word(name).search(text_at(root, *data, one))]
        if node.kind == "function" and text_at(root, *data, "file"):
            foreign.append("file")
        parents = [text_at(item, "arrayParent") for item in items]
        if any(each.startswith(f"{name}[") for each in names) or name in parents:
            foreign.append(side)
        if self.rewires and foreign:
            message = f"{foreign[0]!r} of {self.id_of(node)} may name {name!r}"
            advice = "change the reader first, or use `readers: leave`"
            self.refuse_at(READ, message, (*data, foreign[0]), advice)
        return (*data, side, names.index(name), "name")

    def _port_readers(self, node: SketchNode, kind: str, name: str) -> Iterator[_Reader]:
        """Yields the places that name a port: edges, mappings, conditions and texts."""
        root, level, ident = self.editor.now.root, self.level(node), self.id_of(node)
        data, is_input, word = (*node.where, "data"), kind == "input", _word(name)
        # Also the handles of edges inside of a rim: `input:task:internal`.
        for index, item in enumerate(self.items(level, "edges")):
            for end, usual in (("source", "output"), ("target", "input")):
                handle = text_at(item, f"{end}Handle")
                prefix, mark, _ = handle.partition(":")
                start = len(prefix) + 1 if mark else 0
                fits = text_at(item, end) == ident and (prefix if mark else usual) == kind
                if fits and handle.removesuffix(_INTERNAL)[start:] == name:
                    yield node, (*level, "edges", index, f"{end}Handle"), start
        rows = "inputMappings" if is_input else "outputMappings"
        places: list[Keys] = [(*data, "forEach", "items")] if is_input else []
        for index, item in enumerate(self.items(data, rows)):
            if not is_input:
                places.append((*data, rows, index, "target"))
            elif text_at(item, "source", "type") == "outer":
                places.append((*data, rows, index, "source", "name"))
        yield from ((node, where, 0) for where in places if text_at(root, *where) == name)
        # In the loop around it, and in texts: those inside of a loop read its inputs.
        slug = "_".join(node.title.lower().split())
        for place in port_places(self, level, {ident, *({slug} - {"", *self.ids(level)})}):
            where, start, _ = place.at_port
            is_inside = place.is_text and is_in(place.reader.path, node.path)
            is_right = is_inside == is_input if place.is_text else place.is_source != is_input
            text = text_at(root, *where)
            if is_right and (word.match(text, start) if place.is_text else text[start:] == name):
                yield place.reader, where, start
        # The placeholders of the node's own texts read its inputs.
        for where, text in self.texts_of(node) if is_input else ():
            for match in PLACE.finditer(text):
                start = match.end(1) - len(match[1].lstrip().removeprefix("inputs."))
                if word.match(text, start):
                    yield node, where, start

    def make_add(self, operation: Operation) -> None:
        into = operation.get("into")
        level, more = ((), {}) if not into else self._inside(self.node(into))
        node = self.new_node(level, operation)
        place = operation.get("place")
        if node["type"] == "loop" and place is not None:
            x, y = (place.get(axis, 0) for axis in "xy")
            node["position"] = {"x": x, "y": y if more else self.below_others(level, x, y)}
        self.append(level, "nodes", {**node, **more})
        name = str(node["id"])
        if operation.get("on_edge"):
            self.split(level, operation.get("on_edge"), name, name)
        self.outcome.select = [joined(into, name)]

    def _inside(self, loop: SketchNode) -> tuple[Keys, dict[str, Json]]:
        """Returns the level inside of a loop, and the extra fields that a node has there."""
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
        nodes = self._together(operation)
        for node in nodes:
            if is_in(into, node.path):
                self.refuse_at(UNKNOWN, "a node cannot be moved into itself", node.where)
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

    def _together(self, operation: Operation) -> list[SketchNode]:
        """Returns the nodes of an operation; they must be in the same loop."""
        nodes = [self.node(path) for path in operation.at]
        if len({node.parent for node in nodes}) > 1:
            raise refuse(UNKNOWN, "the nodes do not all have the same parent")
        return nodes

    def _move(self, parent: str, into: str, names: set[str]) -> None:
        """Moves nodes out of the loops that they leave, one after the other, then inwards."""
        while parent and not is_in(into, parent):
            self._cross(self.node(parent), names, inwards=False)
            parent = self.node(parent).parent
        while parent != into:
            depth = parent.count("/") + 2 if parent else 1
            parent = "/".join(into.split("/")[:depth])
            self._cross(self.node(parent), names, inwards=True)

    def _cross(self, loop: SketchNode, names: set[str], *, inwards: bool) -> None:
        """Moves nodes across the rim of one loop, in the way that the loop holds its nodes."""
        level, more = self._inside(loop)
        if level != self.level(loop):
            rim = LoopPorts(self, self.level(loop), self.id_of(loop))
            (rim.enter if inwards else rim.leave)(names)
            return
        if not inwards:
            # They are then in the loop around it, if there is one.
            around, more = self.sketch.node(loop.parent), {}
            if around is not None and level == self.level(around):
                more = self._inside(around)[1]
        for name in names:
            where = (*level, "nodes", self.ids(level).index(name))
            for field in ("parentId", "extent"):
                if field in more:
                    self.editor.set([*where, field], more[field])
                elif at(self.editor.now.root, *where, field) is not None:
                    self.editor.unset([*where, field], keeps=len(where))
            # Inside of a loop a position counts from the corner of the loop.
            old = number_pair(at(self.editor.now.root, *where, "position"), "x", "y")
            for axis, number, corner in zip("xy", old or (), loop.position or (), strict=False):
                moved = number - corner if inwards else number + corner
                self.editor.set([*where, "position", axis], moved)

    def make_wrap(self, operation: Operation) -> None:
        if operation.get("kind") not in ("repeat", "loop"):
            raise refuse(UNKNOWN, "nodes are wrapped in a loop", "known: repeat")
        nodes = self._together(operation)
        parent, names = nodes[0].parent, {self.id_of(node) for node in nodes}
        level = self.level(nodes[0])
        given = {"kind": "loop", "name": operation.get("name") or "loop"}
        loop = self.new_node(level, Operation("add", given))
        # `until` and `at_most` mean the same as for any loop.
        fields = dict(operation.get("fields", {}))
        most, until = fields.pop("at_most", None), fields.pop("until", None)
        if most is not None:
            fields["maxIterations"] = most
        if until is None:
            last = nodes[-1]
            port = next(iter([*last.outputs, *USUAL.get(last.kind, ())]), "output")
            rule: Json = {"output": f"{self.id_of(last)}.{port}", "operator": "!=", "value": "done"}
        else:
            rule = {"output": until, "operator": "!=", "value": True}
        data: dict[str, Json] = {**self.new["loop"], "continueWhile": rule, **fields}
        loop["data"] = data
        points = [node.position for node in nodes if node.position]
        name = str(loop["id"])

        # A file keeps the form of loops that it has.
        is_flat = any(one.kind == "loop" and one.body == "members" for one in self.sketch.nodes)
        if is_flat:
            for field in ("inlineWorkflow", "inputMappings", "outputMappings"):
                data.pop(field, None)
            if len(points) == len(nodes):
                # A rim is larger than the corners of what it holds.
                (left, right), (top, bottom) = (
                    (min(each), max(each)) for each in zip(*points, strict=True)
                )
                loop["position"] = {"x": left - 40, "y": top - 60}
                loop["style"] = {"width": right - left + 340, "height": bottom - top + 240}
            if parent:
                loop |= self._inside(self.node(parent))[1]
        elif points and "position" in loop:
            loop["position"] = {"x": min(x for x, _ in points), "y": min(y for _, y in points)}

        def change() -> None:
            first = min(self.ids(level).index(each) for each in names) if is_flat else None
            self.append(level, "nodes", loop, first)
            self._cross(self.node(joined(parent, name)), names, inwards=True)

        # Edges may cross the rim of such a loop, but texts do not see into it.
        self.soundly(change, is_strict=is_flat)
        self.outcome.select = [joined(parent, name)]

    def make_unwrap(self, operation: Operation) -> None:
        loop = self.node(operation.at[0])
        if loop.kind != "loop" or loop.body == "file":
            message = f"{loop.path!r} has no nodes in this file"
            self.refuse_at(UNAVAILABLE, message, loop.where)
        level, name = self.level(loop), self.id_of(loop)
        is_inline = loop.body == "inline"
        members = {self.id_of(node) for node in self.sketch.inside(loop.path)}
        names = set(self.ids((*loop.where, *INLINE))) if is_inline else members

        def is_same(before: Value, behind: Value) -> bool:
            """Returns whether one edge leads to the port from which another one continues."""
            inward, onward = text_at(before, "targetHandle"), text_at(behind, "sourceHandle")
            return bool(inward) and inward.removesuffix(_INTERNAL) == onward.removesuffix(_INTERNAL)

        def change() -> None:
            if not is_inline:
                self.join(level, name, is_same)
            self._cross(loop, names, inwards=False)
            self.cut_nodes(level, {name})

        self.soundly(change)
        self.outcome.select = [joined(loop.parent, each) for each in names]
