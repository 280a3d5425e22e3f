"""A run is a fold over its journal: rebuilding a machine, as it is now or as it was."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from whorl.errors import StoreError
from whorl.interpreter.events import FED_KINDS, Event
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.ir import from_json
from whorl.lazily import dataclass
from whorl.runtimes.journal.keys import CODE
from whorl.runtimes.journal.sealed_secrets import SEALED, hide, opened, opened_state

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from whorl.runtimes.journal.journal import Entry, Journal, RunId
    from whorl.runtimes.journal.keys import Seals


T = TypeVar("T")

# What most events lead to is done within so many steps; a long work is left to the driver.
STEPS_AT_END, FUEL_AT_END = 500, 10_000
# So many entries are taken before others may have their turn.
ENTRIES_AT_ONCE = 20
# So many notes at most the machine is behind the journal while that is read.
BEHIND_MAX = 64
# What comes of an entry or a state that the machine has not written.
_MISSHAPEN = (KeyError, TypeError, ValueError, AttributeError, IndexError)


@dataclass(slots=True)
class Folded:
    """A machine, the seq of its last entry, and its events that are not in the journal yet.

    Without `seals` the machine was fed redacted values instead of the run's secrets.
    """

    machine: Machine
    seq: int
    run: RunId
    seals: Seals | None
    unsaid: list[Event] = field(default_factory=list)
    # How many of these are in the journal all the same; they are left out in the end.
    journaled: int = 0
    # What it said between the beginning of the iteration that it stopped at and its stop.
    late: list[Event] = field(default_factory=list)

    def forget_journaled(self) -> None:
        count = min(self.journaled, len(self.unsaid))
        del self.unsaid[:count]
        self.journaled -= count


def fold(
    journal: Journal, run: RunId, plan: Plan | None = None, *, to_drive: bool = False
) -> Folded:
    """Rebuilds the machine from the journal, beginning at the newest snapshot.

    The machine has no secrets, so that people may see it, unless it is `to_drive` the run. Raises
    StoreError R909 if the secrets cannot be opened. In the middle of long work the machine is
    still busy.
    """
    plan = plan or Plan(from_json(journal.workflow(run)))
    return end_of(folding(journal, run, plan, to_drive=to_drive))


def folding(
    journal: Journal, run: RunId, plan: Plan, *, to_drive: bool
) -> Generator[None, None, Folded]:
    """Folds a run in steps of milliseconds, so that other runs can compute in between."""
    try:
        folded = yield from _folding(journal, run, plan, journal.seals)
    except StoreError as fault:
        if to_drive or fault.code != CODE:
            raise
        folded = yield from _folding(journal, run, plan, None)
    if not to_drive:
        hide(folded.machine)
    return folded


def check_key(journal: Journal, run: RunId) -> None:
    """Raises StoreError R909 if a run cannot be driven because its secrets cannot be opened."""
    if not Plan(from_json(journal.workflow(run))).is_confidential:
        return
    for entry in journal.read(run):
        if SEALED in entry.event.body:
            opened(entry.event, run, journal.seals)
            return


def end_of(steps: Generator[None, None, T]) -> T:
    """Does work of many steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return ended.value  # type: ignore[no-any-return]


def as_far_as_open(journal: Journal, look: Callable[[Seals | None], T]) -> T:
    """Makes a view of a run with its key; without the key, with redacted secrets."""
    try:
        return look(journal.seals)
    except StoreError as fault:
        if fault.code != CODE:
            raise
        return look(None)


def _folding(
    journal: Journal, run: RunId, plan: Plan, seals: Seals | None
) -> Generator[None, None, Folded]:
    stored = stored_in(journal, run, seals)
    if stored is not None:
        try:
            folded = Folded(Machine.restore(plan, stored[1]), stored[0], run, seals)
            folded.machine.is_blind = seals is None
            return (yield from _folded_on(journal, folded, partial(take, folded)))
        except _MISSHAPEN:
            pass  # another process wrote it: the journal has all of it
    replay = Replay(journal, run, plan, seals=seals)
    try:
        return (yield from _folded_on(journal, replay.folded, replay.take))
    except _MISSHAPEN as fault:
        words = f"entry {replay.folded.seq} of run {run} lacks fields of its kind ({fault!r:.80})"
        advice = "restore a backup; other runs are not affected"
        raise StoreError(words, code="R906", help=advice) from fault


