"""The picture of a canvas: nodes as they stand, a container around what lies before an exit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.files import NoFiles
from whorl.dialects.reader import files_beside
from whorl.dialects.reading.context import ReadContext
from whorl.dialects.reading.fields import text_of
from whorl.errors import InvalidWorkflow
from whorl.formats.studio.kinds import CLOSED_BY, LOOP_PORTS, RESULTS
from whorl.formats.studio.regions import read_drawn
from whorl.source import Mapping, Sequence
from whorl.wings.editor.kit.sketch import (
    Sketch,
    SketchEdge,
    SketchNode,
    at,
    joined,
    number_pair,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.formats.studio.canvas import Canvas, Edge
    from whorl.formats.studio.regions import Regions
    from whorl.source import Document, Value


def draw(document: Document) -> Sketch:
    nodes = at(document.root, "nodes")
    if not isinstance(document.root, Mapping) or not isinstance(nodes, Sequence):
        return Sketch()
    context = ReadContext(document, files_beside(NoFiles(), document.file))
    try:
        canvas, feedback, regions = read_drawn(context)
    except InvalidWorkflow:
        return Sketch()
    paths = _paths(canvas, regions)
    drawn = _nodes(nodes, canvas, regions, paths)
    back = {id(edge) for edge in feedback}
    edges = _edges(at(document.root, "edges"), [*canvas.edges, *feedback], paths, back)
    return Sketch(tuple(drawn), tuple(edges))


def _paths(canvas: Canvas, regions: Regions) -> dict[str, str]:
    """The path of each node: below the loop that it stands in."""

    def path(name: str) -> str:
        around = regions.around.get(name)
        return joined(path(around.start) if around is not None else "", name)

    return {name: path(name) for name in canvas.nodes}


def _nodes(
    items: Sequence, canvas: Canvas, regions: Regions, paths: dict[str, str]
) -> list[SketchNode]:
    found: dict[str, SketchNode] = {}
    for index, item in enumerate(items):
        name = text_of(at(item, "id"))
        node = canvas.nodes.get(name)
        if node is None or paths[name] in found:
            continue
        around = regions.around.get(name)
        region = regions.by_start.get(name)
        kind = text_of(at(item, "type"))
        found[paths[name]] = SketchNode(
            paths[name],
            kind,
            ("nodes", index),
            parent=paths[around.start] if around is not None else "",
            title=text_of(at(item, "data", "label")) or name,
            body="members" if region is not None else "file" if kind == "subworkflow" else "none",
            file=_file(item) if kind == "subworkflow" else "",
            position=number_pair(at(item, "position"), "x", "y"),
            size=number_pair(item, "width", "height"),
            inputs=() if kind == "input" else ("input",),
            outputs=outputs_of(kind, node.branches),
            value=item,
            slots={"": ("nodes",)} if kind in CLOSED_BY else {},
        )
    return sorted(found.values(), key=lambda node: node.path.count("/"))


def _file(item: Value) -> str:
    """The file that a node calls, by the rule of the reader."""
    name = text_of(at(item, "data", "workflowId")) or text_of(at(item, "data", "workflowName"))
    return name if not name or name.endswith((".json", ".yaml", ".yml")) else f"{name}.json"


def outputs_of(kind: str, branches: list[str]) -> tuple[str, ...]:
    if kind == "router":
        return tuple(branches)
    if kind == "loop":
        return tuple(LOOP_PORTS["outputs"])
    return () if kind == "output" else ("output", *RESULTS.get(kind, ()))


def _edges(
    items: Value | None, edges: list[Edge], paths: dict[str, str], back: set[int]
) -> Iterator[SketchEdge]:
    by_place = {(edge.span.line, edge.span.column): edge for edge in edges}
    for index, item in enumerate(items if isinstance(items, Sequence) else ()):
        source = at(item, "source")
        edge = by_place.get((source.span.line, source.span.column)) if source is not None else None
        if edge is None:
            continue
        kind = "feedback" if id(edge) in back else "branch" if edge.branch else "data"
        yield SketchEdge(
            paths[edge.source],
            paths[edge.target],
            kind,  # type: ignore[arg-type]
            edge.source_handle,
            edge.target_handle,
            edge.branch or "",
            ("edges", index),
        )
