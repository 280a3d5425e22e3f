"""Canvas files in an editor: the container between a loop and its exit, and changes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.dialects.files import NoFiles
from whorl.dialects.reader import files_beside
from whorl.dialects.reading import ReadContext
from whorl.dialects.reading.fields import words
from whorl.errors import InvalidWorkflow
from whorl.formats.studio import canvas as canvases
from whorl.formats.studio.texts import heads
from whorl.source import Mapping, Sequence
from whorl.source.editing.text import UNKNOWN
from whorl.wings.editor.kit import sketch
from whorl.wings.editor.kit.canvas import CanvasChanges, Row, data_field, field_row
from whorl.wings.editor.kit.operations import CONNECTED, Kind, Operation, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.formats.studio.canvas import Canvas
    from whorl.source import Document, Json, Value
    from whorl.wings.editor.kit.changes import FormField, Widget
    from whorl.wings.editor.kit.sketch import EdgeKind


# The picture of a canvas: nodes as they stand, a container around what lies before an exit.


def draw(document: Document) -> sketch.Sketch:
    nodes = sketch.at(document.root, "nodes")
    if not isinstance(document.root, Mapping) or not isinstance(nodes, Sequence):
        return sketch.Sketch()
    context = ReadContext(document, files_beside(NoFiles(), document.file))
    try:
        drawn = canvases.read_canvas(context, document.root)
        feedback = canvases.find_feedback(drawn)
        canvas = drawn.without(feedback)
        regions = canvases.Regions() if canvas.circle() else canvases.find_regions(context, canvas)
    except InvalidWorkflow:
        return sketch.Sketch()

    def path(name: str) -> str:
        """Returns the path of a node: below the loop that it is in."""
        around = regions.around.get(name)
        return sketch.joined(path(around.start) if around is not None else "", name)

    paths = {name: path(name) for name in canvas.nodes}
    shown = _nodes(nodes, canvas, regions, paths)
    back = {id(edge) for edge in feedback}
    every = [*canvas.edges, *feedback]
    by_place = {(edge.span.line, edge.span.column): edge for edge in every}
    edges: list[sketch.SketchEdge] = []
    for index, item in enumerate(sketch.items_at(document.root, "edges")):
        source = sketch.at(item, "source")
        edge = by_place.get((source.span.line, source.span.column)) if source is not None else None
        if edge is None:
            continue
        kind: EdgeKind = "branch" if edge.branch else "data"
        kind = "feedback" if id(edge) in back else kind
        ends = paths[edge.source], paths[edge.target]
        handles = edge.source_handle, edge.target_handle
        edges.append(sketch.SketchEdge(*ends, kind, *handles, edge.branch or "", ("edges", index)))
    return sketch.Sketch(tuple(shown), tuple(edges))


def _nodes(
    items: Sequence, canvas: Canvas, regions: canvases.Regions, paths: dict[str, str]
) -> list[sketch.SketchNode]:
    found: dict[str, sketch.SketchNode] = {}
    for index, item in enumerate(items):
        name = sketch.text_at(item, "id")
        node = canvas.nodes.get(name)
        if node is None or paths[name] in found:
            continue
        around = regions.around.get(name)
        region = regions.by_start.get(name)
        kind = sketch.text_at(item, "type")
        found[paths[name]] = sketch.SketchNode(
            paths[name],
            kind,
            ("nodes", index),
            parent=paths[around.start] if around is not None else "",
            title=sketch.text_at(item, "data", "label") or name,
            body="members" if region is not None else "file" if kind == "subworkflow" else "none",
            file=_file(item) if kind == "subworkflow" else "",
            position=sketch.number_pair(sketch.at(item, "position"), "x", "y"),
            size=sketch.number_pair(item, "width", "height"),
            inputs=() if kind == "input" else ("input",),
            outputs=outputs_of(kind, node.branches),
            value=item,
            slots={"": ("nodes",)} if kind in canvases.CLOSED_BY else {},
        )
    return sorted(found.values(), key=lambda node: node.path.count("/"))


def _file(item: Value) -> str:
    """Returns the file that a node calls, by the rule of the reader."""
    name = sketch.text_at(item, "data", "workflowId") or sketch.text_at(
        item, "data", "workflowName"
    )
    return name if not name or name.endswith((".json", ".yaml", ".yml")) else f"{name}.json"


def outputs_of(kind: str, branches: list[str]) -> tuple[str, ...]:
    if kind == "router":
        return tuple(branches)
    if kind == "loop":
        return tuple(canvases.LOOP_PORTS["outputs"])
    return () if kind == "output" else ("output", *canvases.RESULTS.get(kind, ()))


# What can be added to a canvas: the types of nodes in the public system's groups, their forms.

_ENDS, _MODELS, _TOOLS, _FILES, _LOGIC, _LOOPS, _NOTES = (
    "#2f5a3c", "#2a4a7a", "#6a4a1f", "#3f5060", "#6a3a4a", "#4a2a6a", "#4a5560"
)  # fmt: skip
_BRANCHES = [canvases.DONE, canvases.CONTINUE]
_REFINE = {"maxIterations": 3, "exitCondition": "max_iterations", "feedbackMode": "replace"}
_ROUTER = {"mode": "llm", "prompt": "{{input}}", "branches": _BRANCHES}
_GET = {"method": "GET", "url": "https://example.org"}
_WRITE = {"path": "output.txt", "content": "{{input}}"}
_TEXT = {"mode": "template", "template": "{{input}}"}
_KINDS = (
    Kind("IO", "input", "log-in", _ENDS, {"name": "task", "dataType": "text"}),
    Kind("IO", "output", "circle-dot", _ENDS, {"name": "text"}),
    Kind("AI", "llm", "message-square", _MODELS, {"prompt": "{{input}}"}, title="LLM"),
    Kind("AI", "router", "split", _MODELS, _ROUTER),
    Kind("TOOLS", "tool", "wrench", _TOOLS, {"serverName": "server", "toolName": "tool"}, "[mcp]"),
    Kind("TOOLS", "subworkflow", "workflow", _TOOLS, {"workflowName": "other"}),
    Kind("TOOLS", "http_request", "globe", _TOOLS, _GET, title="HTTP request"),
    Kind("TOOLS", "shell_exec", "terminal", _TOOLS, {"command": "echo hello"}, "[allow] commands"),
    Kind("FILES", "file_glob", "folder-search", _FILES, {"pattern": "*.txt"}),
    Kind("FILES", "file_read", "file-text", _FILES, {"path": "input.txt"}),
    Kind("FILES", "file_write", "file-pen", _FILES, _WRITE, "[allow] files"),
    Kind("LOGIC", "approval", "user-check", _LOGIC, {"message": "Continue?"}),
    Kind("LOGIC", "transform", "braces", _LOGIC, _TEXT),
    Kind("LOGIC", "validator", "check-check", _LOGIC, {"schema": {"type": "object"}}),
    Kind("LOGIC", "iterator", "list", _LOOPS, {"mode": "sequential"}),
    Kind("LOGIC", "aggregator", "combine", _LOOPS, {"strategy": "array"}),
    Kind("LOGIC", "loop", "repeat", _LOOPS, _REFINE),
    Kind("LOGIC", "exit", "log-out", _LOOPS, {}),
    Kind("MORE", "note", "sticky-note", _NOTES, {"label": "Note"}),
)
PORTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    kind.name: (
        () if kind.name in ("input", "note") else ("input",),
        outputs_of(kind.name, kind.new.get("branches", [])),
    )
    for kind in _KINDS
}
EMPTY = """\
{
  "name": "new",
  "nodes": [
    {"id": "task", "type": "input", "position": {"x": 0, "y": 0}, "data": {"name": "task"}},
    {"id": "write", "type": "llm", "position": {"x": 240, "y": 0}, "data": {"prompt": "{{input}}"}},
    {"id": "text", "type": "output", "position": {"x": 480, "y": 0}, "data": {"name": "text"}}
  ],
  "edges": [
    {"id": "e1", "source": "task", "target": "write"},
    {"id": "e2", "source": "write", "target": "text"}
  ]
}
"""
_CONTENTS = ("text", "json", "csv", "binary")
# The fields that have such a widget and no default; those that are in no list hold texts.
_WIDGETS: dict[Widget, tuple[str, ...]] = {
    "number": words(
        "temperature maxTokens maxResponseBytes maxFiles maxIterations stabilityThreshold"
    ),
    "long text": words("systemPrompt prompt body command content template"),
    "json": words("default branches headers toolInput envVars inputs schema"),
}
# By field, or by type and field.
_FIELDS: dict[str, Row] = {
    "inputName": ("Name, in older files", "text", None),
    "dataType": ("Type", ("text", "number", "boolean", "json", "file", "array"), None),
    "defaultValue": ("Default, in older files", "json", None),
    "sessionMode": ("Conversation", ("stateless", "session"), "stateless"),
    "maxHistory": ("Max messages to keep", "number", 20),
    "streaming": ("Stream the answer", "boolean", True),
    "router.mode": ("Decided by", ("llm", "pattern"), None),
    "approval": ("Approval", ("auto", "ask", "always", "deny"), "auto"),
    "method": ("Method", ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"), "GET"),
    "auth": ("Authentication", ("none", "bearer", "basic", "api_key"), "none"),
    "shell": ("Shell", "text", "bash"),
    "file_glob.mode": ("Read as", (*_CONTENTS, "paths"), "text"),
    "file_read.mode": ("Read as", _CONTENTS, "text"),
    "file_write.mode": ("Write as", _CONTENTS, "text"),
    "recursive": ("Include subfolders", "boolean", False),
    "maxSize": ("Max file size in MB", "number", None),
    "sortBy": ("Sort by", ("name", "modified", "size"), "name"),
    "sortOrder": ("Order", ("asc", "desc"), "asc"),
    "hasHeader": ("First line has the column names", "boolean", True),
    "writeMode": (
        "If the file exists",
        ("overwrite", "append", "create", "create_new"),
        "overwrite",
    ),
    "createDirs": ("Create missing folders", "boolean", True),
    "message": ("Question", "long text", None),
    "showData": ("Show the input", "boolean", True),
    "transform.mode": ("Mode", ("template", "jsonpath", "script"), "template"),
    "failOnError": ("Fail if the value is not valid", "boolean", False),
    "iterator.mode": ("Process the items", ("sequential", "parallel"), "sequential"),
    "expression": ("Items", "expression", None),
    "maxConcurrency": ("Items at the same time", "number", 1),
    "strategy": ("Collect as", ("array", "concat", "merge"), "array"),
    "exitCondition": (
        "Exit", ("max_iterations", "evaluator", "stable_output"), "max_iterations"
    ),
    "feedbackMode": ("Feedback", ("replace", "append"), "replace"),
}  # fmt: skip
_HELP = {
    "maxIterations": "from 1 to 50",
    "stabilityThreshold": "from 0 to 1: how similar two outputs in a row must be (stable_output)",
    "exitCondition": "evaluator: a router of the body decides by its branches done and continue",
    "feedbackMode": "what the next iteration gets: the last output, or all so far",
}


# The distance from the start of a new container to its end, and the width of a node.
_WIDE, _NODE_WIDE = 480, 240
# The placeholders with a meaning of their own, before names of nodes.
_RESERVED = frozenset({"input", "inputs", "item", "index", "total", "iteration"})


_TYPES = dict.fromkeys(
    ("count", "index", "total", "status", "exit_code", "size", "bytes"), "number"
)
_TYPES |= dict.fromkeys(("response", "content", "stdout", "stderr", "path"), "text")
_TYPES |= {"valid": "boolean", "iterations": "list", "items": "list", "files": "list"}


class StudioChanges(CanvasChanges):
    kinds, ports, empty = _KINDS, PORTS, EMPTY
    draw = staticmethod(draw)

    @classmethod
    def form_of(cls, kind: str) -> list[FormField]:
        fields = []
        for name in ("label", *words(canvases.KINDS[kind].fields or "")):
            row = _FIELDS.get(f"{kind}.{name}") or field_row(name, _FIELDS, _WIDGETS)
            is_rare, advice = "older" in row[0], _HELP.get(name, "")
            fields.append(data_field(name, row, words=advice, is_rare=is_rare))
        return fields

    def handle(self, end: str, port: str) -> str | None:
        usual = "output" if end == "source" else "input"
        return port if port and port != usual else None

    def head_of(
        self, node: sketch.SketchNode, content: str, names: set[str]
    ) -> tuple[int, str] | None:
        ids = set(self.ids(()))
        for head, _ in heads(content):
            if head in _RESERVED:
                return None
            if head in ids:
                return (content.index(head), head) if head in names else None
        return None

    def given(self, node: sketch.SketchNode) -> Iterator[tuple[str, str]]:
        yield "input", "any"
        for each in self.sketch.nodes:
            if each.kind == "input":
                name = sketch.text_at(self.editor.now.root, *each.where, "data", "name")
                yield f"inputs.{name or self.id_of(each)}", "any"
        if node.parent:
            around = self.node(node.parent)
            yield from ((name, "number") for name in ("iteration", "index", "total"))
            yield from [("item", "any")] if around.kind == "iterator" else ()

    def gives(self, node: sketch.SketchNode) -> Iterator[tuple[str, str]]:
        name = self.id_of(node)
        for output in outputs_of(node.kind, ["output"]):
            yield f"{name}.{output}", _TYPES.get(output, "any")

    def sees(self, node: sketch.SketchNode, other: sketch.SketchNode) -> bool:
        # Outside of a container its end stands for it.
        is_end = other.kind in canvases.CLOSED_BY.values() and bool(other.parent)
        return super().sees(node, self.node(other.parent) if is_end else other)

    def make_add(self, operation: Operation) -> None:
        node: dict[str, Any] = self.new_node((), operation)
        name, edge, place = str(node["id"]), operation.get("on_edge"), node.get("position")
        last = name
        if node["type"] not in canvases.CLOSED_BY:
            self.append((), "nodes", node)
        else:
            if edge and place:
                # The nodes at both ends of a short edge stand where the container would.
                width = _WIDE + _NODE_WIDE
                place["y"] = self.below_others((), place["x"], place["y"], width)
            last = self._open(node, _WIDE)
            self.append((), "edges", self.new_edge((), (name, last), ("", "")))
        if edge:
            self.split((), edge, name, last)
        self._select(name)

    def _open(self, begin: dict[str, Any], width: float) -> str:
        """Adds both ends of a container; returns the name of the closing one, to the right."""
        self.append((), "nodes", begin)
        kind = canvases.CLOSED_BY[begin["type"]]
        end: dict[str, Json] = {"id": self.free_name(kind, set(self.ids(()))), "type": kind}
        if place := begin.get("position"):
            end["position"] = {"x": place["x"] + width, "y": place["y"]}
        self.append((), "nodes", end | {"data": dict(self.new[kind])})
        return str(end["id"])

    def _select(self, name: str) -> None:
        # Edges decide what holds a node, and so its path.
        self.outcome.select = [each.path for each in self.sketch.nodes if self.id_of(each) == name]

    def make_move(self, operation: Operation) -> None:
        """Moves nodes; one that leaves its container loses its edges, which made it a member."""
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
                now = self.sketch.node(sketch.joined("", self.id_of(node))) or self.node(path)
                fields = {"at": now.path, **{axis: place.get(axis, 0) for axis in "xy"}}
                self.make_place(Operation("place", fields))

    def make_wrap(self, operation: Operation) -> None:
        written = operation.get("kind")
        kind = {"repeat": "loop", "each": "iterator"}.get(written, written)
        if kind not in canvases.CLOSED_BY:
            raise refuse(UNKNOWN, f"nodes cannot be wrapped in {kind!r}", "known: repeat, each")
        nodes = [self.node(path) for path in operation.at]
        fields = dict(operation.get("fields", {}))
        if "until" in fields:
            raise refuse(UNKNOWN, "a loop of a canvas ends by its exitCondition", "set that field")
        if "at_most" in fields:
            fields["maxIterations"] = fields.pop("at_most")
        given = {"kind": kind, "name": operation.get("name"), "fields": fields}
        begin = self.new_node((), Operation("add", given))
        opening, width = str(begin["id"]), float(_WIDE)
        points = [node.position for node in nodes if node.position]
        if points and len(points) == len(nodes):
            left, right = min(x for x, _ in points), max(x for x, _ in points)
            begin["position"] = {"x": left - _NODE_WIDE, "y": points[0][1]}
            width = right - left + 2 * _NODE_WIDE

        def change() -> None:
            self._lead_through(nodes, opening, self._open(begin, width))

        self.soundly(change)
        self._select(opening)

    def _lead_through(self, nodes: list[sketch.SketchNode], opening: str, closing: str) -> None:
        """Leads edges into nodes through a container's start, and edges out through its end."""
        held = {node.path for node in nodes}
        around = ((each, {*sketch.holders(each.path)}) for each in self.sketch.nodes)
        inside = [self.id_of(each) for each, paths in around if held & paths]
        links = [
            (index, sketch.text_at(item, "source"), sketch.text_at(item, "target"))
            for index, item in enumerate(self.items((), "edges"))
        ]
        entering = [link for link in links if link[2] in inside and link[1] not in inside]
        leaving = [link for link in links if link[1] in inside and link[2] not in inside]
        if len({source for _, source, _ in entering}) > 1:
            message, where = "more than one edge leads into the new container", nodes[0].where
            self.refuse_at(CONNECTED, message, where, "merge them with a transform first")
        for index, _, target in entering:
            self._add_edge(opening, target, self._turn(index, "target", opening))
        for index, source, _ in leaving:
            self._add_edge(source, closing, self._turn(index, "source", closing))
        for name in inside:
            if not entering and name not in [link[2] for link in links]:
                self._add_edge(opening, name, {})
            if not leaving and name not in [link[1] for link in links]:
                self._add_edge(name, closing, {})

    def _add_edge(self, source: str, target: str, handle: dict[str, Json]) -> None:
        if target not in [other for _, _, other in self.edges_at((), source)]:
            edge = self.new_edge((), (source, target), ("", ""))
            self.append((), "edges", edge | handle)

    def _turn(self, index: int, end: str, name: str) -> dict[str, Json]:
        """Leads one end of an edge to another node; returns the handle that it had there."""
        field = f"{end}Handle"
        handle = sketch.text_at(self.editor.now.root, "edges", index, field)
        self.editor.set(["edges", index, end], name)
        if not handle:
            return {}
        self.editor.unset(["edges", index, field], keeps=2)
        return {field: handle}

    def make_unwrap(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        opening = self.id_of(node)
        closing = next((self.id_of(each) for each in self.sketch.inside(node.path)
                        if each.kind == canvases.CLOSED_BY.get(node.kind)), "")  # fmt: skip
        if not closing:
            self.refuse_at(UNKNOWN, f"{opening!r} is not a container", node.where)

        ends = (opening, closing)

        def goes_past(before: Value, behind: Value) -> bool:
            return (
                sketch.text_at(before, "source") not in ends
                and sketch.text_at(behind, "target") not in ends
            )

        def change() -> None:
            for name in ends:
                self.join((), name, goes_past)
            self.cut_nodes((), set(ends))

        self.soundly(change)
