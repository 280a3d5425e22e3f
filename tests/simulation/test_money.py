"""A budget is a promise: it is never overspent, and what fits into it is done."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from campaign import seeds
from simulation.requests import with_more_money
from simulation.runs import check_limits, check_step, program, result
from simulation.world import World
from threats import tally
from whorl import ir
from whorl.interpreter.events import Event
from whorl.interpreter.plan import Plan
from whorl.interpreter.requests import objection

if TYPE_CHECKING:
    from whorl.interpreter.events import Perform
    from whorl.language import Json

pytestmark = pytest.mark.threat(row="T10")

ENDS = {"completed", "paused or ended"}
LEAST = 4
PRICE = 1 / 1024


@dataclass(slots=True)
class Market(World):
    """Calls of many prices; some answers are of open size, and use no more than they may.

    Unless the limit is ignored: then they cost up to what an answer of full length does.
    """

    is_open: bool = True
    ignores_limits: bool = False
    dearest: float = 0.0

    def intent(self, perform: Perform) -> dict[str, Json]:
        """What the call needs at least, and what its answer may cost beyond that."""
        luck = self.luck(perform.address)
        base = (1 + luck % 5) / 64
        body: dict[str, Json] = {"kind": perform.kind}
        body["reserve"] = {"calls": 1, "tokens": 10 + LEAST, "cost_usd": base + LEAST * PRICE}
        self.dearest = max(self.dearest, base + LEAST * PRICE)
        if luck % 2 and self.is_open:
            body["cap"] = {"least": LEAST, "most": 64, "usd_per_token": PRICE}
        if self.ignores_limits:
            body["at_worst"] = {"tokens": 10 + 64, "cost_usd": base + 64 * PRICE}
            self.dearest = max(self.dearest, base + 64 * PRICE)
        return body

    def answer(self, perform: Perform) -> Event:
        """The same answer as elsewhere, for some share of what was reserved."""
        event = World.answer(self, perform)
        held: Any = self.machine.held_for(perform.address)
        luck = self.luck(f"{perform.address} price")
        share = (luck % 9) / 8
        if "usage" in event.body:
            usage = {"calls": 1, "input_tokens": 10, "output_tokens": 0, "cost_usd": 0.0}
            usage["output_tokens"] = int((held.get("tokens", 10) - 10) * share)
            usage["cost_usd"] = held.get("cost_usd", 0.0) * share
            if self.ignores_limits:
                usage["cost_usd"] = self.intent(perform)["at_worst"]["cost_usd"] * share  # type: ignore[call-overload,index]
            event.body["usage"] = usage
        return event


def _wide(random: Random) -> Plan:
    """Many items at once, each a loop of its own."""
    write = ir.Task(name="write", kind="ask", retry=ir.Retry(0))
    done = ir.When(ir.Expression("jinja", "write > 4"))
    loop = ir.Loop(name="loop", body=ir.Block((write,)), until=done, limits=ir.LoopLimits(3))
    items = ir.ForEach(
        name="items",
        items=ir.Constant(list(range(random.randrange(2, 12)))),
        body=ir.Block((loop,)),
        concurrency=random.randrange(1, 12),
    )
    return Plan(ir.Workflow(name="wide", body=ir.Block((items,))))


def _at_rest(world: World, random: Random) -> None:
    tally("schedules")
    while not world.is_at_rest():
        world.happen(random.choice(world.choices()))
        check_step(world)
        check_limits(world)


def _ended_for_budget(world: World) -> list[str]:
    notes = [note for note in world.notes if note.kind == "loop.finished"]
    last = {note.address: note.body["exit_reason"] for note in notes}
    return [address for address, reason in last.items() if reason == "budget"]


def _keeps_its_promise(seed: int) -> str:
    random = Random(seed)
    plan = Plan(program(seed, budgets=False)) if seed % 2 else _wide(random)
    world = Market(plan, seed)
    budget = random.choice((0.05, 0.1, 0.2, 0.4, 0.8, 1.6))
    world.start(limits={"cost_usd": budget})
    _at_rest(world, random)
    state = world.machine.state
    if world.machine.done and not _ended_for_budget(world):
        return "completed"
    named = world.machine.status == "paused" or _ended_for_budget(world)
    assert named, "neither paused nor told which loops the budget ended"
    _give_more(world, random)

    assert state["usage"].get("cost_usd", 0) + world.dearest > budget - 1e-9, "it would have fitted"
    return "paused or ended"


def _give_more(world: World, random: Random) -> None:
    """With money for all, it comes to its end; no call that has finished is made again."""
    for _ in range(50):
        if world.machine.status == "paused":
            world.feed(with_more_money(world))
        else:
            event = Event("run.continued", "", world.now, {"cost_usd": 50})
            if objection(world.machine, event):
                return
            world.feed(event)
        _at_rest(world, random)
    raise AssertionError("it never comes to an end")


def _wide_world(seed: int, *, budget: float | None) -> Market:
    random = Random(seed)
    world = Market(_wide(random), seed, is_open=False)
    world.start(limits={} if budget is None else {"cost_usd": budget})
    _at_rest(world, random)
    return world


@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(60, 1_000))
def test_what_costs_less_than_the_budget_is_completed(seed: int) -> None:
    """Side by side, too: the true cost and the largest reservation are all that must fit."""
    free = _wide_world(seed, budget=None)
    cost = free.machine.state["usage"].get("cost_usd", 0)
    just_enough = _wide_world(seed, budget=cost + free.dearest)
    too_little = _wide_world(seed, budget=cost * 0.5)

    assert not _ended_for_budget(just_enough)
    assert result(just_enough) == result(free)
    assert not cost or too_little.machine.status == "paused" or _ended_for_budget(too_little)


@pytest.mark.parametrize("seed", range(60))
def test_servers_that_ignore_limits_overspend_by_one_call_at_most(seed: int) -> None:
    random = Random(seed)
    world = Market(_wide(random), seed, ignores_limits=True)
    budget = random.choice((0.1, 0.2, 0.4))
    world.start(limits={"cost_usd": budget})
    while not world.is_at_rest():
        world.happen(random.choice(world.choices()))
        check_step(world)

        assert world.machine.state["usage"].get("cost_usd", 0) <= budget + world.dearest


@pytest.mark.sample(2)
@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(200, 5_000))
def test_a_budget_is_never_overspent_and_what_fits_is_done(seed: int) -> None:
    assert _keeps_its_promise(seed) in ENDS


def test_some_of_these_budgets_suffice_and_some_do_not() -> None:
    assert {_keeps_its_promise(seed) for seed in range(40)} == ENDS
