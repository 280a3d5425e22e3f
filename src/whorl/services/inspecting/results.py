"""Reads the results of a run from its journal: its document, open questions, ends of loops.

The journal has secrets and the outputs of secure tasks encrypted, since a run needs them to resume.
They are never shown.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from whorl.errors import UsageError
from whorl.interpreter.budget import lacking
from whorl.interpreter.constructs.loops.loop_limits import to_go_on
from whorl.interpreter.events import Event
from whorl.interpreter.requests import open_to_money
from whorl.interpreter.state import ENDED
from whorl.ir import After, Block, ForEach, Group, Loop, Workflow, from_json, node_from_json
from whorl.ir.walk import index_nodes, is_hidden, is_program
from whorl.lazily import dataclass
from whorl.providers.redaction import HIDDEN
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.journal import RunId, known_cost
from whorl.runtimes.journal.projection import CHARGED, LoopFold, RunFold
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.runtimes.sqlite.listing import MOCKED
from whorl.services.files.forecasting import asks_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whorl.interpreter.machine import Machine
    from whorl.ir import Node
    from whorl.language import Json
    from whorl.runtimes.journal.journal import IterationRow, Journal, LoopRow, RunRow
    from whorl.runtimes.sqlite import SqliteStore


_Row = TypeVar("_Row")
_Made = TypeVar("_Made")
TOY_ANSWERED = (
    "the built-in toy model answered (for demos only); configure a provider in whorl.toml"
)
# Where the first answer of a model is looked for.
_FIRST_ENTRIES = 1_000
# How often the row and the journal are read again if the run continues between the two.
_LOOKS = 4
_TAIL = 20
_REQUESTS = frozenset({"gate.decided", "run.continued", "run.accepted"})
_REQUESTS_MAX = 1_000
_ITERATIONS_MAX = 1_000
_VERBS = {"succeeded": "has", "failed": "has", "cancelled": "was", "interrupted": "was"}


def each_left(rows: Iterable[_Row], made: Callable[[_Row], _Made]) -> Iterator[tuple[_Row, _Made]]:
    """Yields the result of `made` for each run of a list, except runs deleted since."""
    for row in rows:
        try:
            yield row, made(row)
        except UsageError as fault:
            if fault.code != "W902":
                raise


@dataclass(frozen=True, slots=True)
class Request:
    """A request or an answer of a person to a run; `place` is its object."""

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
        """Returns the step, loop or iteration that asks, as people name it."""
        return self.address.partition("/:")[0]


def hidden_names(workflow: Workflow) -> frozenset[str]:
    nodes, called = index_nodes(workflow).values(), dict(workflow.workflows)
    return frozenset(node.name for node in nodes if is_hidden(node, called))


def without(values: Mapping[str, Json], hidden: frozenset[str]) -> dict[str, Json]:
    return {name: HIDDEN if name in hidden else value for name, value in values.items()}


def row_and_machine(store: SqliteStore, run: RunId) -> tuple[RunRow, Machine]:
    """Returns the row and the machine of a run; if it is running, both after the same entry."""
    for _ in range(_LOOKS):
        folded = fold(store, run)
        row = store.run(run)
        if row.last_seq == folded.seq:
            break
    return row, folded.machine


_BLIND: Final = {
    "code": "R909",
    "message": "the key of its secrets is missing: values that depend on secrets, and the steps "
    "that read them, are not shown as they were",
    "path": "",
}


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
    # Without the key of its secrets, a machine may come to an end that is not the run's.
    body = body | ends[-1] if ends else body if row.status in ENDED else {}
    body["usage"] = dict(state["usage"])
    final = Event("run.finished", "", float(state["at"]), body)
    # Reading the whole journal for warnings is left out where none was given.
    warned: Any = warnings_of(store, run) if state["warned"] else []
    warnings = [_with_amounts_now(store, run, machine, warning) for warning in warned]
    result = document(run, status, final, store, warnings=warnings)
    _complete_usage(store, run, machine, cast("dict[str, Any]", result))
    if state["usage"].get("calls") and asks_models(machine.plan.workflow):
        result["warnings"] = [*_of_toy(store, run), *cast("list[Json]", result["warnings"])]
    if machine.is_blind:
        result["warnings"] = [*cast("list[Json]", result["warnings"]), dict(_BLIND)]
    return result


def amounts_to_go_on(machine: Machine, at: str = "") -> dict[str, float]:
    """Returns how much more budget a loop needs now, or every loop that lacks budget."""
    keys = [key for key, frame in machine.frames.items() if frame["address"] == at]
    more: dict[str, float] = {}
    for key in keys if at else open_to_money(machine):
        if machine.frames[key]["kind"] == "loop":
            lacks = to_go_on(machine, key)
            more |= {name: max(amount, more.get(name, 0.0)) for name, amount in lacks.items()}
    return more


def _with_amounts_now(
    store: SqliteStore, run: RunId, machine: Machine, warning: dict[str, Any]
) -> Json:
    """Returns a warning with the amounts that are missing now, since open calls add costs."""
    facts, more = warning.get("facts") or {}, {}
    if warning["code"] == "R102" and facts.get("limit"):
        more = amounts_to_go_on(machine, "" if "[" in facts["address"] else facts["address"])
    elif warning["code"] == "R103" and facts and machine.state.get("paused_by") == "budget":
        at = (entry.event for entry in store.entries_at(run, warning["path"]))
        asked = [e for e in at if e.kind == "task.started" and e.address == warning["path"]]
        amount: Any = asked[-1].body.get("reserve") if asked else None
        frames = machine.frames.items()
        loops = (key for key, frame in frames if frame["address"] == facts.get("loop"))
        more = lacking(machine, next(loops, None), amount or {})
    return warning | {"facts": facts | {"more": {**more}}} if more else warning


def _complete_usage(
    store: SqliteStore, run: RunId, machine: Machine, result: dict[str, Any]
) -> None:
    """Adds the number of model calls, the reserved amount, and the usage of running loops."""
    result["usage"]["model_calls"] = store.model_calls(run)
    if result["usage"]["in_doubt"]:
        charges = RunFold[LoopFold]()
        for entry in store.read(run, kinds=CHARGED | {"run.forked"}):
            charges.take(entry.event)
        result["usage"]["reserved_usd"] = round(charges.reserved_usd, 9)
    loops = {f["address"]: f for f in machine.frames.values() if f["kind"] == "loop"}
    for loop in result["loops"]:
        if not loop["exit_reason"] and loop["path"] in loops:
            loop["usage"] = usage_document(loops[loop["path"]].get("usage"))


def input_of(store: SqliteStore, run: RunId) -> Json:
    """Returns the only input of a run, or all inputs by name."""
    entry = next(iter(store.read(run, limit=1)), None)
    given = None if entry is None else shown(entry.event).get("input")
    return next(iter(given.values())) if isinstance(given, dict) and len(given) == 1 else given


def _of_toy(store: SqliteStore, run: RunId) -> list[Json]:
    """Returns a warning if the first answer of a model is the built-in toy model's."""
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
        question: dict[str, Json] = {"address": gate.address, "reason": gate.reason}
        waiting_for.append(question | {"message": gate.message, "show": show})
    if mocked := row.labels.get(MOCKED):
        result["mocked"] = mocked
    return result | {
        "parent": row.parent or None,
        "paused_by": machine.state.get("paused_by") if is_paused else None,
        "waiting_for": waiting_for,
    }


