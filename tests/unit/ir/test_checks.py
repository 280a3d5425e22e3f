"""The rules on workflows that no reader made: they hold for every dialect."""

from __future__ import annotations

import pytest

from whorl import ir
from whorl.ir.checks import check
from whorl.ir.walk import Places

TEXT = ir.Constant("x")


def compute(name: str, source: str = "1", *after: str) -> ir.Compute:
    return ir.Compute(
        name=name,
        value=ir.Expression("jinja", source),
        after=tuple(ir.After(other) for other in after),
    )


def codes(*nodes: ir.Node, **fields: object) -> list[str]:
    workflow = ir.Workflow(name="w", body=ir.Block(nodes), **fields)  # type: ignore[arg-type]
    return [found.code for found in check(workflow, Places())]


def test_a_node_sees_what_it_waits_for_through_others() -> None:
    chain = (compute("a"), compute("b", "a", "a"), compute("c", "a + b", "b"))

    assert codes(*chain) == []
    assert codes(compute("a"), compute("b", "a")) == ["W005"]


def test_the_cases_of_a_branch_do_not_see_each_other() -> None:
    branch = ir.Branch(
        name="b",
        cases=(
            ir.Case("one", ir.Block((compute("i"),), open=True), when=ir.Expression("jinja", "1")),
            ir.Case(
                "two", ir.Block((compute("j", "i"),), open=True), when=ir.Expression("jinja", "1")
            ),
        ),
    )

    assert codes(branch) == ["W005"]


def test_variables_are_seen_everywhere() -> None:
    assign = ir.Assign(name="s", sets=(("v", TEXT),))

    assert codes(compute("a", "v"), assign) == []
    assert codes(compute("a", "w"), variables=(("w", TEXT),)) == []


def test_open_inputs_may_bring_any_name() -> None:
    assert codes(compute("a", "anything"), open_inputs=True) == []


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
    loop = ir.Loop(name="l", body=ir.Block((compute("i"),)), limits=limits)

    assert codes(loop) == ["W007"] * count


def test_a_timeout_leaves_some_time() -> None:
    body = ir.Block((compute("i"),))

    assert codes(ir.Compute(name="a", value=ir.Constant(1), timeout_s=0.0)) == ["W007"]
    assert codes(ir.Group(name="a", body=body, timeout_s=0.0)) == ["W007"]
    assert codes(ir.ForEach(name="a", items=ir.Constant([1]), body=body, item_timeout_s=0.0)) == [
        "W007"
    ]
    assert codes(ir.Group(name="a", body=body, timeout_s=0.001)) == []


@pytest.mark.parametrize(("is_needed", "severity"), [(True, "error"), (False, "warning")])
def test_many_calls_are_an_error_where_a_budget_is_needed(is_needed: bool, severity: str) -> None:
    ask = ir.Task(name="a", kind="ask")
    loop = ir.Loop(name="l", body=ir.Block((ask,)), limits=ir.LoopLimits(1_001))
    workflow = ir.Workflow(name="w", body=ir.Block((loop,)))
    found = check(workflow, Places(), is_budget_needed=is_needed)

    assert [(d.code, d.severity) for d in found] == [("W019", severity)]


def test_a_workflow_full_of_mistakes_is_reported_in_part() -> None:
    nodes = [compute(f"n{number}", f"nope{number}") for number in range(500)]

    assert len(codes(*nodes)) == 100
