"""The pilot: it goes on from a state with the same hash, and begins what nobody has begun."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from simulation.programs import Programs
from simulation.world import World
from whorl import ir
from whorl.interpreter.events import Cancel, Event, SetTimer
from whorl.interpreter.plan import Plan
from whorl.runtimes.replay_core import Arrival, PureDriver, ReadyCall

if TYPE_CHECKING:
    from whorl.language import Json

PROGRAMS = 100


def _events(seed: int) -> tuple[Plan, list[Event]]:
    """A random program, and what happens in a run of it."""
    world = World(Plan(Programs(Random(seed), budgets=True).workflow()), seed)
    world.start()
    while not world.machine.done and (choices := world.choices()) and len(world.fed) < 200:
        world.happen(choices[0])
    return world.plan, world.fed


@pytest.mark.campaign
def test_a_pilot_that_starts_from_a_state_has_the_same_hash() -> None:
    for seed in range(PROGRAMS):
        plan, events = _events(seed)
        whole, first = PureDriver(plan), PureDriver(plan)
        half = len(events) // 2
        for event in events:
            whole.arrive(event)
        for event in events[:half]:
            first.arrive(event)
        state = first.machine.snapshot()
        second = PureDriver(plan, state, seq=first.seq, digest=first.digest, pins=first.pins)
        for event in events[half:]:
            second.arrive(event)

        entries = first.take_entries() + second.take_entries()
        assert whole.take_entries() == entries, seed
        assert (whole.seq, whole.digest) == (second.seq, second.digest)
        assert len(whole.digest) == 16


def _pilot(
    *nodes: ir.Node, effects: dict[str, int] | None = None, limits: dict[str, Json] | None = None
) -> PureDriver:
    pilot = PureDriver(Plan(ir.Workflow(name="w", body=ir.Block(nodes))), effects=effects)
    body: dict[str, Json] = {"run": "r", "seed": "s", "input": {}, "limits": limits or {}}
    pilot.arrive(Event("run.started", "", 10.0, body))
    return pilot


def test_a_timer_that_was_replaced_at_the_same_time_does_not_fire() -> None:
    pilot = _pilot(ir.Wait(name="w", duration=ir.Constant(5)))
    _, [timer] = pilot.commands(0.0)
    assert isinstance(timer, SetTimer)

    fired = Event("timer.fired", timer.address, timer.due)
    before = pilot.seq
    pilot.arrive_together([Arrival(1, fired, due=timer.due - 1)])
    assert pilot.seq == before
    pilot.arrive_together([Arrival(1, fired, due=timer.due)])
    assert pilot.machine.status == "succeeded"


def test_a_call_that_was_cancelled_before_its_intent_is_not_wanted() -> None:
    pilot = _pilot(ir.Task(name="a", kind="ask"))
    pilot.arrive(Event("run.cancelled", "", 11.0, {}))
    wanted, others = pilot.commands(0.0)

    assert wanted == []
    assert [type(command) for command in others] in ([], [Cancel])


def test_pins_of_tools_are_kept_as_first_described() -> None:
    pilot = _pilot(ir.Task(name="a", kind="ask"), ir.Task(name="b", kind="ask"))
    for name, pin in (("a", "first"), ("b", "second")):
        pilot.arrive(Event("task.finished", name, 12.0, {"value": 1, "tool": "t", "pin": pin}))

    assert pilot.pins == {"t": "first"}


ASK, USE = ir.Task(name="a", kind="ask"), ir.Task(name="u", kind="use")


def test_what_is_secure_stays_out_of_an_intent() -> None:
    pilot = _pilot(replace(ASK, secure=True), effects={"ask": 1})
    pilot.commands(11.0)

    [intent] = [e for e in pilot.take_entries() if e.kind == "task.started"]
    assert "inputs" not in intent.body


def test_a_pilot_that_is_full_begins_nothing_and_the_next_one_does() -> None:
    pilot = _pilot(ASK, USE, effects={"ask": 1})
    assert pilot.commands(11.0, is_full=True) == ([], [])

    after = PureDriver(pilot.machine.plan, pilot.machine.snapshot(), effects={"ask": 1})
    wanted, others = after.commands(12.0)
    assert [perform.address for perform in wanted] == ["u"]
    assert [each.perform.address for each in others if isinstance(each, ReadyCall)] == ["a"]


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("is_paused", [False, True])
def test_the_next_owner_sends_what_a_budget_held_back(is_full: bool, is_paused: bool) -> None:
    pilot = _pilot(*(replace(ASK, name=name) for name in "abc"), limits={"cost_usd": 1})
    body: dict[str, Json] = {"reserve": {"cost_usd": 0.1}, "at_worst": {"cost_usd": 1}}
    for perform in pilot.commands(0.0)[0]:
        pilot.arrive(Event("task.started", perform.address, 11.0, body))
    assert [perform.address for perform, _ in pilot.commands(0.0)[1]] == ["a"]  # type: ignore[misc]

    after = PureDriver(pilot.machine.plan, pilot.machine.snapshot())
    after.take_over(12.0)
    if is_paused:
        after.arrive(Event("run.paused", "", 12.0, {}))
    wanted, others = after.commands(12.0, is_full=is_full)

    assert [each.perform.address for each in others if isinstance(each, ReadyCall)] == ["b"]
    asked = [perform.address for perform in wanted]
    assert asked == ([] if is_full or is_paused else ["c", "a"])
    doubts = [entry.address for entry in after.take_entries() if entry.kind == "task.in_doubt"]
    assert doubts == ["a"]
