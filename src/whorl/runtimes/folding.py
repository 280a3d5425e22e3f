"""A run is a fold over its journal: rebuilding a machine, as it is now or as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.errors import StoreError
from whorl.interpreter.events import FED_KINDS, Event
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.ir import from_json

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.runtimes.journal import Entry, Journal, RunId


@dataclass(slots=True)
class Folded:
    """A machine, the seq that it stands after, and what it said that is not in the journal yet."""

    machine: Machine
    seq: int
    unsaid: list[Event] = field(default_factory=list)


def fold(journal: Journal, run: RunId, plan: Plan | None = None) -> Folded:
    """The machine as the journal leaves it, from its newest snapshot on."""
    plan = plan or Plan(from_json(journal.workflow(run)))
    stored = journal.last_snapshot(run)
    if stored is None:
        folded = Folded(Machine(plan), 0)
    else:
        seq, state = stored
        folded = Folded(Machine.restore(plan, str(state)), seq)
    said = 0
    for entry in journal.read(run, after=folded.seq):
        said += take(folded, entry)
    folded.unsaid = folded.unsaid[said:]
    folded.machine.recover()
    return folded


def take(folded: Folded, entry: Entry) -> int:
    """Feeds one entry; gives 1 for a note, which the machine has said by itself before."""
    if entry.seq != folded.seq + 1:
        raise StoreError(f"the journal has a gap before entry {entry.seq}", code="R903")
    folded.seq = entry.seq
    if entry.event.kind not in FED_KINDS:
        return 1
    folded.machine.feed(entry.event)
    folded.machine.poll()
    folded.unsaid.extend(folded.machine.take_notes())
    return 0


def look_into(
    journal: Journal, run: RunId, iterations: frozenset[str]
) -> dict[str, dict[str, Json]]:
    """The results and scores of iterations of a run, by replaying it from the start."""
    folded = Folded(Machine(Plan(from_json(journal.workflow(run)))), 0)
    folded.machine.wanted = iterations
    for entry in journal.read(run):
        take(folded, entry)
        if len(folded.machine.found) == len(iterations):
            break
    return folded.machine.found
