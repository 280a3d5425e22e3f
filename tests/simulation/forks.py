"""Forks of runs that have ended or were stopped, at any of their iterations, and forks of those."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from conformance.person import fork_run
from simulation.runs import check_step
from simulation.world import World
from whorl.interpreter.events import FED_KINDS, numbered, split_iteration
from whorl.interpreter.machine import Machine
from whorl.ir import content_hash, to_json
from whorl.runtimes.journal.folding import Replay, fold
from whorl.runtimes.journal.forking import Fork, look_into
from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.runtimes.simulated import MemoryJournal

if TYPE_CHECKING:
    from random import Random

    from whorl.interpreter.events import Event
    from whorl.interpreter.plan import Plan


_REPLIES = ("task.finished", "task.failed")


class Forked:
    """A run that was made from another one, ready to be driven as often as one likes."""

    def __init__(self, journal: MemoryJournal, run: RunId, plan: Plan, now: float) -> None:
        self.journal = journal
        self.run = run
        self._plan = plan
        self._now = now
        self.events = [entry.event for entry in journal.read(run)]

    def world(self, seed: int) -> World:
        """The run in a world where the calls of its source were never made."""
        world = World(self._plan, seed, now=self._now)
        folded = fold(self.journal, self.run, self._plan)
        world.fed = [event for event in self.events if event.kind in FED_KINDS]
        world.notes = [event for event in self.events if event.kind not in FED_KINDS]
        # What follows its first steps, whoever drives it writes.
        world.notes += folded.unsaid
        world.settled = {event.address for event in world.fed if event.kind in _REPLIES}
        world.adopt(folded.machine)
        check_step(world)
        return world


def journal_of(world: World, plan: Plan) -> tuple[MemoryJournal, RunId]:
    """The journal of a run that began in a world."""
    machine = Machine(plan)
    events: list[Event] = []
    for event in world.fed:
        machine.feed(event)
        events += [event, *machine.take_notes()]
    return _stored(RunId("r"), events, plan)


def _stored(run: RunId, events: list[Event], plan: Plan) -> tuple[MemoryJournal, RunId]:
    journal = MemoryJournal()
    workflow = plan.workflow
    made = NewRun(
        run, to_json(workflow), content_hash(to_json(workflow)), workflow.name, workflow.dialect
    )
    asyncio.run(journal.create(made, *events))
    return journal, run


def forked(
    journal: MemoryJournal, source: RunId, plan: Plan, now: float, random: Random
) -> Forked | None:
    """A fork at any iteration; None: there is none."""
    begun = [e.event for e in journal.read(source) if e.event.kind == "iteration.started"]
    if not begun:
        return None
    at = random.choice(begun).address
    values: dict[str, Any] = random.choice(({}, {"carried": 7}, {"total": 7}))
    run = RunId(f"{source}f")
    fork = Fork(at, values)
    asyncio.run(fork_run(journal, source, fork, run=run, now=now))
    found = Forked(journal, run, plan, now)
    _check_past(journal, source, found, at)
    _check_replay(journal, run, plan)
    return found


def _check_past(journal: MemoryJournal, source: RunId, found: Forked, at: str) -> None:
    """Before the fork, the journal is that of the source, up to the iteration."""
    index = max(i for i, event in enumerate(found.events) if event.kind == "run.forked")
    past, own = found.events[:index], found.events[index + 1 :]
    theirs = [entry.event for entry in journal.read(source)]
    for kinds in (FED_KINDS, frozenset({"iteration.finished"})):
        mine = [event for event in past if event.kind in kinds]
        known = [event for event in theirs if event.kind in kinds]
        assert mine == known[: len(mine)], "the past is not that of the source"
    begun = [event.address for event in past if event.kind == "iteration.started"]
    first = next(event for event in own if event.kind in ("iteration.started", "loop.finished"))
    loop, _ = split_iteration(at)
    assert first.address in (at, loop), f"{first.address} is the first of the fork at {at}"
    assert begun == [e.address for e in theirs if e.kind == "iteration.started"][: len(begun)]


def _check_replay(journal: MemoryJournal, run: RunId, plan: Plan) -> None:
    """From its start the journal leads to the state that was stored with it."""
    replay = Replay(journal, run, plan)
    for entry in journal.read(run):
        replay.take(entry)
    replay.finish()
    assert replay.folded.machine.snapshot() == fold(journal, run, plan).machine.snapshot()
    # Whoever drives it goes on where its first steps end.
    assert len(replay.folded.unsaid) >= replay.folded.journaled


def check_notes(notes: list[Event]) -> None:
    """Nothing uses less than nothing.

    Only its calls are looked at in an iteration: the reply to a call that was given up in the one
    before takes back what was charged too much for it.
    """
    for note in notes:
        usage: Any = note.body.get("usage") or {}
        names = ("calls", "in_doubt") if note.kind == "iteration.finished" else tuple(usage)
        assert all(usage.get(name, 0) >= 0 for name in names), note


def check_results(journal: MemoryJournal, run: RunId) -> None:
    """What every iteration gave that went through can be found, also those of the source."""
    done = {
        numbered(*split_iteration(entry.event.address))  # type: ignore[arg-type]
        for entry in journal.read(run)
        if entry.event.kind == "iteration.finished" and entry.event.body["status"] == "succeeded"
    }
    assert set(look_into(journal, run, frozenset(done))) == done


def stored_as_it_went(found: Forked, world: World) -> tuple[MemoryJournal, RunId]:
    """The journal of a fork that was driven in a world."""
    machine = fold(found.journal, found.run).machine
    events = list(found.events)
    known = sum(event.kind in FED_KINDS for event in events)
    for event in world.fed[known:]:
        machine.feed(event)
        events += [event, *machine.take_notes()]
    return _stored(found.run, events, world.plan)
