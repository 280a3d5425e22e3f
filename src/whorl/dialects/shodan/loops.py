"""Loop nodes: an inside that is repeated while a condition holds, or once for each item of a list.

`forEach: {items: INPUT, item: NAME, parallel: N}`: the input of the loop that holds the list, the
name under which inner nodes are given an item, and how many run at once (1).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.scalars import scalar_of, span_of, text_of
from whorl.dialects.reading.texts import called, quoted
from whorl.dialects.shodan.functions import OPERATORS
from whorl.dialects.shodan.graph import COUNT, check_part, flag_of, object_of, read_graph
from whorl.dialects.shodan.levels import Level, LoopScope, expression, given, literal, output
from whorl.dialects.shodan.loop_values import (
    carry_inputs,
    carry_values,
    loop_inputs,
    loop_outputs,
    read_mappings,
    read_results,
    read_slots,
)
from whorl.dialects.shodan.nodes import common
from whorl.dialects.shodan.ports import slot_types
from whorl.errors import InvalidWorkflow
from whorl.ir.checks.subject import suggest
from whorl.source import Mapping, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.shodan.graph import Graph, GraphNode
    from whorl.source import Scalar

DEPTH_MAX = 16
ITERATIONS = 10
ITERATIONS_MAX = 1_000_000
PARALLEL_MAX = 1_000
EXIT = "exit-when"
OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def read_loop(level: Level, node: GraphNode, build: Callable[[Level], ir.Block]) -> list[ir.Node]:
    """A loop, or a for-each where the file asks for one."""
    inner = _open_inside(level, node)
    if inner is None:
        return [ir.Compute(value=ir.Constant(None), **common(node))]
    if object_of(node.fields, "forEach") is not None or flag_of(node.fields, "forEach"):
        return _read_each(level, inner, build)
    inputs = carry_inputs(level, inner)
    read_mappings(inner)
    read_slots(inner)
    body = _read_exit(inner, build(inner))
    collect, shape = read_results(inner)
    return [
        ir.Loop(
            body=body,
            until=_read_until(inner),
            limits=ir.LoopLimits(iterations=_limit(level, node)),
            on_limit="finish",
            carry=(*inputs, *carry_values(inner)),
            collect=collect,
            facts=((inner.scope.number, "number"),),
            shape=shape,
            words={"fields": {"max_iterations": "maxIterations", "budget": "--budget"}},
            **common(node),
        )
    ]


def _limit(level: Level, node: GraphNode) -> int:
    written = scalar_of(node.fields.get("maxIterations"))
    if written is None:
        return ITERATIONS
    number = _whole(written)
    if 1 <= number <= ITERATIONS_MAX:
        return number
    message = f"'maxIterations' of loop {node.id!r} must be a whole number from 1 to "
    message += f"{ITERATIONS_MAX:,}, not {written.text[:40]!r}"
    advice = f"leave it out for {ITERATIONS}"
    level.context.report("W015", message, written.span, label="no such number", help=advice)
    return ITERATIONS


def _whole(written: Scalar) -> int:
    return int(written.text) if written.text.isascii() and written.text.isdigit() else 0


def _open_inside(level: Level, node: GraphNode) -> Level | None:
    """The level inside of a loop; None if there is none, which is reported."""
    if sum(1 for _ in level.chain()) > DEPTH_MAX:
        level.context.report("W002", f"loops stand at most {DEPTH_MAX} deep", node.span)
        return None
    graph = _own_graph(level, node)
    inner = Level(level.context, graph or level.graph, "" if graph else node.id, level)
    if all(member.is_interface for member in inner.members):
        if not level.context.diagnostics:
            message = f"loop {node.id!r} has nothing inside"
            advice = "add inlineWorkflow, workflowRef, or nodes whose parentId is the loop"
            level.context.report("W006", message, node.span, label="an empty loop", help=advice)
        return None
    inner.loop = LoopScope(node, inner.claim(COUNT))
    return inner


def _own_graph(level: Level, node: GraphNode) -> Graph | None:
    """The graph of an inline workflow or of a file; None: the loop's nodes stand around it."""
    context = level.context
    inline = object_of(node.fields, "inlineWorkflow")
    if inline is not None:
        return read_graph(context, inline)
    written = scalar_of(node.fields.get("workflowRef"))
    if written is None:
        return None
    try:
        opened = context.files.open(context.reference(written.text), written.span)
    except InvalidWorkflow as fault:
        context.adopt(fault.diagnostics)
        return None
    graphs = (home.graph for home in level.chain())
    if opened.file in (context.file, *(graph.span.file for graph in graphs if graph.span)):
        message = f"loop {node.id!r} holds the file that it stands in"
        advice = "put the inner workflow into a file of its own"
        context.report("W017", message, written.span, label="leads back", help=advice)
        return None
    if not isinstance(opened.root, Mapping):
        context.report("W007", f"{opened.file!r} holds no workflow", written.span)
        return None
    context.sources[opened.file] = opened.text
    context.adopt(opened.warnings)
    context.add_components(opened.root)
    return read_graph(context, opened.root)


