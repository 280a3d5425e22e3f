"""The canvas: nodes and edges with their places in the file, and the graph that they make.

A handle that a node does not have carries all of its result, or is not looked at. One that is
nearly the name of another is taken for a mistake; any other one is a warning, as it changes the
value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import (
    check_id,
    check_node,
    check_spelling,
    objects_of,
    unknown_fields,
)
from whorl.dialects.reading.scalars import span_of, text_of
from whorl.dialects.studio.words import (
    CANVAS_FIELDS,
    CLOSED_BY,
    EDGE_FIELDS,
    FIELDS,
    LIMITS,
    NODE_FIELDS,
    ROUTER_HANDLES,
    SHARED,
    SOURCE_HANDLES,
    STRICT,
    TARGET_HANDLES,
)
from whorl.errors import did_you_mean
from whorl.ir.checks.subject import suggest
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.dialects.reading.context import ReadContext
    from whorl.errors import Span

_BRANCH = re.compile(r"branch-(\d{1,4})")


@dataclass(frozen=True, slots=True)
class CanvasNode:
    """A node: `fields` is what its author has set."""

    id: str
    type: str
    fields: Mapping
    span: Span

    def __str__(self) -> str:
        """What the node is, for messages."""
        return f"{self.type} {self.id!r}"

    @property
    def place(self) -> str:
        """Where the node stands, for the IR."""
        return f"{self.span.line}:{self.span.column}"

    @property
    def branches(self) -> list[str]:
        """The names of a router's branches, in order."""
        written = self.fields.get("branches")
        names: list[str] = []
        for item in written if isinstance(written, Sequence) else ():
            if isinstance(item, Mapping):
                names.append(text_of(item.get("name")) or text_of(item.get("label")))
            elif isinstance(item, Scalar):
                names.append(item.text.strip())
        return [name for name in names if name]


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge; `branch` is the branch of the router that it leaves by, if it does."""

    source: str
    target: str
    source_handle: str
    target_handle: str
    span: Span
    branch: str | None = None


@dataclass(slots=True)
class Canvas:
    """The nodes by id, and the edges at both ends of each."""

    nodes: dict[str, CanvasNode] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    incoming: dict[str, list[Edge]] = field(default_factory=dict)
    outgoing: dict[str, list[Edge]] = field(default_factory=dict)

    def add_node(self, node: CanvasNode) -> None:
        """Puts a node on the canvas."""
        self.nodes[node.id] = node
        self.incoming[node.id] = []
        self.outgoing[node.id] = []

    def add_edge(self, edge: Edge) -> None:
        """Draws an edge between two nodes."""
        self.edges.append(edge)
        self.incoming[edge.target].append(edge)
        self.outgoing[edge.source].append(edge)

    def without(self, edges: Iterable[Edge]) -> Canvas:
        """The same canvas without some edges."""
        gone = {id(edge) for edge in edges}
        copy = Canvas()
        for node in self.nodes.values():
            copy.add_node(node)
        for edge in self.edges:
            if id(edge) not in gone:
                copy.add_edge(edge)
        return copy

    def of_type(self, *types: str) -> list[CanvasNode]:
        """The nodes of some types, in the order of the file."""
        return [node for node in self.nodes.values() if node.type in types]

    def forward(
        self, start: Iterable[str], may_follow: Callable[[Edge], bool] | None = None
    ) -> set[str]:
        """What is reached from some nodes, themselves included."""
        reached = set(start)
        queue = list(reached)
        for name in queue:
            for edge in self.outgoing[name]:
                if edge.target not in reached and (may_follow is None or may_follow(edge)):
                    reached.add(edge.target)
                    queue.append(edge.target)
        return reached

    def backward(self, start: str, stop: str = "") -> set[str]:
        """What leads to a node, itself included; nothing before `stop` is looked at."""
        reached = {start}
        queue = [start]
        for name in queue:
            for edge in self.incoming[name] if name != stop else ():
                if edge.source not in reached:
                    reached.add(edge.source)
                    queue.append(edge.source)
        return reached

    def order(self) -> list[str]:
        """The nodes, each behind all that lead to it; those in circles are left out."""
        waiting = {name: len(edges) for name, edges in self.incoming.items()}
        ready = [name for name, count in waiting.items() if not count]
        for name in ready:
            for edge in self.outgoing[name]:
                waiting[edge.target] -= 1
                if not waiting[edge.target]:
                    ready.append(edge.target)
        return ready

    def circle(self) -> list[str]:
        """The nodes of one circle, if there is any."""
        left = self.nodes.keys() - self.order()
        if not left:
            return []
        seen: dict[str, int] = {}
        name = next(name for name in self.nodes if name in left)
        while name not in seen:
            seen[name] = len(seen)
            name = next(edge.source for edge in self.incoming[name] if edge.source in left)
        circle = list(reversed(list(seen)[seen[name] :]))
        first = next(circle.index(name) for name in self.nodes if name in circle)
        return circle[first:] + circle[:first]


def read_canvas(context: ReadContext, root: Mapping) -> Canvas:
    """Reads all nodes and edges, and reports those that cannot be meant."""
    canvas = Canvas()
    check_spelling(context, root, CANVAS_FIELDS, "the canvas")
    advice = 'write {"id": ..., ...}'
    nodes, edges = (objects_of(context, root, name, advice) for name in ("nodes", "edges"))
    if _is_too_large(context, root, nodes=len(nodes), edges=len(edges)):
        return canvas
    for item in nodes:
        _read_node(context, canvas, item)
    routers, opening = canvas.of_type("router"), canvas.of_type(*CLOSED_BY)
    if _is_too_large(context, root, routers=len(routers), loops=len(opening)):
        return Canvas()
    for item in edges:
        _read_edge(context, canvas, item)
    return canvas


def _is_too_large(context: ReadContext, root: Mapping, **counts: int) -> bool:
    over = [name for name, count in counts.items() if count > LIMITS[name]]
    advice = "put parts of it into files of their own, and call them as subworkflows"
    for name in over:
        message = f"a canvas has at most {LIMITS[name]:,} {name}, not {counts[name]:,}"
        context.report("W002", message, root.span, label="too large", help=advice)
    return bool(over)


def _read_node(context: ReadContext, canvas: Canvas, item: Mapping) -> None:
    name, kind = check_id(context, item, canvas.nodes), text_of(item.get("type"))
    if not name:
        return
    span = span_of(item, "id")
    check_spelling(context, item, NODE_FIELDS, f"node {name!r}")
    if kind not in FIELDS:
        message = f"node {name!r} is of the type {kind[:60]!r}, which is not known"
        where, label, advice = span_of(item, "type"), "unknown type", suggest(kind, FIELDS)
        if not kind:
            message, where, label = f"node {name!r} lacks its 'type'", span, "no type"
        context.report("W009", message, where, label=label, help=advice)
    fields = item.get("data")
    fields = fields if isinstance(fields, Mapping) else Mapping((), span)
    node = CanvasNode(name, kind if kind in FIELDS else "note", fields, span)
    canvas.add_node(node)
    _check_fields(context, node)


def _check_fields(context: ReadContext, node: CanvasNode) -> None:
    known = FIELDS[node.type]
    fields = [] if known is None else [e for e in node.fields if e.name not in SHARED]
    names = sorted({*(known or ()), "timeout"})
    for entry, near in unknown_fields(fields, names):
        message, span = f"{node} has no field {entry.name[:60]!r}", entry.key.span
        if near and node.type in STRICT:
            context.report("W004", message, span, label="unknown field", help=near)
        else:
            advice = suggest(entry.name, names)
            message += "; it is ignored"
            context.warn("W004", message, span, label="unknown field", help=advice)


def _read_edge(context: ReadContext, canvas: Canvas, item: Mapping) -> None:
    advice = "connect it to a node of the canvas"
    ends = ("source", "target")
    known = [check_node(context, item, end, canvas.nodes, advice) for end in ends]
    if not all(known):
        return
    check_spelling(context, item, EDGE_FIELDS, "an edge")
    source, target = (canvas.nodes[text_of(item.get(end))] for end in ends)
    if "note" in (source.type, target.type):
        return
    handle = text_of(item.get("sourceHandle")) or "output"
    branch = _branch_of(source, handle) if source.type == "router" else None
    if branch is None:
        _check_source(context, source, handle, span_of(item, "sourceHandle"))
    target_handle = text_of(item.get("targetHandle")) or "input"
    _check_target(context, target, target_handle, span_of(item, "targetHandle"))
    span = span_of(item, "source")
    canvas.add_edge(Edge(source.id, target.id, handle, target_handle, span, branch))


def _branch_of(router: CanvasNode, handle: str) -> str | None:
    """The branch that a handle belongs to: by its name, or by its number from 0."""
    names = router.branches
    if handle in names:
        return handle
    numbered = _BRANCH.fullmatch(handle)
    return next(iter(names[int(numbered[1]) :]), None) if numbered else None


def _check_source(context: ReadContext, node: CanvasNode, handle: str, span: Span) -> None:
    """Reports a handle that an edge leaves by and that its node does not have."""
    if (node.type, handle) == ("approval", "rejected"):
        message = f"nothing ever leaves {node} by 'rejected': the run fails instead"
        context.warn("W023", message, span, label="never taken", help="remove the edge")
    known = SOURCE_HANDLES.get(node.type)
    if known is None or handle in known or handle == "output":
        return
    if node.type == "router":
        advice = suggest(handle, [*node.branches, *ROUTER_HANDLES])
        message = f"{node} has no branch {handle[:60]!r}"
        context.report("W010", message, span, label="no such branch", help=advice)
        return
    near = did_you_mean(handle, sorted(known))
    message = f"{node} has no handle {handle[:60]!r}"
    if near:
        context.report("W010", message, span, label="no such handle", help=near)
        return
    message += ": the edge carries all of its result"
    advice = suggest(handle, sorted({*known, "output"}))
    context.warn("W010", message, span, label="no such handle", help=advice)


def _check_target(context: ReadContext, node: CanvasNode, handle: str, span: Span) -> None:
    """Reports a handle that an edge ends at and that is nearly the name of another one.

    Texts of a node may name any handle, so that those which they name are not misspelt.
    """
    known = {*TARGET_HANDLES.get(node.type, ()), "input"}
    texts = (entry.value.text for entry in node.fields if isinstance(entry.value, Scalar))
    is_named = any("{{" in text and handle in text for text in texts)
    if node.type not in TARGET_HANDLES or handle in known or is_named:
        return
    near = did_you_mean(handle, sorted(known))
    if near:
        message = f"{node} takes nothing in at the handle {handle[:60]!r}"
        context.report("W010", message, span, label="no such handle", help=near)
