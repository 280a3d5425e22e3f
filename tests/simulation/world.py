"""The world around a machine, without asyncio: it keeps a journal, makes calls, and crashes.

Which of the things that could happen next does happen, and what every call replies, follows from
the seed and the addresses alone. So a run with crashes takes the same way as one without.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl.interpreter.events import Cancel, Event, Perform, Send, SetTimer
from whorl.interpreter.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.plan import Plan
    from whorl.language import Json

RESERVE: dict[str, Json] = {"calls": 1, "tokens": 20, "cost_usd": 0.0625}
USAGE_NAMES = ("calls", "input_tokens", "output_tokens", "cost_usd", "in_doubt")
_EVENTS_MAX = 3_000


class Stuck(AssertionError):
    """The run goes on for ever, or waits for nothing."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the journal is written, and what the world had counted by then."""

    fed: int = 0
    notes: int = 0
    spent: dict[str, float] = field(default_factory=dict)
    charged: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(slots=True)
class World:
    """One run of a program, its journal, and what is under way outside."""

    plan: Plan
    seed: int
    fed: list[Event] = field(default_factory=list)
    notes: list[Event] = field(default_factory=list)
    asked: dict[str, Perform] = field(default_factory=dict)
    sent: dict[str, Perform] = field(default_factory=dict)
    timers: dict[str, float] = field(default_factory=dict)
    performed: list[str] = field(default_factory=list)
    settled: set[str] = field(default_factory=set)
    spent: dict[str, float] = field(default_factory=dict)
    charged: dict[str, dict[str, float]] = field(default_factory=dict)
    snapshot: tuple[int, str] = (0, "")
    written: Mark = field(default_factory=Mark)
    has_to_write: bool = False
    held: dict[str, dict[str, Json]] = field(default_factory=dict)
    lost: int = 0
    now: float = 0.0
    machine: Machine = field(init=False)

    def __post_init__(self) -> None:
        self.machine = Machine(self.plan)

    def start(self, **options: Json) -> None:
        """Starts the run."""
        body: dict[str, Json] = {"run": "r", "seed": "s", "input": {}}
        self.feed(Event("run.started", "", self.now, body | options))

    def adopt(self, machine: Machine) -> None:
        """Goes on with a run that has a past in another world."""
        self.machine = machine
        self.keep()
        self._carry_out()

    def feed(self, event: Event, *, repeatable: bool = False) -> None:
        """Journals an event and feeds it; one that can be had again is written with the next."""
        self.fed.append(event)
        if len(self.fed) > _EVENTS_MAX:
            raise Stuck("the run goes on for ever")
        self.machine.feed(event)
        self.notes += self.machine.take_notes()
        self.has_to_write |= not repeatable
        self._carry_out()

    def write(self) -> None:
        """All that was fed is in the journal now."""
        self.has_to_write = False
        charged = {address: dict(amount) for address, amount in self.charged.items()}
        self.written = Mark(len(self.fed), len(self.notes), dict(self.spent), charged)

    @property
    def has_unwritten(self) -> bool:
        """Whether a crash could lose something that was used."""
        return self.written.fed < len(self.fed)

    def choices(self) -> list[str]:
        """The addresses at which something could happen next, in the order of their luck."""
        open_ones = [*self.sent, *self.timers, *self.questions()]
        return sorted(open_ones, key=lambda address: (self._is_slow(address), self.luck(address)))

    def _is_slow(self, address: str) -> bool:
        """Most timers take longer than most calls."""
        return address in self.timers and self.luck(address) % 4 > 0

    def questions(self) -> Iterator[str]:
        """The open questions to people."""
        return (a for a, entry in self.machine.pending.items() if entry["what"] == "gate")

    def happen(self, address: str) -> None:
        """Lets happen what is open at an address."""
        if address in self.sent:
            self.reply(self.sent.pop(address))
        elif address in self.timers:
            self.now = max(self.now, self.timers.pop(address))
            self.feed(Event("timer.fired", address, self.now))
        else:
            approved = self.luck(address) % 3 > 0
            self.feed(Event("gate.decided", address, self.now, {"approved": approved}))

    def intent(self, perform: Perform) -> dict[str, Json]:
        """What is journaled before a call is sent."""
        return {"kind": perform.kind, "reserve": RESERVE}

    def reply(self, perform: Perform) -> None:
        """A call is answered, well or not."""
        address = perform.address
        assert address not in self.settled, f"{address} is answered twice"
        self.settled.add(address)
        event = self.answer(perform)
        self.account(address, event)
        self.feed(event, repeatable=perform.kind == "use")

    def answer(self, perform: Perform) -> Event:
        """What a call replies: it depends on the seed and the address only."""
        luck = self.luck(perform.address)
        body: dict[str, Json] = {}
        if perform.kind != "use":
            body["usage"] = {
                "calls": 1,
                "input_tokens": 10,
                "output_tokens": luck % 11,
                "cost_usd": (1 + luck % 4) / 64,
            }
        fault = {80: ("P103", True), 81: ("P103", True), 90: ("P101", False), 95: ("P105", False)}
        share = luck // 16 % 100
        found = next((fault[at] for at in fault if at <= share < at + 4), None)
        if found is not None:
            body["error"] = {"code": found[0], "message": "no", "retryable": found[1]}
            if found[0] == "P105":
                body["error"]["detail"] = {"answer": "no", "errors": ["no"]}
            return Event("task.failed", perform.address, self.now, body)
        words: tuple[Json, ...] = ("met", "not_met", "not_met", "ambiguous")
        value: Json = luck % 10
        if perform.kind == "judge":
            value = {"verdict": words[luck % 4], "answer": "so"}
        body |= {"value": value, "session": f"s{luck % 100}"}
        return Event("task.finished", perform.address, self.now, body)

    def account(self, address: str, event: Event) -> None:
        """Counts what a call used, instead of what was reserved for it."""
        usage: Any = event.body.get("usage", {})
        for name, amount in self.charged.pop(address, {}).items():
            self.spent[name] = self.spent.get(name, 0) - amount
        for name in USAGE_NAMES:
            self.spent[name] = self.spent.get(name, 0) + usage.get(name, 0)

    def crash(self, *, from_snapshot: bool, before_writing: bool = False) -> None:
        """Throws all that is in memory away and folds the journal; what was sent is in doubt.

        `before_writing` loses the replies that were used and not yet written.
        """
        live = self.machine.state
        lossy = before_writing and self.has_unwritten
        if lossy:
            self._lose()
        at, state = self.snapshot if from_snapshot else (0, "")
        machine = Machine.restore(self.plan, state) if state else Machine(self.plan)
        for event in self.fed[at:]:
            machine.feed(event)
            machine.take_notes()
            machine.poll()
        machine.recover()
        assert lossy or live == machine.state, "the replayed state is not the live one"
        self.machine = machine
        self.asked, self.sent, self.timers = {}, {}, {}
        for address in machine.in_flight():
            self._charge(RESERVE)
            event = Event("task.in_doubt", address, self.now)
            self.fed.append(event)
            machine.feed(event)
        self.notes += machine.take_notes()
        self.has_to_write = True
        self._carry_out()

    def _lose(self) -> None:
        lost = self.fed[self.written.fed :]
        self.lost += len(lost)
        self.settled -= {event.address for event in lost}
        del self.fed[self.written.fed :]
        del self.notes[self.written.notes :]
        self.spent, self.charged = dict(self.written.spent), dict(self.written.charged)

    def keep(self) -> None:
        """Takes a snapshot, of what is written."""
        self.write()
        self.snapshot = (len(self.fed), self.machine.snapshot())

    def luck(self, address: str) -> int:
        """A number that depends on the seed and an address only."""
        return zlib.crc32(f"{self.seed} {address}".encode())

    def is_at_rest(self) -> bool:
        """Whether nothing happens any more by itself; a run that is stuck is a mistake."""
        machine = self.machine
        if machine.done:
            return True
        if not self.sent and not self.timers and not any(self.questions()):
            if machine.status == "paused":
                return True
            raise Stuck(f"{machine.status}, and nothing is open: {machine.snapshot()}")
        return False

    def _carry_out(self) -> None:
        while True:
            intents: list[Perform] = []
            for command in self.machine.poll():
                match command:
                    case Perform():
                        self._want(command, intents)
                    case Send():
                        self.held[command.address] = dict(self.machine.held_for(command.address))
                        self.sent[command.address] = self.asked.pop(command.address)
                        self.performed.append(command.address)
                    case SetTimer():
                        self.timers[command.address] = command.due
                    case Cancel():
                        self._cancel(command.address)
            if not intents:
                break
            for perform in intents:
                event = Event("task.started", perform.address, self.now, self.intent(perform))
                self.fed.append(event)
                self.machine.feed(event)
                self.notes += self.machine.take_notes()
                self.has_to_write = True
        if self.has_to_write:
            self.write()

    def _want(self, perform: Perform, intents: list[Perform]) -> None:
        assert perform.address not in self.settled, f"{perform.address} is wanted again"
        if perform.kind == "use":
            if perform.address not in self.sent:
                self.sent[perform.address] = perform
                self.performed.append(perform.address)
        else:
            self.asked[perform.address] = perform
            intents.append(perform)

    def _cancel(self, address: str) -> None:
        self.asked.pop(address, None)
        self.timers.pop(address, None)
        perform = self.sent.pop(address, None)
        if perform is None or perform.kind == "use":
            return
        charged = self._charge(self.held.get(address, RESERVE))
        self.charged[address] = charged
        if self.luck(address) % 2:
            # The reply was on its way already.
            self.settled.add(address)
            event = self.answer(perform)
            self.account(address, event)
            self.fed.append(event)
            self.machine.feed(event)
            self.has_to_write = True

    def _charge(self, reserve: dict[str, Any]) -> dict[str, float]:
        charged = {
            "in_doubt": 1,
            "calls": reserve["calls"],
            "output_tokens": reserve["tokens"],
            "cost_usd": reserve["cost_usd"],
        }
        for name, amount in charged.items():
            self.spent[name] = self.spent.get(name, 0) + amount
        return charged
