"""The pilot journals what a driver journals, and goes on from a state with the same hash."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from journals.recorded import read
from simulation.programs import Programs
from simulation.world import World
from whorl import ir
from whorl.interpreter.events import FED_KINDS, Cancel, Event, SetTimer
from whorl.interpreter.plan import Plan
from whorl.runtimes.journal import RunId
from whorl.runtimes.pilot import Arrival, Call, Pilot
from whorl.runtimes.sealing import opened

if TYPE_CHECKING:
    from collections.abc import Iterable

JOURNALS = sorted((Path(__file__).parents[1] / "journals").glob("v*/*.json"))
PROGRAMS = 100


def _journaled(events: Iterable[Event]) -> tuple[list[str], list[str]]:
    """What was fed, and what the machine said, each in its order."""
    fed, notes = [], []
    for event in events:
        (fed if event.kind in FED_KINDS else notes).append(f"{event.kind} {event.address}")
    return fed, notes


def test_stored_journals_come_out_as_they_went_in() -> None:
    journals = [read(file.read_text(encoding="utf-8")) for file in JOURNALS]
    tried = 0
    for recorded in journals:
        journal, run = recorded.journal(), RunId(recorded.run)
        entries = [entry.event for entry in journal.read(run)]
        # What came before a fork, or in the midst of work, does not come so on a cluster.
        if any(e.kind in ("run.forked", "run.exhausted") or "step" in e.body for e in entries):
            continue
        pilot = Pilot(Plan(ir.from_json(recorded.workflow)))
        for event in entries:
            if event.kind in FED_KINDS:
                pilot.arrive(opened(event, run, journal.seals))
                pilot.commands()

        assert _journaled(entries) == _journaled(pilot.take_entries()), recorded.case
        assert pilot.seq == len(entries)
        tried += 1
    assert tried > len(journals) // 2


def _events(seed: int) -> tuple[Plan, list[Event]]:
    """A random program, and what happens in a run of it."""
    world = World(Plan(Programs(Random(seed), budgets=True).workflow()), seed)
    world.start()
    while not world.machine.done and (choices := world.choices()) and len(world.fed) < 200:
        world.happen(choices[0])
    return world.plan, world.fed


@pytest.mark.campaign
def test_a_pilot_that_goes_on_from_a_state_has_the_same_hash() -> None:
    for seed in range(PROGRAMS):
        plan, events = _events(seed)
        whole, first = Pilot(plan), Pilot(plan)
        half = len(events) // 2
        for event in events:
            whole.arrive(event)
        for event in events[:half]:
            first.arrive(event)
        state = first.machine.snapshot()
        second = Pilot(plan, state, seq=first.seq, digest=first.digest, pins=first.pins)
        for event in events[half:]:
            second.arrive(event)

        entries = first.take_entries() + second.take_entries()
        assert whole.take_entries() == entries, seed
        assert (whole.seq, whole.digest) == (second.seq, second.digest)
        assert len(whole.digest) == 16


def _pilot(*nodes: ir.Node) -> Pilot:
    pilot = Pilot(Plan(ir.Workflow(name="w", body=ir.Block(nodes))))
    pilot.arrive(Event("run.started", "", 10.0, {"run": "r", "seed": "s", "input": {}}))
    return pilot


def test_what_came_together_is_fed_in_the_order_in_which_it_was_begun() -> None:
    pilot = _pilot(ir.Task(name="a", kind="ask"), ir.Task(name="b", kind="ask"))
    wanted, _ = pilot.commands()
    assert [perform.address for perform in wanted] == ["a", "b"]
    for perform in wanted:
        pilot.arrive(Event("task.started", perform.address, 11.0, {"kind": "ask"}))
    _, calls = pilot.commands()
    assert [call.perform.address for call in calls if isinstance(call, Call)] == ["a", "b"]

    replies = [Event("task.finished", name, 12.0, {"value": name}) for name in "ba"]
    pilot.take_entries()
    pilot.arrive_together([Arrival(2, replies[0]), Arrival(1, replies[1])])

    finished = [e.address for e in pilot.take_entries() if e.kind == "task.finished"]
    assert finished == ["a", "b"]


def test_a_timer_that_was_set_anew_at_the_same_time_does_not_fire() -> None:
    pilot = _pilot(ir.Wait(name="w", duration=ir.Constant(5)))
    _, [timer] = pilot.commands()
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
    wanted, others = pilot.commands()

    assert wanted == []
    assert [type(command) for command in others] in ([], [Cancel])


def test_pins_of_tools_are_kept_as_they_were_first_told() -> None:
    pilot = _pilot(ir.Task(name="a", kind="ask"), ir.Task(name="b", kind="ask"))
    for name, pin in (("a", "first"), ("b", "second")):
        pilot.arrive(Event("task.finished", name, 12.0, {"value": 1, "tool": "t", "pin": pin}))

    assert pilot.pins == {"t": "first"}
