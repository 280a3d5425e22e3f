"""Blocks that run so many nodes at once, rates of success, and requests that come twice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from simulation.machines import FALSE, begun, fail, feed, finish, loop_of, restored, wanted
from whorl import ir
from whorl.interpreter.events import Event
from whorl.interpreter.requests import is_known, objection

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine
    from whorl.language import Json

NEVER = ir.Retry(0)


def group(name: str, retry: ir.Retry | None = None, **fields: Any) -> ir.Group:
    task = ir.Task(name="t", kind="ask", retry=NEVER)
    return ir.Group(name=name, body=ir.Block((task,)), retry=retry, **fields)


def test_a_node_asks_for_a_place_after_the_pause_before_its_retry() -> None:
    machine = begun(*(group(f"g{n}", ir.Retry(1, wait_s=5.0)) for n in range(4)), concurrency=2)
    assert wanted(machine) == ["g0/t", "g1/t"]
    fail(machine, "g0/t")
    assert wanted(machine) == ["g2/t"]
    feed(machine, "timer.fired", "g0/:retry", 6.0)
    assert wanted(machine) == []
    finish(machine, "g1/t", at=6.0)
    assert wanted(machine) == ["g3/t"]
    finish(machine, "g2/t", at=6.0)

    assert wanted(machine) == ["g0#2/t"]
    finish(machine, "g0#2/t", "g3/t", at=6.0)
    assert machine.status == "succeeded"


def test_nodes_that_continue_where_they_failed_ask_for_a_place() -> None:
    machine = begun(*(group(f"g{n}") for n in range(3)), concurrency=1)
    machine.poll()
    fail(machine, "g0/t", "g1/t", "g2/t")
    assert machine.status == "failed"
    feed(machine, "run.resumed", at=1.0)
    for number in range(3):
        assert wanted(machine) == [f"g{number}/t#2"]
        finish(machine, f"g{number}/t#2", at=1.0)

    assert machine.status == "succeeded"


@pytest.mark.parametrize(("succeeding", "items"), [(1, 5), (3, 10), (7, 10), (1, 3), (29, 100)])
def test_a_rate_of_success_is_reached_exactly(succeeding: int, items: int) -> None:
    value = ir.Expression("jinja", f"{{{{ 1 // (item < {succeeding}) }}}}")
    body = ir.Block((ir.Compute(name="c", value=value),))
    node = ir.ForEach(name="e", items=ir.Constant(list(range(items))), body=body)
    for more, status in ((0, "succeeded"), (0.001, "failed")):
        rate = succeeding / items + more
        assert begun(replace(node, min_success_rate=rate)).status == status


def ended(**fields: Any) -> Machine:
    """A run whose loop is at its limit."""
    body = ir.Block((ir.Compute(name="write", value=ir.Constant(1)),))
    machine = begun(ir.Loop(name="loop", body=body, until=FALSE, limits=ir.LoopLimits(2), **fields))
    machine.take_notes()
    return machine


def more(name: str = "", iterations: int = 1) -> Event:
    body: dict[str, Json] = {"iterations": iterations}
    return Event("run.continued", "", 1.0, body | ({"request": name} if name else {}))


def test_a_request_that_comes_twice_counts_once_also_after_a_crash() -> None:
    machine = ended()
    machine.feed(more("r-1"))
    machine.feed(more("r-1"))
    assert loop_of(machine)["count"] == 3
    machine.take_notes()

    machine = restored(machine)
    machine.feed(more("r-1"))

    assert loop_of(machine)["count"] == 3
    assert is_known(machine, more("r-1"))
    assert str(objection(machine, more("r-1"))) == "this request has been carried out already"
    assert objection(machine, more("r-2")) is None


def test_a_decision_does_not_answer_the_next_question() -> None:
    machine = ended(ask="at_limit")
    feed(machine, "gate.decided", "loop/:limit", 1.0, approved=True, request="r-1")
    assert machine.status == "succeeded"
    machine.feed(more("r-2"))
    assert machine.status == "waiting"

    for request, status in (("r-1", "waiting"), ("r-3", "succeeded")):
        feed(machine, "gate.decided", "loop/:limit", 1.0, approved=True, request=request)
        assert machine.status == status
