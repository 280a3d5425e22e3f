"""What a run came to, from its journal: the result document, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from whorl.interfaces.history import workflow_of
from whorl.interfaces.preflight import asks_models
from whorl.interfaces.secrecy import hidden_names
from whorl.interfaces.wording import with_run
from whorl.interpreter.events import Event
from whorl.providers.secrets import HIDDEN
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
_TAIL = 20
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
    found = document(run, status, final, store, warnings=None if state["warned"] else [])
    if state["usage"].get("calls") and asks_models(machine.plan.workflow):
        found["warnings"] = [*_of_toy(store, run), *cast("list[Json]", found["warnings"])]
    if state.get("paused_by") == "budget":
        _take_back_unbegun(machine, cast("list[dict[str, Any]]", found["loops"]))
    for told in (*cast("list[Any]", found["warnings"]), found["error"]):
        if isinstance(told, dict) and told.get("message"):
            told["message"] = with_run(str(told["message"]), run)
    return found


def _take_back_unbegun(machine: Machine, loops: list[dict[str, Any]]) -> None:
    """An iteration whose first call the budget refuses has not begun."""
    frames = {f["address"]: f for f in machine.frames.values() if f["kind"] == "loop"}
    for loop in loops:
        frame = frames.get(loop["path"])
        if (
            frame
            and frame.get("phase") == "body"
            and not frame["begun"]
            and not frame.get("retries")
        ):
            loop["iterations"] = frame["count"] - 1


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


def full_result(
    store: SqliteStore, run: RunId, known: tuple[RunRow, Machine] | None = None
) -> dict[str, Json]:
    """The result document with where the run comes from, and what it waits for."""
    row, machine = known = known or as_one(store, run)
    result = result_of(store, run, known)
    is_paused = result["status"] == "paused"
    hidden = hidden_names(workflow_of(store, run)) if machine.pending else frozenset()
    return result | {
        "parent": row.parent or None,
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
