"""The pure driver of a run: arrivals in; journal entries, a running hash and commands out.

Whoever gives it the same arrivals in the same order gets the same entries. A workflow of a cluster
and whoever reads the history of that workflow share it, so neither has to tell the other what it
has journaled: they compare hashes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from whorl.interpreter.events import Cancel, Event, Perform, Send, SetTimer
from whorl.interpreter.machine import Machine
from whorl.lazily import dataclass
from whorl.runtimes.journal import pins_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.interpreter.plan import Plan


@dataclass(frozen=True, slots=True)
class Arrival:
    """What has come of something that was begun; of a timer, when it was `due`.

    Things are begun one after the other, and `number` counts them.
    """

    number: int
    event: Event
    due: float | None = None


class Call(NamedTuple):
    """A call that may go out; `cap` is the number of tokens that its answer may have."""

    perform: Perform
    cap: int | None = None


class Pilot:
    """Journals every arrival, feeds it, and journals what the machine says about it behind it.

    `seq` and `digest` are those of all entries so far, also of those before `state`; `pins` are
    the hashes of what tools said about themselves.
    """

    def __init__(
        self,
        plan: Plan,
        state: str | None = None,
        *,
        seq: int = 0,
        digest: str = "",
        pins: dict[str, str] | None = None,
    ) -> None:
        self.machine = Machine(plan) if state is None else Machine.restore(plan, state)
        self.seq = seq
        self.digest = digest
        self.pins = dict(pins or {})
        self._entries: list[Event] = []
        self._asked: dict[str, Perform] = {}

    def arrive(self, event: Event) -> None:
        self._journal(event)
        self.machine.feed(event)
        for note in self.machine.take_notes():
            self._journal(note)

    def arrive_together(self, arrivals: Iterable[Arrival]) -> None:
        """Takes in what came at the same time, in the order in which it was begun."""
        for arrival in sorted(arrivals, key=lambda arrival: arrival.number):
            event, pending = arrival.event, self.machine.pending.get(arrival.event.address)
            if arrival.due is not None and (pending is None or pending.get("due") != arrival.due):
                continue  # the timer was dropped, or set anew, at the same time
            if event.kind == "task.in_doubt":
                event = in_doubt(self.machine, event.address, event.at)
            self.arrive(event)

    def take_over(self, at: float) -> None:
        """Goes on from a state whose calls nobody waits for any more."""
        for address in self.machine.in_flight():
            self.arrive(in_doubt(self.machine, address, at))

    def take_entries(self) -> list[Event]:
        """The entries since the last call."""
        entries, self._entries = self._entries, []
        return entries

    def commands(self) -> tuple[list[Perform], list[Call | SetTimer | Cancel]]:
        """The tasks that intents are wanted of, and all else that is to be done, in order."""
        wanted: dict[str, Perform] = {}
        others: list[Call | SetTimer | Cancel] = []
        for command in self.machine.poll():
            match command:
                case Perform(address):
                    wanted[address] = self._asked[address] = command
                case Send(address, cap):
                    perform = self._asked.pop(address, None)
                    if perform is not None:
                        others.append(Call(perform, cap))
                case Cancel(address):
                    wanted.pop(address, None)
                    self._asked.pop(address, None)
                    others.append(command)
                case SetTimer():
                    others.append(command)
        return list(wanted.values()), others

    def forget(self, wanted: Iterable[Perform]) -> None:
        """Leaves tasks to whoever goes on from the state: a restored machine asks again."""
        for perform in wanted:
            self._asked.pop(perform.address, None)

    def _journal(self, event: Event) -> None:
        self.seq += 1
        self._entries.append(event)
        text = f"{self.digest} {event.kind} {event.address} {event.at!r}"
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        if event.kind == "task.finished":
            self.pins = pins_in(event.body) | self.pins


def in_doubt(machine: Machine, address: str, at: float) -> Event:
    """The entry of a call that was sent, and of which nobody will tell what came of it."""
    return Event("task.in_doubt", address, at, {"reserve": machine.held_for(address)})
