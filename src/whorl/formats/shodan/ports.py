"""The ports of nodes, and the check of a name against them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.dialects.reading.texts import json_in
from whorl.formats.shodan.graph import COUNT, GraphNode, PortSpec, check_part, items_of
from whorl.formats.shodan.levels import GraphContext, Level, Reference
from whorl.ir.checks.scopes import suggest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Severity
    from whorl.language import Json


SESSION = "sessionId"
# The inputs of every agent beside those that its prompt names.
TAKEN = ("prompt", SESSION)
# Outputs that nodes have without declaring them.
USUAL = {
    "shell": ("output", "stdout", "stderr", "exitCode"),
    "agent": ("output", SESSION, "exitCode"),
    "constant": ("value",),
    "wire": ("value",),
    "workdir": ("path",),
    "trigger": ("timestamp", "type", "text", "params"),
    "loop": (COUNT,),
}
_TRIGGER = USUAL["trigger"][:2]
_STARTED_WITH = (
    PortSpec("text", "string", description="the text that the workflow is started with"),
    PortSpec("params", "json", description="further parameters"),
)

# None stands for ports of any name.
Names = list[str] | None


def check_ports(context: GraphContext) -> None:
    names: dict[tuple[int, str, str], Names] = {}
    for reference in (*context.references, *_ends_of_edges(context)):
        level, node, kind = reference.level, reference.node, reference.kind
        key = (id(level), node.id, kind)
        if key not in names:
            names[key] = _names(level, node, kind)
        _check(reference, names[key])
    # A port that a node declares but does not have would be null, or be lost.
    for level, node in [(home, node) for home in context.levels for node in home.members]:
        takes, gives = _ports_called(context, node)
        # Outputs of these are always the same; the declarations of the file do not count.
        gives = list(USUAL[node.type]) if node.type in ("constant", "wire", "workdir") else gives
        gives = gives and [*gives, "output"]
        for kind, ports, own in (("input", node.inputs, takes), ("output", node.outputs, gives)):
            for port in ports:
                _check(Reference(level, node, kind, port.name, port.span or node.span), own)


def _check(reference: Reference, names: Names) -> None:
    node, kind, name = reference.node, reference.kind, reference.name
    if not name or (names is not None and name not in names):
        message = f"{node.type} {node.id!r} has no {kind} {name[:60]!r}"
        advice = suggest(name, names or ()) or "declare it there, or leave it out"
        label, severity = f"no such {kind}", reference.severity
        report = reference.level.context.report
        report("W005", message, reference.span, label=label, help=advice, severity=severity)


def _ends_of_edges(context: GraphContext) -> Iterator[Reference]:
    """Yields the ends of edges with a handle; an edge without one only orders its nodes."""
    homes = {(id(level.graph), level.holder): level for level in context.levels}
    for graph in {id(level.graph): level.graph for level in context.levels}.values():
        for edge, is_source in product(graph.edges, (True, False)):
            ends = (edge.source, edge.target) if is_source else (edge.target, edge.source)
            handle, span = (edge.out, edge.out_span) if is_source else (edge.into, edge.into_span)
            node = graph.nodes[ends[0]]
            is_inside = node.id in graph.holders(ends[1])
            level = homes.get((id(graph), node.id if is_inside else node.holder))
            if level is None or span is None:
                continue
            # The kind of port of a handle at that end of an edge.
            wanted = "input" if is_inside == is_source else "output"
            kind = wanted if is_source or handle[0] == wanted else "handle"
            if handle[0] == "dock":
                usual = "iteration" if is_source else "continue"
                is_fed_back = handle[2] in ("prev", "current")
                kind = f"{'feedback' if is_fed_back else usual} slot"
            # Editors write the usual handle out, too, where only the order counts.
            severity: Severity = "warning" if handle == ("input", "input", "") else "error"
            yield Reference(level, node, kind, handle[1], span, severity)


def _names(level: Level, node: GraphNode, kind: str) -> Names:
    """Returns the names of a node's ports of one kind; for a loop from inside, its inner ones."""
    is_inside = level.loop is node
    match kind:
        case "input":
            return _inputs_inside(level) if is_inside else _inputs(level, node)
        case "output" if not is_inside:
            return _outputs(level, node)
        case "output":
            return [port.name for port in node.outputs]
        case "feedback slot" if is_inside:
            return list(level.slots)
    return [*slot_types(level.context, node, kind.removesuffix(" slot"))] if is_inside else []


