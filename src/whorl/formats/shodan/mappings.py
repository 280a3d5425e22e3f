"""What iterations of a loop are given and give: its inputs, mapped values, slots and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast, get_args

from whorl import ir
from whorl.dialects.reading.fields import span_of, text_of
from whorl.dialects.reading.texts import called, quoted
from whorl.errors import nearest
from whorl.formats.shodan.graph import COUNT
from whorl.formats.shodan.levels import Level, expression, given, output, packed
from whorl.formats.shodan.parts import PortSpec, check_part, items_of, object_of
from whorl.formats.shodan.ports import slot_types
from whorl.ir.checks.scopes import suggest

if TYPE_CHECKING:
    from whorl.formats.shodan.graph import GraphNode
    from whorl.source import Mapping


WHEN = ("first", "subsequent", "all")
Take = Literal["last", "first", "all"]
TAKES = get_args(Take)


def loop_inputs(level: Level, inner: Level) -> list[tuple[str, str]]:
    """The names of the loop's inputs, and what arrives there: looked at once, before all else."""
    node = inner.owner
    names = dict.fromkeys(level.input_names(node))
    for mapping in items_of(level.context, node.fields, "inputMappings"):
        source = object_of(mapping, "source")
        if source is not None and text_of(source.get("type")) == "outer":
            names.setdefault(text_of(source.get("name")))
    return [
        (name, level.own(node, name) or level.arrived(node, PortSpec(name)))
        for name in names
        if name and (name != inner.item[0] or node.input(name) is not None)
    ]


def read_mappings(inner: Level) -> None:
    context, owner = inner.context, f"an input mapping of loop {inner.owner.id!r}"
    for mapping in items_of(context, inner.owner.fields, "inputMappings"):
        if not check_part(context, mapping, "input mapping", owner):
            continue
        target, source = object_of(mapping, "target"), object_of(mapping, "source")
        if target is None or source is None:
            message = f"{owner} lacks its source or target"
            advice = "write source: {type: outer, name: ...} and target: {node: ..., input: ...}"
            context.report("W006", message, mapping.span, label="this mapping", help=advice)
            continue
        when = text_of(mapping.get("iterations")) or "all"
        if when not in WHEN:
            message = "'iterations' of a mapping must be first, subsequent or all, "
            message += f"not {when[:40]!r}"
            span, advice = span_of(mapping, "iterations"), suggest(when, WHEN)
            context.report("W009", message, span, label="unknown word", help=advice)
        for end in (source, target):
            check_part(context, end, "end of a mapping", owner)
        node, value = _inner_node(inner, target), _mapping_source(inner, source)
        if node is not None:
            _add(inner, target, node, when, value)


def _add(inner: Level, target: Mapping, node: GraphNode, when: str, value: str | None) -> None:
    """An input takes one value in each iteration; an edge brings one in all of them."""
    name, span = text_of(target.get("input")), span_of(target, "input")
    inner.expect(node, "input", name, span)
    mappings = inner.mappings.setdefault((node.id, name), [])
    others = [other for other, _ in mappings] + ["all" for _ in inner.edges_into(node, name)]
    if any(when == other or "all" in (when, other) for other in others):
        message = f"input {name!r} of {node.id!r} is given two values in the same iteration"
        advice = "use `first` for one mapping and `subsequent` for the other, "
        advice += "or give the node an input for each"
        inner.context.report("W012", message, span, label="a second value", help=advice)
    if value is not None:
        mappings.append((when, value))


def _inner_node(inner: Level, where: Mapping) -> GraphNode | None:
    """The node of the loop that a mapping names; interface nodes have no values of their own."""
    name = text_of(where.get("node"))
    node = inner.named(name)
    if node is not None and not node.is_interface:
        return node
    message = f"loop {inner.owner.id!r} has no node {name[:60]!r} inside"
    span, advice = span_of(where, "node"), suggest(name, [member.id for member in inner.members])
    inner.context.report("W010", message, span, label="no such node", help=advice)
    return None


def _inner_output(inner: Level, source: Mapping) -> tuple[str, str] | None:
    node = _inner_node(inner, source)
    if node is None:
        return None
    name = text_of(source.get("output"))
    inner.expect(node, "output", name, span_of(source, "output"))
    return node.id, name


def _mapping_source(inner: Level, source: Mapping) -> str | None:
    kind, name = text_of(source.get("type")), text_of(source.get("name"))
    match kind:
        case "outer":
            # An input of the loop, or the item that is present.
            if not inner.held or name != inner.item[0]:
                assert inner.around is not None
                inner.around.expect(inner.owner, "input", name, span_of(source, "name"))
            return inner.value_of(("input", name, ""))
        case "previous" if not inner.held:
            key = _inner_output(inner, source)
            if key is None:
                return None
            if key not in inner.previous:
                inner.previous[key] = inner.claim(f"{key[0]}.{key[1]}")
            return given(inner.previous[key])
        case "builtin":
            return _builtin(inner, source, inner.counted)
        case "item" if inner.held:
            return given(inner.item[1])
    kinds = ("outer", "item" if inner.held else "previous", "builtin")
    message = f"the source of a mapping is of the type {kind[:40]!r}, which is not known"
    message += " in a for-each" if kind == "previous" else ""
    span, advice = span_of(source, "type"), suggest(kind, kinds)
    inner.context.report("W009", message, span, label="unknown type", help=advice)
    return None


