"""The pure driver of a run: arrivals in; journal entries, a running hash and commands out.

The same arrivals in the same order produce the same entries. A workflow of a cluster and the
readers of its history both use this driver. So they need not exchange journals: they compare
hashes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from whorl.interpreter.budget import is_limited
from whorl.interpreter.events import Cancel, Event, Give, Perform, Send, SetTimer
from whorl.interpreter.machine import Machine
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import pins_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whorl.interpreter.plan import Plan
    from whorl.language import Json


@dataclass(frozen=True, slots=True)
class Arrival:
    """The event of a task or a timer that was started; for a timer, when it was `due`.

    `number` counts tasks and timers in the order in which they were started.
    """

    number: int
    event: Event
    due: float | None = None


class ReadyCall(NamedTuple):
    """A call that may go out; `cap` is the number of tokens that its answer may have."""

    perform: Perform
    cap: int | None = None


class PureDriver:
    """Journals and feeds every arrival, then journals the notes of the machine about it.

    `seq` and `digest` are those of all entries so far, also before `state`; `pins` are the hashes
    of tool descriptions. `effects` are the kinds of tasks known to have effects, each with its
    number of calls. Their intents are made here unless a budget applies, since a budget needs an
    estimate of their cost.
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
        """Takes simultaneous arrivals, in the order in which they were started."""
        for arrival in sorted(arrivals, key=lambda arrival: arrival.number):
            event, pending = arrival.event, self.machine.pending.get(arrival.event.address)
            if arrival.due is not None and (pending is None or pending.get("due") != arrival.due):
                continue  # the timer was dropped, or set again, at the same time
            if event.kind == "task.in_doubt":
                event = in_doubt(self.machine, event.address, event.at)
            self.arrive(event)

    def take_over(self, at: float) -> None:
        """Continues from a state whose open calls are lost: their outcome is unknown."""
        for address in self.machine.in_flight():
            self.arrive(in_doubt(self.machine, address, at))

    def take_entries(self) -> list[Event]:
        """The entries since the last call."""
        entries, self._entries = self._entries, []
        return entries

    def commands(
        self, at: float, *, is_full: bool = False
    ) -> tuple[list[Perform], list[ReadyCall | SetTimer | Give | Cancel]]:
        """Returns the tasks that need intents, and all other commands, in order.

        Intents that are made here have the time `at`. If it `is_full`, another execution continues
        soon; new tasks are left to it, since its restored machine asks for them again.
        """
        wanted: dict[str, Perform] = {}
        others: list[ReadyCall | SetTimer | Give | Cancel] = []
        while polled := self.machine.poll():
            sure: dict[str, Perform] = {}
            for command in polled:
                match command:
                    case Perform(address):
                        if not is_full or self.machine.is_sent(address):
                            is_sure = command.kind in self._effects
                            is_sure = is_sure and not is_limited(self.machine, address)
                            intents = sure if is_sure else wanted
                            intents[address] = self._asked[address] = command
                    case Send(address, cap):
                        perform = self._asked.pop(address, None)
                        if perform is not None:
                            # If it was held back, its intent is in the journal.
                            sure.pop(address, None)
                            wanted.pop(address, None)
                            others.append(ReadyCall(perform, cap))
                    case Cancel(address):
                        for intents in (sure, wanted, self._asked):
                            intents.pop(address, None)
                        others.append(command)
                    case SetTimer() | Give():
                        others.append(command)
            for perform in sure.values():
                self.arrive(self._intent(perform, at))
        return list(wanted.values()), others

    def is_asked(self, perform: Perform) -> bool:
        """Returns whether a task still waits for its intent."""
        return self._asked.get(perform.address) is perform

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
    """Returns the entry of a call that was sent but whose outcome is unknown."""
    return Event("task.in_doubt", address, at, {"reserve": machine.held_for(address)})