def traceback_of(store: SqliteStore, run: RunId, path: str) -> str:
    """Returns the traceback of a step's function that made the run fail, or ""."""
    found = ""
    for entry in store.entries_at(run, path) if path else ():
        if entry.event.kind == "task.failed":
            error: Any = shown(entry.event).get("error") or {}
            found = str((error.get("detail") or {}).get("traceback") or "")
    return found


def begun_iterations(store: SqliteStore, run: RunId, row: LoopRow) -> list[IterationRow]:
    """Returns the ended iterations of a loop; if there are very many, the newest."""
    rows = store.newest_iterations(run, row.address, _ITERATIONS_MAX)
    return [iteration for iteration in rows if iteration.status != "not_begun"]


def requests_of(store: SqliteStore, run: RunId) -> list[Request]:
    """Returns the answers of people and the iterations that they added or chose, or the newest."""
    requests: list[Request] = []
    for entry in store.read(run, kinds=_REQUESTS):
        event = entry.event
        if not event.body.get("refused"):
            place = event.address.partition("/:")[0] or str(event.body.get("at") or "")
            requests.append(Request(event.kind, place, event.body))
    return requests[-_REQUESTS_MAX:]


def stopped_loops(store: SqliteStore, run: RunId) -> frozenset[str]:
    """Returns the loops that a person stopped without choosing an iteration."""
    accepted = (one for one in requests_of(store, run) if one.kind == "run.accepted")
    stopped = {request.place: "iteration" not in request.body for request in accepted}
    return frozenset(place for place, is_stopped in stopped.items() if is_stopped)


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


def shown_workflow(store: SqliteStore, run: RunId) -> Workflow:
    """Returns the workflow of a run for people: of a program, what it has requested so far."""
    workflow = workflow_of(store, run)
    return as_requested(workflow, fold(store, run).machine) if is_program(workflow) else workflow


def as_requested(workflow: Workflow, machine: Machine) -> Workflow:
    """Returns a program as a workflow of the nodes that its code has requested, in that order."""
    return replace(workflow, body=_requested(machine.state["program"]["grown"], ":"))


