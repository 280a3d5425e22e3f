"""What a run came to, from its journal: the result document, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.interpreter.events import Event
from whorl.runtimes.folding import fold
from whorl.runtimes.summary import document

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.runtimes.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore


_LOOKS = 4
_TAIL = 20


@dataclass(frozen=True, slots=True)
class Gate:
    """A decision that a run waits for."""

    address: str
    reason: str
    message: str
    show: Json = None
    since: float = 0.0


def as_one(store: SqliteStore, run: RunId) -> tuple[RunRow, Machine]:
    """The row of a run and its machine; of a run that goes on, both after the same entry."""
    for _ in range(_LOOKS):
        folded = fold(store, run)
        row = store.run(run)
        if row.last_seq == folded.seq:
            break
    return row, folded.machine


def result_of(
    store: SqliteStore, run: RunId, known: tuple[RunRow, Machine] | None = None
) -> dict[str, Json]:
    """The result document of a run, as it is now."""
    row, machine = known or as_one(store, run)
    status, state = row.status, machine.state
    if status in ("waiting", "interrupted") and state["status"] == "paused":
        status = "paused"
    body: dict[str, Json] = dict(state["result"] or {})
    if body:
        body |= _written_end(store, run, row.last_seq)
    body["usage"] = dict(state["usage"])
    final = Event("run.finished", "", float(state["at"]), body)
    # Reading the whole journal for warnings is left out where none was given.
    return document(run, status, final, store, warnings=None if state["warned"] else [])


def _written_end(store: SqliteStore, run: RunId, last: int) -> dict[str, Json]:
    """The end of a run as it was written: without secrets that its steps have computed."""
    found: dict[str, Json] = {}
    for entry in store.read(run, after=max(0, last - _TAIL)):
        if entry.event.kind == "run.finished":
            found = entry.event.body
    return found


def open_gates(store: SqliteStore, run: RunId, machine: Machine | None = None) -> list[Gate]:
    """What the run waits for people to decide."""
    machine = machine or fold(store, run).machine
    gates = [address for address, entry in machine.pending.items() if entry["what"] == "gate"]
    return [_gate(store, run, address) for address in gates]


def _gate(store: SqliteStore, run: RunId, address: str) -> Gate:
    body: dict[str, Json] = {}
    since = 0.0
    for entry in store.entries_at(run, address):
        if entry.event.kind == "gate.waiting" and entry.event.address == address:
            body, since = entry.event.body, entry.event.at
    reason, message = str(body.get("reason", "gate")), str(body.get("message", ""))
    return Gate(address, reason, message, body.get("show"), since)
