"""Forking: a new run that keeps the iterations before one of another run, and redoes that one."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from whorl.errors import UsageError, did_you_mean
from whorl.interpreter.events import FED_KINDS, Event, split_iteration
from whorl.interpreter.plan import Plan
from whorl.ir import content_hash, from_json, to_json
from whorl.runtimes.folding import Replay, begins
from whorl.runtimes.journal import Journal, NewRun, RunId
from whorl.runtimes.remembering import records_in

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine
    from whorl.ir import Workflow
    from whorl.language import Json


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


class Forkable(Journal, Protocol):
    """A journal that tells where its runs come from."""

    def file(self, run: RunId) -> str:
        """The file that a run was started from."""

    def sources(self, run: RunId) -> dict[str, str]:
        """The source texts that the run pins, by file."""


async def fork_run(
    store: Forkable, source: RunId, fork: Fork, *, run: RunId, now: float
) -> tuple[RunId, bool]:
    """Makes the new run, all or none of it; nobody drives it yet.

    False: a run with this key exists already.
    """
    before, machine = _begun(store, source, fork.at)
    workflow = fork.workflow or from_json(store.workflow(source))
    forked = Event("run.forked", fork.at, now, _body(machine, workflow, source, fork, run))
    _move(machine, Plan(workflow), fork.at)
    machine.stops = frozenset()
    machine.feed(forked)
    notes = machine.take_notes()
    made = NewRun(
        run,
        to_json(workflow),
        content_hash(workflow),
        workflow.name,
        workflow.dialect,
        file=fork.file or store.file(source),
        key=fork.key,
        parent=source,
        sources=store.sources(source) if fork.sources is None else fork.sources,
    )
    return await store.create(
        made,
        before[0],
        more=[*before[1:], forked, *notes],
        memories=records_in(notes),
        state=machine.snapshot(),
    )


def _body(
    machine: Machine, workflow: Workflow, source: RunId, fork: Fork, run: RunId
) -> dict[str, Json]:
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
    old = machine.plan.workflow
    if content_hash(old) != content_hash(workflow):
        # Whoever replays the fork from its start needs it, and the source may be deleted.
        body["workflow"] = to_json(old)
    return body


def _begun(store: Forkable, source: RunId, at: str) -> tuple[list[Event], Machine]:
    """The source's journal up to the moment in which an iteration began, and the machine there."""
    replay = Replay(store, source, until=at)
    events: list[Event] = []
    begun: list[str] = []
    for entry in store.read(source):
        event = entry.event
        if event.kind == "iteration.started":
            begun.append(event.address)
        if not replay.has_arrived:
            replay.take(entry)
            replay.folded.unsaid.clear()
        elif begins(event, at):
            return events + replay.folded.late, replay.folded.machine
        elif event.kind in FED_KINDS:
            # It came in the same breath, and the iteration owes it nothing.
            continue
        events.append(event)
    loop, number = split_iteration(at)
    if number is None:
        raise UsageError(f"say which iteration to redo: `--at {loop}[NUMBER]`", code="W903")
    raise UsageError(
        f"run {source!r} has no iteration {at!r}",
        help=did_you_mean(at, begun) or f"it has {', '.join(begun[:20]) or 'none'}",
        code="W903",
    )


def _move(machine: Machine, plan: Plan, at: str) -> None:
    """Puts the state under another version of the workflow, which must have the same places."""
    missing = sorted(
        {f["node"] for f in machine.frames.values() if "node" in f and f["node"] not in plan.nodes}
        | {
            f["block"]
            for f in machine.frames.values()
            if f["kind"] == "block" and f["block"] not in plan.blocks
        }
    )
    if missing:
        names = ", ".join(key.partition(":")[2] or key for key in missing)
        raise UsageError(
            f"the other version has no place for what the run is doing at {at!r}: {names}",
            help="keep the names of the steps and loops around the iteration",
            code="W903",
        )
    machine.plan = plan
