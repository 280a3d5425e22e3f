"""A run is a fold over its journal: rebuilding a machine, as it is now or as it was, and forking.

A fork is a new run that keeps the iterations before one of another run, and redoes that one.
"""

from __future__ import annotations

import json
import math
import secrets
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from whorl.errors import StoreError, UsageError, did_you_mean
from whorl.interpreter.events import FED_KINDS, Event, numbered, split_iteration
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.ir import Workflow, content_hash, from_json, to_json
from whorl.runtimes.journal import Entry, Journal, NewRun, RunId, records_in
from whorl.runtimes.keys import CODE
from whorl.runtimes.sealing import hide, opened, opened_state, redaction_of, sealed, sealed_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.language import Json
    from whorl.runtimes.keys import Seals


T = TypeVar("T")


@dataclass(slots=True)
class Folded:
    """A machine, the seq that it stands after, and what it said that is not in the journal yet.

    Without `seals` it was fed what people see of the run's secrets.
    """

    machine: Machine
    seq: int
    run: RunId
    seals: Seals | None
    unsaid: list[Event] = field(default_factory=list)
    # What it said between the beginning of the iteration that it stopped at and its stop.
    late: list[Event] = field(default_factory=list)


def fold(
    journal: Journal, run: RunId, plan: Plan | None = None, *, to_drive: bool = False
) -> Folded:
    """The machine as the journal leaves it, from its newest snapshot on.

    It is for people to look at, so it tells no secrets, unless it is `to_drive` the run: that
    needs them. Raises StoreError R909 where they cannot be had.
    """
    plan = plan or Plan(from_json(journal.workflow(run)))
    if to_drive:
        return _fold(journal, run, plan, journal.seals)
    folded = _as_far_as_open(journal, lambda seals: _fold(journal, run, plan, seals))
    hide(folded.machine)
    return folded


def _as_far_as_open(journal: Journal, look: Callable[[Seals | None], T]) -> T:
    """What there is to see, with the key; without it, with what people see of secrets."""
    try:
        return look(journal.seals)
    except StoreError as fault:
        if fault.code != CODE:
            raise
        return look(None)


def _fold(journal: Journal, run: RunId, plan: Plan, seals: Seals | None) -> Folded:
    stored = _stored(journal, run, seals)
    if stored is None:
        replay = Replay(journal, run, plan, seals=seals)
        folded, take_next = replay.folded, replay.take
    else:
        folded = Folded(Machine.restore(plan, stored[1]), stored[0], run, seals)
        take_next = partial(take, folded)
    journaled = sum(map(take_next, journal.read(run, after=folded.seq)))
    folded.unsaid = folded.unsaid[journaled:]
    folded.machine.recover()
    return folded


def take(folded: Folded, entry: Entry) -> int:
    """Feeds one entry; gives 1 for a note, which the machine has said by itself before."""
    if entry.seq != folded.seq + 1:
        raise StoreError(f"the journal has a gap before entry {entry.seq}", code="R903")
    folded.seq = entry.seq
    if entry.event.kind not in FED_KINDS:
        return 1
    machine = folded.machine
    machine.feed(opened(entry.event, folded.run, folded.seals))
    machine.poll()
    notes = machine.take_notes()
    if machine.stopped_at:
        # The fork that follows begins this iteration, and says so.
        index = next(i for i, note in enumerate(notes) if begins(note, machine.stopped_at))
        folded.late = notes[index + 1 :]
        del notes[index]
    folded.unsaid.extend(notes)
    return 0


def begins(event: Event, iteration: str) -> bool:
    return event.address == iteration and event.kind == "iteration.started"


class Replay:
    """A journal from its start or a stored snapshot on, until the iteration `until` begins.

    The journal of a fork opens with what its source did, under the workflow of the source, up to
    the beginning of the iteration that the fork redoes. Each part ends with a `run.forked`.
    """

    def __init__(
        self,
        journal: Journal,
        run: RunId,
        plan: Plan | None = None,
        *,
        until: str = "",
        seals: Seals | None = None,
        stored: tuple[int, str] | None = None,
    ) -> None:
        plan = plan or Plan(from_json(journal.workflow(run)))
        self._forks: list[Event] = []
        self._part = 0
        first = next(iter(journal.read(run)), None)
        if first is not None and first.event.body.get("run", run) != run:
            # The journal of a run that is no fork starts with its own name.
            forks = list(journal.read(run, kinds=frozenset({"run.forked"})))
            self._forks = [entry.event for entry in forks]
            self._part = sum(entry.seq <= stored[0] for entry in forks) if stored else 0
        plans = [plan]
        for fork in reversed(self._forks):
            plans.append(_plan_before(journal, fork) or plans[-1])
        self._plans = plans[::-1]
        self._until = until
        self.folded = Folded(Machine(self._plans[0]), 0, run, seals)
        if stored is not None:
            machine = Machine.restore(self._plans[self._part], stored[1])
            self.folded = Folded(machine, stored[0], run, seals)
        self._set_stops()

    @property
    def has_arrived(self) -> bool:
        """Whether the iteration is about to begin, not to be forked."""
        stopped_at = self.folded.machine.stopped_at
        return bool(stopped_at) and stopped_at != self._forked_at()

    def take(self, entry: Entry) -> int:
        if entry.event.kind == "run.forked":
            self._part += 1
            self.folded.machine.plan = self._plans[self._part]
            self._set_stops()
        return take(self.folded, entry)

    def _forked_at(self) -> str:
        if self._part == len(self._forks):
            return ""
        return str(self._forks[self._part].body["at"])

    def _set_stops(self) -> None:
        # An iteration that is forked in this part is the one that begins in the next.
        stops = {self._until} - {self._forked_at()}
        if self._part < len(self._forks) and self._forks[self._part].body.get("exact"):
            stops.add(self._forked_at())
        self.folded.machine.stops = frozenset(stops)


