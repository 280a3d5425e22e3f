"""Loop nodes: an inside that is repeated while a condition holds, or once for each item of a list.

An iteration is given the loop's inputs, mapped values and slots; the outputs of the loop come from
its first, last or all iterations.
`forEach: {items: INPUT, item: NAME, parallel: N}`: the input of the loop that holds the list, the
name under which inner nodes are given an item, and how many run at once (1).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import scalar_of, span_of, text_of
from whorl.dialects.reading.texts import called, quoted
from whorl.formats.shodan.functions import OPERATORS
from whorl.formats.shodan.graph import COUNT
from whorl.formats.shodan.levels import Level, expression, given, literal, output
from whorl.formats.shodan.mappings import (
    carry_values,
    loop_inputs,
    loop_outputs,
    read_mappings,
    read_results,
    read_slots,
)
from whorl.formats.shodan.parts import check_part, flag_of, object_of
from whorl.formats.shodan.ports import slot_types
from whorl.ir.checks.scopes import suggest
from whorl.source import Mapping, Scalar, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.formats.shodan.graph import GraphNode
    from whorl.language import Json


ITERATIONS = 10
ITERATIONS_MAX = 1_000_000
PARALLEL_MAX = 1_000
OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def read_loop(level: Level, inner: Level, build: Callable[[Level], ir.Block]) -> list[ir.Node]:
    """A loop, or a for-each where the file asks for one, with the level inside of it."""
    node = inner.owner
    if object_of(node.fields, "forEach") is not None or flag_of(node.fields, "forEach"):
        return _read_each(level, inner, build)
    carried: list[ir.Carry] = []
    for name, source in loop_inputs(level, inner):
        inner.inputs[name] = inner.claim(name)
        carried.append(ir.Carry(inner.inputs[name], first=expression(source)))
    read_mappings(inner)
    read_slots(inner)
    body = _read_exit(inner, build(inner))
    collect, shape = read_results(inner)
    return [
        ir.Loop(
            name=node.id,
            body=body,
            until=_read_until(inner),
            limits=ir.LoopLimits(iterations=_read_limit(level, node)),
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


def _read_limit(level: Level, node: GraphNode) -> int:
    written = scalar_of(node.fields.get("maxIterations"))
    if written is None:
        return ITERATIONS
    number = _whole(written)
    if not 1 <= number <= ITERATIONS_MAX:
        message = f"'maxIterations' of loop {node.id!r} must be a whole number from 1 to "
        message += f"{ITERATIONS_MAX:,}, not {written.text[:40]!r}"
        advice = f"leave it out for {ITERATIONS}"
        level.context.report("W015", message, written.span, label="no such number", help=advice)
    return number


def _whole(written: Scalar) -> int:
    return int(written.text) if written.text.isascii() and written.text.isdigit() else 0


def _read_until(inner: Level) -> ir.When | None:
    """The condition to stop: the opposite of what the file says."""
    loop = inner.owner
    written = object_of(loop.fields, "continueWhile")
    if written is not None:
        comparison = _comparison(inner, written, "continueWhile")
        return comparison and ir.When(expression(f"not {comparison[1]}"), comparison[2])
    # What arrives at the slot of type continue, or at the continue node of the inside.
    slots = {("dock", name, "input") for name in slot_types(inner.context, loop, "continue")}
    edges = [e for e in inner.graph.edges if e.target == loop.id and e.into in slots]
    for node in inner.members:
        edges += inner.graph.leading_to[node.id] if node.type == "interface-continue" else ()
    source = inner.value_at(edges[0].source, edges[0].out, "") if edges else None
    if source is not None:
        return ir.When(expression(f"not {called('goes_on', source)}"), "'continue' is not true")
    advice = "add continueWhile: {output: node.output, operator: ==, value: ...}, "
    advice += "or connect a continue slot"
    message = f"loop {loop.id!r} does not say when it goes on"
    inner.context.report("W006", message, loop.span, label="no condition", help=advice)
    return None


def _comparison(inner: Level, written: Mapping, field: str) -> tuple[str, str, str] | None:
    """The node that decides, the comparison, and its opposite in words; mistakes are reported."""
    if not check_part(inner.context, written, "condition", repr(field)):
        return None
    name, span = text_of(written.get("output")), span_of(written, "output")
    node_name, _, port = name.partition(".")
    node = inner.named(node_name)
    if node is None or node.is_interface or not port:
        message = f"{field!r} compares the output {name[:60]!r}, but there is no such node inside"
        if not name:
            message = f"{field!r} lacks its 'output'"
        code = "W010" if name else "W006"
        advice = suggest(node_name, [node.id for node in inner.members]) or "write NODE.OUTPUT"
        inner.context.report(code, message, span, label="no such output", help=advice)
        return None
    inner.expect(node, "output", port, span)
    sign = text_of(written.get("operator")) or "=="
    if sign not in OPERATORS:
        message = f"{field!r} has the operator {sign[:20]!r}, which is not known"
        span, advice = span_of(written, "operator"), f"write one of {' '.join(OPERATORS)}"
        inner.context.report("W009", message, span, label="unknown operator", help=advice)
        return None
    value = written.get("value")
    wanted = literal(field == "exitWhen" or None if value is None else plain(value))
    function = "continues" if field == "continueWhile" else "leaves"
    source = called(function, quoted(name), quoted(sign), wanted, output(node.id, port))
    return node.id, source, f"{name} {OPPOSITES[sign]} {wanted}"


def _read_exit(inner: Level, body: ir.Block) -> ir.Block:
    """Leaves the loop as soon as an output says so, before the rest of the iteration runs."""
    loop = inner.owner
    written = object_of(loop.fields, "exitWhen")
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
    """A for-each, behind a node that holds what the loop is given."""
    node, context = inner.owner, level.context
    options = object_of(node.fields, "forEach") or Mapping((), node.span)
    check_part(context, options, "forEach", f"'forEach' of loop {node.id!r}")
    inner.item = _read_item(inner, options)
    inputs = dict(loop_inputs(level, inner))
    items = text_of(options.get("items")) or next(iter(inputs), "")
    if items not in inputs:
        message = f"'forEach' of loop {node.id!r} takes its items from the input {items[:60]!r}, "
        message += "which it does not have"
        advice = suggest(items, inputs) or "add an input of the type json"
        span = span_of(options, "items")
        context.report("W010", message, span, label="no such input", help=advice)
        return [ir.Compute(name=node.id, value=ir.Constant(None))]
    for name in ("continueWhile", "exitWhen"):
        if object_of(node.fields, name) is not None:
            message = (
                f"{name!r} of loop {node.id!r} has no effect: 'forEach' always takes all items"
            )
            span, advice = span_of(node.fields, name), "remove it, or remove 'forEach'"
            context.warn("W023", message, span, label="no effect", help=advice)
    inner.held = level.free_name(f"{node.id}.inputs")
    inner.inputs = dict.fromkeys(inputs, inner.held)
    inner.index = inner.claim("index")
    read_mappings(inner)
    each = ir.ForEach(
        name=node.id,
        items=expression(called("dig", given(inner.held), quoted(items))),
        body=build(inner),
        item_name=inner.item[1],
        index_name=inner.index,
        concurrency=_read_parallel(level, options),
        on_item_failure="halt",
        shape=_gathered(inner),
        words={"ports": _port_names(node)},
    )
    held = ir.Fields(tuple((name, expression(source)) for name, source in inputs.items()))
    return [ir.Compute(name=inner.held, value=held), each]


def _read_item(inner: Level, options: Mapping) -> tuple[str, str]:
    """What the item is called inside, where it stands beside the inputs of the loop."""
    name, span = text_of(options.get("item")) or "item", span_of(options, "item")
    loop = inner.owner
    if not _NAME.fullmatch(name):
        message = f"'item' must be a name, not {name[:60]!r}"
        advice = "use letters, digits, _ and -; read a part of an item inside the loop"
        inner.context.report("W012", message, span, label="no name", help=advice)
    elif loop.input(name) is not None:
        message = f"loop {loop.id!r} has an input {name!r}, so its items need another name"
        advice = "write forEach: {item: NAME}, with a name that no input has"
        inner.context.report("W012", message, span, label="taken", help=advice)
    return name, inner.claim(name)


def _read_parallel(level: Level, options: Mapping) -> int:
    written = scalar_of(options.get("parallel"))
    if written is None or isinstance(written.value, bool):
        return PARALLEL_MAX if written is not None and written.value else 1
    number = _whole(written)
    if not 1 <= number <= PARALLEL_MAX:
        message = f"'parallel' must be true, or a whole number from 1 to {PARALLEL_MAX:,}"
        advice = "write how many items may run at once"
        level.context.report("W007", message, written.span, label="no such number", help=advice)
    return number


def _gathered(inner: Level) -> ir.Fields:
    count = "(it | length)"
    entries: list[tuple[str, ir.Value]] = []
    for target, (take, source) in loop_outputs(inner, count, "all").items():
        if source != count:
            arguments = source.removeprefix("port(").removesuffix(")")
            source = f"gathered(it, {arguments}, {quoted(take)})"
        entries.append((target, expression(source)))
    return ir.Fields((*entries, (COUNT, expression(count))))
