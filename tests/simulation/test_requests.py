"""Requests in every state, twice, at once and too late: one effect, one end, never an exception."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from campaign import seeds
from simulation.machines import RESERVE, feed, plan_with, wanted
from simulation.requests import pestered
from simulation.runs import check_end, plan_of
from simulation.world import World
from whorl import ir
from whorl.interpreter.events import Event
from whorl.interpreter.machine import Machine

if TYPE_CHECKING:
    from whorl.interpreter.plan import Plan

_CONTROLS = ("run.paused", "run.resumed", "run.cancelled", "run.continued", "run.accepted")


@pytest.mark.sample(4)
@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(200, 4_000))
def test_people_may_ask_for_anything_at_any_time(seed: int) -> None:
    plan = plan_of(seed, budgets=seed % 2 == 0, deliveries=True)
    for number in range(2):
        check_end(pestered(plan, seed, Random(seed * 10 + number)))


def _loop() -> Plan:
    body = ir.Block((ir.Task(name="write", kind="ask"),))
    loop = ir.Loop(name="loop", body=body, limits=ir.LoopLimits(2))
    return plan_with(loop, ir.Task(name="after", kind="ask", after=(ir.After("loop"),)))


def _begun() -> Machine:
    machine = Machine(_loop())
    feed(machine, "run.started")
    return machine


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
    machine = _begun()
    assert wanted(machine) == ["loop[1]/write"]
    feed(machine, "task.started", "loop[1]/write")
    feed(machine, "run.paused")

    assert [type(command).__name__ for command in machine.poll()] == ["Send"]


def test_a_task_that_is_wanted_twice_is_performed_once() -> None:
    machine = _begun()
    feed(machine, "run.paused")
    feed(machine, "run.resumed")

    assert [command.address for command in machine.poll()] == ["loop[1]/write"]


def test_an_intent_that_is_journaled_twice_is_sent_once() -> None:
    machine = _begun()
    assert wanted(machine) == ["loop[1]/write"]
    for _ in range(2):
        feed(machine, "task.started", "loop[1]/write", **RESERVE)

    assert [type(command).__name__ for command in machine.poll()] == ["Send"]
    assert machine.state["reserved"] == {"sent": 1, "calls": 1}


def test_a_decision_at_the_address_of_a_call_is_ignored() -> None:
    world = World(_loop(), 3)
    world.start()
    world.feed(Event("gate.decided", "loop[1]/write", 0.0, {"approved": True}))

    assert list(world.sent) == ["loop[1]/write"]
    assert "loop[1]/write" in world.machine.pending
