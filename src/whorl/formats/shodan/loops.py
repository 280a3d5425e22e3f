"""Loop nodes: an inside that is repeated while a condition holds, or once for each item of a list.

An iteration receives the loop's inputs, mapped values and slots; the outputs of the loop come from
its first, last or all iterations. `forEach: {items: INPUT, item: NAME, parallel: N}`: the input of
the loop that holds the list, the name of an item for inner nodes, and how many run at once (1).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast, get_args

from whorl import ir
from whorl.dialects.reading.fields import scalar_of, span_of, text_of, whole_of
from whorl.dialects.reading.texts import called, quoted
from whorl.formats.shodan import graph
from whorl.formats.shodan.functions import OPERATORS
from whorl.formats.shodan.levels import Level, expression, given, literal, output, packed
from whorl.formats.shodan.ports import slot_types
from whorl.ir.checks.scopes import suggest
from whorl.source import Mapping, Scalar, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.dialects.reading import ReadContext
    from whorl.formats.shodan.graph import GraphNode
    from whorl.language import Json


ITERATIONS = 10
ITERATIONS_MAX = 1_000_000
PARALLEL_MAX = 1_000
OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def read_loop(level: Level, inner: Level, build: Callable[[Level], ir.Block]) -> list[ir.Node]:
    """Reads a loop, or a for-each if the file has one, with the level inside of it."""
    node = inner.owner
    if graph.object_of(node.fields, "forEach") is not None or graph.flag_of(node.fields, "forEach"):
        return _read_each(level, inner, build)
    carried: list[ir.Carry] = []
    for name, source in loop_inputs(level, inner):
        inner.inputs[name] = inner.claim(name)
        carried.append(ir.Carry(inner.inputs[name], first=expression(source)))
    read_mappings(inner)
    read_slots(inner)
    body = _read_exit(inner, build(inner))
    most, limit = scalar_of(node.fields.get("maxIterations")), ITERATIONS
    if most is not None:
        limit = _whole(level.context, most, f"'maxIterations' of loop {node.id!r}", ITERATIONS_MAX)
    collect, shape = read_results(inner)
    return [
        ir.Loop(
            name=node.id,
            body=body,
            until=_read_until(inner),
            limits=ir.LoopLimits(iterations=limit),
            on_limit="finish",
            carry=(*carried, *carry_values(inner)),
            collect=collect,
            facts=((inner.number, "number"),),
            shape=shape,
            words={
                "fields": {"max_iterations": "maxIterations", "budget": "--budget"},
                "ports": _port_names(node),
            },
        )
    ]


def _port_names(node: GraphNode) -> dict[str, Json]:
    sides = {"inputs": node.inputs, "outputs": node.outputs}
    return {side: [port.name for port in ports] for side, ports in sides.items()}


def _whole(context: ReadContext, written: Scalar, name: str, most: int) -> int:
    """Returns a whole number of at least 1; reports anything else."""
    number = whole_of(written) or 0
    if not 1 <= number <= most:
        message = f"{name} must be a whole number from 1 to {most:,}, not {written.text[:40]!r}"
        context.report("W007", message, written.span, label="out of range")
    return number


def _read_until(inner: Level) -> ir.When | None:
    """Returns the condition to stop: the opposite of the file's condition."""
    loop = inner.owner
    written = graph.object_of(loop.fields, "continueWhile")
    if written is not None:
        comparison = _comparison(inner, written, "continueWhile")
        return comparison and ir.When(expression(f"not {comparison[1]}"), comparison[2])
    # The input of the slot of type continue, or of the continue node of the inside.
    slots = {("dock", name, "input") for name in slot_types(inner.context, loop, "continue")}
    edges = [e for e in inner.graph.edges if e.target == loop.id and e.into in slots]
    for node in inner.members:
        edges += inner.graph.leading_to[node.id] if node.type == "interface-continue" else ()
    source = inner.value_at(edges[0].source, edges[0].out, "") if edges else None
    if source is not None:
        return ir.When(expression(f"not {called('goes_on', source)}"), "'continue' is not true")
    advice = "add continueWhile: {output: node.output, operator: ==, value: ...}, "
    advice += "or connect a continue slot"
    message = f"loop {loop.id!r} has no condition to continue"
    inner.context.report("W006", message, loop.span, label="no condition", help=advice)
    return None


