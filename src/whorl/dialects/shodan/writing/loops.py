"""Loops and for-each: an inner graph, what goes in and out of it, and when it goes on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.shodan.loops.each import PARALLEL_MAX
from whorl.dialects.shodan.loops.loop import ITERATIONS
from whorl.dialects.shodan.loops.results import COUNT
from whorl.dialects.shodan.writing.graph import CONTINUE, OUTPUT, Graph, Known
from whorl.dialects.shodan.writing.nodes import take_in
from whorl.dialects.shodan.writing.parts import Called, Out, called, plain, source_of, tree_of
from whorl.dialects.writing import Inline
from whorl.language import tree
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.shodan.writing.parts import Source

    WriteBlock = Callable[[Graph, ir.Block], None]

SAID = ("body", "until", "limits", "carry", "collect", "facts", "shape")
EACH = ("items", "body", "item_name", "index_name", "concurrency", "on_item_failure", "shape")


def write_loop(graph: Graph, node: ir.Loop, write_block: WriteBlock) -> None:
    """A loop with its inner graph; raises CannotSay."""
    data = graph.add(node, "loop")
    if node.limits.iterations != ITERATIONS:
        data["maxIterations"] = node.limits.iterations
    graph.lose_unsaid(node.limits, ("iterations",))
    inner = _inside(graph, node)
    _inputs(graph, node, inner)
    leave, body = _early_exit(node)
    _slots(inner, node)
    write_block(inner, body)
    data |= _condition(inner, node.until)
    if leave is not None:
        data["exitWhen"] = Inline(_comparison(inner, called(leave.when)))
    _slot_edges(inner, node)
    data |= _mappings(inner)
    data |= _outputs(inner, node)
    data["inlineWorkflow"] = inner.document()


def _inside(graph: Graph, node: ir.Loop) -> Graph:
    names: dict[str, Known] = {name: Known("count", COUNT) for name, _ in node.facts}
    for carry in node.carry:
        later = tree_of(carry.later)
        if carry.later is None and carry.name.startswith("prev.") and _is_null(carry.first):
            names[carry.name] = Known("slot", carry.name.removeprefix("prev."))
        elif carry.later is None:
            names[carry.name] = Known("input", _input_name(carry))
        elif called(later).function == "kept":
            names[carry.name] = Known("slot", carry.name.removeprefix("prev."))
        else:
            source = source_of(later)
            if not isinstance(source, Out):
                raise CannotSay(f"the carried {carry.name!r}", "an output of a node is carried")
            names[carry.name] = Known("previous", source.node, source.port)
    taken = [one.name for one in node.body.nodes]
    inner = Graph(graph.ledger, names, owner=node.name, around=graph, taken=taken)
    inner.spot, inner.files = graph.spot, graph.files
    return inner


def _is_null(value: ir.Value | None) -> bool:
    return value is None or value == ir.Constant(None)


def _input_name(carry: ir.Carry) -> str:
    call = called(carry.first)
    return str(json.loads(call.text(2))["name"]) if call.function == "arrive" else carry.name


def _inputs(graph: Graph, node: ir.Loop, inner: Graph) -> None:
    for carry in node.carry:
        known = inner.names[carry.name]
        if known.kind == "input":
            take_in(graph, node.name, known.name, source_of(tree_of(carry.first)))


def _slots(inner: Graph, node: ir.Loop) -> None:
    """The output node, whose inputs are the slots in their order."""
    ports: list[dict[str, Any]] = []
    for carry in node.carry:
        known = inner.names[carry.name]
        if known.kind != "slot":
            continue
        kept = called(carry.later)
        spec = {"name": known.name}
        if kept.function == "kept":
            spec = json.loads(called(kept.arguments[0]).text(2))
        ports.append(Inline(spec))
    if ports:
        inner.nodes[inner.interface(OUTPUT)]["inputs"] = ports


def _slot_edges(inner: Graph, node: ir.Loop) -> None:
    for carry in node.carry:
        known = inner.names[carry.name]
        kept = called(carry.later)
        if known.kind == "slot" and kept.function == "kept":
            source = source_of(called(kept.arguments[0]).arguments[0])
            inner.feed(inner.interface(OUTPUT), known.name, source)


def _early_exit(node: ir.Loop) -> tuple[ir.Break | None, ir.Block]:
    """The node that leaves the loop early, and the body as if it were not there."""
    leave = next(
        (one for one in node.body.nodes if isinstance(one, ir.Break) and one.loop == node.name),
        None,
    )
    if leave is None or called(leave.when).function != "leaves":
        return None, node.body
    nodes = tuple(
        replace(one, after=tuple(after for after in one.after if after.node != leave.name))
        for one in node.body.nodes
        if one is not leave
    )
    return leave, replace(node.body, nodes=nodes)


def _condition(inner: Graph, until: ir.Condition | None) -> dict[str, Any]:
    test = tree_of(until.test) if isinstance(until, ir.When) else None
    call = Called()
    if isinstance(test, tree.Unary) and test.operator == "not":
        call = called(test.operand)
    if call.function == "continues":
        return {"continueWhile": Inline(_comparison(inner, call))}
    if call.function != "goes_on":
        raise CannotSay("when the loop ends", "it goes on while an output compares with a value")
    end = inner.interface(CONTINUE)
    inner.nodes[end]["inputs"] = [Inline(name="continue", type="boolean")]
    inner.feed(end, "continue", source_of(call.arguments[0]))
    return {}


def _comparison(inner: Graph, call: Called) -> dict[str, Any]:
    name, sign, wanted = call.text(0), call.text(1), plain(call.arguments[2])
    source = source_of(call.arguments[3])
    written = name.partition(".")[0]
    if isinstance(source, Out) and source.node != written and source.node in inner.nodes:
        # The comparison names the node by its label.
        inner.nodes[source.node]["label"] = written
    return {"output": name, "operator": sign, "value": wanted}


def _mappings(inner: Graph) -> dict[str, Any]:
    return {"inputMappings": inner.mappings} if inner.mappings else {}


def _outputs(inner: Graph, node: ir.Loop) -> dict[str, Any]:
    found: dict[str, Any] = {}
    mapped: list[dict[str, Any]] = []
    for collect in node.collect:
        source = source_of(tree_of(collect.value))
        if collect.name != COUNT or not _is_count(inner, source):
            mapped.append(_mapping(inner, source, collect))
    shaped = dict(node.shape.entries) if isinstance(node.shape, ir.Fields) else {}
    types = {str(name): called(value).text(3) for name, value in shaped.items()}
    order = [one.name for one in node.collect]
    if any(kind != "any" for kind in types.values()) or list(types) != order:
        found["outputs"] = [
            Inline(name=name) if kind == "any" else Inline(name=name, type=kind)
            for name, kind in types.items()
            if name != COUNT or kind != "any" or list(types)[-1] != COUNT
        ]
    return found | ({"outputMappings": mapped} if mapped else {})


def _is_count(inner: Graph, source: Source) -> bool:
    known = inner.local(source)
    return known is not None and known.kind == "count"


def _mapping(inner: Graph, source: Source, collect: ir.Collect) -> dict[str, Any]:
    found: dict[str, Any] = {"source": _mapped_from(inner, source), "target": collect.name}
    if collect.take != "last":
        found["take"] = collect.take
    return Inline(found)


def _mapped_from(inner: Graph, source: Source) -> dict[str, Any]:
    if _is_count(inner, source):
        return Inline(type="builtin", name=COUNT)
    if not isinstance(source, Out):
        raise CannotSay("an output of a loop", "it is the output of a node inside, or the count")
    return Inline(node=source.node, output=source.port)


def write_each(graph: Graph, node: ir.ForEach, held: ir.Compute, write_block: WriteBlock) -> None:
    """A for-each, of which `held` has what it is given; raises CannotSay."""
    data = graph.add(node, "loop")
    graph.lose_unsaid(node, ("name", "after", "on_failure", *EACH))
    assert isinstance(held.value, ir.Fields)
    for key, value in held.value.entries:
        take_in(graph, node.name, str(key), source_of(tree_of(value)))
    options: dict[str, Any] = Inline(items=called(node.items).text(1))
    if node.item_name != "item":
        options["item"] = node.item_name
    if node.concurrency != 1:
        options["parallel"] = True if node.concurrency == PARALLEL_MAX else node.concurrency
    data["forEach"] = options
    names = {node.item_name: Known("item", node.item_name), node.index_name: Known("count", COUNT)}
    taken = [one.name for one in node.body.nodes]
    inner = Graph(graph.ledger, names, node.name, graph, held.name, taken)
    inner.spot, inner.files = graph.spot, graph.files
    write_block(inner, node.body)
    data |= _mappings(inner) | _gathered(node)
    data["inlineWorkflow"] = inner.document()


def _gathered(node: ir.ForEach) -> dict[str, Any]:
    mapped: list[dict[str, Any]] = []
    shaped = node.shape.entries if isinstance(node.shape, ir.Fields) else ()
    for key, value in shaped[:-1]:
        call = called(value)
        if call.function != "gathered":
            builtin = Inline(type="builtin", name=COUNT)
            mapped.append(Inline(source=builtin, target=key))
            continue
        source = Inline(node=call.text(1), output=call.text(2))
        found = Inline(source=source, target=key)
        if call.text(3) != "all":
            found["take"] = call.text(3)
        mapped.append(found)
    return {"outputMappings": mapped} if mapped else {}
