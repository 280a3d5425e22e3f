"""The graph of a file: nodes, their ports, and edges between handles, checked as they are read."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal, cast

from whorl.dialects.reading.fields import (
    check_id,
    check_node,
    check_spelling,
    objects_of,
    reached,
    scalar_of,
    span_of,
    text_of,
    words,
)
from whorl.formats.shodan.functions import TYPES
from whorl.ir.checks.scopes import suggest
from whorl.language import Json, LanguageError
from whorl.language.patterns import pattern
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.dialects.reading import ReadContext as Findings
    from whorl.errors import Span


# The parts of a file: the fields of each, and the ports that nodes and interfaces declare.

# The fields of the other objects of a file.
PARTS = {
    "file": words("version name metadata interface nodes edges components"),
    "metadata": words("name description rootDirectory"),
    "interface": words("inputs outputs"),
    "node": words("id type data parentId"),
    "edge": words("id type source target sourceHandle targetHandle data"),
    "port": words(
        "name type label required default description extract schema array arrayParent arrayIndex"
    ),
    "extract": words("type pattern"),
    "condition": words("output operator value"),
    "input mapping": words("source target iterations"),
    "output mapping": words("source target take"),
    "end of a mapping": words("type name node input output"),
    "dock slot": words("name type label valueType"),
    "forEach": words("items item parallel"),
}
# Fields of editors: the look of nodes and edges, and their last runs there.
DRAWN = frozenset(
    words(
        "$schema viewport description label icon color collapsed expanded "
        "position positionAbsolute origin style className width height initialWidth initialHeight "
        "measured handles selected dragging resizing extent expandParent hidden zIndex draggable "
        "selectable connectable deletable focusable reconnectable updatable dragHandle ariaLabel "
        "sourcePosition targetPosition animated markerStart markerEnd interactionWidth pathOptions "
        "labelStyle labelShowBg labelBgStyle labelBgPadding labelBgBorderRadius "
        "executionStatus executionOutput executionError"
    )
)
_INDEXED = re.compile(r"(.+)\[(\d{1,4})\]")
_EXTRACTS = ("full", "regex", "json_path")


def flag_of(item: Mapping, name: str) -> bool:
    return text_of(item.get(name)).lower() == "true"


def object_of(item: Mapping, name: str) -> Mapping | None:
    value = item.get(name)
    return value if isinstance(value, Mapping) else None


def check_part(context: Findings, item: Mapping, kind: str, owner: str = "") -> bool:
    """Returns whether the fields of one of the PARTS are spelt correctly; warns of unknown ones."""
    return check_spelling(context, item, PARTS[kind], owner or f"the {kind}", drawn=DRAWN)


def word_of(context: Findings, item: Mapping, name: str, known: Iterable[str], usual: str) -> str:
    """Returns the word of a field; reports an unknown word, and uses the default instead."""
    written, words = text_of(item.get(name)) or usual, tuple(known)
    if written in words:
        return written
    message = f"{name!r} is {written[:40]!r}, which is not known"
    advice = suggest(written, words) or f"known: {', '.join(words)}"
    context.report("W009", message, span_of(item, name), label="unknown word", help=advice)
    return usual


def items_of(context: Findings, item: Mapping, name: str) -> list[Mapping]:
    """Returns a list of objects, which may be null; reports any other item."""
    value = item.get(name)
    if isinstance(value, Scalar) and value.value is None:
        return []
    return objects_of(context, item, name, "write a list whose items have names, such as - id: ...")


@dataclass(frozen=True, slots=True)
class PortSpec:
    """A port as it is declared."""

    name: str
    type: str = "any"
    required: bool = False
    default: Json = None
    description: str = ""
    extract: dict[str, Json] | None = None
    parent: str = ""
    index: int = 0
    span: Span | None = field(default=None, compare=False)

    def packed(self) -> dict[str, Json]:
        required = self.required or None
        optional = {"required": required, "default": self.default, "extract": self.extract}
        written = {name: value for name, value in optional.items() if value is not None}
        return {"name": self.name, "type": self.type, **written}


def read_ports(context: Findings, fields: Mapping, name: str, node: str) -> tuple[PortSpec, ...]:
    """Returns the declared ports of a node or an interface; of two with one name the first."""
    ports: dict[str, PortSpec] = {}
    for item in items_of(context, fields, name):
        port = _read_port(context, item, node)
        if port is not None:
            ports.setdefault(port.name, port)
    return tuple(ports.values())


def _read_port(context: Findings, item: Mapping, node: str) -> PortSpec | None:
    name = text_of(item.get("name"))
    is_right = check_part(context, item, "port", f"a port of {node!r}")
    if not name:
        if is_right:
            message = f"a port of {node!r} lacks its 'name'"
            context.report("W006", message, item.span, label="this port")
        return None
    default, indexed = item.get("default"), _INDEXED.fullmatch(name)
    extract: dict[str, Json] | None = None
    written, owner = object_of(item, "extract"), f"'extract' of {node!r}"
    if written is not None and check_part(context, written, "extract", owner):
        kind, source = word_of(context, written, "type", _EXTRACTS, "full"), written.get("pattern")
        extract = {"type": kind, "pattern": text_of(source)}
        try:
            pattern(text_of(source) if kind == "regex" else "")
        except LanguageError as fault:
            span = span_of(written, "pattern")
            context.report("W014", str(fault), span, label="this pattern", help=fault.help)
    return PortSpec(
        name,
        word_of(context, item, "type", TYPES, "any"),
        required=flag_of(item, "required"),
        default=None if default is None else plain(default),
        description=text_of(item.get("description")),
        extract=extract,
        parent=text_of(item.get("arrayParent")) or (indexed[1] if indexed else ""),
        index=int(indexed[2]) if indexed else 0,
        span=span_of(item, "name"),
    )


NODES_MAX = 2_000
# The fields that each type of node has in its data, beside those that all have.
FIELDS = {
    "trigger": words("triggerType cron idleMinutes"),
    "shell": words("script commands scriptFiles path timeout"),
    "agent": words("runner model prompt promptFiles outputSchema path timeout"),
    "constant": words("valueType value"),
    "function": words("code file timeout"),
    "workdir": words("path"),
    "wire": (),
    "component": words("workflowPath componentRef timeout"),
    **dict.fromkeys(words("interface-input interface-output interface-continue"), ()),
    "loop": words(
        "workflowRef inlineWorkflow continueWhile maxIterations inputMappings outputMappings "
        "dockSlots forEach exitWhen timeout"
    ),
}
SHARED = words("nodeType label inputs outputs continueOnFailure")
COUNT = "iteration_count"
_SIDES = ("output", "input", "prev", "current")

Handle = tuple[Literal["output", "input", "dock"], str, str]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node; `holder` is the loop that it is in, by `parentId`."""

    id: str
    type: str
    fields: Mapping
    span: Span
    inputs: tuple[PortSpec, ...] = ()
    outputs: tuple[PortSpec, ...] = ()
    holder: str = ""

    @property
    def slug(self) -> str:
        """Returns the label as templates spell it."""
        return "_".join(text_of(self.fields.get("label")).lower().split())

    @property
    def place(self) -> str:
        return f"{self.span.line}:{self.span.column}"

    @property
    def is_interface(self) -> bool:
        """Returns whether it only represents the ports of the loop or file around it."""
        return self.type.startswith("interface-")

    @property
    def is_tolerated(self) -> bool:
        """Returns whether the others continue when it fails."""
        return flag_of(self.fields, "continueOnFailure")

    def input(self, name: str) -> PortSpec | None:
        return next((port for port in self.inputs if port.name == name), None)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between handles of two nodes; a handle that is not written has no span."""

    source: str
    target: str
    out: Handle
    into: Handle
    span: Span
    out_span: Span | None = None
    into_span: Span | None = None


@dataclass(slots=True)
class Graph:
    """The nodes and edges of one file, component or inline workflow."""

    nodes: dict[str, GraphNode] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    span: Span | None = None
    # By node: the edges that end there.
    leading_to: defaultdict[str, list[Edge]] = field(default_factory=lambda: defaultdict(list))
    # By loop: the nodes right inside of it; those on the outside stand under an empty name.
    members: defaultdict[str, list[GraphNode]] = field(default_factory=lambda: defaultdict(list))
    # By loop: the edges that lead out of it.
    leaving: defaultdict[str, list[Edge]] = field(default_factory=lambda: defaultdict(list))
    # By loop: the pairs of nodes right inside of it that edges connect, from them or from inside.
    connected: defaultdict[str, list[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, edge: Edge) -> None:
        """Adds an edge: finds the loop that holds both ends, and the loops that the edge leaves."""
        self.edges.append(edge)
        self.leading_to[edge.target].append(edge)
        around = self.holders(edge.target)
        inner = dict(zip(around, (edge.target, *around), strict=False))
        name = edge.source
        while self.nodes[name].holder not in inner:
            name = self.nodes[name].holder
            if name != edge.target:
                self.leaving[name].append(edge)
        holder = self.nodes[name].holder
        if inner[holder] != name:
            self.connected[holder].append((name, inner[holder]))

    def holders(self, node: str) -> list[str]:
        """Returns the loops around a node, the innermost first, and the outside last."""
        holders: list[str] = []
        while node:
            node = self.nodes[node].holder
            holders.append(node)
        return holders


def read_graph(context: Findings, root: Mapping) -> Graph:
    graph = Graph(span=root.span)
    check_part(context, root, "file", "the workflow")
    for item in items_of(context, root, "nodes"):
        _read_node(context, graph, item)
    if len(graph.nodes) > NODES_MAX:
        context.report("W002", f"a graph has at most {NODES_MAX:,} nodes", root.span)
        return Graph(span=root.span)
    # `parentId` puts a node in a loop; other holders are only drawn around it.
    for node in [node for node in graph.nodes.values() if node.holder]:
        around = reached(
            [node.holder], lambda name: [each.holder] if (each := graph.nodes.get(name)) else []
        )
        holder = graph.nodes.get(node.holder)
        if holder is None or node.id in around:
            shown = f"{node.holder[:60]!r}, which is not a loop of this file"
            loops = [other.id for other in graph.nodes.values() if other.type == "loop"]
            message, advice = f"{node.id!r} is inside {shown}", suggest(node.holder, loops)
            context.report("W005", message, node.span, label="no such loop", help=advice)
        if holder is None or node.id in around or holder.type != "loop":
            graph.nodes[node.id] = replace(node, holder="")
    for node in graph.nodes.values():
        graph.members[node.holder].append(node)
    for item in items_of(context, root, "edges"):
        _read_edge(context, graph, item)
    return graph


def _read_node(context: Findings, graph: Graph, item: Mapping) -> None:
    name = check_id(context, item, graph.nodes)
    if not name:
        return
    check_part(context, item, "node", f"node {name!r}")
    span = span_of(item, "id")
    fields = object_of(item, "data") or Mapping((), span)
    kind = text_of(fields.get("nodeType")) or text_of(item.get("type"))
    if kind not in FIELDS:
        where = span_of(fields, "nodeType") if "nodeType" in fields else span_of(item, "type")
        message = f"node {name!r} is of the type {kind[:60]!r}, which is not known"
        context.report("W009", message, where, label="unknown type", help=suggest(kind, FIELDS))
        return
    inputs, outputs = (read_ports(context, fields, side, name) for side in ("inputs", "outputs"))
    holder = text_of(item.get("parentId"))
    graph.nodes[name] = GraphNode(name, kind, fields, span, inputs, outputs, holder)
    known = sorted((*FIELDS[kind], *SHARED))
    check_spelling(context, fields, known, f"{kind} {name!r}", drawn=DRAWN)


def _read_edge(context: Findings, graph: Graph, item: Mapping) -> None:
    for end in ("source", "target"):
        if not check_node(context, item, end, graph.nodes, "connect it to a node"):
            return
    check_part(context, item, "edge", "an edge")
    out = _read_handle(context, item, "sourceHandle", "output:output")
    into = _read_handle(context, item, "targetHandle", "input:input")
    if out is not None and into is not None:
        ends = (text_of(item.get("source")), text_of(item.get("target")))
        handles = (scalar_of(item.get(name)) for name in ("sourceHandle", "targetHandle"))
        spans = (None if handle is None else handle.span for handle in handles)
        edge = Edge(*ends, out, into, span_of(item, "source"), *spans)
        graph.add(edge)


def _read_handle(context: Findings, item: Mapping, name: str, usual: str) -> Handle | None:
    """Reads `output:port`, `input:port:internal`, `dock:slot:prev`; a bare word is a port name."""
    written = text_of(item.get(name)) or usual
    kind, mark, rest = written.partition(":")
    if not mark:
        kind, rest = usual.partition(":")[0], written
    port, _, side = rest.rpartition(":")
    if side in ("internal", *_SIDES) and port and (kind == "dock" or side == "internal"):
        rest = port
    else:
        side = ""
    if kind in ("output", "input") or (kind == "dock" and side in _SIDES):
        return cast("Handle", (kind, rest, side))
    advice = "write output:PORT, input:PORT, input:PORT:internal, dock:SLOT:prev, ..."
    message = f"{written[:60]!r} is not a handle"
    context.report("W005", message, span_of(item, name), label="no handle", help=advice)
    return None
