"""The rules on workflows that no reader made: they hold for every dialect."""

from __future__ import annotations

import pytest

from whorl import ir
from whorl.errors import Span
from whorl.ir.checks import check
from whorl.ir.walk import Places
from whorl.source.yaml import read_yaml

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


def test_nothing_is_wrong_with_a_good_workflow() -> None:
    assert codes(compute("a"), compute("b", "a + x", "a"), inputs=(ir.Port("x"),)) == []


def test_a_node_sees_what_it_waits_for_through_others() -> None:
    chain = (compute("a"), compute("b", "a", "a"), compute("c", "a + b", "b"))

    assert codes(*chain) == []
    assert codes(compute("a"), compute("b", "a")) == ["W005"]


def test_open_blocks_give_their_names_to_the_outside_and_closed_ones_do_not() -> None:
    opened = ir.Group(name="g", body=ir.Block((compute("i"),), open=True))
    closed = ir.Group(name="g", body=ir.Block((compute("i"),)))

    assert codes(opened, compute("b", "i", "g")) == []
    assert codes(closed, compute("b", "i", "g")) == ["W005"]


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


def test_what_a_loop_binds_is_seen_inside_of_it_only() -> None:
    loop = ir.Loop(
        name="l",
        body=ir.Block((compute("i", "n + c + b"),)),
        facts=(("n", "number"),),
        carry=(ir.Carry("c", later=ir.Expression("jinja", "i")),),
        bind=(("b", TEXT),),
    )

    assert codes(loop) == []
    assert codes(loop, compute("a", "n", "l")) == ["W005"]


def test_circles_are_found_and_names_behind_them_too() -> None:
    assert codes(compute("a", "1", "b"), compute("b", "1", "a")) == ["W011"]
    assert codes(compute("a", "1", "a")) == ["W011"]


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

    assert codes(loop) == ["W015"] * count


def test_a_timeout_leaves_some_time() -> None:
    body = ir.Block((compute("i"),))

    assert codes(ir.Compute(name="a", value=ir.Constant(1), timeout_s=0.0)) == ["W015"]
    assert codes(ir.Group(name="a", body=body, timeout_s=0.0)) == ["W015"]
    assert codes(ir.ForEach(name="a", items=ir.Constant([1]), body=body, item_timeout_s=0.0)) == [
        "W015"
    ]
    assert codes(ir.Group(name="a", body=body, timeout_s=0.001)) == []


def test_calls_name_workflows_and_do_not_lead_back() -> None:
    call = ir.Call(name="c", workflow="one")
    one = ir.Workflow(name="one", body=ir.Block((ir.Call(name="d", workflow="two"),)))
    two = ir.Workflow(name="two", body=ir.Block((ir.Call(name="e", workflow="one"),)))
    end = ir.Workflow(name="two", body=ir.Block((compute("a"),)))

    assert codes(call) == ["W017"]
    assert codes(call, workflows=(("one", one), ("two", two))) == ["W017"]
    assert codes(call, workflows=(("one", one), ("two", end))) == []


def test_jumps_stay_inside_of_their_loop() -> None:
    loop = ir.Loop(name="l", body=ir.Block((ir.Break(name="b", loop="l"),)))

    assert codes(loop) == []
    assert codes(loop, ir.Continue(name="c", loop="l")) == ["W010"]


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


def test_places_know_expressions_nodes_and_fields() -> None:
    document = read_yaml('a: "x {{ name }}"', "f.yaml")
    scalar = document.root.entries[0].value  # type: ignore[union-attr]
    expression, same = ir.Expression("template", "name"), ir.Expression("template", "name")
    places = Places()
    places.remember(expression, scalar, 5)  # type: ignore[arg-type]
    places.remember_node("a/b", Span("f.yaml", 3, 1))
    places.remember_field("a/b", "at_most", Span("f.yaml", 4, 1))

    assert str(places.span(expression, 0, 4)) == "f.yaml:1:10"
    assert places.span(same, 0) is None
    assert str(places.node("a/b@case.x/c")) == "f.yaml:3:1"
    assert str(places.field("a/b", "at_most")) == "f.yaml:4:1"
    assert str(places.field("a/b", "return")) == "f.yaml:3:1"
    assert places.node("z") is None