def _comparison(inner: Level, written: Mapping, field: str) -> tuple[str, str, str] | None:
    """Returns the deciding node, the comparison, and its opposite in words; reports mistakes."""
    if not graph.check_part(inner.context, written, "condition", repr(field)):
        return None
    name, span = text_of(written.get("output")), span_of(written, "output")
    node_name, _, port = name.partition(".")
    node = inner.named(node_name)
    if node is None or node.is_interface or not port:
        message = f"{field!r} compares the output {name[:60]!r}, but there is no such node inside"
        advice = suggest(node_name, [node.id for node in inner.members]) or "write NODE.OUTPUT"
        inner.context.report("W005", message, span, label="no such output", help=advice)
        return None
    inner.expect(node, "output", port, span)
    sign = graph.word_of(inner.context, written, "operator", OPERATORS, "==")
    value = written.get("value")
    wanted = literal(field == "exitWhen" or None if value is None else plain(value))
    function = "continues" if field == "continueWhile" else "leaves"
    source = called(function, quoted(name), quoted(sign), wanted, output(node.id, port))
    return node.id, source, f"{name} {OPPOSITES[sign]} {wanted}"


def _read_exit(inner: Level, body: ir.Block) -> ir.Block:
    """Returns a block that leaves the loop when an output says so, before the rest of the nodes."""
    loop = inner.owner
    written = graph.object_of(loop.fields, "exitWhen")
    comparison = None if written is None else _comparison(inner, written, "exitWhen")
    if comparison is None:
        return body
    decider, test, _ = comparison
    # A loop that is left fails, too, for a node that failed before the one that says so.
    checks = [
        called("settled", given(node.id), quoted(node.id))
        for node in inner.tolerated()
        if inner.leads_to(decider, node.id)
    ]
    when = expression(" and ".join((test, *checks)))
    name = inner.claim("exit-when")
    exit_node = ir.Break(name=name, loop=loop.id, after=(ir.After(decider),), when=when)
    nodes = list(body.nodes)
    for index, node in enumerate(nodes):
        if any(after.node == decider for after in node.after):
            nodes[index] = replace(node, after=(*node.after, ir.After(exit_node.name)))
    return replace(body, nodes=(*nodes, exit_node))


def _read_each(level: Level, inner: Level, build: Callable[[Level], ir.Block]) -> list[ir.Node]:
    """Reads a for-each, after a node that holds the inputs of the loop."""
    node, context = inner.owner, level.context
    options = graph.object_of(node.fields, "forEach") or Mapping((), node.span)
    graph.check_part(context, options, "forEach", f"'forEach' of loop {node.id!r}")
    item, span = text_of(options.get("item")) or "item", span_of(options, "item")
    if not _NAME.fullmatch(item) or node.input(item) is not None:
        message = f"'item' must be a name that no input of the loop has, not {item[:60]!r}"
        advice = "use letters, digits, _ and -; read a part of an item inside the loop"
        context.report("W012", message, span, label="not a valid name", help=advice)
    # The item's name inside of the loop, and its name in expressions.
    inner.item = item, inner.claim(item)
    inputs = dict(loop_inputs(level, inner))
    items = text_of(options.get("items")) or next(iter(inputs), "")
    if items not in inputs:
        message = f"'forEach' of loop {node.id!r} takes its items from the input {items[:60]!r}, "
        message += "which it does not have"
        advice = suggest(items, inputs) or "add an input of the type json"
        span = span_of(options, "items")
        context.report("W005", message, span, label="no such input", help=advice)
        return [ir.Compute(name=node.id, value=ir.Constant(None))]
    inner.held = level.free_name(f"{node.id}.inputs")
    inner.inputs = dict.fromkeys(inputs, inner.held)
    inner.index = inner.claim("index")
    read_mappings(inner)
    body, count = build(inner), "(it | length)"
    entries: list[tuple[str, ir.Value]] = []
    for target, (take, source) in loop_outputs(inner, count, "all").items():
        if source != count:
            arguments = source.removeprefix("port(").removesuffix(")")
            source = f"gathered(it, {arguments}, {quoted(take)})"
        entries.append((target, expression(source)))
    written, at_once = scalar_of(options.get("parallel")), 1
    if written is not None and isinstance(written.value, bool):
        at_once = PARALLEL_MAX if written.value else 1
    elif written is not None:
        at_once = _whole(context, written, "'parallel'", PARALLEL_MAX)
    each = ir.ForEach(
        name=node.id,
        items=expression(called("dig", given(inner.held), quoted(items))),
        body=body,
        item_name=inner.item[1],
        index_name=inner.index,
        concurrency=at_once,
        on_item_failure="halt",
        shape=ir.Fields((*entries, (graph.COUNT, expression(count)))),
        words={"ports": _port_names(node)},
    )
    held = ir.Fields(tuple((name, expression(source)) for name, source in inputs.items()))
    return [ir.Compute(name=inner.held, value=held), each]