def _inputs_inside(level: Level) -> list[str]:
    slots = [name for slot in level.slots for name in (f"prev.{slot}", slot)]
    item = [level.item[0]] if level.held else []
    return [*level.inputs, *item, *slots, "iteration", COUNT]


def slot_types(context: GraphContext, loop: GraphNode, kind: str) -> dict[str, str]:
    types: dict[str, str] = {}
    for slot in items_of(context, loop.fields, "dockSlots"):
        check_part(context, slot, "dock slot", f"a dock slot of loop {loop.id!r}")
        name = text_of(slot.get("name"))
        if name and text_of(slot.get("type")) == kind:
            types[name] = text_of(slot.get("valueType")) or "any"
    return types


def _outputs(level: Level, node: GraphNode) -> Names:
    """Returns the outputs; `output` means the first output of any node."""
    declared = [port.name for port in node.outputs]
    names: Names = [*declared, *USUAL.get(node.type, ())]
    match node.type:
        case "trigger":
            ports = trigger_ports(level, node)
            if level.loop is not None:
                # Inside of a loop a trigger hands on only what the loop has.
                has = _inputs_inside(level)
                ports = [port for port in ports if port.name in has or port.default is not None]
            names = [*_TRIGGER, *(port.name for port in ports)]
        case "agent":
            schema = read_schema(text_of(node.fields.get("outputSchema"))) or {}
            properties = schema.get("properties")
            fields = [*declared, *(properties if isinstance(properties, dict) else ())]
            names = [*fields, "output", "response", "structured", "exitCode"] if fields else None
        case "function":
            names = declared or None
        case "component":
            gives = _ports_called(level.context, node)[1]
            names = None if gives is None else [*declared, *gives]
        case "loop":
            names = [*promised_outputs(level.context, node), COUNT]
        case "interface-input":
            return _inputs_inside(level) if level.loop is not None else declared or None
        case "interface-output" | "interface-continue":
            return []
    return None if names is None else [*names, "output"]


def _inputs(level: Level, node: GraphNode) -> Names:
    declared = [port.name for port in node.inputs]
    match node.type:
        case "trigger" | "constant" | "interface-input":
            return []
        case "wire":
            return ["value"]
        case "interface-output":
            return declared
        case "agent" if declared:
            return [*declared, *TAKEN]
        case "component":
            takes = _ports_called(level.context, node)[0]
            return None if takes is None else [*declared, *takes]
        case "loop" if not declared and not level.gives_inputs:
            return level.input_names(node)
    return None if node.type == "interface-continue" else declared or None


def promised_outputs(context: GraphContext, node: GraphNode) -> list[str]:
    """Returns the declared outputs of a node; those of the last nodes are the workflow's."""
    names = [port.name for port in node.outputs]
    if node.type == "loop":
        mappings = items_of(context, node.fields, "outputMappings")
        names += [name for mapping in mappings if (name := text_of(mapping.get("target")))]
    names = names or _ports_called(context, node)[1] or list(USUAL.get(node.type, ()))
    return list(dict.fromkeys(names))


def _ports_called(context: GraphContext, node: GraphNode) -> tuple[Names, Names]:
    """Returns the inputs and outputs of a component's workflow, once it is read."""
    workflow = context.workflows.get(context.called.get(node.span, ""))
    if workflow is None:
        return None, None
    return [port.name for port in workflow.inputs], [name for name, _ in workflow.outputs]


def trigger_ports(level: Level, node: GraphNode) -> list[PortSpec]:
    """Returns the ports of a trigger: a text, parameters, and its declared or connected outputs."""
    ports = {port.name: port for port in (*_STARTED_WITH, *node.outputs)}
    for edge in () if node.outputs else level.graph.edges:
        if edge.source == node.id and edge.out[0] == "output" and edge.out[1] != "output":
            ports.setdefault(edge.out[1], PortSpec(edge.out[1]))
    return [port for name, port in ports.items() if name not in _TRIGGER]


def read_schema(text: str) -> dict[str, Json] | None:
    schema = json_in(text)
    return schema if isinstance(schema, dict) else None