def _read_until(inner: Level) -> ir.When | None:
    """The condition to stop: the opposite of what the file says."""
    node = inner.scope.node
    written = object_of(node.fields, "continueWhile")
    if written is not None:
        comparison = _comparison(inner, written, "continueWhile")
        if comparison is None:
            return None
        return ir.When(expression(f"not {comparison[1]}"), comparison[2])
    source = _continue_source(inner)
    if source is not None:
        return ir.When(expression(f"not {called('goes_on', source)}"), "'continue' is not true")
    advice = "add continueWhile: {output: node.output, operator: ==, value: ...}, "
    advice += "or connect a continue slot"
    message = f"loop {node.id!r} does not say when it goes on"
    inner.context.report("W006", message, node.span, label="no condition", help=advice)
    return None


def _continue_source(inner: Level) -> str | None:
    """What arrives at the slot of type continue, or at the continue node of the inside."""
    loop = inner.scope.node
    slots = {("dock", name, "input") for name in slot_types(inner.context, loop, "continue")}
    edges = [e for e in inner.graph.edges if e.target == loop.id and e.into in slots]
    for node in inner.members:
        edges += inner.graph.leading_to[node.id] if node.type == "interface-continue" else ()
    return inner.value_at(edges[0].source, edges[0].out, "") if edges else None


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
    loop = inner.scope.node
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
    leave = ir.Break(name=inner.claim(EXIT), loop=loop.id, after=(ir.After(decider),), when=when)
    nodes = [
        replace(node, after=(*node.after, ir.After(leave.name)))
        if any(after.node == decider for after in node.after)
        else node
        for node in body.nodes
    ]
    return replace(body, nodes=(*nodes, leave))


def _read_each(level: Level, inner: Level, build: Callable[[Level], ir.Block]) -> list[ir.Node]:
    """A for-each, behind a node that holds what the loop is given."""
    scope, node = inner.scope, inner.scope.node
    options = object_of(node.fields, "forEach") or Mapping((), node.span)
    check_part(level.context, options, "forEach", f"'forEach' of loop {node.id!r}")
    scope.item = _read_item(inner, options)
    inputs = dict(loop_inputs(level, inner))
    items = text_of(options.get("items")) or next(iter(inputs), "")
    if items not in inputs:
        message = f"'forEach' of loop {node.id!r} takes its items from the input {items[:60]!r}, "
        message += "which it does not have"
        span, advice = span_of(options, "items"), suggest(items, inputs)
        advice = advice or "add an input of the type json"
        level.context.report("W010", message, span, label="no such input", help=advice)
        return [ir.Compute(value=ir.Constant(None), **common(node))]
    for name in ("continueWhile", "exitWhen"):
        if object_of(node.fields, name) is not None:
            message = f"{name!r} of loop {node.id!r} has no effect: 'forEach' takes all items"
            span, advice = span_of(node.fields, name), "leave it out, or leave 'forEach' out"
            level.context.warn("W023", message, span, label="no effect", help=advice)
    scope.held = level.free_name(f"{node.id}.inputs")
    scope.inputs = dict.fromkeys(inputs, scope.held)
    scope.index = inner.claim("index")
    read_mappings(inner)
    body = build(inner)
    held = ir.Fields(tuple((name, expression(source)) for name, source in inputs.items()))
    each = ir.ForEach(
        items=expression(called("dig", given(scope.held), quoted(items))),
        body=body,
        item_name=scope.item[1],
        index_name=scope.index,
        concurrency=_parallel(level, options),
        on_item_failure="halt",
        shape=_gathered(inner),
        **common(node),
    )
    return [ir.Compute(name=scope.held, value=held), each]


def _read_item(inner: Level, options: Mapping) -> tuple[str, str]:
    """What the item is called inside, where it stands beside the inputs of the loop."""
    name, span = text_of(options.get("item")) or "item", span_of(options, "item")
    loop = inner.scope.node
    if not _NAME.fullmatch(name):
        message = f"'item' names what the inside is given, and {name[:60]!r} is no name"
        advice = "write a word of letters, digits, _ and -; a part of an item is read inside"
        inner.context.report("W012", message, span, label="no name", help=advice)
    elif loop.input(name) is not None:
        message = f"loop {loop.id!r} has an input {name!r}, so its items need another name"
        advice = "write forEach: {item: NAME}, with a name that no input has"
        inner.context.report("W012", message, span, label="taken", help=advice)
    return name, inner.claim(name)


def _gathered(inner: Level) -> ir.Fields:
    """The outputs of a for-each, from the results of its items."""
    count = "(it | length)"
    entries: list[tuple[str, ir.Value]] = []
    for target, (take, source) in loop_outputs(inner, count, "all").items():
        if source != count:
            arguments = source.removeprefix("port(").removesuffix(")")
            source = f"gathered(it, {arguments}, {quoted(take)})"
        entries.append((target, expression(source)))
    return ir.Fields((*entries, (COUNT, expression(count))))


def _parallel(level: Level, options: Mapping) -> int:
    written = scalar_of(options.get("parallel"))
    if written is None or written.value is False:
        return 1
    if written.value is True:
        return PARALLEL_MAX
    number = _whole(written)
    if 1 <= number <= PARALLEL_MAX:
        return number
    message = f"'parallel' must be true, or a whole number from 1 to {PARALLEL_MAX:,}"
    advice = "write how many items may run at once"
    level.context.report("W007", message, written.span, label="no such number", help=advice)
    return 1
