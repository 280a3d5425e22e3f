"""Values of loops: what an iteration is given and hands on to the next, and what the loop gives.

An iteration is given the loop's inputs, mapped values and slots; the outputs of the loop come from
its first, last or all iterations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast, get_args

from whorl import ir
from whorl.dialects.reading.scalars import span_of, text_of
from whorl.dialects.reading.texts import called, quoted
from whorl.dialects.shodan.graph import COUNT, PortSpec, check_part, items_of, object_of
from whorl.dialects.shodan.levels import expression, given, output, packed
from whorl.dialects.shodan.ports import slot_types
from whorl.errors import nearest
from whorl.ir.checks.subject import suggest

if TYPE_CHECKING:
    from whorl.dialects.shodan.graph import GraphNode
    from whorl.dialects.shodan.levels import Level
    from whorl.errors import Span
    from whorl.source import Mapping

WHEN = ("first", "subsequent", "all")
Take = Literal["last", "first", "all"]
TAKES = get_args(Take)


def loop_inputs(level: Level, inner: Level) -> list[tuple[str, str]]:
    """The names of the loop's inputs, and what arrives there."""
    node = inner.scope.node
    names = dict.fromkeys(level.input_names(node))
    for mapping in items_of(level.context, node.fields, "inputMappings"):
        source = object_of(mapping, "source")
        if source is not None and text_of(source.get("type")) == "outer":
            names.setdefault(text_of(source.get("name")))
    return [
        (name, level.own(node, name) or level.arrived(node, PortSpec(name)))
        for name in names
        if name and (name != inner.scope.item[0] or node.input(name) is not None)
    ]


def carry_inputs(level: Level, inner: Level) -> list[ir.Carry]:
    """The inputs of the loop: looked at once, before the first iteration."""
    carried: list[ir.Carry] = []
    for name, source in loop_inputs(level, inner):
        inner.scope.inputs[name] = inner.claim(name)
        carried.append(ir.Carry(inner.scope.inputs[name], first=expression(source)))
    return carried


def read_mappings(inner: Level) -> None:
    """Reads what is mapped to the inputs of inner nodes."""
    for mapping in items_of(inner.context, inner.scope.node.fields, "inputMappings"):
        _read_mapping(inner, mapping)


def _read_mapping(inner: Level, mapping: Mapping) -> None:
    owner = f"an input mapping of loop {inner.scope.node.id!r}"
    if not check_part(inner.context, mapping, "input mapping", owner):
        return
    target, source = object_of(mapping, "target"), object_of(mapping, "source")
    if target is None or source is None:
        message = f"{owner} lacks its source or target"
        advice = "write source: {type: outer, name: ...} and target: {node: ..., input: ...}"
        inner.context.report("W006", message, mapping.span, label="this mapping", help=advice)
        return
    when = text_of(mapping.get("iterations")) or "all"
    if when not in WHEN:
        message = "'iterations' of a mapping must be first, subsequent or all, "
        message += f"not {when[:40]!r}"
        span, advice = span_of(mapping, "iterations"), suggest(when, WHEN)
        inner.context.report("W009", message, span, label="unknown word", help=advice)
    node = _inner_node(inner, target)
    value = _mapping_source(inner, source)
    if node is None:
        return
    name, span = text_of(target.get("input")), span_of(target, "input")
    inner.expect(node, "input", name, span)
    _check_overlap(inner, (node, name, span), when)
    if value is not None:
        key = (node.id, name)
        inner.scope.mappings.setdefault(key, []).append((when, value))


def _check_overlap(inner: Level, target: tuple[GraphNode, str, Span], when: str) -> None:
    """An input takes one value in each iteration; an edge brings one in all of them."""
    node, name, span = target
    others = [other for other, _ in inner.scope.mappings.get((node.id, name), ())]
    others += ["all" for _ in inner.edges_into(node, name)]
    if any(when == other or "all" in (when, other) for other in others):
        message = f"input {name!r} of {node.id!r} is given two values in the same iteration"
        advice = "use `first` for one mapping and `subsequent` for the other, "
        advice += "or give the node an input for each"
        inner.context.report("W012", message, span, label="a second value", help=advice)


