"""The ports of nodes: the one place that knows them, and the one check of a name against them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.dialects.shodan.fields import items_of, read_schema, text_of
from whorl.dialects.shodan.parts import COUNT, USUAL, PortSpec
from whorl.ir.checks.suggest import suggest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.shodan.draft import Draft
    from whorl.dialects.shodan.level import Level, LoopScene
    from whorl.dialects.shodan.parts import Edge, Graph, GraphNode, Handle
    from whorl.errors import Severity, Span

TEXT = PortSpec("text", "string", description="the text that the workflow is started with")
PARAMS = PortSpec("params", "json", description="further parameters")
SESSION = "sessionId"
# What every agent gives beside the fields of its answer, and takes beside what its prompt names.
_ANSWER = ("output", "response", "structured", "exitCode")
TAKEN = ("prompt", SESSION)
# Outputs of these are always the same, whatever the file declares.
_FIXED = ("constant", "wire", "workdir")

# None stands for ports of any name.
Names = list[str] | None


@dataclass(frozen=True, slots=True)
class Reference:
    """A port that the file names; it is looked up once everything is read.

    `level` is the one that the node stands on; for a loop as its own nodes see it, the one inside.
    """

    level: Level
    node: GraphNode
    kind: str
    name: str
    span: Span
    severity: Severity = "error"


def check_ports(draft: Draft) -> None:
    """Reports every name of a port that is not there."""
    known: dict[tuple[int, str, str], Names] = {}
    for one in (*draft.references, *_ends_of_edges(draft)):
        key = (id(one.level), one.node.id, one.kind)
        if key not in known:
            known[key] = _ports(one.level, one.node, one.kind)
        _check(one, known[key])
    for level in draft.levels:
        for node in level.members:
            _check_declared(level, node)


def _check(one: Reference, known: Names) -> None:
    node, kind, draft = one.node, one.kind, one.level.draft
    if not one.name:
        message = f"the name of an {kind} of {node.id!r} is missing"
        draft.report("W006", message, one.span, label="no name", help=f"write which {kind} it is")
    elif known is not None and one.name not in known:
        draft.report(
            "W010",
            f"{node.type} {node.id!r} has no {kind} {one.name[:60]!r}",
            one.span,
            label=f"no such {kind}",
            help=suggest(one.name, known) or "declare it there, or leave it out",
            severity=one.severity,
        )


def _check_declared(level: Level, node: GraphNode) -> None:
    """What a node declares without having it would be null, or be lost."""
    takes, gives = _called(level.draft, node)
    if node.type in _FIXED:
        gives = list(USUAL[node.type])
    gives = gives and [*gives, "output"]
    for kind, ports, known in (("input", node.inputs, takes), ("output", node.outputs, gives)):
        for port in ports:
            _check(Reference(level, node, kind, port.name, port.span or node.span), known)


def _ends_of_edges(draft: Draft) -> Iterator[Reference]:
    """A handle that is not written stands for the order of the nodes alone."""
    homes = {(id(level.graph), level.holder): level for level in draft.levels}
    for graph in {id(level.graph): level.graph for level in draft.levels}.values():
        for edge in graph.edges:
            for is_source in (True, False):
                end = _end(homes, graph, edge, is_source=is_source)
                if end is not None:
                    yield end


def _end(
    homes: dict[tuple[int, str], Level], graph: Graph, edge: Edge, *, is_source: bool
) -> Reference | None:
    ends = (edge.source, edge.target) if is_source else (edge.target, edge.source)
    handle, span = (edge.out, edge.out_span) if is_source else (edge.into, edge.into_span)
    node = graph.nodes[ends[0]]
    is_inside = node.id in graph.holders(ends[1])
    level = homes.get((id(graph), node.id if is_inside else node.holder))
    if level is None or span is None:
        return None
    kind = _kind(handle, is_inside=is_inside, is_source=is_source)
    # Editors write the usual handle out, too, where only the order counts.
    severity: Severity = "warning" if handle == ("input", "input", "") else "error"
    return Reference(level, node, kind, handle[1], span, severity)


def _kind(handle: Handle, *, is_inside: bool, is_source: bool) -> str:
    """What kind of port a handle stands for at that end of an edge."""
    kind, _, side = handle
    if kind != "dock":
        is_input = is_inside if is_source else not is_inside
        wanted = "input" if is_input else "output"
        return wanted if is_source or kind == wanted else "handle"
    if not is_inside:
        return "slot on its outside"
    if side in ("prev", "current"):
        return "feedback slot"
    return "iteration slot" if is_source else "continue slot"


def _ports(level: Level, node: GraphNode, kind: str) -> Names:
    """The names of a node's ports of one kind."""
    if level.loop is not None and level.loop.node is node:
        return _inside(level.loop, kind, level.draft)
    if kind == "output":
        return _outputs(level, node)
    return _inputs(level, node) if kind == "input" else []


