"""A run as it was when an iteration began; and forks: new runs that redo one from there."""

from __future__ import annotations

import secrets
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from whorl.errors import UsageError, did_you_mean
from whorl.interpreter.constructs.loops.exploring import has_ended
from whorl.interpreter.events import FED_KINDS, Event, numbered, split_iteration
from whorl.interpreter.plan import Plan
from whorl.interpreter.state import Observer
from whorl.ir import Workflow, content_hash, from_json, to_json
from whorl.lazily import dataclass
from whorl.runtimes.journal.folding import Replay, as_far_as_open, begins, catch_up, stored_in
from whorl.runtimes.journal.journal import Journal, NewRun, RunId, records_in
from whorl.runtimes.journal.sealed_secrets import (
    hide,
    opened,
    redacted,
    redaction_of,
    sealed,
    sealed_state,
)

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine
    from whorl.interpreter.state import State
    from whorl.language import Json
    from whorl.runtimes.journal.keys import Seals


_FIRST_STEPS: Final = 20


@dataclass(frozen=True, slots=True)
class Fork:
    """The iteration at which to fork, and the changes of the new run."""

    at: str
    values: dict[str, Json] = field(default_factory=dict)
    limits: dict[str, Json] = field(default_factory=dict)
    workflow: Workflow | None = None
    sources: dict[str, str] | None = None
    file: str = ""
    key: str = ""
    origin: str = ""
    # Models and prompts that a person chose for steps, which `workflow` has already.
    steps: dict[str, dict[str, str]] = field(default_factory=dict)


def new_run_of(
    store: Journal, source: RunId, fork: Fork, *, run: RunId, now: float
) -> tuple[NewRun, list[Event]]:
    """Returns the new run and its first events. Reading a long journal takes time."""
    before, machine, shared = _begun(store, source, fork.at)
    if machine.plan.is_confidential:
        # The snapshots of the source are encrypted for it alone.
        shared = 0
    workflow = fork.workflow or from_json(store.workflow(source))
    old, encoded = to_json(machine.plan.workflow), to_json(workflow)
    body: dict[str, Json] = {
        "at": fork.at,
        "run": run,
        "source": source,
        "stood_at": machine.now,
        "seed": secrets.token_hex(8),
        "set": fork.values,
        "limits": machine.state["limits"] | fork.limits,
    }
    for frame in machine.loop_frames.values():
        # A loop that runs past its own end follows its rule in the fork; otherwise the fork would
        # end with the source's result.
        is_around = frame["kind"] == "loop" and fork.at.startswith(f"{frame['address']}[")
        if is_around and has_ended(frame):
            body.setdefault("by_rule", frame["address"])
    if fork.steps:
        body["steps"] = {name: {**fields} for name, fields in fork.steps.items()}
    if old != encoded:
        # Whoever replays the fork from its start needs it, and the source may be deleted.
        body["workflow"] = old
    forked = Event("run.forked", fork.at, now, body)
    _move(machine, Plan(workflow), fork.at)
    machine.stops = frozenset()
    # Its first steps; the process that drives it continues, and makes snapshots.
    machine.take(forked)
    machine.advance(steps=_FIRST_STEPS)
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
    digest = content_hash(encoded)
    made = NewRun(run, encoded, digest, *about, sources=sources, origin=fork.origin)
    memories = records_in(events[-len(notes) :] if notes else ())
    made = replace(made, memories=memories, state=state, shared=shared)
    return made, events


def _begun(store: Journal, source: RunId, at: str) -> tuple[list[Event], Machine, int]:
    """Returns the source's journal up to the start of an iteration, and the machine there.

    The number counts the entries before it whose snapshots a fork can use.
    """
    stored = stored_before(store, source, at, store.seals)
    replay = Replay(store, source, until=at, seals=store.seals, stored=stored)
    first, shared = replay.folded.seq, 0
    events: list[Event] = []
    begun: list[str] = []
    for entry in store.read(source):
        event = entry.event
        if event.kind == "iteration.started":
            begun.append(event.address)
        # What came in the same breath as the iteration began, the iteration owes nothing.
        is_before = entry.seq <= first or event.kind not in FED_KINDS
        if entry.seq > first and not replay.has_arrived:
            is_before = replay.take(entry)
            if begins(event, at):
                catch_up(replay.folded)
            replay.folded.forget_journaled()
        if replay.has_arrived and begins(event, at):
            return events + replay.folded.late, replay.folded.machine, shared
        if is_before:
            events.append(opened(event, source, store.seals))
            shared = entry.seq if len(events) == entry.seq else shared
    loop, number = split_iteration(at)
    if number is None:
        raise UsageError(f"say which iteration to redo: `--at {loop}[NUMBER]`", code="W903")
    words = f"run {source!r} has no iteration {at!r}"
    advice = did_you_mean(at, begun) or f"it has {', '.join(begun[:20]) or 'none'}"
    raise UsageError(words, help=advice, code="W903")


