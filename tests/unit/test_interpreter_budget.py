"""Budgets at their very limits: what fits exactly fits, and sums are exact to NOTHING."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simulation import machines
from simulation.machines import feed
from whorl import ir
from whorl.interpreter import budget
from whorl.interpreter.budget import NOTHING
from whorl.interpreter.constructs import task
from whorl.interpreter.events import Send

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine


def begun(*names: str, **limits: Any) -> Machine:
    """A run with a budget whose tasks all want to be sent at once."""
    tasks = (ir.Task(name=name, kind="ask") for name in names or ("a",))
    machine = machines.begun(*tasks, limits=ir.RunLimits(**limits))
    machine.poll()
    return machine


def send(machine: Machine, name: str = "a", **reserve: Any) -> list[str]:
    """The addresses of the calls that are sent when one wants so much."""
    feed(machine, "task.started", name, reserve=reserve)
    return machines.sent(machine)


def finish(machine: Machine, name: str = "a", **usage: Any) -> list[str]:
    """What is said when a call has used so much."""
    machine.take_notes()
    feed(machine, "task.finished", name, 1.0, value="x", usage={"calls": 1, **usage})
    return [str(n.body["message"]) for n in machine.take_notes() if n.kind == "warning"]


@pytest.mark.parametrize(
    ("limits", "reserve", "is_sent"),
    [
        ({"calls": 1}, {"calls": 1}, True),
        ({"calls": 1}, {"calls": 2}, False),
        ({"tokens": 100}, {"tokens": 100}, True),
        ({"tokens": 100}, {"tokens": 101}, False),
        ({"cost_usd": 0.3}, {"cost_usd": 0.1 + 0.2}, True),
        ({"cost_usd": 0.3}, {"cost_usd": 0.300001}, False),
        ({"cost_usd": 0.0}, {"cost_usd": NOTHING}, True),
        ({"cost_usd": 0.0}, {"cost_usd": 2 * NOTHING}, False),
    ],
)
def test_a_call_that_uses_up_a_budget_exactly_is_sent(
    limits: dict[str, Any], reserve: dict[str, Any], is_sent: bool
) -> None:
    machine = begun(**limits)

    assert send(machine, **reserve) == (["a"] if is_sent else [])
    assert machine.status == ("running" if is_sent else "paused")


@pytest.mark.parametrize(("amount", "more"), [(NOTHING, set()), (2 * NOTHING, {"cost_usd"})])
def test_a_budget_that_lacks_nothing_is_not_raised(amount: float, more: set[str]) -> None:
    machine = begun(cost_usd=0.0)

    assert set(budget.lacking(machine, None, {"cost_usd": amount})) == more


@pytest.mark.parametrize(("amount", "rest"), [(NOTHING, 0), (2 * NOTHING, 2 * NOTHING)])
def test_what_stays_of_reservations_is_exact(amount: float, rest: float) -> None:
    machine = begun("a", "b", cost_usd=1.0)
    assert send(machine, "a", cost_usd=amount) == ["a"]
    assert send(machine, "b", cost_usd=amount) == ["b"]
    assert machine.state["reserved"] == {"sent": 2, "cost_usd": 2 * amount}
    finish(machine, "a")

    assert machine.state["reserved"] == {"sent": 1, "cost_usd": rest}


def test_so_many_calls_without_an_answer_are_remembered() -> None:
    """Those that nobody waits for any more, and those that were not answered."""
    machine = begun(cost_usd=1.0)
    send(machine, calls=1)
    frame: Any = next(f for f in machine.task_frames.values() if f["kind"] == "task")
    unanswered: Any = {"base": "a", "key": "k", "inputs": {}}
    for name, old, most, leave, leaving, field in (
        ("abandoned", {"loops": [], "usage": {}}, budget._ABANDONED_MAX, budget.abandon, frame,
         "address"),
        ("unanswered", ["k", "m", None], task._UNANSWERED_MAX, task.leave_key, unanswered,
         "base"),
    ):  # fmt: skip
        kept: Any = {f"old{number}": old for number in range(most - 1)}
        machine.state[name] = kept  # type: ignore[literal-required]
        leave(machine, leaving)
        assert (len(kept), "old0" in kept) == (most, True)
        leave(machine, leaving | {field: "b"})
        assert (len(kept), "old0" in kept) == (most, False)


@pytest.mark.parametrize("is_outer", [False, True], ids=["its own", "of the loop around"])
def test_the_calls_of_a_loop_share_its_budget(is_outer: bool) -> None:
    """The tasks that are waited for count, also those that are not sent yet, and no waits."""
    tasks = [ir.Task(name=name, kind="ask") for name in "abc"]
    wait = ir.Wait(name="w", duration=ir.Constant(60))
    limits = ir.LoopLimits(tokens=300), ir.LoopLimits()
    own, around = reversed(limits) if is_outer else limits
    inner = ir.Loop(name="l", body=ir.Block((*tasks, wait)), limits=own)
    outer = ir.Loop(name="o", body=ir.Block((inner,)), limits=around)
    machine = machines.begun(outer)
    machine.poll()

    def cap_of(name: str) -> int | None:
        cap = {"least": 10, "most": 9_999}
        feed(machine, "task.started", f"o[1]/l[1]/{name}", reserve={"tokens": 10}, cap=cap)
        (sent,) = (command for command in machine.poll() if isinstance(command, Send))
        return sent.cap

    assert cap_of("a") == 300 / 3
    finish(machine, "o[1]/l[1]/a", output_tokens=60)
    assert cap_of("b") == (300 - 60) / 2
    finish(machine, "o[1]/l[1]/b", output_tokens=40)
    assert cap_of("c") == 300 - 60 - 40
