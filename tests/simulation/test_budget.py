"""Budgets with many branches at once, in any order, with crashes in between."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from simulation.runs import check_end, check_limits
from simulation.world import RESERVE, World
from threats import tally
from whorl import ir
from whorl.interpreter.events import Event
from whorl.interpreter.plan import Plan

if TYPE_CHECKING:
    from whorl.interpreter.events import Perform

pytestmark = pytest.mark.threat(row="T10")

BUDGETS = ({"calls": 10}, {"tokens": 200}, {"cost_usd": 0.5})
SCHEDULES = 12


def _plan(branches: int, budget: dict[str, Any], *, in_loop: bool) -> Plan:
    """Many items that each ask twice; the budget is the run's, or that of a loop around them."""
    steps = tuple(
        ir.Task(name=name, kind="ask", after=after, retry=ir.Retry(0))
        for name, after in (("one", ()), ("two", (ir.After("one", ("succeeded", "failed")),)))
    )
    items = ir.ForEach(
        name="items",
        items=ir.Constant(list(range(branches))),
        body=ir.Block(steps),
        concurrency=branches,
    )
    if not in_loop:
        limits = ir.RunLimits(**budget)
        return Plan(ir.Workflow(name="w", body=ir.Block((items,)), limits=limits))
    loop = ir.Loop(name="loop", body=ir.Block((items,)), limits=ir.LoopLimits(50, **budget))
    return Plan(ir.Workflow(name="w", body=ir.Block((loop,))))


def _run(world: World, random: Random, *, crashes: float = 0.0) -> None:
    world.start()
    tally("schedules")
    for _ in range(2_000):
        if world.is_at_rest():
            return
        if random.random() < crashes:
            world.crash(from_snapshot=False)
        else:
            world.happen(random.choice(world.choices()))
        check_limits(world)
    raise AssertionError("the run does not end")


@pytest.mark.sample(4)
@pytest.mark.parametrize("branches", [1, 8, 64, 256])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("in_loop", [False, True], ids=["run", "loop"])
def test_what_is_reserved_is_never_overspent(
    branches: int, budget: dict[str, Any], in_loop: bool
) -> None:
    plan = _plan(branches, budget, in_loop=in_loop)
    for seed in range(SCHEDULES if branches < 256 else 1):
        world = World(plan, seed)
        _run(world, Random(seed))
        check_end(world)
        assert world.machine.done == _has_result(world) or branches == 1


def _has_result(world: World) -> bool:
    """Whether there is a loop with an iteration to return."""
    return any(f["kind"] == "loop" and "last" in f for f in world.machine.frames.values())


@pytest.mark.parametrize("branches", [1, 8, 64])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_crashes_lose_no_money_and_find_none(branches: int, budget: dict[str, Any]) -> None:
    plan = _plan(branches, budget, in_loop=False)
    for seed in range(SCHEDULES // 2):
        world = World(plan, seed)
        _run(world, Random(seed), crashes=0.1)
        check_end(world)


@dataclass(slots=True)
class Greedy(World):
    """A provider whose calls use three times what was reserved."""

    flight: dict[str, float] = field(default_factory=dict)

    def answer(self, perform: Perform) -> Event:
        """Replies, and says what the calls in flight will use beyond their reservations."""
        usage: Any = {"calls": 1, "input_tokens": 40, "output_tokens": 20, "cost_usd": 0.1875}
        return Event("task.finished", perform.address, self.now, {"value": 1, "usage": usage})


@pytest.mark.parametrize("branches", [1, 8])
@pytest.mark.parametrize("budget", BUDGETS[1:], ids=str)
def test_overspending_is_limited_to_the_calls_in_flight(
    branches: int, budget: dict[str, Any]
) -> None:
    """With one branch that is one call; nothing else is sent once the budget is used up."""
    world = Greedy(_plan(branches, budget, in_loop=False), 1)
    world.start()
    while not world.is_at_rest():
        world.happen(world.choices()[0])
    name, limit = next(iter(budget.items()))
    usage = world.machine.state["usage"]
    tokens = usage["input_tokens"] + usage["output_tokens"]
    spent = tokens if name == "tokens" else usage["cost_usd"]
    excess = 2 * float(str(RESERVE[name]))

    assert spent <= limit + branches * excess


@dataclass(slots=True)
class Lying(World):
    """A provider whose usage figures make no sense."""

    def answer(self, perform: Perform) -> Event:
        """Replies with nonsense."""
        odd = (-5, float("nan"), float("-inf"), "many", None, True)
        luck = self.luck(perform.address)
        usage: Any = {
            "calls": odd[luck % 6],
            "input_tokens": odd[luck % 5],
            "cost_usd": odd[luck % 4],
        }
        return Event("task.finished", perform.address, self.now, {"value": 1, "usage": usage})

    def account(self, address: str, event: Event) -> None:
        """Nonsense counts as nothing."""


def test_nonsense_cannot_lower_what_was_spent() -> None:
    world = Lying(_plan(8, {"calls": 100}, in_loop=False), 5)
    _run(world, Random(5))

    assert all(amount >= 0 for amount in world.machine.state["usage"].values())
    assert world.machine.done
