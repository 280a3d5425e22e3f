"""What calls used, charged to the records of all that they happened in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.events import amount_in, charged
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services.records.record import Attempt

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Frame, Values
    from whorl.interpreter.state import State
    from whorl.services.records.record import Record

CHARGED = frozenset({"task.finished", "task.failed", "task.in_doubt"})


class Charges:
    """Charges replies, and calls that are given up.

    `known` has the records of frames by their keys, `iterations` those of iterations by the keys
    of their loops.
    """

    def __init__(self, known: dict[str, Record], iterations: dict[str, Record]) -> None:
        self._known = known
        self._iterations = iterations
        self._abandoned: dict[str, tuple[list[Record], Values]] = {}

    def take_reply(self, machine: State, event: Event) -> None:
        """Charges what a call used to all that it happened in."""
        waiting = machine.pending.get(event.address)
        usage: Any = event.body.get("usage")
        if event.kind == "task.in_doubt":
            usage = charged(event.body.get("reserve") or {})  # type: ignore[arg-type]
        if waiting is None:
            records, paid = self._abandoned.pop(event.address, ([], {}))
            charge(records, paid, -1)
            charge(records, usage)
            return
        charge(self.around(machine.frames, waiting["frame"]), usage)
        record = self._known.get(waiting["frame"])
        if record is not None and event.kind != "task.in_doubt":
            status = "succeeded" if event.kind == "task.finished" else "failed"
            error = shown(event).get("error")
            record.attempts.append(Attempt(event.address, status, event.at, error))

    def give_up(self, machine: State, key: str) -> None:
        """Charges a call that was given up on its way, until its reply comes after all."""
        address = machine.frames[key]["address"]
        call = machine.state["abandoned"].get(address)
        if call is not None and address not in self._abandoned:
            records = self.around(machine.frames, key)
            charge(records, call["usage"])
            self._abandoned[address] = (records, call["usage"])

    def around(self, frames: dict[str, Frame], key: str | None) -> list[Record]:
        """The records of a frame and of all that it happens in."""
        records: list[Record] = []
        while key is not None:
            if (record := self._known.get(key)) is not None:
                records.append(record)
            inside, key = key, frames[key]["parent"]
            # The judge of an iteration is no part of its body; one ahead of the next is of neither.
            iteration = self._iterations.get(key or "")
            if iteration is not None and key is not None and iteration.frame != inside:
                records += [] if frames[key].get("before") else [iteration]
        return records


def charge(records: list[Record], usage: Any, sign: int = 1) -> None:
    if not isinstance(usage, dict):
        return
    amounts = {name: amount_in(amount) for name, amount in usage.items()}
    if usage.get("calls") and usage.get("cost_usd", 0) is None:
        amounts["unpriced"] = amounts["calls"]
    for record in records:
        for name in (name for name in amounts if amounts[name]):
            record.usage[name] = record.usage.get(name, 0) + sign * amounts[name]