def _builtin(inner: Level, source: Mapping, count: str) -> str | None:
    """The only value that every loop has by itself: how many iterations there were."""
    name = text_of(source.get("name"))
    if name == COUNT:
        return count
    message, span = f"there is no builtin {name[:40]!r}", span_of(source, "name")
    inner.context.report("W010", message, span, label="unknown name", help=f"write {COUNT}")
    return None


def read_slots(inner: Level) -> None:
    types = inner.slot_types = slot_types(inner.context, inner.owner, "feedback")
    for node in inner.members:
        ports = node.inputs if node.type == "interface-output" else ()
        if node.type == "interface-input":
            ports = tuple(port for port in node.outputs if port.name.startswith("prev."))
        for port in ports:
            types.setdefault(port.name.removeprefix("prev."), port.type)
    for name in types:
        inner.slots[name] = inner.claim(f"prev.{name}")


def carry_values(inner: Level) -> list[ir.Carry]:
    """Mapped outputs of the iteration before, and slots; one that is not written is kept."""
    null = ir.Constant(None)
    carried = [
        ir.Carry(name, null, expression(output(node, port)))
        for (node, port), name in inner.previous.items()
    ]
    for name, kind in inner.slot_types.items():
        slot, source = inner.slots[name], _slot_source(inner, name)
        following: ir.Expression | None = None
        if source is not None:
            port = packed(PortSpec(name, kind).packed())
            typed = called("arrive", source, quoted(inner.owner.id), port)
            following = expression(called("kept", typed, given(slot)))
        carried.append(ir.Carry(slot, null, following))
    return carried


def _slot_source(inner: Level, name: str) -> str | None:
    """What is written into a slot: by a dock's handle, or by the output node of the inside."""
    for edge in inner.graph.edges:
        if edge.target == inner.owner.id and edge.into == ("dock", name, "current"):
            return inner.value_at(edge.source, edge.out, "")
    for node in inner.members:
        if node.type == "interface-output" and node.input(name) is not None:
            return inner.fed(node, name)
    return None


def read_results(inner: Level) -> tuple[tuple[ir.Collect, ...], ir.Fields]:
    """What is collected after each iteration, and the outputs that are made of it."""
    node, count = inner.owner, given(inner.number)
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
        kind = "any" if name in outputs and outputs[name][0] == "all" else types.get(name, "any")
        arguments = map(quoted, (name, node.id, kind))
        entries.append((name, expression(called("picked", "it", *arguments))))
    collected = [ir.Collect(n, take, expression(source)) for n, (take, source) in outputs.items()]
    return tuple(collected), ir.Fields(tuple(entries))


def loop_outputs(inner: Level, count: str, usual: Take) -> dict[str, tuple[Take, str]]:
    """What a loop gives by its mappings and edges: what is taken, and from where."""
    outputs = _mapped_outputs(inner, count, usual)
    for port in inner.owner.outputs:
        source = None if port.name in outputs else _output_source(inner, port)
        # Of a for-each only what its nodes gave can be gathered.
        if source is not None and (not inner.held or source.startswith("port(")):
            outputs[port.name] = (usual, source)
        elif port.name not in (*outputs, COUNT):
            near = nearest(port.name, outputs)
            advice = "add it to outputMappings, or connect an inner output to it"
            if near:
                advice = f"did you mean it where outputMappings says {near!r}?"
            message = f"output {port.name[:60]!r} of loop {inner.owner.id!r} comes from nowhere"
            inner.context.report("W010", message, port.span, label="no source", help=advice)
    return outputs


def _mapped_outputs(inner: Level, count: str, usual: Take) -> dict[str, tuple[Take, str]]:
    loop, report = inner.owner, inner.context.report
    owner = f"an output mapping of loop {loop.id!r}"
    outputs: dict[str, tuple[Take, str]] = {}
    for mapping in items_of(inner.context, loop.fields, "outputMappings"):
        is_right = check_part(inner.context, mapping, "output mapping", owner)
        source, target = object_of(mapping, "source"), text_of(mapping.get("target"))
        if source is None or not target:
            message = f"{owner} lacks its source or target"
            advice = "write source: {node: ..., output: ...} and target: NAME"
            if is_right:
                report("W006", message, mapping.span, label="this mapping", help=advice)
            continue
        check_part(inner.context, source, "end of a mapping", owner)
        if target in outputs:
            message = f"output {target[:60]!r} of loop {loop.id!r} has two mappings"
            span, advice = span_of(mapping, "target"), "choose another target for one of them"
            report("W012", message, span, label="a second value", help=advice)
        take = text_of(mapping.get("take")) or usual
        if take not in TAKES:
            message = f"'take' must be last, first or all, not {take[:40]!r}"
            span, advice = span_of(mapping, "take"), suggest(take, TAKES)
            report("W009", message, span, label="unknown word", help=advice)
        if text_of(source.get("type")) == "builtin":
            value = _builtin(inner, source, count)
        else:
            key = _inner_output(inner, source)
            value = None if key is None else output(*key)
        outputs[target] = (cast("Take", take), value or "none")
    return outputs


def _output_source(inner: Level, port: PortSpec) -> str | None:
    """What an edge from inside brings to an output, or the slot that can only be meant for it."""
    for edge in inner.graph.edges:
        if edge.target == inner.owner.id and edge.into[:2] == ("output", port.name):
            return inner.value_at(edge.source, edge.out, "")
    slots = [name for name in inner.slots if name == port.name]
    slots += [name for name in inner.slots if port.name.endswith(f"_{name}")]
    if not slots and len(inner.slots) == 1 and len(inner.owner.outputs) == 1:
        slots = list(inner.slots)
    return _slot_source(inner, slots[0]) if slots else None
