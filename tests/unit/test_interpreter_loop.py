"""Loops and items: jumps, scores, plateaus, budgets, time limits, limits that are computed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from simulation.machines import FALSE, performs, plan_with
from whorl import ir
from whorl.interpreter.events import Event
from whorl.interpreter.machine import Machine

ASK = ir.Task(name="a", kind="ask")


class Run:
    """A run whose calls reply with these values, one after the other."""

    def __init__(self, *nodes: ir.Node, values: Any = (), **fields: Any) -> None:
        self.machine = Machine(plan_with(*nodes, **fields))
        self.values = iter(values)
        self.notes: list[Event] = []
        self.now = 0.0
        self.feed("run.started")

    def feed(self, kind: str, address: str = "", **body: Any) -> None:
        self.machine.feed(Event(kind, address, self.now, body))
        self.notes += self.machine.take_notes()

    def go(self, takes_s: float = 0.0) -> Run:
        """Replies to all that is asked; each call takes so long."""
        while wanted := performs(self.machine):
            for perform in wanted:
                self.feed("task.started", perform.address, reserve={"calls": 1})
                if "sent" in self.machine.pending.get(perform.address, ()):
                    self.now += takes_s
                    value = next(self.values, 1)
                    self.feed("task.finished", perform.address, value=value, usage={"calls": 1})
        return self

    def told(self, kind: str, *names: str) -> list[tuple[Any, ...]]:
        bodies = [note.body for note in self.notes if note.kind == kind]
        return [tuple(body.get(name) for name in names) for body in bodies]


def loop(*nodes: ir.Node, iterations: Any = 10, **fields: Any) -> ir.Loop:
    limits = ir.LoopLimits(iterations, **fields.pop("limits", {}))
    body = ir.Block(nodes or (ASK,))
    facts: Any = (("iteration", "number"),)
    return ir.Loop(name=fields.pop("name", "l"), body=body, limits=limits, facts=facts, **fields)


def score(name: str = "a", at_least: float | None = None) -> ir.Score:
    return ir.Score(ir.Expression("jinja", f"{{{{ {name} }}}}"), at_least=at_least)


def jump(kind: type[ir.Break] | type[ir.Continue], number: int, after: str = "a") -> ir.Node:
    when = ir.Expression("jinja", f"iteration == {number}")
    return kind(name="jump", loop="l", when=when, after=(ir.After(after),))


def test_an_iteration_that_goes_on_early_is_measured() -> None:
    node = loop(ASK, jump(ir.Continue, 3), until=score(), returns="best", iterations=3)
    run = Run(node, values=[10, 70, 50]).go()

    told = run.told("loop.finished", "score", "best_iteration", "returned_iteration")
    assert told == [(70.0, 2, 2)]


@pytest.mark.parametrize("interrupts", [True, False])
def test_a_loop_that_is_continued_has_its_time_anew(interrupts: bool) -> None:
    limits = {"time_s": 60.0, "interrupts": interrupts}
    run = Run(loop(until=FALSE, iterations=2, limits=limits)).go()
    run.now = 3600.0
    run.feed("run.continued", iterations=9)
    run.go(takes_s=25.0)

    reasons = run.told("loop.finished", "iterations", "exit_reason")
    # Nobody lets the clock of the loop that is interrupted ring here.
    end = (11, "max_iterations") if interrupts else (5, "timeout")
    assert reasons == [(2, "max_iterations"), end]


@pytest.mark.parametrize("around", [False, True])
def test_a_node_that_is_continued_has_its_time_anew(around: bool) -> None:
    node: ir.Node = loop(iterations=1, timeout_s=None if around else 60.0)
    if around:
        node = ir.Group(name="g", body=ir.Block((node,)), timeout_s=60.0)
    run = Run(node).go()
    run.now = 100.0
    run.feed("run.continued", iterations=1)

    address = "g/:timeout" if around else "l/:timeout"
    assert run.machine.pending[address]["due"] == 160.0
    run.go()
    assert run.machine.status == "succeeded"
    assert run.machine.pending == {}


@pytest.mark.parametrize("value", [2, 2.0, "2", " 2 "], ids=repr)
def test_a_limit_of_iterations_can_be_computed(value: Any) -> None:
    node = loop(iterations=ir.Expression("jinja", "{{ n }}"))
    run = Run(node, variables=(("n", ir.Constant(value)),)).go()

    assert run.told("loop.finished", "iterations") == [(2,)]


@pytest.mark.parametrize(
    "value", ["1h", "PT1M", 2.9, -3, 10**9, 10**400, True, None, [3], ""], ids=repr
)
def test_what_is_no_number_of_iterations_fails_the_loop(value: Any) -> None:
    node = loop(iterations=ir.Expression("jinja", "{{ n }}"))
    run = Run(node, variables=(("n", ir.Constant(value)),)).go()

    [(error,)] = run.told("run.finished", "error")
    assert error["code"] == "R104"
    assert "iterations" in error["message"]
    assert "100,000" in error["message"]


@pytest.mark.parametrize(("succeeding", "items"), [(1, 5), (3, 10), (7, 10), (1, 3), (29, 100)])
def test_a_rate_of_success_is_reached_exactly(succeeding: int, items: int) -> None:
    value = ir.Expression("jinja", f"{{{{ 1 // (item < {succeeding}) }}}}")
    body = ir.Block((ir.Compute(name="c", value=value),))
    node = ir.ForEach(name="e", items=ir.Constant(list(range(items))), body=body)
    for more, status in ((0, "succeeded"), (0.001, "failed")):
        rate = succeeding / items + more
        assert Run(replace(node, min_success_rate=rate)).machine.status == status
