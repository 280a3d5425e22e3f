"""The inside of a loop: an inline workflow, a file, or the nodes that stand in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.shodan.fields import scalar_of, table_of
from whorl.dialects.shodan.level import Level, LoopScene
from whorl.dialects.shodan.reading import read_graph
from whorl.errors import InvalidWorkflow
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects.shodan.parts import Graph, GraphNode

DEPTH_MAX = 16


def open_inside(level: Level, node: GraphNode) -> Level | None:
    """The level inside of a loop; None if there is none, which is reported."""
    if sum(1 for _ in level.chain()) > DEPTH_MAX:
        level.draft.report("W002", f"loops stand at most {DEPTH_MAX} deep", node.span)
        return None
    graph = _own_graph(level, node)
    inner = Level(level.draft, graph or level.graph, "" if graph else node.id, level)
    if not any(not member.type.startswith("interface-") for member in inner.members):
        if not level.draft.diagnostics:
            level.draft.report(
                "W006",
                f"loop {node.id!r} has nothing inside",
                node.span,
                label="an empty loop",
                help="add inlineWorkflow, workflowRef, or nodes whose parentId is the loop",
            )
        return None
    inner.loop = LoopScene(node, "")
    inner.loop.number = inner.claim("iteration_count")
    return inner


def _own_graph(level: Level, node: GraphNode) -> Graph | None:
    """The graph of an inline workflow or of a file; None: the loop's nodes stand around it."""
    inline = table_of(node.fields, "inlineWorkflow")
    if inline is not None:
        return read_graph(level.draft, inline)
    reference = scalar_of(node.fields, "workflowRef")
    if reference is None:
        return None
    draft = level.draft
    try:
        opened = draft.files.open(draft.reference(reference.text), reference.span)
    except InvalidWorkflow as fault:
        draft.adopt(fault.diagnostics)
        return None
    if opened.file in (*_files(level), draft.document.file):
        draft.report(
            "W017",
            f"loop {node.id!r} holds the file that it stands in",
            reference.span,
            label="leads back",
            help="put the inner workflow into a file of its own",
        )
        return None
    if not isinstance(opened.root, Mapping):
        draft.report("W007", f"{opened.file!r} holds no workflow", reference.span)
        return None
    draft.sources[opened.file] = opened.text
    draft.adopt(opened.warnings)
    for entry in table_of(opened.root, "components") or ():
        if isinstance(entry.value, Mapping):
            draft.components.setdefault(entry.name, entry.value)
    return read_graph(draft, opened.root)


def _files(level: Level) -> list[str]:
    return [one.graph.span.file for one in level.chain() if one.graph.span is not None]