# What iterations of a loop are given and give: its inputs, mapped values, slots and outputs.

WHEN = ("first", "subsequent", "all")
Take = Literal["last", "first", "all"]
TAKES = get_args(Take)


def loop_inputs(level: Level, inner: Level) -> list[tuple[str, str]]:
    """Returns the names of the loop's inputs and their sources, which are read once, first."""
    node = inner.owner
    names = dict.fromkeys(level.input_names(node))
    for mapping in graph.items_of(level.context, node.fields, "inputMappings"):
        source = graph.object_of(mapping, "source")
        if source is not None and text_of(source.get("type")) == "outer":
            names.setdefault(text_of(source.get("name")))
    return [
        (name, level.own(node, name) or level.arrived(node, graph.PortSpec(name)))
        for name in names
        if name and (name != inner.item[0] or node.input(name) is not None)
    ]


def read_mappings(inner: Level) -> None:
    for mapping, source in _mappings(inner, "input"):
        target = graph.object_of(mapping, "target") or Mapping((), mapping.span)
        when = graph.word_of(inner.context, mapping, "iterations", WHEN, "all")
        graph.check_part(inner.context, target, "end of a mapping")
        node, value = _inner_node(inner, target), _mapping_source(inner, source)
        if node is not None:
            _add(inner, target, node, when, value)


def _mappings(inner: Level, side: str) -> Iterator[tuple[Mapping, Mapping]]:
    """Yields the mappings of one side, each with its source; reports those without an end."""
    context, owner = inner.context, f"an {side} mapping of loop {inner.owner.id!r}"
    for mapping in graph.items_of(context, inner.owner.fields, f"{side}Mappings"):
        is_right = graph.check_part(context, mapping, f"{side} mapping", owner)
        source, target = graph.object_of(mapping, "source"), mapping.get("target")
        is_there = isinstance(target, Mapping) if side == "input" else bool(text_of(target))
        if source is not None and is_there:
            graph.check_part(context, source, "end of a mapping", owner)
            yield mapping, source
        elif is_right:
            message = f"{owner} lacks its source or target"
            advice = "write source: {...} and target: ..."
            context.report("W006", message, mapping.span, label="this mapping", help=advice)


def _add(inner: Level, target: Mapping, node: GraphNode, when: str, value: str | None) -> None:
    """Adds a value for an input; an input has one value in each iteration, an edge feeds all."""
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
    """Returns the node of the loop that a mapping names; interface nodes have no own values."""
    name = text_of(where.get("node"))
    node = inner.named(name)
    if node is not None and not node.is_interface:
        return node
    message = f"loop {inner.owner.id!r} has no node {name[:60]!r} inside"
    span, advice = span_of(where, "node"), suggest(name, [member.id for member in inner.members])
    inner.context.report("W005", message, span, label="no such node", help=advice)
    return None


def _inner_output(inner: Level, source: Mapping) -> tuple[str, str] | None:
    node = _inner_node(inner, source)
    if node is None:
        return None
    name = text_of(source.get("output"))
    inner.expect(node, "output", name, span_of(source, "output"))
    return node.id, name


def _mapping_source(inner: Level, source: Mapping) -> str | None:
    kinds = ("outer", "item" if inner.held else "previous", "builtin")
    name = text_of(source.get("name"))
    match graph.word_of(inner.context, source, "type", kinds, ""):
        case "outer":
            # An input of the loop, or the item that is present.
            if not inner.held or name != inner.item[0]:
                assert inner.around is not None
                inner.around.expect(inner.owner, "input", name, span_of(source, "name"))
            return inner.value_of(("input", name, ""))
        case "previous":
            key = _inner_output(inner, source)
            if key is None:
                return None
            if key not in inner.previous:
                inner.previous[key] = inner.claim(f"{key[0]}.{key[1]}")
            return given(inner.previous[key])
        case "builtin":
            graph.word_of(inner.context, source, "name", (graph.COUNT,), graph.COUNT)
            return inner.counted
        case "item":
            return given(inner.item[1])
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
    """Returns mapped outputs of the iteration before, and slots; an unwritten slot is kept."""
    null = ir.Constant(None)
    carried = [
        ir.Carry(name, null, expression(output(node, port)))
        for (node, port), name in inner.previous.items()
    ]
    for name, kind in inner.slot_types.items():
        slot, source = inner.slots[name], _slot_source(inner, name)
        following: ir.Expression | None = None
        if source is not None:
            port = packed(graph.PortSpec(name, kind).packed())
            typed = called("arrive", source, quoted(inner.owner.id), port)
            following = expression(called("kept", typed, given(slot)))
        carried.append(ir.Carry(slot, null, following))
    return carried


