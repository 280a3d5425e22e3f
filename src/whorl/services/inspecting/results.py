"""What a run came to, from its journal: its result, iterations, steps, costs, open questions.

The journal holds secrets and the outputs of secure tasks encrypted, since a run cannot go on
without them; nobody is shown them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from whorl.errors import UsageError, did_you_mean
from whorl.interpreter.events import Event, numbered, split_iteration
from whorl.ir import Loop, Workflow, from_json
from whorl.ir.walk import index_nodes, is_hidden
from whorl.lazily import dataclass, regex
from whorl.providers.redaction import HIDDEN
from whorl.runtimes.journal.folding import fold, look_into, moment
from whorl.runtimes.journal.projection import document, usage_document
from whorl.runtimes.journal.sealing import shown
from whorl.services.files.preflight import asks_models
from whorl.services.inspecting.places import loops_meant, places_like, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry, IterationRow, LoopRow, RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore


_Row = TypeVar("_Row")
_Made = TypeVar("_Made")
_ATTEMPT = regex(r"#([0-9]+)$")
_ENDS = {"task.finished": "succeeded", "task.failed": "failed", "node.skipped": "skipped"}
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
_WARNINGS = frozenset({"warning", "loop.continued", "run.accepted"})
_WARNINGS_MAX = 1_000
_AT_LIMIT = "R102"
_ITERATIONS_MAX = 1_000
_VERBS = {"succeeded": "has", "failed": "has", "cancelled": "was", "interrupted": "was"}


def each_left(rows: Iterable[_Row], made: Callable[[_Row], _Made]) -> Iterator[tuple[_Row, _Made]]:
    """What is made of each run of a list, but of those that were deleted since it was read."""
    for row in rows:
        try:
            yield row, made(row)
        except UsageError as fault:
            if fault.code != "W902":
                raise


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
    warnings = warnings_of(store, run) if state["warned"] else []
    result = document(run, status, final, store, warnings=warnings)
    _complete_usage(store, run, machine, cast("dict[str, Any]", result))
    if state["usage"].get("calls") and asks_models(machine.plan.workflow):
        result["warnings"] = [*_of_toy(store, run), *cast("list[Json]", result["warnings"])]
    return result


def warnings_of(store: SqliteStore, run: RunId) -> list[Json]:
    """What a run warned of and still holds, with its place; of very many, the first.

    That a loop has ended at a limit is no longer so once it goes on, or is accepted.
    """
    warnings: list[dict[str, Json]] = []
    for entry in store.read(run, kinds=_WARNINGS):
        event = entry.event
        if event.kind == "warning":
            warnings.append(event.body | {"path": event.address})
        else:
            ended = (_AT_LIMIT, event.address or event.body.get("at"))
            warnings = [each for each in warnings if (each.get("code"), each["path"]) != ended]
        if len(warnings) == _WARNINGS_MAX:
            break
    return [*warnings]


def _complete_usage(
    store: SqliteStore, run: RunId, machine: Machine, result: dict[str, Any]
) -> None:
    """Tells calls of models from others, and what loops have used that are under way."""
    calls, of_models = store.calls_kept(run)
    # A run that an earlier version of the program drove does not tell.
    if calls == result["usage"]["calls"]:
        result["usage"]["model_calls"] = of_models
    loops = {f["address"]: f for f in machine.frames.values() if f["kind"] == "loop"}
    for loop in result["loops"]:
        if not loop["exit_reason"] and loop["path"] in loops:
            loop["usage"] = usage_document(loops[loop["path"]].get("usage"))


def input_of(store: SqliteStore, run: RunId) -> Json:
    """What a run was given: its only input, or all of them by name."""
    first = next(iter(store.read(run, limit=1))).event
    given = shown(first).get("input")
    return next(iter(given.values())) if isinstance(given, dict) and len(given) == 1 else given


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
        question: dict[str, Json] = {"address": gate.address, "reason": gate.reason}
        waiting_for.append(question | {"message": gate.message, "show": show})
    return result | {
        "parent": row.parent or None,
        "paused_by": machine.state.get("paused_by") if is_paused else None,
        "waiting_for": waiting_for,
    }


def traceback_of(store: SqliteStore, run: RunId, path: str) -> str:
    """Where the function of a step raised what made it fail, if one did."""
    found = ""
    for entry in store.entries_at(run, path) if path else ():
        if entry.event.kind == "task.failed":
            error: Any = shown(entry.event).get("error") or {}
            found = str((error.get("detail") or {}).get("traceback") or "")
    return found


def why_document(store: SqliteStore, run: RunId, rows: Sequence[LoopRow]) -> dict[str, Json]:
    """Why loops ended: what their conditions saw in each iteration, and what people asked."""
    loops: list[Json] = [
        {
            "path": row.address,
            "exit_reason": row.exit_reason or None,
            "stopped_by": row.stopped_by or None,
            "iterations": [item.note for item in begun_iterations(store, run, row)],
        }
        for row in rows
    ]
    people: list[Json] = [
        {"kind": request.kind, "place": request.place, "body": request.body}
        for request in requests_of(store, run)
    ]
    result = full_result(store, run)
    names = ("status", "paused_by", "waiting_for", "warnings", "error")
    document: dict[str, Json] = {"run": run, "loops": loops, "people": people}
    return document | {name: result[name] for name in names}


def begun_iterations(store: SqliteStore, run: RunId, row: LoopRow) -> list[IterationRow]:
    """The iterations of a loop that have ended, the newest of very many."""
    rows = store.newest_iterations(run, row.address, _ITERATIONS_MAX)
    return [iteration for iteration in rows if iteration.status != "not_begun"]


def requests_of(store: SqliteStore, run: RunId) -> list[Request]:
    """Answers of people, and iterations that they gave or chose; the newest of very many."""
    requests: list[Request] = []
    for entry in store.read(run, kinds=_REQUESTS):
        event = entry.event
        if not event.body.get("refused"):
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
    store: SqliteStore, run: RunId, loop: str, numbers: Sequence[int], *, to_drive: bool = False
) -> dict[int, dict[str, Json]]:
    iterations = frozenset(numbered(loop, number) for number in numbers)
    results = look_into(store, run, iterations, to_drive=to_drive)
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


@dataclass(frozen=True, slots=True)
class Side:
    """An iteration with what its steps gave."""

    row: IterationRow
    results: dict[str, Json]


@dataclass(slots=True)
class StepAttempt:
    """One time that a step was carried out."""

    number: int
    address: str
    kind: str = ""
    status: str = "running"
    started_at: float | None = None
    ended_at: float | None = None
    model: str | None = None
    inputs: Json = None
    output: Json = None
    usage: Json = None
    error: Json = None
    in_doubt: bool = False


def loop_named(store: SqliteStore, run: RunId, at: str) -> str:
    """The address of the loop that is meant, or of the only outermost one."""
    loops = [row.address for row in store.loops(run)]
    meant = loops_meant(at, loops) if at else [loop for loop in loops if "[" not in loop]
    if len(meant) == 1:
        return meant[0]
    if not loops:
        raise UsageError(f"run {run} has no loop", help=f"`whorl show {run}`", code="W907")
    if at and not meant:
        hint = did_you_mean(at, loops) or f"loops: {some(loops)}"
        raise UsageError(f"run {run} has no loop {at!r}", help=hint, code="W907")
    raise UsageError("say which loop with --at", help=f"loops: {some(meant or loops)}", code="W903")


def iteration_row(store: SqliteStore, run: RunId, loop: str, number: int) -> IterationRow:
    rows = store.iterations(run, loop, after=number - 1, limit=20)
    same = [row for row in rows if row.number == number]
    if not same:
        last = store.newest_iterations(run, loop, 1)
        had = f"it has {last[-1].number}" if last else "it has none"
        raise UsageError(f"{loop!r} has no finished iteration {number}; {had}", code="W907")
    return same[-1]


def sides(
    store: SqliteStore, run: RunId, loop: str, numbers: tuple[int, int], other: RunId | None = None
) -> tuple[Side, Side]:
    """Two iterations of a loop; the second one may be of another run."""
    if other is not None and other != run:
        loop_named(store, other, loop)
        return _side(store, run, loop, numbers[0]), _side(store, other, loop, numbers[1])
    results = results_of(store, run, loop, sorted(set(numbers)))
    first, second = (
        Side(iteration_row(store, run, loop, number), results.get(number, {})) for number in numbers
    )
    return first, second


def _side(store: SqliteStore, run: RunId, loop: str, number: int) -> Side:
    row = iteration_row(store, run, loop, number)
    return Side(row, results_of(store, run, loop, (number,)).get(number, {}))


def results_of(
    store: SqliteStore, run: RunId, loop: str, numbers: Sequence[int]
) -> dict[int, dict[str, Json]]:
    """What the steps of iterations gave, without what is shown to nobody."""
    hidden = hidden_names(workflow_of(store, run))
    iterations: dict[int, Any] = dict(iteration_results(store, run, loop, numbers))
    return {n: without(given.get("results") or {}, hidden) for n, given in iterations.items()}


def limit_now(machine: Machine, row: LoopRow) -> int | None:
    """The limit of iterations as it is now; the loop may have been given more."""
    frame = loop_frame(machine, row.address)
    if frame:
        return int(frame["limits"]["iterations"])
    limit = row.limits.get("iterations") if isinstance(row.limits, dict) else None
    return limit if isinstance(limit, int) else None


def unknown_place(store: SqliteStore, run: RunId, address: str) -> UsageError:
    words = f"nothing happened at {address!r} in run {run}"
    if like := places_like(store, run, address):
        return UsageError(words, help=f"there is {some(like)}", code="W907")
    addresses = list(dict.fromkeys(entry.event.address for entry in store.read(run)))
    hint = did_you_mean(address, [text for text in addresses if text])
    return UsageError(words, help=hint or f"`whorl show {run}` lists steps and loops", code="W907")


def attempts_of(entries: Iterable[Entry], address: str) -> list[StepAttempt]:
    attempts: dict[int, StepAttempt] = {}
    for entry in entries:
        at = entry.event.address
        match = _ATTEMPT.search(at)
        base, number = (at[: match.start()], int(match[1])) if match else (at, 1)
        if base == address:
            _take(attempts.setdefault(number, StepAttempt(number, at)), entry.event)
    return [attempts[number] for number in sorted(attempts)]


def previous_address(address: str) -> str:
    """The same step in the iteration before, of the innermost loop around it; empty: none."""
    for at in range(len(address), 0, -1):
        loop, number = split_iteration(address[:at])
        if number is not None and address[at:][:1] in ("/", "") and address[:at].endswith("]"):
            return numbered(loop, number - 1) + address[at:] if number > 1 else ""
    return ""


def _take(attempt: StepAttempt, event: Event) -> None:
    body = shown(event)
    inputs: Any = body.get("inputs")
    match event.kind:
        case "task.started":
            attempt.started_at, attempt.inputs = event.at, inputs
            attempt.kind, attempt.status = str(body.get("kind", "")), "running"
            model = inputs.get("model") if isinstance(inputs, dict) else None
            attempt.model = model if isinstance(model, str) else None
        case "task.finished" | "task.failed" | "node.skipped":
            attempt.ended_at, attempt.status = event.at, _ENDS[event.kind]
            attempt.output, attempt.error = body.get("value"), body.get("error")
            attempt.usage = body.get("usage")
            attempt.model = str(body["model"]) if body.get("model") else attempt.model
        case "task.in_doubt":
            attempt.in_doubt = True
        case "gate.waiting":
            attempt.kind, attempt.status = "gate", "waiting"
            attempt.started_at, attempt.inputs = event.at, body
        case "gate.decided":
            attempt.status, attempt.ended_at, attempt.output = "succeeded", event.at, body
        case "node.finished":
            attempt.ended_at, attempt.status = event.at, str(body.get("status") or "succeeded")
            attempt.output, attempt.error = body.get("branch"), body.get("error")
            attempt.usage = body.get("usage") or attempt.usage
            attempt.in_doubt = attempt.in_doubt or bool(body.get("usage"))