def _move(machine: Machine, plan: Plan, at: str) -> None:
    """Moves the state to another version of the workflow, which must have the same steps."""
    if plan.has_program:
        # What the other version of its code requests is seen when it begins again.
        machine.use(plan)
        return
    frames = machine.frames.values()
    missing = {f["node"] for f in frames if "node" in f} - set(plan.nodes)
    missing |= {f["block"] for f in frames if f["kind"] == "block"} - set(plan.blocks)
    if missing:
        names = ", ".join(key.partition(":")[2] or key for key in sorted(missing))
        words = f"the other version has no place for what the run is doing at {at!r}: {names}"
        advice = "keep the names of the steps and loops around the iteration"
        raise UsageError(words, help=advice, code="W903")
    machine.plan = plan


# Looking back: a run as it was when an iteration began, and what iterations of it gave.


def moment(journal: Journal, run: RunId, iteration: str) -> Machine | None:
    """The machine as it was when an iteration began, for people to look at."""

    def look(seals: Seals | None) -> Machine | None:
        stored = stored_before(journal, run, iteration, seals)
        replay = Replay(journal, run, until=iteration, seals=seals, stored=stored)
        for entry in journal.read(run, after=replay.folded.seq):
            replay.take(entry)
            if begins(entry.event, iteration):
                catch_up(replay.folded)
            if replay.has_arrived:
                hide(replay.folded.machine)
                return replay.folded.machine
        return None

    return as_far_as_open(journal, look)


def stored_before(
    journal: Journal, run: RunId, iteration: str, seals: Seals | None
) -> tuple[int, str] | None:
    """The newest snapshot before an iteration; if None, the whole journal has to be read."""
    loop, number = split_iteration(iteration)
    if number is None:
        return None
    if number == 1:
        earlier = journal.loop_start(run, loop)
    else:
        before = numbered(loop, number - 1)
        earlier = journal.iteration_ends(run, (before,)).get(before)
    return stored_in(journal, run, seals, before=earlier - 1) if earlier is not None else None


def look_into(
    journal: Journal, run: RunId, iterations: frozenset[str], *, to_drive: bool = False
) -> dict[str, dict[str, Json]]:
    """Returns the results and scores of iterations of a run, by replaying it from snapshots.

    They contain secrets only if they are `to_drive` a run.
    """

    def look(seals: Seals | None) -> dict[str, dict[str, Json]]:
        return _observations(journal, run, iterations, seals, to_drive=to_drive)

    return look(journal.seals) if to_drive else as_far_as_open(journal, look)


def _observations(
    journal: Journal, run: RunId, iterations: frozenset[str], seals: Seals | None, *, to_drive: bool
) -> dict[str, dict[str, Json]]:
    ends = journal.iteration_ends(run, iterations)
    observer = _Results(iterations)
    replay: Replay | None = None
    for iteration in sorted(ends, key=ends.__getitem__):
        at = 0 if replay is None else replay.folded.seq
        stored = stored_in(journal, run, seals, after=at, before=ends[iteration] - 1)
        if replay is None or stored is not None:
            replay = Replay(journal, run, seals=seals, stored=stored)
            replay.folded.machine.observer = observer
            entries = journal.read(run, after=replay.folded.seq)
        if iteration not in observer.results:
            # It may succeed until the second iteration after it begins.
            loop, number = split_iteration(iteration)
            after_next = numbered(loop, (number or 0) + 2)
            for entry in entries:
                replay.take(entry)
                replay.folded.forget_journaled()
                if begins(entry.event, after_next) or iteration in observer.results:
                    break
            if iteration not in observer.results:
                catch_up(replay.folded)
    redaction = None
    if replay is not None and not to_drive:
        redaction = redaction_of(replay.folded.machine.state.get("secrets", ()))
    if redaction is None:
        return observer.results
    return {place: redacted(given, redaction) for place, given in observer.results.items()}


class _Results(Observer):
    """Keeps the results of iterations, each of its successful attempt."""

    def __init__(self, iterations: frozenset[str]) -> None:
        self._iterations = iterations
        self.results: dict[str, dict[str, Json]] = {}

    def closed(self, machine: State, key: str, note: dict[str, Json]) -> None:
        frame = machine.loop_frames[key]
        address = numbered(frame["address"], frame["count"])
        if note["status"] != "succeeded" or address not in self._iterations:
            return
        last = {collect.name for collect in machine.loop(key).collect if collect.take == "last"}
        collected = frame.get("collected", {})
        self.results[address] = {
            "results": frame["previous"],
            "score": frame.get("score"),
            "collected": {name: value for name, value in collected.items() if name in last},
        }
