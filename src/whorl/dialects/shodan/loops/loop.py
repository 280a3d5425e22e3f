"""Loop nodes, however their file says it, as one loop of the IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.shodan.fields import flag_of, scalar_of, span_of, table_of
from whorl.dialects.shodan.loops.deciding import read_exit, read_until
from whorl.dialects.shodan.loops.each import read_each
from whorl.dialects.shodan.loops.inside import open_inside
from whorl.dialects.shodan.loops.mapping import carry_inputs, carry_previous, carry_slots
from whorl.dialects.shodan.loops.results import read_results
from whorl.dialects.shodan.nodes.shared import common

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode

ITERATIONS = 10
ITERATIONS_MAX = 1_000_000


def read_loop(level: Level, node: GraphNode, build: Callable[[Level], ir.Block]) -> list[ir.Node]:
    """A loop, or a for-each where the file asks for one."""
    inner = open_inside(level, node)
    if inner is None:
        return [ir.Compute(value=ir.Constant(None), **common(node))]
    if table_of(node.fields, "forEach") is not None or flag_of(node.fields, "forEach"):
        return read_each(level, inner, build)
    inputs = carry_inputs(level, inner)
    previous = carry_previous(inner)
    slots = carry_slots(inner)
    body = read_exit(inner, build(inner))
    collect, shape = read_results(inner)
    assert inner.loop is not None
    return [
        ir.Loop(
            body=body,
            until=read_until(inner),
            limits=ir.LoopLimits(iterations=_limit(level, node)),
            on_limit="finish",
            carry=(*inputs, *previous(), *slots()),
            collect=collect,
            facts=((inner.loop.number, "number"),),
            shape=shape,
            limit_fields=(("max_iterations", "maxIterations"), ("budget", "--budget")),
            **common(node),
        )
    ]


def _limit(level: Level, node: GraphNode) -> int:
    written = scalar_of(node.fields, "maxIterations")
    if written is None:
        return ITERATIONS
    number = int(written.text) if written.text.isascii() and written.text.isdigit() else 0
    if not 1 <= number <= ITERATIONS_MAX:
        level.draft.report(
            "W015",
            f"'maxIterations' of loop {node.id!r} must be a whole number from 1 to "
            f"{ITERATIONS_MAX:,}, not {written.text[:40]!r}",
            span_of(node.fields, "maxIterations"),
            label="no such number",
            help=f"leave it out for {ITERATIONS}",
        )
        return ITERATIONS
    return number
