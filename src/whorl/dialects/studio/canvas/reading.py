"""Reads the nodes and edges of a file, and says which of them cannot be meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.studio.canvas.handles import check_source, check_target
from whorl.dialects.studio.canvas.kinds import (
    CLOSED_BY,
    EDGES_MAX,
    FIELDS,
    NODES_MAX,
    REGIONS_MAX,
    ROUTERS_MAX,
    SHARED,
)
from whorl.dialects.studio.canvas.parts import Canvas, CanvasNode, Edge
from whorl.errors import did_you_mean
from whorl.ir.checks.suggest import suggest
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.studio.draft import Draft
    from whorl.errors import Span
    from whorl.source import Value

_NAME = re.compile(r"[^\x00-\x1f\x7f/@?#:\[\]%\"'\\]{1,128}")
# What these do depends on their fields alone, so one that is nearly known can only be misspelt.
_STRICT = frozenset({"http_request", "transform"})
_BRANCH = re.compile(r"branch-(\d{1,4})")


def read_canvas(draft: Draft, root: Mapping) -> Canvas:
    """Reads all nodes and edges."""
    canvas = Canvas()
    nodes, edges = _items(draft, root, "nodes"), _items(draft, root, "edges")
    if _is_too_large(draft, root, nodes=len(nodes), edges=len(edges)):
        return canvas
    for item in nodes:
        _read_node(draft, canvas, item)
    routers, opening = canvas.of_type("router"), canvas.of_type(*CLOSED_BY)
    if _is_too_large(draft, root, routers=len(routers), loops=len(opening)):
        return Canvas()
    for item in edges:
        _read_edge(draft, canvas, item)
    return canvas


_MOST = {"nodes": NODES_MAX, "edges": EDGES_MAX, "routers": ROUTERS_MAX, "loops": REGIONS_MAX}


def _is_too_large(draft: Draft, root: Mapping, **counts: int) -> bool:
    over = [name for name, count in counts.items() if count > _MOST[name]]
    for name in over:
        draft.report(
            "W002",
            f"a canvas has at most {_MOST[name]:,} {name}, not {counts[name]:,}",
            root.span,
            label="too large",
            help="put parts of it into files of their own, and call them as subworkflows",
        )
    return bool(over)


def _items(draft: Draft, root: Mapping, name: str) -> list[Mapping]:
    value = root.get(name)
    if value is None:
        return []
    found: list[Mapping] = []
    for item in value if isinstance(value, Sequence) else (value,):
        if isinstance(item, Mapping):
            found.append(item)
        else:
            draft.report(
                "W007",
                f"{name!r} must be a list of objects",
                item.span,
                label="no object",
                help='write {"id": ..., ...}',
            )
    return found


def _read_node(draft: Draft, canvas: Canvas, item: Mapping) -> None:
    name, kind = _text(item, "id"), _text(item, "type")
    span = _span(item, "id")
    if not name or not _NAME.fullmatch(name):
        what = f"the id {name[:60]!r} is not valid" if name else "a node lacks its 'id'"
        draft.report(
            "W012" if name else "W006",
            what,
            span,
            label="this node",
            help="an id is a short text without quotes, slashes, brackets, and @ ? # : %",
        )
        return
    if name in canvas.nodes:
        first = canvas.nodes[name].span
        draft.report(
            "W012",
            f"two nodes have the id {name!r}",
            span,
            label=f"the first one is on line {first.line}",
            help="choose another id for one of them",
        )
        return
    if kind not in FIELDS:
        draft.report(
            "W009",
            f"node {name!r} is of the type {kind[:60]!r}, which is not known"
            if kind
            else f"node {name!r} lacks its 'type'",
            _span(item, "type") if kind else span,
            label="unknown type" if kind else "no type",
            help=suggest(kind, FIELDS),
        )
        kind = "note"
    fields = item.get("data")
    if not isinstance(fields, Mapping):
        fields = Mapping((), span)
    canvas.add_node(CanvasNode(name, kind, fields, span))
    _check_fields(draft, canvas.nodes[name])


def _check_fields(draft: Draft, node: CanvasNode) -> None:
    known = FIELDS[node.type]
    if known is None:
        return
    for entry in node.fields:
        if entry.name in known or entry.name in SHARED:
            continue
        message = f"{node.type} {node.id!r} has no field {entry.name[:60]!r}"
        names = sorted(known | {"timeout"})
        near = did_you_mean(entry.name, names)
        if near and node.type in _STRICT:
            draft.report("W004", message, entry.key.span, label="unknown field", help=near)
        else:
            draft.warn(
                "W004",
                f"{message}; it is ignored",
                entry.key.span,
                label="unknown field",
                help=suggest(entry.name, names),
            )


def _read_edge(draft: Draft, canvas: Canvas, item: Mapping) -> None:
    ends: dict[str, str] = {}
    for name in ("source", "target"):
        ends[name] = _text(item, name)
        if ends[name] in canvas.nodes:
            continue
        draft.report(
            "W010",
            f"an edge has no node {ends[name][:60]!r} as its {name}"
            if ends[name]
            else f"an edge lacks its {name!r}",
            _span(item, name),
            label="no such node",
            help=suggest(ends[name], canvas.nodes) or "connect it to a node of the canvas",
        )
    if ends["source"] not in canvas.nodes or ends["target"] not in canvas.nodes:
        return
    source = canvas.nodes[ends["source"]]
    if "note" in (source.type, canvas.nodes[ends["target"]].type):
        return
    handle = _text(item, "sourceHandle") or "output"
    branch = None
    if source.type == "router":
        branch = branch_of(source, handle)
        if branch is None and handle not in ROUTER_HANDLES:
            _report_handle(draft, source, handle, _span(item, "sourceHandle"))
    else:
        check_source(draft, source, handle, _span(item, "sourceHandle"))
    target_handle = _text(item, "targetHandle") or "input"
    target = canvas.nodes[ends["target"]]
    check_target(draft, target, target_handle, _span(item, "targetHandle"))
    canvas.add_edge(
        Edge(source.id, ends["target"], handle, target_handle, _span(item, "source"), branch)
    )


ROUTER_HANDLES = ("output", "value", "selectedBranch", "explanation")


def branches_of(router: CanvasNode) -> list[str]:
    """The names of a router's branches, in order."""
    written = router.fields.get("branches")
    names: list[str] = []
    for item in written if isinstance(written, Sequence) else ():
        if isinstance(item, Mapping):
            names.append(_text(item, "name") or _text(item, "label"))
        elif isinstance(item, Scalar):
            names.append(item.text.strip())
    return [name for name in names if name]


def branch_of(router: CanvasNode, handle: str) -> str | None:
    """The branch that a handle belongs to: by its name, or by its number from 0."""
    names = branches_of(router)
    if handle in names:
        return handle
    found = _BRANCH.fullmatch(handle)
    if found is not None and int(found[1]) < len(names):
        return names[int(found[1])]
    return None


def _report_handle(draft: Draft, router: CanvasNode, handle: str, span: Span) -> None:
    known = [*branches_of(router), *ROUTER_HANDLES]
    draft.report(
        "W010",
        f"router {router.id!r} has no branch {handle[:60]!r}",
        span,
        label="no such branch",
        help=suggest(handle, known),
    )


def _text(item: Mapping, name: str) -> str:
    value: Value | None = item.get(name)
    if not isinstance(value, Scalar) or value.value is None:
        return ""
    return value.text


def _span(item: Mapping, name: str) -> Span:
    value = item.get(name)
    return item.span if value is None else value.span