def _requested(grown: Mapping[str, Mapping[str, Sequence[Any]]], key: str) -> Block:
    nodes: list[Node] = []
    for name, ways in grown.get(key, {}).items():
        if "~" in name:
            continue  # another one of the same name
        node: Any = node_from_json({**ways[-1], "name": name})
        if isinstance(node, Loop | Group | ForEach):
            node = replace(node, body=_requested(grown, f"{key}{name}/"))
        after = (After(nodes[-1].name),) if nodes else ()
        nodes.append(replace(node, after=after))
    return Block(tuple(nodes))


def loop_node(workflow: Workflow, path: str) -> Loop | None:
    """Returns the loop at a path, in the workflow or in one that it calls."""
    for address, node in index_nodes(workflow).items():
        if address.rpartition(":")[2] == path and isinstance(node, Loop):
            return node
    return None


def loop_frame(machine: Machine, address: str) -> dict[str, Any]:
    """Returns the machine's frame of the loop at an address, or {} if it has none."""
    frames = machine.frames.values()
    loops = (f for f in frames if f["kind"] == "loop" and f["address"] == address)
    return cast("dict[str, Any]", next(loops, {}))


def status_words(status: str) -> str:
    """Returns a status as a clause: `has succeeded`, `was cancelled`, `is paused`."""
    if status == "waiting":
        return "waits for a person"
    return f"{_VERBS.get(status, 'is')} {status}"


def limit_now(machine: Machine, row: LoopRow) -> int | None:
    """Returns the present limit of iterations, which a person may have raised."""
    frame = loop_frame(machine, row.address)
    if frame:
        return int(frame["limits"]["iterations"])
    limit = row.limits.get("iterations") if isinstance(row.limits, dict) else None
    return limit if isinstance(limit, int) else None


# The result of a run as a document: its outputs, loops, usage, warnings and error.

_WARNING: Final = frozenset({"warning"})
_OF_WARNINGS: Final = frozenset({"warning", "loop.continued", "run.accepted"})
_WARNINGS_MAX: Final = 1_000
_AT_LIMIT: Final = "R102"
_USAGE: Final = ("calls", "input_tokens", "output_tokens", "cost_usd", "in_doubt")


def document(
    run: str,
    status: str,
    final: Event | None,
    journal: Journal,
    *,
    warnings: list[Json] | None = None,
) -> dict[str, Json]:
    """Returns the result document; `final` is the last `run.finished`. Finds unknown warnings."""
    body: dict[str, Any] = final.body if final is not None else {}
    if warnings is None:
        events = (entry.event for entry in journal.read(RunId(run), kinds=_WARNING))
        warned = (event.body | {"path": event.address} for event in events)
        warnings = list(islice(warned, _WARNINGS_MAX))
    return {
        "run": run,
        "status": status,
        "output": body.get("output"),
        "outputs": body.get("outputs") or {},
        "loops": [loop_document(row) for row in journal.loops(RunId(run))],
        "usage": usage_document(body.get("usage")),
        "warnings": warnings,
        "error": body.get("error"),
    }


def loop_document(row: LoopRow) -> dict[str, Json]:
    document: dict[str, Json] = {
        "path": row.address,
        "iterations": row.iterations,
        "exit_reason": row.exit_reason or None,
        "stopped_by": row.stopped_by or None,
        "score": row.score,
        "best_iteration": row.best_iteration,
        "returned_iteration": row.returned_iteration,
        "failed_iterations": list(row.failed_iterations),
        "usage": usage_document(row.usage),
    }
    return document | {"mark": row.mark} if row.mark else document


def usage_document(usage: Any) -> dict[str, Json]:
    """Returns usage with all its fields, and the number of calls without a known price."""
    usage = usage if isinstance(usage, dict) else {}
    document: dict[str, Json] = {name: usage.get(name, 0) for name in _USAGE}
    unpriced = usage.get("unpriced") or usage.get("unpriced_calls")
    if usage.get("cost_usd", 0) is None:
        unpriced = unpriced or usage.get("calls")
    document["cost_usd"] = known_cost(round(float(usage.get("cost_usd") or 0), 9), unpriced)
    if unpriced:
        document["unpriced_calls"] = unpriced
    return document


def warnings_of(journal: Journal, run: RunId) -> list[Json]:
    """Returns the warnings of a run that still apply, with their places; at most the first ones.

    A warning that a loop has ended at a limit no longer applies if it was continued or accepted.
    """
    warnings: list[dict[str, Json]] = []
    for entry in journal.read(run, kinds=_OF_WARNINGS):
        event = entry.event
        if event.kind == "warning":
            warnings.append(event.body | {"path": event.address})
        else:
            ended = (_AT_LIMIT, event.address or event.body.get("at"))
            warnings = [each for each in warnings if (each.get("code"), each["path"]) != ended]
        if len(warnings) == _WARNINGS_MAX:
            break
    return [*warnings]