def _inner_node(inner: Level, where: Mapping) -> GraphNode | None:
    """The node of the loop that a mapping names; interface nodes have no values of their own."""
    name = text_of(where.get("node"))
    node = inner.named(name)
    if node is not None and not node.is_interface:
        return node
    message = f"loop {inner.scope.node.id!r} has no node {name[:60]!r} inside"
    span, advice = span_of(where, "node"), suggest(name, [member.id for member in inner.members])
    inner.context.report("W010", message, span, label="no such node", help=advice)
    return None


def _mapping_source(inner: Level, source: Mapping) -> str | None:
    scope, kind = inner.scope, text_of(source.get("type"))
    match kind:
        case "outer":
            return _outer(inner, source)
        case "previous" if not scope.held:
            return _previous(inner, source)
        case "builtin":
            return _builtin(inner, source, scope.counted)
        case "item" if scope.held:
            return given(scope.item[1])
    kinds = ("outer", "item" if scope.held else "previous", "builtin")
    message = f"the source of a mapping is of the type {kind[:40]!r}, which is not known"
    message += " in a for-each" if kind == "previous" else ""
    span, advice = span_of(source, "type"), suggest(kind, kinds)
    inner.context.report("W009", message, span, label="unknown type", help=advice)
    return None


def _outer(inner: Level, source: Mapping) -> str | None:
    """An input of the loop, or the item that is present."""
    scope, name = inner.scope, text_of(source.get("name"))
    if not scope.held or name != scope.item[0]:
        assert inner.around is not None
        inner.around.expect(scope.node, "input", name, span_of(source, "name"))
    return scope.value_of(("input", name, ""))


def _previous(inner: Level, source: Mapping) -> str | None:
    node = _inner_node(inner, source)
    if node is None:
        return None
    key = (node.id, text_of(source.get("output")))
    inner.expect(node, "output", key[1], span_of(source, "output"))
    if key not in inner.scope.previous:
        inner.scope.previous[key] = inner.claim(f"{key[0]}.{key[1]}")
    return given(inner.scope.previous[key])


def _builtin(inner: Level, source: Mapping, count: str) -> str | None:
    """The only value that every loop has by itself: how many iterations there were."""
    name = text_of(source.get("name"))
    if name == COUNT:
        return count
    message, span = f"there is no builtin {name[:40]!r}", span_of(source, "name")
    inner.context.report("W010", message, span, label="unknown name", help=f"write {COUNT}")
    return None


def read_slots(inner: Level) -> None:
    """Reads the slots, whose values go from one iteration to the next."""
    types = inner.scope.slot_types = slot_types(inner.context, inner.scope.node, "feedback")
    for node in inner.members:
        if node.type == "interface-input":
            ports = [port for port in node.outputs if port.name.startswith("prev.")]
        else:
            ports = [*node.inputs] if node.type == "interface-output" else []
        for port in ports:
            types.setdefault(port.name.removeprefix("prev."), port.type)
    for name in types:
        inner.scope.slots[name] = inner.claim(f"prev.{name}")


def carry_values(inner: Level) -> list[ir.Carry]:
    """Mapped outputs of the iteration before, and slots; one that is not written is kept."""
    scope, null = inner.scope, ir.Constant(None)
    carried = [
        ir.Carry(name, null, expression(output(node, port)))
        for (node, port), name in scope.previous.items()
    ]
    for name, kind in scope.slot_types.items():
        slot, source = scope.slots[name], _slot_source(inner, name)
        following: ir.Expression | None = None
        if source is not None:
            port = packed(PortSpec(name, kind).packed())
            typed = called("arrive", source, quoted(scope.node.id), port)
            following = expression(called("kept", typed, given(slot)))
        carried.append(ir.Carry(slot, null, following))
    return carried


def _slot_source(inner: Level, name: str) -> str | None:
    """What is written into a slot: by a dock's handle, or by the output node of the inside."""
    for edge in inner.graph.edges:
        if edge.target == inner.scope.node.id and edge.into == ("dock", name, "current"):
            return inner.value_at(edge.source, edge.out, "")
    for node in inner.members:
        if node.type == "interface-output" and node.input(name) is not None:
            return inner.fed(node, name)
    return None


