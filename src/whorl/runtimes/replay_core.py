"""The pure driver of a run: arrivals in; journal entries, a running hash and commands out.

Whoever gives it the same arrivals in the same order gets the same entries. A workflow of a cluster
and whoever reads the history of that workflow share it, so neither has to tell the other what it
has journaled: they compare hashes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from whorl.interpreter.budget import is_limited
from whorl.interpreter.events import Cancel, Event, Perform, Send, SetTimer
from whorl.interpreter.machine import Machine
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import pins_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl.interpreter.plan import Plan
    from whorl.language import Json


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


class PureDriver:
    """Journals every arrival, feeds it, and journals what the machine says about it behind it.

    `seq` and `digest` are those of all entries so far, also of those before `state`; `pins` are
    the hashes of what tools said about themselves. `effects` are the kinds of tasks that are known
    to have effects, with the calls that one counts as: the intents of these are made here, unless
    a budget is in force, which asks what they may cost.
    """

    def __init__(
        self,
        plan: Plan,
        state: str | None = None,
        *,
        seq: int = 0,
        digest: str = "",
        pins: dict[str, str] | None = None,
        effects: Mapping[str, int] | None = None,
    ) -> None:
        self.machine = Machine(plan) if state is None else Machine.restore(plan, state)
        self.seq = seq
        self.digest = digest
        self.pins = dict(pins or {})
        self._effects = effects or {}
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

    def commands(
        self, at: float, *, is_full: bool = False
    ) -> tuple[list[Perform], list[Call | SetTimer | Cancel]]:
        """The tasks that intents are wanted of, and all else that is to be done, in order.

        Intents that are made here have the time `at`. Where it `is_full`, another execution goes
        on soon: new tasks are left to that one, whose restored machine asks again.
        """
        wanted: dict[str, Perform] = {}
        others: list[Call | SetTimer | Cancel] = []
        while polled := self.machine.poll():
            sure: dict[str, Perform] = {}
            for command in polled:
                match command:
                    case Perform(address):
                        if not is_full or self.machine.is_sent(address):
                            intents = sure if self._is_sure(command) else wanted
                            intents[address] = self._asked[address] = command
                    case Send(address, cap):
                        perform = self._asked.pop(address, None)
                        if perform is not None:
                            # Where it was held back, its intent stands in the journal.
                            sure.pop(address, None)
                            wanted.pop(address, None)
                            others.append(Call(perform, cap))
                    case Cancel(address):
                        for intents in (sure, wanted, self._asked):
                            intents.pop(address, None)
                        others.append(command)
                    case SetTimer():
                        others.append(command)
            for perform in sure.values():
                self.arrive(self._intent(perform, at))
        return list(wanted.values()), others

    def is_asked(self, perform: Perform) -> bool:
        """Whether a task still waits for its intent."""
        return self._asked.get(perform.address) is perform

    def _is_sure(self, perform: Perform) -> bool:
        return perform.kind in self._effects and not is_limited(self.machine, perform.address)

    def _intent(self, perform: Perform, at: float) -> Event:
        body: dict[str, Json] = {"kind": perform.kind}
        if calls := self._effects[perform.kind]:
            body["reserve"] = {"calls": calls}
        if not perform.secure:
            body["inputs"] = perform.inputs
        return Event("task.started", perform.address, at, body)

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
