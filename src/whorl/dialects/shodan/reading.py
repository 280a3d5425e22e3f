"""Reads the nodes, ports and edges of a graph, and says which of them cannot be meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from whorl.dialects.shodan.fields import flag_of, items_of, scalar_of, span_of, text_of
from whorl.dialects.shodan.functions.ports import TYPES
from whorl.dialects.shodan.parts import FIELDS, SHARED, Edge, Graph, GraphNode, PortSpec
from whorl.errors import did_you_mean
from whorl.ir.checks.suggest import suggest
from whorl.language import LanguageError
from whorl.language.patterns import pattern
from whorl.source import Mapping, plain

if TYPE_CHECKING:
    from whorl.dialects.shodan.draft import Draft
    from whorl.dialects.shodan.parts import Handle

NODES_MAX = 2_000
_NAME = re.compile(r"[^\x00-\x1f\x7f/@?#:\[\]%\"'\\]{1,128}")
_INDEXED = re.compile(r"(.+)\[(\d{1,4})\]")
_EXTRACTS = ("full", "regex", "json_path")
_SIDES = ("output", "input", "prev", "current")


def read_graph(draft: Draft, root: Mapping) -> Graph:
    """Reads all nodes and edges."""
    graph = Graph(span=root.span)
    for item in items_of(draft, root, "nodes"):
        _read_node(draft, graph, item)
    if len(graph.nodes) > NODES_MAX:
        draft.report("W002", f"a graph has at most {NODES_MAX:,} nodes", root.span)
        return Graph(span=root.span)
    _check_holders(draft, graph)
    for item in items_of(draft, root, "edges"):
        _read_edge(draft, graph, item)
    _check_doubles(draft, graph)
    graph.settle()
    return graph


def _read_node(draft: Draft, graph: Graph, item: Mapping) -> None:
    name, span = text_of(item, "id"), span_of(item, "id")
    if not _NAME.fullmatch(name):
        what = f"the id {name[:60]!r} is not valid" if name else "a node lacks its 'id'"
        advice = "an id is a short text without quotes, slashes, brackets, and @ ? # : %"
        draft.report("W012" if name else "W006", what, span, label="this node", help=advice)
        return
    if name in graph.nodes:
        draft.report(
            "W012",
            f"two nodes have the id {name!r}",
            span,
            label=f"the first one is on line {graph.nodes[name].span.line}",
            help="choose another id for one of them",
        )
        return
    fields = item.get("data")
    fields = fields if isinstance(fields, Mapping) else Mapping((), span)
    kind = _kind(draft, item, fields, name)
    if kind is None:
        return
    graph.nodes[name] = GraphNode(
        name,
        kind,
        text_of(fields, "label"),
        fields,
        span,
        inputs=read_ports(draft, fields, "inputs", name),
        outputs=read_ports(draft, fields, "outputs", name),
        holder=text_of(item, "parentId"),
    )
    _check_fields(draft, graph.nodes[name])


def _kind(draft: Draft, item: Mapping, fields: Mapping, name: str) -> str | None:
    kind = text_of(fields, "nodeType") or text_of(item, "type")
    if kind in FIELDS:
        return kind
    where = span_of(fields, "nodeType") if "nodeType" in fields else span_of(item, "type")
    draft.report(
        "W009",
        f"node {name!r} is of the type {kind[:60]!r}, which is not known"
        if kind
        else f"node {name!r} lacks its 'nodeType'",
        where,
        label="unknown type" if kind else "no type",
        help=suggest(kind, FIELDS),
    )
    return None


def _check_fields(draft: Draft, node: GraphNode) -> None:
    """Editors add fields of their own: only a near miss is worth a word."""
    known = FIELDS[node.type] | SHARED
    for entry in node.fields:
        near = "" if entry.name in known else did_you_mean(entry.name, sorted(known))
        if near:
            draft.warn(
                "W004",
                f"{node.type} {node.id!r} has no field {entry.name[:60]!r}; it is ignored",
                entry.key.span,
                label="unknown field",
                help=near,
            )


def read_ports(draft: Draft, fields: Mapping, name: str, node: str) -> tuple[PortSpec, ...]:
    """The ports that a node or an interface declares."""
    found: dict[str, PortSpec] = {}
    for item in items_of(draft, fields, name):
        port = _port(draft, item, node)
        if port is not None and port.name not in found:
            found[port.name] = port
    return tuple(found.values())


def _port(draft: Draft, item: Mapping, node: str) -> PortSpec | None:
    name = text_of(item, "name")
    if not name:
        draft.report("W006", f"a port of {node!r} lacks its 'name'", item.span, label="this port")
        return None
    kind = text_of(item, "type") or "any"
    if kind not in TYPES:
        draft.report(
            "W009",
            f"port {name!r} of {node!r} is of the type {kind[:60]!r}, which is not known",
            span_of(item, "type"),
            label="unknown type",
            help=suggest(kind, TYPES),
        )
        kind = "any"
    default = item.get("default")
    indexed = _INDEXED.fullmatch(name)
    return PortSpec(
        name,
        kind,
        required=flag_of(item, "required"),
        default=None if default is None else plain(default),
        description=text_of(item, "description"),
        extract=_extract(draft, item, node),
        parent=text_of(item, "arrayParent") or (indexed[1] if indexed else ""),
        index=int(indexed[2]) if indexed else 0,
        span=span_of(item, "name"),
    )


def _extract(draft: Draft, item: Mapping, node: str) -> tuple[str, str] | None:
    written = item.get("extract")
    if not isinstance(written, Mapping):
        return None
    kind, source = text_of(written, "type") or "full", text_of(written, "pattern")
    if kind not in _EXTRACTS:
        draft.report(
            "W009",
            f"an output of {node!r} is extracted by {kind[:60]!r}, which is not known",
            span_of(written, "type"),
            label="unknown way",
            help=suggest(kind, _EXTRACTS),
        )
        return None
    if kind == "regex":
        try:
            pattern(source)
        except LanguageError as fault:
            span = span_of(written, "pattern")
            draft.report("W014", str(fault), span, label="this pattern", help=fault.help)
            return None
    return kind, source


def _check_holders(draft: Draft, graph: Graph) -> None:
    """A node stands in a loop by its `parentId`; any other holder is only drawn around it."""
    for node in list(graph.nodes.values()):
        holder = graph.nodes.get(node.holder)
        circle = node.id in _around(graph, node)
        if node.holder and (holder is None or holder.type != "loop" or circle):
            if circle or (holder is None and node.holder):
                draft.report(
                    "W010",
                    f"{node.id!r} stands in {node.holder[:60]!r}, which is no loop of this file",
                    node.span,
                    label="no such loop",
                    help=suggest(
                        node.holder, [n.id for n in graph.nodes.values() if n.type == "loop"]
                    ),
                )
            graph.nodes[node.id] = _outside(node)


def _around(graph: Graph, node: GraphNode) -> set[str]:
    seen: set[str] = set()
    here = node.holder
    while here in graph.nodes and here not in seen:
        seen.add(here)
        here = graph.nodes[here].holder
    return seen


def _outside(node: GraphNode) -> GraphNode:
    return GraphNode(
        node.id, node.type, node.label, node.fields, node.span, node.inputs, node.outputs
    )


def _read_edge(draft: Draft, graph: Graph, item: Mapping) -> None:
    for end in ("source", "target"):
        name = text_of(item, end)
        if name not in graph.nodes:
            draft.report(
                "W010",
                f"an edge has no node {name[:60]!r} as its {end}"
                if name
                else f"an edge lacks its {end!r}",
                span_of(item, end),
                label="no such node",
                help=suggest(name, graph.nodes) or "connect it to a node",
            )
            return
    out, into = (
        _handle(draft, item, name, usual)
        for name, usual in (("sourceHandle", "output:output"), ("targetHandle", "input:input"))
    )
    if out is not None and into is not None:
        ends = (text_of(item, "source"), text_of(item, "target"))
        handles = (scalar_of(item, name) for name in ("sourceHandle", "targetHandle"))
        spans = (None if handle is None else handle.span for handle in handles)
        graph.edges.append(Edge(*ends, out, into, span_of(item, "source"), *spans))


def _handle(draft: Draft, item: Mapping, field: str, usual: str) -> Handle | None:
    """`output:port`, `input:port:internal`, `dock:slot:prev`; a bare word is a port's name."""
    written = text_of(item, field) or usual
    kind, mark, rest = written.partition(":")
    if not mark:
        kind, rest = usual.partition(":")[0], written
    name, _, side = rest.rpartition(":")
    if side in ("internal", *_SIDES) and name and (kind == "dock" or side == "internal"):
        rest = name
    else:
        side = ""
    if kind in ("output", "input") or (kind == "dock" and side in _SIDES):
        return cast("Handle", (kind, rest, side))
    draft.report(
        "W010",
        f"{written[:60]!r} is no handle",
        span_of(item, field),
        label="no handle",
        help="write output:PORT, input:PORT, input:PORT:internal, dock:SLOT:prev, ...",
    )
    return None


def _check_doubles(draft: Draft, graph: Graph) -> None:
    seen: set[tuple[str, Handle]] = set()
    for edge in graph.edges:
        key = (edge.target, edge.into)
        if key in seen and edge.into[0] != "output":
            draft.warn(
                "W012",
                f"Multiple edges connected to input {edge.into[1]!r} of {edge.target!r}",
                edge.span,
                label="a second edge",
                help="the node will fail; keep one of them, or give the node an input for each",
            )
        seen.add(key)
