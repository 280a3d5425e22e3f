"""Forking: a new run that keeps the iterations before one of another run, and redoes that one."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.errors import UsageError, did_you_mean
from whorl.interpreter.address import split_iteration
from whorl.interpreter.events import Event
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.ir import content_hash, from_json, to_json
from whorl.runtimes.folding import Folded, take
from whorl.runtimes.journal import Entry, NewRun, RunId

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.sqlite import SqliteStore

_CHUNK = 500


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


async def fork_run(
    store: SqliteStore, source: RunId, fork: Fork, *, run: RunId, now: float
) -> tuple[RunId, bool]:
    """Makes the new run; nobody drives it yet. False: a run with this key exists already."""
    old = from_json(store.workflow(source))
    workflow = fork.workflow or old
    events = _prefix(store, source, fork.at)
    row = store.run(source)
    made = NewRun(
        run,
        to_json(workflow),
        content_hash(workflow),
        workflow.name,
        workflow.dialect,
        file=fork.file or row.file,
        key=fork.key,
        parent=source,
        sources=store.sources(source) if fork.sources is None else fork.sources,
    )
    folded = _replayed(events, Plan(old))
    body: dict[str, Json] = {
        "at": fork.at,
        "run": run,
        "source": source,
        "seed": secrets.token_hex(8),
        "set": fork.values,
        "limits": folded.machine.state["limits"] | fork.limits,
    }
    forked = Event("run.forked", fork.at, now, body)
    machine = _moved(folded.machine, Plan(workflow), fork.at)
    machine.feed(forked)
    found, made_now = await store.create(made, events[0])
    if not made_now:
        return found, False
    owner = await store.claim(run)
    for index in range(1, len(events), _CHUNK):
        await store.append(run, owner, events[index : index + _CHUNK])
    seq = await store.append(run, owner, [forked, *machine.take_notes()])
    await store.snapshot(run, owner, seq, machine.snapshot())
    await store.release(run, owner)
    return run, True


def _prefix(store: SqliteStore, source: RunId, at: str) -> list[Event]:
    """The source's journal up to the moment in which the iteration began."""
    events: list[Event] = []
    begun: list[str] = []
    for entry in store.read(source):
        events.append(entry.event)
        if entry.event.kind == "iteration.started":
            begun.append(entry.event.address)
            if entry.event.address == at:
                return events
    loop, number = split_iteration(at)
    if number is None:
        raise UsageError(f"say which iteration to redo: `--at {loop}[NUMBER]`", code="W903")
    raise UsageError(
        f"run {source!r} has no iteration {at!r}",
        help=did_you_mean(at, begun) or f"it has {', '.join(begun[:20]) or 'none'}",
        code="W903",
    )


def _replayed(events: list[Event], plan: Plan) -> Folded:
    folded = Folded(Machine(plan), 0)
    for index, event in enumerate(events, start=1):
        take(folded, Entry(index, event))
    return folded


def _moved(machine: Machine, plan: Plan, at: str) -> Machine:
    """The same state under another version of the workflow, which must have the same places."""
    missing = sorted(
        {f["node"] for f in machine.frames.values() if "node" in f and f["node"] not in plan.nodes}
        | {f["block"] for f in machine.frames.values() if f.get("block", ":") not in plan.blocks}
    )
    if missing:
        names = ", ".join(key.partition(":")[2] or key for key in missing)
        raise UsageError(
            f"the other version has no place for what the run is doing at {at!r}: {names}",
            help="keep the names of the steps and loops around the iteration",
            code="W903",
        )
    moved = Machine.restore(plan, machine.snapshot())
    moved.poll()
    return moved