def read_results(inner: Level) -> tuple[tuple[ir.Collect, ...], ir.Fields]:
    """What is collected after each iteration, and the outputs that are made of it."""
    node, count = inner.scope.node, given(inner.scope.number)
    outputs = loop_outputs(inner, count, "last")
    if inner.holder == node.id:
        # Outputs of inner nodes that nodes outside of the loop are connected to.
        for edge in inner.graph.leaving[node.id]:
            source = inner.value_at(edge.source, edge.out, "") or "none"
            outputs.setdefault(f"{edge.source}.{edge.out[1]}", ("last", source))
    outputs.setdefault(COUNT, ("last", count))
    types = {port.name: port.type for port in node.outputs}
    entries: list[tuple[str, ir.Value]] = []
    for name in dict.fromkeys((*types, *outputs)):
        is_list = name in outputs and outputs[name][0] == "all"
        kind = "any" if is_list else types.get(name, "any")
        arguments = map(quoted, (name, node.id, kind))
        entries.append((name, expression(called("picked", "it", *arguments))))
    collected = (
        ir.Collect(name, take, expression(source)) for name, (take, source) in outputs.items()
    )
    return tuple(collected), ir.Fields(tuple(entries))


def loop_outputs(inner: Level, count: str, usual: Take) -> dict[str, tuple[Take, str]]:
    """What a loop gives by its mappings and edges: what is taken, and from where."""
    scope = inner.scope
    outputs = _mapped_outputs(inner, count, usual)
    for port in scope.node.outputs:
        source = None if port.name in outputs else _output_source(inner, port)
        # Of a for-each only what its nodes gave can be gathered.
        if source is not None and (not scope.held or source.startswith("port(")):
            outputs[port.name] = (usual, source)
        elif port.name not in (*outputs, COUNT):
            near = nearest(port.name, outputs)
            advice = "add it to outputMappings, or connect an inner output to it"
            if near:
                advice = f"did you mean it where outputMappings says {near!r}?"
            message = f"output {port.name[:60]!r} of loop {scope.node.id!r} comes from nowhere"
            inner.context.report("W010", message, port.span, label="no source", help=advice)
    return outputs


def _mapped_outputs(inner: Level, count: str, usual: Take) -> dict[str, tuple[Take, str]]:
    loop, report = inner.scope.node, inner.context.report
    outputs: dict[str, tuple[Take, str]] = {}
    for mapping in items_of(inner.context, loop.fields, "outputMappings"):
        owner = f"an output mapping of loop {loop.id!r}"
        is_right = check_part(inner.context, mapping, "output mapping", owner)
        source, target = object_of(mapping, "source"), text_of(mapping.get("target"))
        if source is None or not target:
            message = f"{owner} lacks its source or target"
            advice = "write source: {node: ..., output: ...} and target: NAME"
            if is_right:
                report("W006", message, mapping.span, label="this mapping", help=advice)
            continue
        if target in outputs:
            message = f"output {target[:60]!r} of loop {loop.id!r} has two mappings"
            span, advice = span_of(mapping, "target"), "choose another target for one of them"
            report("W012", message, span, label="a second value", help=advice)
        take = text_of(mapping.get("take")) or usual
        if take not in TAKES:
            message = f"'take' must be last, first or all, not {take[:40]!r}"
            span, advice = span_of(mapping, "take"), suggest(take, TAKES)
            report("W009", message, span, label="unknown word", help=advice)
        outputs[target] = (cast("Take", take), _mapped(inner, source, count) or "none")
    return outputs


def _mapped(inner: Level, source: Mapping, count: str) -> str | None:
    if text_of(source.get("type")) == "builtin":
        return _builtin(inner, source, count)
    node = _inner_node(inner, source)
    if node is None:
        return None
    name = text_of(source.get("output"))
    inner.expect(node, "output", name, span_of(source, "output"))
    return output(node.id, name)


def _output_source(inner: Level, port: PortSpec) -> str | None:
    """What an edge from inside brings to an output, or the slot that can only be meant for it."""
    scope = inner.scope
    for edge in inner.graph.edges:
        if edge.target == scope.node.id and edge.into[:2] == ("output", port.name):
            return inner.value_at(edge.source, edge.out, "")
    slots = [name for name in scope.slots if name == port.name]
    slots += [name for name in scope.slots if port.name.endswith(f"_{name}")]
    if not slots and len(scope.slots) == 1 and len(scope.node.outputs) == 1:
        slots = list(scope.slots)
    return _slot_source(inner, slots[0]) if slots else None
