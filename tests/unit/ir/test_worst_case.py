"""How many calls a workflow could make, how many of them are paid, and what they cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from whorl import ir
from whorl.interpreter.constructs import task
from whorl.ir.worst_case import UNCOUNTED, USUAL_RETRIES, Priced, worst_case
from whorl.plugins import load_reference
from whorl.providers.registry import kinds

ASK = ir.Task(name="a", kind="ask")
TEXT = ir.Constant("x")


def workflow(*nodes: ir.Node, **more: ir.Workflow) -> ir.Workflow:
    return ir.Workflow(name="w", body=ir.Block(nodes), workflows=tuple(more.items()))


def loop(*nodes: ir.Node, limits: ir.LoopLimits, until: ir.Condition | None = None) -> ir.Loop:
    return ir.Loop(name="l", body=ir.Block(nodes), limits=limits, until=until)


def test_what_no_run_counts_as_a_call_is_none_before_it() -> None:
    known = {name: load_reference(reference) for name, reference in kinds().items()}

    assert {name for name, kind in known.items() if getattr(kind, "calls", 1) == 0} == UNCOUNTED
    assert worst_case(workflow(ir.Task(name="r", kind="file_read"), ASK)).typical == 1


def test_limits_multiply() -> None:
    inner = loop(ASK, ASK, limits=ir.LoopLimits(5))
    found = worst_case(workflow(ASK, loop(ASK, inner, limits=ir.LoopLimits(20))))

    assert (found.calls, found.typical, found.unbudgeted) == (221 * 4, 221, 221)
    assert found.heaviest == "l"


def test_a_judge_may_be_asked_twice_for_each_vote() -> None:
    until = ir.AnyOf((ir.Judge(TEXT, TEXT, votes=3), ir.AllOf((ir.Judge(TEXT, TEXT),))))
    found = worst_case(workflow(loop(ASK, limits=ir.LoopLimits(10), until=until)))

    assert (found.paid, found.typical) == (90, 50)


@pytest.mark.parametrize(
    ("limits", "calls", "unbudgeted"),
    [
        (ir.LoopLimits(100, cost_usd=1.0), 400, 0),
        (ir.LoopLimits(100, tokens=1_000), 400, 0),
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
    [(ir.Constant([1, 2, 3]), 3), (ir.Items((TEXT, TEXT)), 2), (ir.Expression("jinja", "x"), None)],
)
def test_each_item_counts_where_the_list_is_known(items: ir.Value, calls: int | None) -> None:
    each = ir.ForEach(name="e", items=items, body=ir.Block((ASK,)))

    assert worst_case(workflow(each)).typical == calls


def test_what_costs_nothing_costs_nothing_however_often() -> None:
    free = ir.Compute(name="c", value=TEXT)
    each = ir.ForEach(name="e", items=ir.Expression("jinja", "x"), body=ir.Block((free,)))
    unknown = ir.LoopLimits(ir.Expression("jinja", "n"))

    assert worst_case(workflow(each, loop(free, limits=unknown))).calls == 0
    assert worst_case(workflow(loop(ASK, limits=unknown))).calls is None


def test_called_workflows_count_and_circles_end() -> None:
    called = workflow(ASK, ASK, ir.Call(name="back", workflow="one"))
    first = ir.Call(name="c", workflow="one")
    found = worst_case(workflow(loop(first, limits=ir.LoopLimits(3)), first, one=called))

    assert found.typical == 8


def test_only_models_and_agents_are_priced() -> None:
    kinds = ("ask", "agent", "judge", "http", "run", "use")
    tasks = [ir.Task(name=kind, kind=kind) for kind in kinds]

    found = worst_case(workflow(*tasks))
    assert (found.paid, found.typical) == (3, 6)


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


def test_the_usual_retries_are_those_of_the_interpreter() -> None:
    assert task._USUAL_RETRY.times == USUAL_RETRIES


def test_limits_hold_the_calls_and_the_cost() -> None:
    body = loop(ASK, limits=ir.LoopLimits(100, cost_usd=0.5))
    few = replace(workflow(body), limits=ir.RunLimits(calls=30))

    assert worst_case(few).calls == 30
    assert worst_case(few, lambda _, __: Priced(0.1)).cost_usd == 0.5
    assert worst_case(
        workflow(loop(ASK, limits=ir.LoopLimits(100))), lambda _, __: Priced(0.1)
    ).cost_usd == (pytest.approx(10))
    assert worst_case(few, lambda _, __: Priced()).cost_usd is None


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
