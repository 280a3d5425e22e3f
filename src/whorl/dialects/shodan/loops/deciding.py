"""When a loop goes on: a comparison, a slot, or a node that says so; and when it is left early."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import span_of, table_of, text_of
from whorl.dialects.shodan.functions.flow import OPERATORS
from whorl.dialects.shodan.ports import Reference, slot_types
from whorl.dialects.shodan.sources import called, expression, given, literal, output, quoted
from whorl.ir.checks.suggest import suggest
from whorl.source import plain

if TYPE_CHECKING:
    from whorl.dialects.shodan.level import Level
    from whorl.source import Mapping

EXIT = "exit-when"
OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def read_until(inner: Level) -> ir.When | None:
    """The condition to stop: the opposite of what the file says."""
    assert inner.loop is not None
    node = inner.loop.node
    written = table_of(node.fields, "continueWhile")
    if written is not None:
        found = _comparison(inner, written, "continueWhile")
        return None if found is None else ir.When(expression(f"not {found[1]}"), found[2])
    source = _continue_source(inner)
    if source is not None:
        return ir.When(expression(f"not {called('goes_on', source)}"), "'continue' is not true")
    inner.draft.report(
        "W006",
        f"loop {node.id!r} does not say when it goes on",
        node.span,
        label="no condition",
        help="add continueWhile: {output: node.output, operator: ==, value: ...}, or connect a "
        "continue slot",
    )
    return None


def _continue_source(inner: Level) -> str | None:
    """What arrives at the slot of type continue, or at the continue node of the inside."""
    assert inner.loop is not None
    loop = inner.loop.node
    slots = slot_types(inner.draft, loop, "continue")
    for edge in inner.graph.edges:
        is_dock = edge.into[0] == "dock" and edge.into[2] == "input"
        if edge.target == loop.id and is_dock and edge.into[1] in slots:
            return inner.value_at(edge.source, edge.out, "")
    for node in inner.members:
        if node.type == "interface-continue":
            for edge in inner.graph.leading_to(node.id):
                return inner.value_at(edge.source, edge.out, "")
    return None


def _comparison(inner: Level, written: Mapping, field: str) -> tuple[str, str, str] | None:
    """The node that decides, the comparison, and its opposite in words; mistakes are reported."""
    name = text_of(written, "output")
    node, _, port = name.partition(".")
    found = inner.named(node)
    if found is None or found.type.startswith("interface-") or not port:
        inner.draft.report(
            "W010" if name else "W006",
            f"{field!r} compares the output {name[:60]!r}, but there is no such node inside"
            if name
            else f"{field!r} lacks its 'output'",
            span_of(written, "output"),
            label="no such output",
            help=suggest(node, [one.id for one in inner.members]) or "write NODE.OUTPUT",
        )
        return None
    reference = Reference(inner, found, "output", port, span_of(written, "output"))
    inner.draft.references.append(reference)
    sign = text_of(written, "operator") or "=="
    if sign not in OPERATORS:
        inner.draft.report(
            "W009",
            f"{field!r} has the operator {sign[:20]!r}, which is not known",
            span_of(written, "operator"),
            label="unknown operator",
            help=f"write one of {' '.join(OPERATORS)}",
        )
        return None
    value = written.get("value")
    wanted = literal(field == "exitWhen" or None if value is None else plain(value))
    source = output(found.id, port)
    function = "continues" if field == "continueWhile" else "leaves"
    words = f"{name} {OPPOSITES[sign]} {wanted}"
    return found.id, called(function, quoted(name), quoted(sign), wanted, source), words


def read_exit(inner: Level, body: ir.Block) -> ir.Block:
    """Leaves the loop as soon as an output says so, before the rest of the iteration runs."""
    assert inner.loop is not None
    written = table_of(inner.loop.node.fields, "exitWhen")
    if written is None:
        return body
    found = _comparison(inner, written, "exitWhen")
    if found is None:
        return body
    node, test, _ = found
    name = inner.claim(EXIT)
    leave = ir.Break(
        name=name,
        loop=inner.loop.node.id,
        after=(ir.After(node),),
        when=expression(_settled_before(inner, node, test)),
    )
    nodes = [
        replace(one, after=(*one.after, ir.After(name)))
        if any(after.node == node for after in one.after)
        else one
        for one in body.nodes
    ]
    return replace(body, nodes=(*nodes, leave))


def _settled_before(inner: Level, node: str, test: str) -> str:
    """A loop that is left fails, too, for a node that failed before the one that says so."""
    checks = [
        called("settled", given(one.id), quoted(one.id))
        for one in inner.tolerated()
        if inner.leads_to(node, one.id)
    ]
    return " and ".join((test, *checks))