def _inside(scene: LoopScene, kind: str, draft: Draft) -> list[str]:
    """The ports of a loop as the nodes inside of it see them."""
    if kind == "input":
        return _seen(scene)
    if kind == "output":
        return [port.name for port in scene.node.outputs]
    if kind == "feedback slot":
        return list(scene.slots)
    return list(slot_types(draft, scene.node, kind.removesuffix(" slot")))


def _seen(scene: LoopScene) -> list[str]:
    slots = [name for slot in scene.slots for name in (f"prev.{slot}", slot)]
    item = [scene.item[0]] if scene.held else []
    return [*scene.inputs, *item, *slots, "iteration", COUNT]


def slot_types(draft: Draft, loop: GraphNode, kind: str) -> dict[str, str]:
    """The dock slots of a loop of one kind, with the types of their values."""
    return {
        name: text_of(slot, "valueType") or "any"
        for slot in items_of(draft, loop.fields, "dockSlots")
        if text_of(slot, "type") == kind and (name := text_of(slot, "name"))
    }


def _outputs(level: Level, node: GraphNode) -> Names:
    """`output` stands for the first output of any node."""
    declared = [port.name for port in node.outputs]
    names: Names = [*declared, *USUAL.get(node.type, ())]
    match node.type:
        case "trigger":
            names = _triggered(level, node)
        case "agent":
            fields = [*declared, *_schema_fields(node)]
            names = [*fields, *_ANSWER] if fields else None
        case "function":
            names = declared or None
        case "component":
            gives = _called(level.draft, node)[1]
            names = None if gives is None else [*declared, *gives]
        case "loop":
            names = [*promised_outputs(level.draft, node), COUNT]
        case "interface-input":
            return _seen(level.loop) if level.loop is not None else declared or None
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
        case "interface-continue":
            return None
        case "agent":
            return [*declared, *TAKEN] if declared else None
        case "component":
            takes = _called(level.draft, node)[0]
            return None if takes is None else [*declared, *takes]
        case "loop" if not declared and not level.gives_inputs:
            return level.input_names(node)
    return declared or None


def promised_outputs(draft: Draft, node: GraphNode) -> list[str]:
    """What a node says that it gives; what the last nodes say is what the workflow gives."""
    names = [port.name for port in node.outputs]
    if node.type == "loop":
        mappings = items_of(draft, node.fields, "outputMappings")
        names += [name for one in mappings if (name := text_of(one, "target"))]
    names = names or _called(draft, node)[1] or list(USUAL.get(node.type, ()))
    return list(dict.fromkeys(names))


def _called(draft: Draft, node: GraphNode) -> tuple[Names, Names]:
    """What the workflow of a component takes and gives, once that is read."""
    found = draft.workflows.get(draft.called.get(node.span, ""))
    if found is None:
        return None, None
    return [port.name for port in found.inputs], [name for name, _ in found.outputs]


def trigger_ports(level: Level, node: GraphNode) -> list[PortSpec]:
    """What a trigger is given: a text, parameters, and what it declares, or else hands on."""
    found = {port.name: port for port in (TEXT, PARAMS, *node.outputs)}
    for edge in () if node.outputs else level.graph.edges:
        if edge.source == node.id and edge.out[0] == "output" and edge.out[1] != "output":
            found.setdefault(edge.out[1], PortSpec(edge.out[1]))
    own = USUAL["trigger"][:2]
    return [port for name, port in found.items() if name not in own]


def _triggered(level: Level, node: GraphNode) -> list[str]:
    """Inside of a loop a trigger hands on only what the loop has."""
    ports = trigger_ports(level, node)
    if level.loop is not None:
        seen = _seen(level.loop)
        ports = [port for port in ports if port.name in seen or port.default is not None]
    return [*USUAL["trigger"][:2], *(port.name for port in ports)]


def _schema_fields(node: GraphNode) -> list[str]:
    schema = read_schema(text_of(node.fields, "outputSchema")) or {}
    fields = schema.get("properties")
    return list(fields) if isinstance(fields, dict) else []
