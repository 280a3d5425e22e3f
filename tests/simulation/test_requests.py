"""Requests in every state, twice, at once and too late: one effect, one end, never an exception."""

from __future__ import annotations

from random import Random

import pytest

from campaign import seeds
from simulation.requests import pestered
from simulation.runs import check_end, plan_of
from simulation.world import World
from whorl import ir
from whorl.interpreter.events import Event
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan

_CONTROLS = ("run.paused", "run.resumed", "run.cancelled", "run.continued", "run.accepted")


@pytest.mark.sample(4)
@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(200, 4_000))
def test_people_may_ask_for_anything_at_any_time(seed: int) -> None:
    plan = plan_of(seed, budgets=seed % 2 == 0, deliveries=True)
    for number in range(2):
        check_end(pestered(plan, seed, Random(seed * 10 + number)))


def _loop(**fields: object) -> Plan:
    write = ir.Task(name="write", kind="ask")
    limits = ir.LoopLimits(2)
    loop = ir.Loop(name="loop", body=ir.Block((write,)), limits=limits, **fields)  # type: ignore[arg-type]
    after = ir.Task(name="after", kind="ask", after=(ir.After("loop"),))
    return Plan(ir.Workflow(name="w", body=ir.Block((loop, after))))


def _ended(plan: Plan) -> World:
    world = World(plan, 3)
    world.start()
    while not world.is_at_rest():
        world.happen(world.choices()[0])
    return world


@pytest.mark.parametrize("kind", _CONTROLS)
def test_a_cancelled_run_stays_cancelled(kind: str) -> None:
    world = World(_loop(), 3)
    world.start()
    world.feed(Event("run.cancelled", "", 0.0))
    world.feed(Event(kind, "", 0.0, {"iteration": 1, "iterations": 1}))

    assert world.machine.status == "cancelled"
    ends = [note.body for note in world.notes if note.kind == "run.finished"]
    assert all(end == ends[0] for end in ends)


def test_a_pause_between_intent_and_call_loses_neither() -> None:
    machine = Machine(_loop())
    machine.feed(Event("run.started", "", 0.0, {}))
    (perform,) = machine.poll()
    machine.feed(Event("task.started", perform.address, 0.0, {}))
    machine.feed(Event("run.paused", "", 0.0))

    assert [type(command).__name__ for command in machine.poll()] == ["Send"]


def test_a_task_that_is_wanted_twice_is_performed_once() -> None:
    machine = Machine(_loop())
    machine.feed(Event("run.started", "", 0.0, {}))
    machine.feed(Event("run.paused", "", 0.0))
    machine.feed(Event("run.resumed", "", 0.0))

    assert [command.address for command in machine.poll()] == ["loop[1]/write"]


def test_an_intent_that_is_journaled_twice_is_sent_once() -> None:
    machine = Machine(_loop())
    machine.feed(Event("run.started", "", 0.0, {}))
    (perform,) = machine.poll()
    intent = Event("task.started", perform.address, 0.0, {"reserve": {"calls": 1}})
    machine.feed(intent)
    machine.feed(intent)

    assert [type(command).__name__ for command in machine.poll()] == ["Send"]
    assert machine.state["reserved"] == {"sent": 1, "calls": 1}


def test_a_decision_at_the_address_of_a_call_is_ignored() -> None:
    world = World(_loop(), 3)
    world.start()
    world.feed(Event("gate.decided", "loop[1]/write", 0.0, {"approved": True}))

    assert list(world.sent) == ["loop[1]/write"]
    assert "loop[1]/write" in world.machine.pending


def test_continuing_twice_at_a_limit_gives_both_what_they_asked_for() -> None:
    world = _ended(_loop(until=ir.When(ir.Expression("jinja", "false"))))
    world.feed(Event("run.continued", "", 0.0, {"iterations": 1}))
    world.feed(Event("run.continued", "", 0.0, {"iterations": 1}))
    while not world.is_at_rest():
        world.happen(world.choices()[0])

    (loop,) = [frame for frame in world.machine.frames.values() if frame["kind"] == "loop"]
    assert loop["count"] == 4


def test_continuing_twice_by_one_request_gives_what_was_asked_for_once() -> None:
    world = _ended(_loop(until=ir.When(ir.Expression("jinja", "false"))))
    for _ in range(2):
        world.feed(Event("run.continued", "", 0.0, {"iterations": 1, "request": "r-1"}))
        world.crash(from_snapshot=False)
    while not world.is_at_rest():
        world.happen(world.choices()[0])

    (loop,) = [frame for frame in world.machine.frames.values() if frame["kind"] == "loop"]
    assert loop["count"] == 3
