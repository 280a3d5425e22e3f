"""What a run came to, from its journal: the result document, iterations, what it waits for.

The journal holds the outputs of secure tasks, since nothing that was paid for may be lost; nobody
is shown them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from whorl.interpreter.events import Event, numbered, split_iteration
from whorl.ir import Loop, Workflow, from_json
from whorl.ir.walk import index_nodes, is_hidden
from whorl.providers.redaction import HIDDEN
from whorl.runtimes.folding import fold, look_into, moment
from whorl.runtimes.projection import document
from whorl.services.preflight import asks_models

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
# What is shown of a secure task, and of the details of its failure.
_KEPT_OF_TASKS = ("secure", "usage", "model", "provider", "status", "error")
_KEPT = ("status", "type", "secure")
_REQUESTS = frozenset({"gate.decided", "run.continued", "run.accepted"})
_REQUESTS_MAX = 1_000
_VERBS = {"succeeded": "has", "failed": "has", "cancelled": "was", "interrupted": "was"}


@dataclass(frozen=True, slots=True)
class Request:
    """What a person has asked of a run, or answered it; `place` is what it was about."""

    kind: str
    place: str
    body: dict[str, Json]

    @property
    def feedback(self) -> str:
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


def shown(event: Event) -> dict[str, Json]:
    body = event.body
    if body.get("secure") is True:
        if event.kind in ("task.finished", "task.failed"):
            body = {name: body[name] for name in _KEPT_OF_TASKS if name in body}
        if event.kind != "task.failed":
            body = body | {"value": HIDDEN}
    error: Any = body.get("error")
    detail = error.get("detail") if isinstance(error, dict) else None
    if isinstance(detail, dict) and detail.get("secure") is True:
        kept = {name: detail[name] for name in _KEPT if name in detail}
        body = body | {"error": error | {"detail": kept}}
        if "value" in body:
            body = body | {"value": HIDDEN}
    return body


def hidden_names(workflow: Workflow) -> frozenset[str]:
    nodes, called = index_nodes(workflow).values(), dict(workflow.workflows)
    return frozenset(node.name for node in nodes if is_hidden(node, called))


def without(values: Mapping[str, Json], hidden: frozenset[str]) -> dict[str, Json]:
    return {name: HIDDEN if name in hidden else value for name, value in values.items()}


def row_and_machine(store: SqliteStore, run: RunId) -> tuple[RunRow, Machine]:
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
    row, machine = known or row_and_machine(store, run)
    status, state = row.status, machine.state
    if status in ("waiting", "interrupted") and state["status"] == "paused":
        status = "paused"
    body: dict[str, Json] = dict(state["result"] or {})
    tail = store.read(run, after=max(0, row.last_seq - _TAIL)) if body else ()
    # The end as it was written is without secrets that its steps have computed.
    ends = [entry.event.body for entry in tail if entry.event.kind == "run.finished"]
    body |= ends[-1] if ends else {}
    body["usage"] = dict(state["usage"])
    final = Event("run.finished", "", float(state["at"]), body)
    # Reading the whole journal for warnings is left out where none was given.
    result = document(run, status, final, store, warnings=None if state["warned"] else [])
    if state["usage"].get("calls") and asks_models(machine.plan.workflow):
        result["warnings"] = [*_of_toy(store, run), *cast("list[Json]", result["warnings"])]
    return result


def _of_toy(store: SqliteStore, run: RunId) -> list[Json]:
    """That the embedded model answers, which the first answer of a model tells."""
    for entry in store.read(run, limit=_FIRST_ENTRIES):
        event = entry.event
        if event.kind not in ("task.finished", "task.failed"):
            continue
        details: Any = event.body
        if event.kind == "task.failed":
            details = details["error"].get("detail") or {}
        if details.get("toy_model"):
            return [{"code": "P110", "message": TOY_ANSWERED, "path": event.address}]
        if "model" in details and "finish" in details:
            return []
    return []


def full_result(
    store: SqliteStore, run: RunId, known: tuple[RunRow, Machine] | None = None
) -> dict[str, Json]:
    row, machine = known = known or row_and_machine(store, run)
    result = result_of(store, run, known)
    is_paused = result["status"] == "paused"
    hidden = hidden_names(workflow_of(store, run)) if machine.pending else frozenset()
    waiting_for: list[Json] = []
    for gate in open_gates(store, run, machine):
        show = without(gate.show, hidden) if isinstance(gate.show, dict) else gate.show
        told: dict[str, Json] = {"address": gate.address, "reason": gate.reason}
        waiting_for.append(told | {"message": gate.message, "show": show})
    return result | {
        "parent": row.parent or None,
        "paused_by": machine.state.get("paused_by") if is_paused else None,
        "waiting_for": waiting_for,
    }


def requests_of(store: SqliteStore, run: RunId) -> list[Request]:
    """Answers of people, and iterations that they gave or chose; the newest of very many."""
    requests: list[Request] = []
    for entry in store.read(run):
        event = entry.event
        if event.kind in _REQUESTS and not event.body.get("refused"):
            place = event.address.partition("/:")[0] or str(event.body.get("at") or "")
            requests.append(Request(event.kind, place, event.body))
    return requests[-_REQUESTS_MAX:]


def open_gates(store: SqliteStore, run: RunId, machine: Machine | None = None) -> list[Gate]:
    machine = machine or fold(store, run).machine
    gates = []
    for address, pending in machine.pending.items():
        if pending["what"] == "gate":
            at = (entry.event for entry in store.entries_at(run, address))
            asked = [e for e in at if e.kind == "gate.waiting" and e.address == address]
            body, since = (asked[-1].body, asked[-1].at) if asked else ({}, 0.0)
            reason, message = str(body.get("reason", "gate")), str(body.get("message", ""))
            gates.append(Gate(address, reason, message, body.get("show"), since))
    return gates


def workflow_of(store: SqliteStore, run: RunId) -> Workflow:
    return from_json(store.workflow(run))


def loop_node(workflow: Workflow, path: str) -> Loop | None:
    """The loop at a path, in the workflow itself or in one that it calls."""
    for address, node in index_nodes(workflow).items():
        if address.rpartition(":")[2] == path and isinstance(node, Loop):
            return node
    return None


def loop_frame(machine: Machine, address: str) -> dict[str, Any]:
    """What the machine keeps of the loop at an address; empty where it keeps nothing."""
    frames = machine.frames.values()
    loops = (f for f in frames if f["kind"] == "loop" and f["address"] == address)
    return cast("dict[str, Any]", next(loops, {}))


def iteration_results(
    store: SqliteStore, run: RunId, loop: str, numbers: Sequence[int]
) -> dict[int, dict[str, Json]]:
    results = look_into(store, run, frozenset(numbered(loop, number) for number in numbers))
    return {split_iteration(address)[1] or 0: iteration for address, iteration in results.items()}


def carried_into(store: SqliteStore, run: RunId, loop: str, number: int) -> dict[str, Json]:
    machine = moment(store, run, numbered(loop, number))
    frame = {} if machine is None else loop_frame(machine, loop)
    return dict(frame.get("carry") or {})


def status_words(status: str) -> str:
    """A status as a clause: `has succeeded`, `was cancelled`, `is paused`."""
    if status == "waiting":
        return "waits for a person"
    return f"{_VERBS.get(status, 'is')} {status}"
