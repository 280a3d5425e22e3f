"""The calls of a run by the iterations that they belong to, in the order of the journal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.interpreter.events import amount_in, charged
from whorl.wings.experiments.what_if.facts import USAGE, Call

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.interpreter.events import Event

# The address of a loop and the number of an iteration; 0 is before the first one.
Place: TypeAlias = tuple[str, int]

_NUMBER = re.compile(r"\[([0-9]+)\]")
_JUDGE = re.compile(r"(?:#[0-9]+)?/:judge([0-9]*)(?:#[0-9]+)?")
_FIRST_JUDGE = re.compile(r"(.*)/:judge[0-9]*(?:#[0-9]+)?")
_ENDS = ("task.finished", "task.failed", "task.in_doubt")


class CallLog:
    """Counts calls while a journal is read; `outside` is what those used that are in no loop."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.judges: dict[str, list[str]] = {}
        self.overlaps: set[Place] = set()
        self.waits: set[Place] = set()
        self.outside: dict[str, float] = {}
        self._calls: dict[Place, list[Call]] = {}
        self._open: dict[str, dict[str, Any]] = {}
        self._cancelled: dict[tuple[Place, str], Call] = {}
        self._refused: set[str] = set()

    def add_loop(self, address: str, began: float, judges: list[str]) -> None:
        """A loop in question begins; its judges are known by their atoms."""
        self.began[address], self.judges[address] = began, judges

    def of(self, place: Place) -> list[Call]:
        return self._calls.setdefault(place, [])

    def refuse(self, address: str) -> None:
        """A call did not fit into a budget, so it is not on its way."""
        self._refused.add(address)

    def wait(self, addresses: Iterable[str]) -> None:
        """Time passes while these calls wait for their budget."""
        for address in addresses:
            self.waits.update(self._places(address))

    def take(self, event: Event, *, is_no_call: bool = False) -> None:
        """Takes the beginning or the end of a call in; all other events are none."""
        body: dict[str, Any] = event.body
        if event.kind == "task.started":
            for place in self._places(event.address):
                if any(place in self._places(other) for other in self._open):
                    self.overlaps.add(place)
            self._open[event.address] = body | {"at": event.at}
        elif event.kind in _ENDS:
            started = self._open.get(event.address, {})
            usage = {name: amount_in((body.get("usage") or {}).get(name)) for name in USAGE}
            if event.kind == "task.in_doubt":
                usage = {name: charged(body.get("reserve") or {})[name] for name in USAGE}
            else:
                self._open.pop(event.address, None)
            if not is_no_call:
                self._count(event, started, usage)

    def _places(self, address: str) -> list[Place]:
        """The iterations that something happens in, of the loops in question."""
        found = ((address[: at.start()], int(at[1])) for at in _NUMBER.finditer(address))
        first = _FIRST_JUDGE.fullmatch(address)
        before = [(first[1], 0)] if first is not None else []
        return [place for place in (*found, *before) if place[0] in self.began]

    def _judge(self, place: Place, address: str) -> str:
        """Which judge of a loop a call asks; or none."""
        base = f"{place[0]}[{place[1]}]" if place[1] else place[0]
        asked = _JUDGE.fullmatch(address[len(base) :])
        return self.judges[place[0]][int(asked[1] or 1) - 1] if asked else ""

    def _count(self, event: Event, started: dict[str, Any], usage: dict[str, float]) -> None:
        address, value = event.address, event.body.get("value")
        places = self._places(address)
        for place in places:
            if (cancelled := self._cancelled.get((place, address))) is not None:
                cancelled.usage, cancelled.is_in_doubt = usage, False
                continue
            call = self._made(place, started, event.at, usage)
            call.judge = self._judge(place, address)
            call.is_in_doubt = event.kind == "task.in_doubt"
            if call.judge and isinstance(value, dict):
                call.verdict = str(value.get("verdict"))
            self.of(place).append(call)
        for name, amount in usage.items() if not places else ():
            self.outside[name] = self.outside.get(name, 0) + amount

    def _made(
        self, place: Place, started: dict[str, Any], now: float, usage: dict[str, float]
    ) -> Call:
        reserve = {n: amount_in(v) for n, v in (started.get("reserve") or {}).items()}
        began = self.began[place[0]]
        call = Call("", reserve, usage, bool(started.get("cap")))
        call.began, call.ended = started.get("at", now) - began, now - began
        return call

    def close(self, place: Place, now: float) -> None:
        """An iteration ends: calls that are cancelled with it count as reserved.

        A reply that comes all the same tells what they used.
        """
        for address, started in self._open.items():
            is_known = (place, address) in self._cancelled or address in self._refused
            if place in self._places(address) and not (is_known or self._judge(place, address)):
                usage = charged(started.get("reserve") or {})
                call = self._made(place, started, now, {name: usage[name] for name in USAGE})
                call.is_in_doubt = True
                self._cancelled[place, address] = call
                self.of(place).append(call)
