"""The canvas: nodes and edges with their places, and their graph.

A handle that a node does not have carries all of its result, or is not looked at. One that is
nearly the name of another is taken for a mistake; any other one is a warning, as it changes the
value.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from whorl.dialects.reading import fields
from whorl.dialects.reading.fields import span_of, text_of, words
from whorl.errors import did_you_mean
from whorl.formats.studio.kinds import (
    BEGINNINGS,
    CLOSED_BY,
    ENDINGS,
    KINDS,
    SHARED,
    SOURCE_HANDLES,
    TRIGGERS,
    TYPES,
)
from whorl.ir.checks.scopes import suggest
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.dialects.reading.context import ReadContext
    from whorl.errors import Span


# The fields of a canvas, and of its nodes and edges beside what editors add.
_CANVAS_FIELDS = words("id name description version nodes edges variables timeout budget viewport")
_NODE_FIELDS = words("id type data position style width height")
_EDGE_FIELDS = words("id type source target sourceHandle targetHandle data label style")
# What these do depends on their fields alone, so one that is nearly known can only be misspelt.
_STRICT = ("http_request", "transform")
# The branches of a router that decides a loop.
DONE, CONTINUE = "done", "continue"
_BRANCH = re.compile(r"branch-(\d{1,4})")

# How large a canvas may be; a hostile one ends here and not in time.
LIMITS = {"nodes": 1_000, "edges": 10_000, "routers": 200, "loops": 100}
_SHOWN_MAX = 8


@dataclass(frozen=True, slots=True)
class CanvasNode:
    """A node: `fields` is what its author has set."""

    id: str
    type: str
    fields: Mapping
    span: Span

    def __str__(self) -> str:
        return f"{self.type} {self.id!r}"

    @property
    def place(self) -> str:
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


@dataclass(frozen=True, slots=True, eq=False)
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

    nodes: dict[str, CanvasNode]
    edges: list[Edge]
    incoming: dict[str, list[Edge]] = field(init=False)
    outgoing: dict[str, list[Edge]] = field(init=False)

    def __post_init__(self) -> None:
        self.incoming = {name: [] for name in self.nodes}
        self.outgoing = {name: [] for name in self.nodes}
        for edge in self.edges:
            self.incoming[edge.target].append(edge)
            self.outgoing[edge.source].append(edge)

    def without(self, edges: Iterable[Edge]) -> Canvas:
        gone = set(edges)
        return Canvas(self.nodes, [edge for edge in self.edges if edge not in gone])

    def of_type(self, *types: str) -> list[CanvasNode]:
        """The nodes of some types, in the order of the file."""
        return [node for node in self.nodes.values() if node.type in types]

    def forward(
        self, start: Iterable[str], may_follow: Callable[[Edge], bool] = lambda edge: True
    ) -> set[str]:
        """What is reached from some nodes, themselves included."""
        reached = set(start)
        queue = list(reached)
        for name in queue:
            new = {edge.target for edge in self.outgoing[name] if may_follow(edge)} - reached
            reached |= new
            queue.extend(new)
        return reached

    def backward(self, start: str, stop: str = "") -> set[str]:
        """What leads to a node, itself included; nothing before `stop` is looked at."""
        reached = {start}
        queue = [start]
        for name in queue:
            new = {edge.source for edge in self.incoming[name] if name != stop} - reached
            reached |= new
            queue.extend(new)
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
    fields.check_spelling(context, root, _CANVAS_FIELDS, "the canvas")
    advice = 'write {"id": ..., ...}'
    items, edges = (fields.objects_of(context, root, name, advice) for name in ("nodes", "edges"))
    nodes: dict[str, CanvasNode] = {}
    if _is_too_large(context, root, nodes=len(items), edges=len(edges)):
        return Canvas(nodes, [])
    for item in items:
        _read_node(context, nodes, item)
    types = [node.type for node in nodes.values()]
    loops = sum(map(types.count, CLOSED_BY))
    if _is_too_large(context, root, routers=types.count("router"), loops=loops):
        return Canvas({}, [])
    drawn = [_read_edge(context, nodes, item) for item in edges]
    return Canvas(nodes, [edge for edge in drawn if edge is not None])


def _is_too_large(context: ReadContext, root: Mapping, **counts: int) -> bool:
    over = [name for name, count in counts.items() if count > LIMITS[name]]
    advice = "put parts of it into files of their own, and call them as subworkflows"
    for name in over:
        message = f"a canvas has at most {LIMITS[name]:,} {name}, not {counts[name]:,}"
        context.report("W002", message, root.span, label="too large", help=advice)
    return bool(over)


def _read_node(context: ReadContext, nodes: dict[str, CanvasNode], item: Mapping) -> None:
    name, kind = fields.check_id(context, item, nodes), text_of(item.get("type"))
    if not name:
        return
    span = span_of(item, "id")
    fields.check_spelling(context, item, _NODE_FIELDS, f"node {name!r}")
    if kind not in TYPES:
        message = f"node {name!r} is of the type {kind[:60]!r}, which is not known"
        where, label, advice = span_of(item, "type"), "unknown type", suggest(kind, KINDS)
        if not kind:
            message, where, label = f"node {name!r} lacks its 'type'", span, "no type"
        context.report("W009", message, where, label=label, help=advice)
    data = item.get("data")
    data = data if isinstance(data, Mapping) else Mapping((), span)
    nodes[name] = node = CanvasNode(name, kind if kind in TYPES else "note", data, span)
    own = KINDS[node.type].fields
    names = sorted(words(f"{own} timeout"))
    for entry, near in fields.unknown_fields(node.fields, names) if own is not None else ():
        if entry.name in SHARED:
            continue
        message, span = f"{node} has no field {entry.name[:60]!r}", entry.key.span
        if near and node.type in _STRICT:
            context.report("W004", message, span, label="unknown field", help=near)
        else:
            advice = suggest(entry.name, names)
            message += "; it is ignored"
            context.warn("W004", message, span, label="unknown field", help=advice)


def _read_edge(context: ReadContext, nodes: dict[str, CanvasNode], item: Mapping) -> Edge | None:
    advice, ends = "connect it to a node of the canvas", ("source", "target")
    are_nodes = [fields.check_node(context, item, end, nodes, advice) for end in ends]
    if not all(are_nodes):
        return None
    fields.check_spelling(context, item, _EDGE_FIELDS, "an edge")
    source, target = (nodes[text_of(item.get(end))] for end in ends)
    if "note" in (source.type, target.type):
        return None
    handle = text_of(item.get("sourceHandle")) or "output"
    # An edge leaves a router by the name of a branch, or by its number from 0.
    names = source.branches if source.type == "router" else []
    numbered = _BRANCH.fullmatch(handle)
    places = names[int(numbered[1]) :] if numbered else []
    branch = handle if handle in names else next(iter(places), None)
    if branch is None:
        _check_source(context, source, handle, span_of(item, "sourceHandle"))
    target_handle = text_of(item.get("targetHandle")) or "input"
    _check_target(context, target, target_handle, span_of(item, "targetHandle"))
    return Edge(source.id, target.id, handle, target_handle, span_of(item, "source"), branch)


def _check_source(context: ReadContext, node: CanvasNode, handle: str, span: Span) -> None:
    """Reports a handle that an edge leaves by and that its node does not have."""
    if (node.type, handle) == ("approval", "rejected"):
        message = f"nothing ever leaves {node} by 'rejected': the run fails instead"
        context.warn("W023", message, span, label="never taken", help="remove the edge")
    handles = SOURCE_HANDLES.get(node.type)
    if handles is None or handle in (*handles, "output"):
        return
    what = "branch" if node.type == "router" else "handle"
    message, label = f"{node} has no {what} {handle[:60]!r}", f"no such {what}"
    if node.type == "router":
        advice = suggest(handle, [*node.branches, "output", *handles])
        context.report("W010", message, span, label=label, help=advice)
    elif near := did_you_mean(handle, sorted(handles)):
        context.report("W010", message, span, label=label, help=near)
    else:
        message += ": the edge carries all of its result"
        advice = suggest(handle, sorted({*handles, "output"}))
        context.warn("W010", message, span, label=label, help=advice)


def _check_target(context: ReadContext, node: CanvasNode, handle: str, span: Span) -> None:
    """Reports a handle that an edge ends at and that is nearly the name of another one.

    Texts of a node may name any handle, so that those which they name are not misspelt.
    """
    handles = sorted({*words(KINDS[node.type].takes), "input"})
    texts = (entry.value.text for entry in node.fields if isinstance(entry.value, Scalar))
    if not KINDS[node.type].takes or handle in handles:
        return
    near = did_you_mean(handle, handles)
    if near and not any("{{" in text and handle in text for text in texts):
        message = f"{node} has no input handle {handle[:60]!r}"
        context.report("W010", message, span, label="no such handle", help=near)


def check_canvas(context: ReadContext, canvas: Canvas) -> None:
    span = context.root.span
    if not canvas.nodes:
        if not context.diagnostics:
            advice = "add an input, a node, an output"
            context.report("W006", "the canvas has no nodes", span, help=advice)
        return
    types = {node.type for node in canvas.nodes.values()}
    wanted = ({*BEGINNINGS, *TRIGGERS}, "begins", "input"), ({*ENDINGS}, "ends", "output")
    for kinds, what, first in wanted:
        if not types & kinds and not context.diagnostics:
            message = f"the canvas has no node where it {what}"
            advice = f"add a node of the type {first!r}"
            context.report("W006", message, span, label=f"no {first}", help=advice)
    for trigger in TRIGGERS:
        for node in canvas.of_type(trigger)[1:]:
            message = f"{node.id!r} is a second {trigger}"
            advice = "a canvas has at most one; put the other into a file of its own"
            context.report("W012", message, node.span, label="one too many", help=advice)
    for node in canvas.nodes.values() if len(canvas.nodes) > 1 else ():
        if node.type != "note" and not canvas.incoming[node.id] and not canvas.outgoing[node.id]:
            message, advice = f"{node} is connected to nothing", "connect it, or remove it"
            context.warn("W023", message, node.span, label="no edges", help=advice)
    circle = canvas.circle()
    if not circle:
        return
    shown = " -> ".join([*circle[:_SHOWN_MAX], *(["..."] if len(circle) > _SHOWN_MAX else [])])
    message = f"nodes lead back to each other: {shown} -> {circle[0]}"
    advice = "to repeat nodes, put them between a loop and its exit; only the continue branch of "
    advice += "the router that decides a loop may lead back"
    span = canvas.nodes[circle[0]].span
    context.report("W011", message, span, label="leads back to itself", help=advice)
