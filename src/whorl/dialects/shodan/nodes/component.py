"""Component nodes: a workflow as one node, from a file or from the file's own components."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import scalar_of, span_of
from whorl.dialects.shodan.nodes.shared import common
from whorl.dialects.shodan.sources import expression
from whorl.errors import InvalidWorkflow
from whorl.ir.checks.suggest import suggest

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.shodan.draft import Draft
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode


def read_component(
    level: Level, node: GraphNode, read_inline: Callable[[Draft, str], ir.Workflow]
) -> list[ir.Node]:
    """Calls a workflow with what arrives at the component's inputs."""
    key = _inline(level, node, read_inline) or _file(level, node)
    level.draft.called[node.span] = key
    given: list[tuple[str | ir.Expression, ir.Value]] = [
        (name, expression(source))
        for name in level.input_names(node)
        if (source := level.own(node, name)) is not None
    ]
    return [ir.Call(workflow=key, inputs=ir.Fields(tuple(given)), **common(node))]


def _inline(level: Level, node: GraphNode, read_inline: Callable[[Draft, str], ir.Workflow]) -> str:
    """The key of a component of this file, which is read when it is first used."""
    draft = level.draft
    written = scalar_of(node.fields, "componentRef")
    if written is None:
        return ""
    name = written.text
    key = f"{draft.document.file}#{name}"
    if name not in draft.components:
        draft.report(
            "W010",
            f"component {node.id!r} refers to {name[:60]!r}, which is not in 'components'",
            written.span,
            label="no such component",
            help=suggest(name, draft.components) or "add it under 'components'",
        )
    elif key in draft.opened:
        draft.report(
            "W017",
            f"component {name!r} holds itself, directly or through others",
            written.span,
            label="leads back",
            help="repeat nodes with a loop, which has limits",
        )
    elif key not in draft.workflows:
        draft.opened.append(key)
        draft.workflows[key] = read_inline(draft, name)
        draft.opened.pop()
    return key if key in draft.workflows else ""


def _file(level: Level, node: GraphNode) -> str:
    draft = level.draft
    if scalar_of(node.fields, "componentRef") is not None:
        return ""
    written = scalar_of(node.fields, "workflowPath")
    if written is None:
        draft.report(
            "W006",
            f"component {node.id!r} lacks its 'workflowPath'",
            span_of(node.fields, "workflowPath"),
            label="no workflow",
            help="add workflowPath: a file, or componentRef: a name under 'components'",
        )
        return ""
    try:
        called = draft.files.workflow(draft.reference(written.text), written.span)
    except InvalidWorkflow as fault:
        draft.adopt(fault.diagnostics)
        return ""
    workflow = called.reading.workflow
    draft.sources.update(called.reading.sources)
    draft.adopt(called.reading.warnings)
    draft.workflows.update(workflow.workflows)
    draft.workflows[called.key] = replace(workflow, workflows=())
    return called.key
