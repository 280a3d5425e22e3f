"""What a run came to, from its journal: the result document, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.interfaces.history import workflow_of
from whorl.interfaces.secrecy import hidden_names
from whorl.interpreter.events import Event
from whorl.providers.secrets import HIDDEN
from whorl.runtimes.folding import fold
from whorl.runtimes.summary import document

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

_REQUESTS = frozenset({"gate.decided", "run.continued", "run.accepted"})
_REQUESTS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Request:
    """What a person has asked of a run, or answered it; `place` is what it was about."""

    kind: str
    place: str
    body: dict[str, Json]

    @property
    def feedback(self) -> str:
        """The person's words."""
        return str(self.body.get("feedback") or "")


@dataclass(frozen=True, slots=True)
class Gate:
    """A decision that a run waits for."""

    address: str
    reason: str
    message: str
    show: Json = None
    since: float = 0.0

    @property
    def place(self) -> str:
        """The step, loop or iteration that asks, as people name it."""
        return self.address.partition("/:")[0]


def result_of(store: SqliteStore, run: RunId, machine: Machine | None = None) -> dict[str, Json]:
    """The result document of a run, as it is now."""
    status = store.run(run).status
    state = (machine or fold(store, run).machine).state
    if status in ("waiting", "interrupted") and state["status"] == "paused":
        status = "paused"
    body: dict[str, Json] = dict(state["result"] or {})
    body["usage"] = dict(state["usage"])
    final = Event("run.finished", "", float(state["at"]), body)
    # Reading the whole journal for warnings is left out where none was given.
    return document(run, status, final, store, warnings=None if state["warned"] else [])


def full_result(store: SqliteStore, run: RunId, machine: Machine | None = None) -> dict[str, Json]:
    """The result document with where the run comes from, and what it waits for."""
    machine = machine or fold(store, run).machine
    result = result_of(store, run, machine)
    is_paused = result["status"] == "paused"
    hidden = hidden_names(workflow_of(store, run)) if machine.pending else frozenset()
    return result | {
        "parent": store.run(run).parent or None,
        "paused_by": machine.state.get("paused_by") if is_paused else None,
        "waiting_for": [
            {
                "address": gate.address,
                "reason": gate.reason,
                "message": gate.message,
                "show": _without(gate.show, hidden),
            }
            for gate in open_gates(store, run, machine)
        ],
    }


def requests_of(store: SqliteStore, run: RunId) -> list[Request]:
    """Answers of people, and iterations that they gave or chose; the newest of very many."""
    found: list[Request] = []
    for entry in store.read(run):
        event = entry.event
        if event.kind in _REQUESTS and not event.body.get("refused"):
            place = event.address.partition("/:")[0] or str(event.body.get("at") or "")
            found.append(Request(event.kind, place, event.body))
    return found[-_REQUESTS_MAX:]


def _without(show: Json, hidden: frozenset[str]) -> Json:
    """What a person is shown, but for the outputs that are shown to nobody."""
    if not isinstance(show, dict) or not hidden:
        return show
    return {name: HIDDEN if name in hidden else value for name, value in show.items()}


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