def _plan_before(journal: Journal, fork: Event) -> Plan | None:
    """The plan of what was forked, where the fork has another workflow."""
    pinned = fork.body.get("workflow")
    if pinned is None and not fork.body.get("exact"):
        try:
            pinned = journal.workflow(RunId(str(fork.body.get("source"))))
        except UsageError:  # the source was deleted
            return None
    return Plan(from_json(pinned)) if pinned is not None else None


def moment(journal: Journal, run: RunId, iteration: str) -> Machine | None:
    """The machine as it was when an iteration began, for people to look at."""

    def look(seals: Seals | None) -> Machine | None:
        stored = _stored_before(journal, run, iteration, seals)
        replay = Replay(journal, run, until=iteration, seals=seals, stored=stored)
        for entry in journal.read(run, after=replay.folded.seq):
            replay.take(entry)
            if replay.has_arrived:
                hide(replay.folded.machine)
                return replay.folded.machine
        return None

    return _as_far_as_open(journal, look)


def _stored_before(
    journal: Journal, run: RunId, iteration: str, seals: Seals | None
) -> tuple[int, str] | None:
    """The newest snapshot from before an iteration began; none: only the whole journal will do."""
    loop, number = split_iteration(iteration)
    if number is None:
        return None
    if number == 1:
        earlier = journal.loop_start(run, loop)
    else:
        before = numbered(loop, number - 1)
        earlier = journal.iteration_ends(run, (before,)).get(before)
    return _stored(journal, run, seals, before=earlier - 1) if earlier is not None else None


def _stored(
    journal: Journal, run: RunId, seals: Seals | None, *, after: int = 0, before: int | None = None
) -> tuple[int, str] | None:
    """The newest snapshot of a part of a run; none: it is encrypted, and there are no seals."""
    stored = journal.last_snapshot(run, after, before)
    state = None if stored is None else opened_state(stored, run, seals)
    return None if stored is None or state is None else (stored[0], state)


def look_into(
    journal: Journal, run: RunId, iterations: frozenset[str], *, to_drive: bool = False
) -> dict[str, dict[str, Json]]:
    """The results and scores of iterations of a run, by replaying it from snapshots on.

    Only what is `to_drive` a run has secrets in it.
    """

    def look(seals: Seals | None) -> dict[str, dict[str, Json]]:
        return _observations(journal, run, iterations, seals, to_drive=to_drive)

    return look(journal.seals) if to_drive else _as_far_as_open(journal, look)


def _observations(
    journal: Journal,
    run: RunId,
    iterations: frozenset[str],
    seals: Seals | None,
    *,
    to_drive: bool,
) -> dict[str, dict[str, Json]]:
    ends = journal.iteration_ends(run, iterations)
    for iteration in iterations - set(ends):
        ends[iteration] = _end_of_unfinished(journal, run, iteration, seals)
    observations: dict[str, dict[str, Json]] = {}
    replay: Replay | None = None
    for iteration in sorted(iterations, key=ends.__getitem__):
        at = 0 if replay is None else replay.folded.seq
        stored = _stored(journal, run, seals, after=at, before=ends[iteration] - 1)
        if replay is None or stored is not None:
            replay = Replay(journal, run, seals=seals, stored=stored)
            replay.folded.machine.observed = iterations
            replay.folded.machine.observations = observations
            entries = journal.read(run, after=replay.folded.seq)
        if iteration not in observations:
            _observe(replay, entries, iteration)
    if replay is not None and not to_drive:
        hide(replay.folded.machine)
    return observations


def _end_of_unfinished(journal: Journal, run: RunId, iteration: str, seals: Seals | None) -> int:
    """An entry before which what an iteration gave is not known; 1: nobody can tell."""
    stored = _stored(journal, run, seals)
    loop, number = split_iteration(iteration)
    frames = json.loads(stored[1])["frames"].values() if stored is not None else ()
    at = (f["count"] for f in frames if f["kind"] == "loop" and f["address"] == loop)
    # It is under way, or about to begin.
    return stored[0] + 1 if stored and next(at, math.inf) <= (number or 0) else 1


