"""What a run came to, from its journal: the result document, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from whorl.interfaces.preflight import asks_models
from whorl.interpreter.events import Event
from whorl.runtimes.folding import fold
from whorl.runtimes.summary import document

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.runtimes.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore

TOY_ANSWERED = (
    "the embedded toy model answers: fine for trying things out, useless as a judge; configure a "
    "provider in whorl.toml"
)
# Where the first answer of a model is looked for.
_FIRST_ENTRIES = 1_000
# How often the row and the journal are read again while the run goes on between the two.
_LOOKS = 4


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
    body["usage"] = dict(state["usage"])
    final = Event("run.finished", "", float(state["at"]), body)
    # Reading the whole journal for warnings is left out where none was given.
    found = document(run, status, final, store, warnings=None if state["warned"] else [])
    if state["usage"].get("calls") and asks_models(machine.plan.workflow):
        found["warnings"] = [*_of_toy(store, run), *cast("list[Json]", found["warnings"])]
    return found


def _of_toy(store: SqliteStore, run: RunId) -> list[Json]:
    """That the embedded model answers, which the first answer of a model tells."""
    for entry in store.read(run, limit=_FIRST_ENTRIES):
        event = entry.event
        if event.kind not in ("task.finished", "task.failed"):
            continue
        told: Any = event.body
        if event.kind == "task.failed":
            told = told["error"].get("detail") or {}
        if told.get("toy_model"):
            return [{"code": "P110", "message": TOY_ANSWERED, "path": event.address}]
        if "model" in told and "finish" in told:
            return []
    return []


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
