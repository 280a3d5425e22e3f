"""Nodes that only compute: triggers, constants, working folders, wires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import scalar_of, span_of, text_of
from whorl.dialects.shodan.nodes.shared import common
from whorl.dialects.shodan.ports import trigger_ports
from whorl.dialects.shodan.sources import expression, literal
from whorl.dialects.shodan.texts import read_text
from whorl.source import Scalar, plain

if TYPE_CHECKING:
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode, PortSpec

_TRIGGERS = ("manual", "cron", "idle")


def read_trigger(level: Level, node: GraphNode) -> list[ir.Node]:
    """Where a workflow begins; its outputs are what the workflow is given."""
    kind = text_of(node.fields, "triggerType") or "manual"
    if kind != "manual":
        level.draft.warn(
            "W023",
            f"trigger {node.id!r} is of the type {kind[:40]!r}; nothing starts it by itself here",
            span_of(node.fields, "triggerType"),
            label="never fires",
            help="run the workflow by hand, or from a scheduler of your system",
        )
    fields: list[tuple[str | ir.Expression, ir.Value]] = [
        ("timestamp", expression("timestamp()")),
        ("type", ir.Constant(kind if kind in _TRIGGERS else "manual")),
    ]
    for port in trigger_ports(level, node):
        fields.append((port.name, expression(_given(level, port))))
    return [ir.Compute(value=ir.Fields(tuple(fields)), **common(node))]


def _given(level: Level, port: PortSpec) -> str:
    """What a trigger is given: by the workflow's start, or by the loop that holds the workflow."""
    if level.ports is not None:
        return level.workflow_input(port)
    source = level.loop.seen(("input", port.name, "")) if level.loop is not None else None
    return source or literal(port.default)


def read_constant(level: Level, node: GraphNode) -> list[ir.Node]:
    """A value that stands in the file."""
    written = node.fields.get("value")
    value = None if written is None else plain(written)
    wanted = text_of(node.fields, "valueType")
    kinds: dict[str, type | tuple[type, ...]] = {
        "boolean": bool,
        "number": (int, float),
        "string": str,
    }
    is_wrong = wanted in kinds and not isinstance(value, kinds[wanted])
    if is_wrong or (wanted == "number" and isinstance(value, bool)):
        shown = repr(written.text[:40]) if isinstance(written, Scalar) else "an object or a list"
        level.draft.report(
            "W007",
            f"constant {node.id!r} must be a {wanted}, not {shown}",
            span_of(node.fields, "value"),
            label=f"expected a {wanted}",
            help=f"write a {wanted}, or change its valueType",
        )
    return [ir.Compute(value=ir.Fields((("value", ir.Constant(value)),)), **common(node))]


def read_workdir(level: Level, node: GraphNode) -> list[ir.Node]:
    """A path that other nodes read."""
    path = read_text(level, node, scalar_of(node.fields, "path"))
    return [ir.Compute(value=ir.Fields((("path", path),)), **common(node))]


def read_wire(level: Level, node: GraphNode) -> list[ir.Node]:
    """Hands on what comes in."""
    source = level.own(node, "value") or "none"
    value = ir.Fields((("value", expression(source)),))
    return [ir.Compute(value=value, **common(node))]