def _observe(replay: Replay, entries: Iterator[Entry], iteration: str) -> None:
    """Replays until an iteration has succeeded, or the next but one begins."""
    loop, number = split_iteration(iteration)
    is_over = numbered(loop, (number or 0) + 2)
    for entry in entries:
        replay.take(entry)
        replay.folded.unsaid.clear()
        if iteration in replay.folded.machine.observations or begins(entry.event, is_over):
            return


@dataclass(frozen=True, slots=True)
class Fork:
    """Where to fork, and what is to be different."""

    at: str
    values: dict[str, Json] = field(default_factory=dict)
    limits: dict[str, Json] = field(default_factory=dict)
    workflow: Workflow | None = None
    sources: dict[str, str] | None = None
    file: str = ""
    key: str = ""
    origin: str = ""


async def fork_run(
    store: Journal, source: RunId, fork: Fork, *, run: RunId, now: float
) -> tuple[RunId, bool]:
    """Makes the new run, driven by nobody, all or none of it; False: a run with this key exists."""
    before, machine, shared = _begun(store, source, fork.at)
    if machine.plan.is_confidential:
        # The snapshots of the source are encrypted for it alone.
        shared = 0
    workflow = fork.workflow or from_json(store.workflow(source))
    old, digest = machine.plan.workflow, content_hash(workflow)
    body: dict[str, Json] = {
        "at": fork.at,
        "exact": True,
        "run": run,
        "source": source,
        "stood_at": machine.now,
        "seed": secrets.token_hex(8),
        "set": fork.values,
        "limits": machine.state["limits"] | fork.limits,
    }
    if content_hash(old) != digest:
        # Whoever replays the fork from its start needs it, and the source may be deleted.
        body["workflow"] = to_json(old)
    forked = Event("run.forked", fork.at, now, body)
    _move(machine, Plan(workflow), fork.at)
    machine.stops = frozenset()
    machine.feed(forked)
    notes = machine.take_notes()
    redaction = redaction_of(machine.state.get("secrets", ()))
    events = [
        sealed(event, run, store.seals, redaction, workflow=workflow)
        for event in (*before, forked, *notes)
    ]
    state: Json = machine.snapshot()
    if machine.plan.is_confidential:
        state = sealed_state(str(state), run, len(events), store.seals)
    about = (workflow.name, workflow.dialect, fork.file or store.file(source), fork.key, source)
    sources = store.sources(source) if fork.sources is None else fork.sources
    made = NewRun(run, to_json(workflow), digest, *about, sources=sources, origin=fork.origin)
    memories = records_in(events[-len(notes) :] if notes else ())
    made = replace(made, memories=memories, state=state, shared=shared)
    return await store.create(made, *events)


def _begun(store: Journal, source: RunId, at: str) -> tuple[list[Event], Machine, int]:
    """The source's journal up to the moment in which an iteration began, and the machine there.

    And how many entries before that moment have snapshots that a fork can use.
    """
    stored = _stored_before(store, source, at, store.seals)
    replay = Replay(store, source, until=at, seals=store.seals, stored=stored)
    first = replay.folded.seq
    events: list[Event] = []
    begun: list[str] = []
    for entry in store.read(source):
        event = entry.event
        if event.kind == "iteration.started":
            begun.append(event.address)
        if not replay.has_arrived:
            if entry.seq > first:
                replay.take(entry)
            replay.folded.unsaid.clear()
        elif begins(event, at):
            return events + replay.folded.late, replay.folded.machine, replay.folded.seq - 1
        elif event.kind in FED_KINDS:
            # It came in the same breath, and the iteration owes it nothing.
            continue
        events.append(opened(event, source, store.seals))
    loop, number = split_iteration(at)
    if number is None:
        raise UsageError(f"say which iteration to redo: `--at {loop}[NUMBER]`", code="W903")
    words = f"run {source!r} has no iteration {at!r}"
    advice = did_you_mean(at, begun) or f"it has {', '.join(begun[:20]) or 'none'}"
    raise UsageError(words, help=advice, code="W903")


def _move(machine: Machine, plan: Plan, at: str) -> None:
    """Puts the state under another version of the workflow, which must have the same places."""
    frames = machine.frames.values()
    missing = {f["node"] for f in frames if "node" in f} - set(plan.nodes)
    missing |= {f["block"] for f in frames if f["kind"] == "block"} - set(plan.blocks)
    if missing:
        names = ", ".join(key.partition(":")[2] or key for key in sorted(missing))
        words = f"the other version has no place for what the run is doing at {at!r}: {names}"
        advice = "keep the names of the steps and loops around the iteration"
        raise UsageError(words, help=advice, code="W903")
    machine.plan = plan
