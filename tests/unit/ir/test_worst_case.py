"""How many priced calls a workflow could make."""

from __future__ import annotations

import pytest

from whorl import ir
from whorl.ir.worst_case import worst_case

ASK = ir.Task(name="a", kind="ask")
TEXT = ir.Constant("x")


def workflow(*nodes: ir.Node, **more: ir.Workflow) -> ir.Workflow:
    return ir.Workflow(name="w", body=ir.Block(nodes), workflows=tuple(more.items()))


def loop(*nodes: ir.Node, limits: ir.LoopLimits, until: ir.Condition | None = None) -> ir.Loop:
    return ir.Loop(name="l", body=ir.Block(nodes), limits=limits, until=until)


def test_limits_multiply() -> None:
    inner = loop(ASK, ASK, limits=ir.LoopLimits(5))
    found = worst_case(workflow(ASK, loop(ASK, inner, limits=ir.LoopLimits(20))))

    assert (found.calls, found.typical, found.unbudgeted) == (221, 221, 221)
    assert [(case.path, case.iterations, case.calls) for case in found.loops] == [
        ("l", 20, 220),
        ("l/l", 5, 200),
    ]


def test_a_judge_may_be_asked_twice_for_each_vote() -> None:
    until = ir.AnyOf((ir.Judge(TEXT, TEXT, votes=3), ir.AllOf((ir.Judge(TEXT, TEXT),))))
    found = worst_case(workflow(loop(ASK, limits=ir.LoopLimits(10), until=until)))

    assert (found.calls, found.typical) == (90, 50)


@pytest.mark.parametrize(
    ("limits", "calls", "unbudgeted"),
    [
        (ir.LoopLimits(100, cost_usd=1.0), 100, 0),
        (ir.LoopLimits(100, tokens=1_000), 100, 0),
        (ir.LoopLimits(100, calls=7), 7, 0),
    ],
)
def test_a_loop_with_a_budget_of_its_own(
    limits: ir.LoopLimits, calls: int, unbudgeted: int
) -> None:
    found = worst_case(workflow(loop(ASK, limits=limits)))

    assert (found.calls, found.unbudgeted) == (calls, unbudgeted)


@pytest.mark.parametrize(
    ("items", "calls"),
    [
        (ir.Constant([1, 2, 3]), 3),
        (ir.Items((TEXT, TEXT)), 2),
        (ir.Expression("jinja", "x"), None),
    ],
)
def test_each_item_counts_where_the_list_is_known(items: ir.Value, calls: int | None) -> None:
    each = ir.ForEach(name="e", items=items, body=ir.Block((ASK,)))

    assert worst_case(workflow(each)).calls == calls


def test_what_costs_nothing_costs_nothing_however_often() -> None:
    free = ir.Compute(name="c", value=TEXT)
    each = ir.ForEach(name="e", items=ir.Expression("jinja", "x"), body=ir.Block((free,)))
    unknown = ir.LoopLimits(ir.Expression("jinja", "n"))

    assert worst_case(workflow(each, loop(free, limits=unknown))).calls == 0
    assert worst_case(workflow(loop(ASK, limits=unknown))).calls is None


def test_the_costliest_branch_counts() -> None:
    branch = ir.Branch(
        name="b",
        cases=(ir.Case("one", ir.Block((ASK,))), ir.Case("two", ir.Block((ASK, ASK, ASK)))),
        default=ir.Case("else", ir.Block((ASK, ASK))),
    )

    assert worst_case(workflow(branch)).calls == 3


def test_called_workflows_count_and_circles_end() -> None:
    called = workflow(ASK, ASK, ir.Call(name="back", workflow="one"))
    first = ir.Call(name="c", workflow="one")
    found = worst_case(workflow(loop(first, limits=ir.LoopLimits(3)), first, one=called))

    assert found.calls == 8


def test_only_models_and_agents_are_priced() -> None:
    kinds = ("ask", "agent", "judge", "http", "run", "use")
    tasks = [ir.Task(name=kind, kind=kind) for kind in kinds]

    assert worst_case(workflow(*tasks)).calls == 3
