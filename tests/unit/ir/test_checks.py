"""The rules on limits and mistakes, and how many calls a workflow makes at most."""

from __future__ import annotations

from dataclasses import replace

import pytest

from whorl import ir
from whorl.ir.checks import check
from whorl.ir.walk import Places
from whorl.ir.worst_case import Priced, worst_case

ASK = ir.Task(name="a", kind="ask")
TEXT = ir.Constant("x")


def workflow(*nodes: ir.Node) -> ir.Workflow:
    return ir.Workflow(name="w", body=ir.Block(nodes))


def loop(*nodes: ir.Node, limits: ir.LoopLimits) -> ir.Loop:
    return ir.Loop(name="l", body=ir.Block(nodes), limits=limits)


def codes(*nodes: ir.Node) -> list[str]:
    return [found.code for found in check(workflow(*nodes), Places())]


@pytest.mark.parametrize(
    ("items", "calls"),
    [(ir.Constant([1, 2, 3]), 3), (ir.Items((TEXT, TEXT)), 2), (ir.Expression("jinja", "x"), None)],
)
def test_each_item_counts_where_the_list_is_known(items: ir.Value, calls: int | None) -> None:
    each = ir.ForEach(name="e", items=items, body=ir.Block((ASK,)))

    assert worst_case(workflow(each)).typical == calls


TYPED = ir.Task(name="a", kind="ask", returns={"type": "number"})
THRICE = ir.Retry(times=3)


@pytest.mark.parametrize(
    ("node", "calls", "paid"),
    [
        (ASK, 4, 1),
        (TYPED, 5, 2),
        (replace(TYPED, retry=THRICE), 5, 5),
        (ir.Task(name="r", kind="run"), 1, 0),
        (ir.Task(name="r", kind="run", retry=THRICE), 4, 0),
        (replace(ASK, inputs=ir.Fields((("model", ir.Constant(["a/b", "c/d"])),))), 8, 1),
        (ir.Group(name="g", body=ir.Block((TYPED,)), retry=THRICE), 20, 8),
        (
            ir.Loop(
                name="l",
                body=ir.Block((ASK,)),
                limits=ir.LoopLimits(5),
                on_iteration_failure=ir.IterationFailure("retry", 2),
                retry=THRICE,
            ),
            4 * 5 * 3 * 4,
            5 * 3 * 4,
        ),
    ],
)
def test_repairs_retries_and_fail_over_count(node: ir.Node, calls: int, paid: int) -> None:
    found = worst_case(workflow(node))

    assert (found.calls, found.paid, found.unbudgeted) == (calls, paid, paid)


def test_a_cost_is_bounded_where_nothing_of_it_is_open() -> None:
    known = ir.Workflow(name="w", body=ir.Block((ASK,)))
    dear = loop(ASK, limits=ir.LoopLimits(100, cost_usd=2.0))
    unknown = ir.ForEach(name="e", items=ir.Expression("jinja", "{{ x }}"), body=ir.Block((ASK,)))

    def most(*nodes: ir.Node, is_most: bool = True) -> float | None:
        price = Priced(0.1, is_most=is_most)
        return worst_case(workflow(*nodes), lambda _, __: price).bound_usd

    # Each try may be billed, though only one of them is answered.
    assert worst_case(known, lambda _, __: Priced(0.1, is_most=True)).bound_usd == 0.4
    assert most(ASK, is_most=False) is None
    assert most(dear, is_most=False) == 2.0
    assert most(dear, ASK, is_most=False) is None
    assert most(unknown) is None


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        (ir.LoopLimits(0), 1),
        (ir.LoopLimits(100_001), 1),
        (ir.LoopLimits(1, time_s=0.0, cost_usd=-1.0, tokens=0, calls=0), 4),
        (ir.LoopLimits(1, time_s=float("inf")), 1),
        (ir.LoopLimits(1, iteration_time_s=0.0), 1),
        (ir.LoopLimits(100_000), 0),
    ],
)
def test_limits_are_positive_and_bounded(limits: ir.LoopLimits, count: int) -> None:
    free = ir.Compute(name="i", value=TEXT)

    assert codes(loop(free, limits=limits)) == ["W007"] * count


def test_a_workflow_full_of_mistakes_is_reported_in_part() -> None:
    nodes = [ir.Compute(name=f"n{n}", value=ir.Expression("jinja", f"x{n}")) for n in range(500)]

    assert len(codes(*nodes)) == 100
