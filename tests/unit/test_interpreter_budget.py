"""Budgets at their very limits: what fits exactly is sent, and few ended calls are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simulation import machines
from simulation.machines import feed
from whorl import ir
from whorl.interpreter import budget
from whorl.interpreter.budget import NOTHING
from whorl.interpreter.constructs import task

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