def _folded_on(
    journal: Journal, folded: Folded, take_next: Callable[[Entry], bool]
) -> Generator[None, None, Folded]:
    machine = folded.machine
    for entry in journal.read(folded.run, after=folded.seq):
        while entry.event.kind in FED_KINDS and machine.is_before(entry.event):
            machine.advance(steps=STEPS_AT_END, fuel=FUEL_AT_END, to=machine.place_of(entry.event))
            yield
        take_next(entry)
        if entry.seq % ENTRIES_AT_ONCE == 0:
            yield
    yield from _coming_to_rest(folded)
    folded.forget_journaled()
    machine.recover()
    return folded


def take(folded: Folded, entry: Entry) -> bool:
    """Feeds one entry; notes are only counted, since the machine makes them itself.

    Returns False if the machine has stopped before this entry.
    """
    if entry.seq != folded.seq + 1:
        raise StoreError(f"the journal has a gap before entry {entry.seq}", code="R906")
    folded.seq = entry.seq
    if entry.event.kind not in FED_KINDS:
        folded.journaled += 1
        if folded.journaled - len(folded.unsaid) > BEHIND_MAX:
            catch_up(folded)
        return True
    is_taken = folded.machine.take(opened(entry.event, folded.run, folded.seals))
    folded.machine.poll()
    hear(folded)
    return is_taken


def catch_up(folded: Folded) -> None:
    """Advances the machine until it has made all notes that are in the journal, and no further."""
    end_of(_catching_up(folded))


def _catching_up(folded: Folded) -> Generator[None, None, None]:
    while len(folded.unsaid) < folded.journaled and folded.machine.is_busy:
        folded.machine.advance(steps=1)
        hear(folded)
        yield


def come_to_rest(folded: Folded) -> None:
    """Advances the machine past the notes in the journal, as far as that is quick."""
    end_of(_coming_to_rest(folded))


def _coming_to_rest(folded: Folded) -> Generator[None, None, None]:
    yield from _catching_up(folded)
    folded.machine.advance(steps=STEPS_AT_END, fuel=FUEL_AT_END)
    hear(folded)


def hear(folded: Folded) -> None:
    """Takes the new notes of the machine."""
    machine = folded.machine
    notes = machine.take_notes()
    at = machine.stopped_at
    index = next((i for i, note in enumerate(notes) if at and begins(note, at)), None)
    if index is not None:
        # The fork that follows begins this iteration, and says so.
        folded.late = notes[index + 1 :]
        del notes[index]
    folded.unsaid.extend(notes)


def begins(event: Event, iteration: str) -> bool:
    return event.address == iteration and event.kind == "iteration.started"


class Replay:
    """A journal from its start or a stored snapshot on, until the iteration `until` begins.

    The journal of a fork begins with the entries of its source, under the source's workflow, up
    to the start of the iteration that the fork redoes. Each part ends with a `run.forked`.
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
            # A fork of another workflow has that of its source.
            before = fork.body.get("workflow")
            plans.append(plans[-1] if before is None else Plan(from_json(before)))
        self._plans = plans[::-1]
        self._until = until
        self.folded = Folded(Machine(self._plans[0]), 0, run, seals)
        if stored is not None:
            machine = Machine.restore(self._plans[self._part], stored[1])
            self.folded = Folded(machine, stored[0], run, seals)
        self.folded.machine.is_blind = seals is None
        self._set_stops()

    @property
    def has_arrived(self) -> bool:
        """Returns whether the iteration is about to begin, and not by a fork."""
        stopped_at = self.folded.machine.stopped_at
        return bool(stopped_at) and stopped_at != self._forked_at()

    def take(self, entry: Entry) -> bool:
        if entry.event.kind == "run.forked":
            self.finish()
            self._part += 1
            self.folded.machine.use(self._plans[self._part])
            self._set_stops()
        return take(self.folded, entry)

    def finish(self) -> None:
        """Finishes all work that follows from the entries so far."""
        self.folded.machine.advance()
        hear(self.folded)

    def _forked_at(self) -> str:
        if self._part == len(self._forks):
            return ""
        return str(self._forks[self._part].body["at"])

    def _set_stops(self) -> None:
        # An iteration that is forked in this part is the one that begins in the next.
        stops = filter(None, (self._until, self._forked_at()))
        self.folded.machine.stops = frozenset(stops)


def stored_in(
    journal: Journal, run: RunId, seals: Seals | None, *, after: int = 0, before: int | None = None
) -> tuple[int, str] | None:
    """The newest snapshot of a part of a run, or None if it is encrypted without `seals`."""
    stored = journal.last_snapshot(run, after, before)
    state = None if stored is None else opened_state(stored, run, seals)
    return None if stored is None or state is None else (stored[0], state)