def _slot_source(inner: Level, name: str) -> str | None:
    """Returns the source for a slot: a dock's handle, or the output node of the inside."""
    for edge in inner.graph.edges:
        if edge.target == inner.owner.id and edge.into == ("dock", name, "current"):
            return inner.value_at(edge.source, edge.out, "")
    for node in inner.members:
        if node.type == "interface-output" and node.input(name) is not None:
            return inner.fed(node, name)
    return None


def read_results(inner: Level) -> tuple[tuple[ir.Collect, ...], ir.Fields]:
    """Returns the values to collect after each iteration, and the outputs made of them."""
    node, count = inner.owner, given(inner.number)
    outputs = loop_outputs(inner, count, "last")
    if inner.holder == node.id:
        # Outputs of inner nodes that nodes outside of the loop are connected to.
        for edge in inner.graph.leaving[node.id]:
            source = inner.value_at(edge.source, edge.out, "") or "none"
            outputs.setdefault(f"{edge.source}.{edge.out[1]}", ("last", source))
    outputs.setdefault(graph.COUNT, ("last", count))
    types = {port.name: port.type for port in node.outputs}
    entries: list[tuple[str, ir.Value]] = []
    for name in dict.fromkeys((*types, *outputs)):
        kind = "any" if name in outputs and outputs[name][0] == "all" else types.get(name, "any")
        arguments = map(quoted, (name, node.id, kind))
        entries.append((name, expression(called("picked", "it", *arguments))))
    collected = [ir.Collect(n, take, expression(source)) for n, (take, source) in outputs.items()]
    return tuple(collected), ir.Fields(tuple(entries))


def loop_outputs(inner: Level, count: str, usual: Take) -> dict[str, tuple[Take, str]]:
    """Returns a loop's outputs by its mappings and edges: the iterations, and the source."""
    outputs: dict[str, tuple[Take, str]] = {}
    for mapping, source in _mappings(inner, "output"):
        target = text_of(mapping.get("target"))
        if target in outputs:
            message = f"output {target[:60]!r} of loop {inner.owner.id!r} has two mappings"
            span, advice = span_of(mapping, "target"), "choose another target for one of them"
            inner.context.report("W012", message, span, label="a second value", help=advice)
        take = graph.word_of(inner.context, mapping, "take", TAKES, usual)
        if text_of(source.get("type")) == "builtin":
            graph.word_of(inner.context, source, "name", (graph.COUNT,), graph.COUNT)
            value = count
        else:
            key = _inner_output(inner, source)
            value = "none" if key is None else output(*key)
        outputs[target] = (cast("Take", take), value)
    for port in inner.owner.outputs:
        given_by = None if port.name in outputs else _output_source(inner, port)
        # Of a for-each only what its nodes gave can be gathered.
        if given_by is not None and (not inner.held or given_by.startswith("port(")):
            outputs[port.name] = (usual, given_by)
        elif port.name not in (*outputs, graph.COUNT):
            advice = suggest(port.name, outputs)
            advice = advice or "add it to outputMappings, or connect an inner output to it"
            message = f"output {port.name[:60]!r} of loop {inner.owner.id!r} has no source"
            inner.context.report("W005", message, port.span, label="no source", help=advice)
    return outputs


def _output_source(inner: Level, port: graph.PortSpec) -> str | None:
    """Returns the source of an inner edge to an output, or else the only slot that fits it."""
    for edge in inner.graph.edges:
        if edge.target == inner.owner.id and edge.into[:2] == ("output", port.name):
            return inner.value_at(edge.source, edge.out, "")
    slots = [name for name in inner.slots if name == port.name]
    slots += [name for name in inner.slots if port.name.endswith(f"_{name}")]
    if not slots and len(inner.slots) == 1 and len(inner.owner.outputs) == 1:
        slots = list(inner.slots)
    return _slot_source(inner, slots[0]) if slots else None
