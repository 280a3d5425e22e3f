"""Runs workflows without calls: with recorded replies, or with invented ones.

Replies are found by address. A call with changed inputs is reported with both versions, and gets
the recorded reply. A call that was never recorded is a miss, and misses are failures.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from copy import deepcopy
from dataclasses import field, replace
from math import prod
from typing import TYPE_CHECKING, Any, cast

from whorl.errors import ProviderError, StoreError, UsageError, plural
from whorl.interpreter.events import Event, amount_in, split_iteration
from whorl.ir import Loop, Task, Workflow
from whorl.ir.walk import index_nodes, is_program, walk, with_all_nodes
from whorl.ir.worst_case import UNCOUNTED
from whorl.lazily import dataclass, regex
from whorl.providers import task
from whorl.providers.json_values import DEPTH_MAX, is_deeper, table_of
from whorl.runtimes.driver import RESERVED
from whorl.runtimes.journal import sealed_secrets
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.simulated import EPOCH, SimulatedRuntime
from whorl.runtimes.sqlite import RunFilter
from whorl.services.files.forecasting import Forecast, forecast
from whorl.services.inspecting.results import as_requested, document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.ir import Node, Port
    from whorl.language import Json
    from whorl.providers.functions import Tasks
    from whorl.providers.redaction import Redaction
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.runtime import Watcher
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.runtimes.start_options import Start

    Read = Callable[[task.Request], Json]


FORMAT = 1
# The tables around a value have some levels of their own.
_AROUND = 16
# What the one who started a run may have set beside its input, and what its workspace and its
# chance come from.
_OPTIONS = ("run", "iterations", "limits", "seed")
# What a person asked of a run on its way, which its file does not say.
_STEERING = {
    "run.continued": "continued",
    "run.accepted": "ended by accepting an iteration",
    "run.forked": "forked from another one",
}
# Gates that ask for ever are left where they are.
DECISIONS_MAX = 1_000


@dataclass(slots=True)
class Recording:
    """The recording of a run: its inputs, the requests and replies of its calls, its result."""

    workflow: str
    input: dict[str, Json]
    calls: dict[str, dict[str, Json]] = field(default_factory=dict)
    decisions: dict[str, dict[str, Json]] = field(default_factory=dict)
    result: dict[str, Json] = field(default_factory=dict)
    options: dict[str, Json] = field(default_factory=dict)

    def to_text(self) -> str:
        names = ("workflow", "input", "options", "calls", "decisions", "result")
        fields = {"recording": FORMAT} | {name: getattr(self, name) for name in names}
        return json.dumps(fields, indent=1, ensure_ascii=False) + "\n"


def recording_from_text(text: str, file: str) -> Recording:
    try:
        fields = table_of(json.loads(text))
        if is_deeper(fields, DEPTH_MAX + _AROUND):
            raise ValueError("it is nested too deeply")
        tables = {name: fields[name] for name in ("input", "calls", "decisions", "result")}
        tables["options"] = fields.get("options", {})
        calls = table_of(tables["calls"]).values()
        if fields["recording"] != FORMAT or not isinstance(fields["workflow"], str):
            raise ValueError("it has another format")
        if not all(isinstance(table, dict) for table in (*tables.values(), *calls)):
            raise ValueError("a part of it is not an object")
        return Recording(fields["workflow"], **cast("dict[str, Any]", tables))
    except (ValueError, KeyError, RecursionError) as error:
        advice = "make one with `whorl test FILE --save RECORDING`"
        raise UsageError(f"{file!r} is not a recording", help=advice) from error


def recording_from_run(store: SqliteStore, run: RunId, result: dict[str, Json]) -> Recording:
    recording = Recording(store.run(run).name, {}, result=_comparable(result))
    # How often the run had been resumed before each call.
    rounds: dict[str, int] = {}
    resumed = 0
    for entry in store.read(run):
        event = entry.event
        body = event.body
        resumed += event.kind == "run.resumed"
        match event.kind:
            case "run.started":
                given = body.get("input")
                recording.input = given if isinstance(given, dict) else {}
                recording.options = {name: body[name] for name in _OPTIONS if body.get(name)}
            case "run.resumed" | "run.continued":
                _raise_limits(recording, body)
            case "task.started":
                names = ("kind", "inputs", "reserve", "cap", "at_worst")
                call = {name: body.get(name) for name in names if name in body}
                rounds[event.address] = resumed
                recording.calls.setdefault(event.address, {}).update(call)
            case "task.finished":
                call = {"value": _recorded(store, run, event), "usage": body.get("usage")}
                rest = sealed_secrets.shown(event).items()
                call["detail"] = {k: v for k, v in rest if k not in ("value", "usage")}
                recording.calls.setdefault(event.address, {}).update(call)
            case "task.failed":
                error = sealed_secrets.shown(event).get("error")
                recording.calls.setdefault(event.address, {}).update({"error": error})
            case "gate.decided":
                recording.decisions[event.address] = sealed_secrets.shown(event)
    recording.calls = _last_round(recording.calls, rounds)
    return recording


def _raise_limits(recording: Recording, body: dict[str, Any]) -> None:
    """Raises the limits of a recording as a resume of its run did."""
    limits = recording.options.get("limits")
    if isinstance(limits, dict):
        more = {name: amount_in(limits[name]) + amount_in(body.get(name)) for name in limits}
        recording.options["limits"] = {**more, **(body.get("limits") or {})}


def _last_round(
    calls: dict[str, dict[str, Json]], rounds: dict[str, int]
) -> dict[str, dict[str, Json]]:
    """Replaces calls that failed before a resume by the calls that repeated them."""
    attempts: dict[str, list[str]] = {}
    for address in calls:
        base, _, number = address.rpartition("#")
        attempts.setdefault(base if number.isdigit() else address, []).append(address)
    found: dict[str, dict[str, Json]] = {}
    for made in attempts.values():
        last = [address for address in made if rounds.get(address) == rounds.get(made[-1])]
        found |= {place: calls[address] for place, address in zip(made, last, strict=False)}
    return found


def _recorded(store: SqliteStore, run: RunId, event: Event) -> Json:
    """Returns the reply of a call; for a secure reply, only its shape, so that it can be played."""
    value = sealed_secrets.shown(event).get("value")
    if event.body.get(sealed_secrets.MARK) is not True:
        return value
    with suppress(StoreError):
        body = sealed_secrets.opened(event, run, store.seals).body
        return sealed_secrets.masked(body.get("value"), number=0)
    return value


def steered(store: SqliteStore, run: RunId) -> str:
    """Returns how a person steered a run, so that its file cannot reproduce it, or ""."""
    asked = store.read(run, limit=1, kinds=frozenset(_STEERING))
    return next((_STEERING[entry.event.kind] for entry in asked), "")


@dataclass(frozen=True, slots=True)
class Change:
    """A call with other inputs than were recorded."""

    address: str
    before: Json
    now: Json


@dataclass(slots=True)
class Replayed:
    """The differences of a replay from its recording; empty lists mean no difference."""

    result: dict[str, Json]
    recorded: dict[str, Json]
    changes: list[Change]
    misses: list[str]
    unused: list[str]

    @property
    def is_same(self) -> bool:
        return not (self.changes or self.misses or self.unused) and self.result == self.recorded


class OneKind:
    """Implements `Workers` with one kind for all tasks; the journal looks like a real one."""

    def __init__(self, kind: task.TaskKind, functions: Tasks | None = None) -> None:
        self._kind = kind
        # Those that the code of a program calls.
        self.functions = functions

    def kind(self, name: str) -> task.TaskKind:
        return self._kind

    def effect(self, name: str, inputs: dict[str, Json]) -> task.Effect:
        return "outside"

    def redacted(self, value: Json) -> Json:
        return value


def simulate(
    runtime: SimulatedRuntime,
    run: RunId,
    answers: Callable[[str], dict[str, Json] | None],
    watcher: Watcher | None = None,
) -> dict[str, Json]:
    status = runtime.resume(run, watcher=watcher)
    for _ in range(DECISIONS_MAX):
        machine = fold(runtime.journal, run).machine
        gates = [a for a, entry in machine.pending.items() if entry["what"] == "gate"]
        decisions = {address: body for address in gates if (body := answers(address)) is not None}
        if status != "waiting" or not decisions:
            break
        at = max(machine.now, EPOCH)
        events = tuple(Event("gate.decided", a, at, body) for a, body in decisions.items())
        status = runtime.resume(run, events, watcher=watcher)
    state = fold(runtime.journal, run).machine.state
    body = dict(state["result"] or {}) | {"usage": dict(state["usage"])}
    final = Event("run.finished", "", float(state["at"]), body)
    return document(run, status, final, runtime.journal)


class Playing:
    """Answers every task with the recording's reply for its address."""

    effect: task.Effect = "outside"

    def __init__(self, recording: Recording, redaction: Redaction | None) -> None:
        self.recording = recording
        self._redaction = redaction
        self.changes: list[Change] = []
        self.misses: list[str] = []
        self.played: set[str] = set()

    def estimate(self, request: task.Request) -> task.Estimate:
        """Returns the reserved amount, so that a budget ends the replay where it ended the run."""
        call: dict[str, Any] = self.recording.calls.get(request.address) or {}
        amounts, cap, at_worst = (call.get(name) or {} for name in ("reserve", "cap", "at_worst"))
        return task.Estimate(
            **{name: amounts[name] for name in RESERVED if name in amounts},
            cap=task.Cap(**cap) if cap else None,
            at_worst=task.MaxUsage(**at_worst) if at_worst else None,
        )

    async def perform(self, request: task.Request, emit: task.Emit) -> task.Reply:
        call: dict[str, Any] | None = self.recording.calls.get(request.address)
        if call is None or ("value" not in call and "error" not in call):
            self.misses.append(request.address)
            message = f"no reply was recorded for {request.address!r}"
            raise ProviderError(message, code="P112")
        self.played.add(request.address)
        # In virtual time; only to show the effect of a time limit.
        await asyncio.sleep(float(call.get("seconds") or 0))
        asked: Json = request.inputs
        if self._redaction is not None:
            asked = sealed_secrets.redacted({"inputs": asked}, self._redaction)["inputs"]
        if call.get("inputs") is not None and call["inputs"] != asked:
            self.changes.append(Change(request.address, call["inputs"], asked))
        if "value" not in call:
            error = call["error"]
            raise ProviderError(
                str(error.get("message")),
                code=str(error.get("code")),
                retryable=bool(error.get("retryable")),
                detail=error.get("detail") or {},
                answered=error.get("answered"),
            )
        usage = call.get("usage") or {}
        return task.Reply(call["value"], task.Usage(**usage), call.get("detail") or {})

    def decision(self, address: str) -> dict[str, Json] | None:
        body = self.recording.decisions.get(address)
        if body is None:
            self.misses.append(address)
        return body


def replay(
    workflow: Workflow, recording: Recording, given: dict[str, Json] | None = None
) -> Replayed:
    """Plays a recording to a workflow; its secrets are `given`, or else placeholders."""
    whole = recording.input | (given or {})
    secrets = sealed_secrets.secrets_of(workflow, whole)
    player = Playing(recording, sealed_secrets.redaction_of(secrets))
    runtime = SimulatedRuntime(OneKind(player))
    # Under its own id, by which it knows its workspace.
    options: dict[str, Any] = {"run": "replay", **recording.options}
    run = runtime.start(workflow, whole, **options)
    result = simulate(runtime, run, player.decision)
    answered = [a for a, call in recording.calls.items() if "value" in call or "error" in call]
    unused = [address for address in answered if address not in player.played]
    return Replayed(_comparable(result), recording.result, player.changes, player.misses, unused)


def _comparable(result: dict[str, Any]) -> dict[str, Json]:
    error, loops = result["error"], result["loops"]
    return {
        "status": result["status"],
        "outputs": result["outputs"],
        "loops": [{k: value for k, value in loop.items() if k != "usage"} for loop in loops],
        "error": None if error is None else {"code": error["code"], "message": error["message"]},
    }


# The dry run: how a run would go with invented answers; nothing is sent and nothing is stored.

_DEPTH_MAX = 16
# Code may call for ever if its answers are invented.
REHEARSED_MAX = 200
_TURN, _NUMBERS = regex(r"\[([0-9]+)\]"), regex(r"\[[0-9]+\]|[~#][0-9]+")
# What a task of `use` gives is not known; most give fields, and none is read as null.
_INVENTED: dict[str, Json] = {
    "run": {"stdout": "(invented output)", "stderr": "", "exit_code": 0},
    "http": {"status": 200, "headers": {}, "body": {}},
    "file_read": {"path": "", "size": 0, "content": "(invented content)"},
    "file_glob": {"files": [], "count": 0},
    "file_write": {"path": "", "size": 0},
    "connector": {"statusCode": 200, "headers": {}, "body": {}},
    "use": {},
}


class _Inventing:
    """Answers every task at once, with a value of the right type or the content of files."""

    effect: task.Effect = "outside"

    def __init__(self, workflow: Workflow, iterations: int | None, read: Read | None) -> None:
        loops = [node for node in index_nodes(workflow).values() if isinstance(node, Loop)]
        limits = {loop.name: loop.limits.iterations for loop in loops}
        self.asked: list[task.Request] = []
        self._limits = {name: n if isinstance(n, int) else 1 for name, n in limits.items()}
        self._iterations = iterations
        self._read = read

    def estimate(self, request: task.Request) -> task.Estimate:
        return task.Estimate()

    async def perform(self, request: task.Request, emit: task.Emit) -> task.Reply:
        calls = 0 if request.kind in UNCOUNTED else 1
        self.asked += [request] * calls
        if self._read is not None and request.kind in ("file_read", "file_glob"):
            # A file that is not there, or may not be read, is invented, too.
            with suppress(ProviderError):
                return task.Reply(self._read(request), task.Usage(calls))
        return task.Reply(self._answer(request), task.Usage(calls), {"invented": True})

    def _answer(self, request: task.Request) -> Json:
        if request.kind == "judge":
            loop, number = split_iteration(request.address.rpartition("/")[0])
            name = loop.rpartition("/")[2].partition("#")[0]
            if (number or 0) >= (self._iterations or self._limits.get(name, 1)):
                return {"verdict": "met", "answer": "YES (invented, in the last iteration)"}
            return {"verdict": "not_met", "answer": "NO (invented)"}
        if request.returns is not None:
            return invent(request.returns)
        answer = deepcopy(_INVENTED.get(request.kind, f"(invented answer of {request.address})"))
        if isinstance(answer, dict) and request.kind in ("file_read", "file_write"):
            answer["path"] = request.inputs.get("path")
            if request.inputs.get("mode") == "csv" and "content" in answer:
                answer["content"] = [{}]
        return answer


def rehearse(
    workflow: Workflow, start: Start, watcher: Watcher | None = None, read: Read | None = None
) -> dict[str, Json]:
    """Runs a workflow with invented answers; `read` returns the content of project files."""
    # A task without a type of output gets that of its example.
    workflow = with_all_nodes(workflow, _exemplary)
    runtime = SimulatedRuntime(OneKind(_Inventing(workflow, start.iterations, read)))
    given: dict[str, Json] = {"limits": start.limits or None, "iterations": start.iterations}
    options = {name: value for name, value in given.items() if value is not None}
    run = runtime.start(workflow, start.input, run="dry-run", **options)
    yes: dict[str, Json] = {"approved": True, "feedback": "", "by": "dry run"}
    return simulate(runtime, run, lambda _: yes, watcher) | {"dry_run": True}


def as_rehearsed(workflow: Workflow) -> Workflow:
    """Returns a workflow; a program as what it requests in a dry run."""
    return rehearsed(workflow, {})[0] if is_program(workflow) else workflow


def rehearsed(
    program: Workflow, given: Mapping[str, Json]
) -> tuple[Workflow, list[tuple[task.Request, float]]]:
    """Returns what a program requests in a dry run, and its calls with how often a run makes each.

    Each loop makes two iterations, which stand for as many as it may make. Nothing is called, and
    nothing is stored. Invented answers may lead it another way than a run.
    """
    inventing = _Inventing(program, 2, None)
    runtime = SimulatedRuntime(OneKind(inventing))
    inputs: dict[str, Json] = {port.name: _input(port) for port in program.inputs} | dict(given)
    limits: Json = {"calls": REHEARSED_MAX}
    run = runtime.start(program, inputs, run="dry-run", iterations=2, limits=limits)
    yes: dict[str, Json] = {"approved": True, "feedback": "", "by": "dry run"}
    with suppress(UsageError):
        simulate(runtime, run, lambda _: yes)
    shape = as_requested(program, fold(runtime.journal, run).machine)
    most = {at: node.limits.iterations for at, node in walk(shape.body) if isinstance(node, Loop)}
    made: dict[str, int] = {}
    inside: list[list[str]] = []
    for request in inventing.asked:
        turns = [(request.address[: m.start()], int(m[1])) for m in _TURN.finditer(request.address)]
        named = [(_NUMBERS.sub("", loop), number) for loop, number in turns]
        inside.append([loop for loop, _ in named if isinstance(most.get(loop), int)])
        made |= {loop: max(number, made.get(loop, 1)) for loop, number in named}
    often = [prod(cast("int", most[loop]) / made[loop] for loop in loops) for loops in inside]
    return shape, list(zip(inventing.asked, often, strict=True))


# A program is forecast by so many runs.
_RUNS_MAX = 20


def forecast_of(
    store: SqliteStore, workflow: Workflow, providers: Providers, start: Start, **given: Any
) -> Forecast:
    """Returns the forecast of a start; that of a program from its runs, or from a dry run."""
    if not is_program(workflow):
        return forecast(workflow, providers, **given)
    listed = store.list_runs(RunFilter("succeeded", workflow.name), _RUNS_MAX)
    if runs := [run for run in listed if run.file == start.file]:
        source, often = plural(len(runs), "run"), 1 / len(runs)
        each = [(run.calls * often, run.known_usd, often) for run in runs]
    else:
        shape, asked = rehearsed(workflow, start.input)
        if len(asked) >= REHEARSED_MAX:
            return forecast(workflow, providers, **given)
        workflow, source = shape, "a dry run"
        each = [(often, _cost_of(call, providers), often) for call, often in asked]
    is_priced, usual = all(usd is not None for _, usd, _ in each), round(sum(n for n, *_ in each))
    cost = sum((usd or 0.0) * often for _, usd, often in each) if is_priced else None
    found = replace(forecast(workflow, providers, **given), calls=usual, usual=usual)
    return replace(found, cost_usd=cost, is_priced=is_priced, bound_usd=None, source=source)


def _cost_of(asked: task.Request, providers: Providers) -> float | None:
    with suppress(ProviderError, UsageError):
        return providers.kind(asked.kind).estimate(asked).cost_usd
    return None


def _input(port: Port) -> Json:
    if port.default is not None:
        return port.default
    kinds = {"list": "array", "files": "array", "json": "object", "any": "string", "file": "string"}
    found = invent({"type": kinds.get(port.type, port.type)}, port.name)
    return [found[0], found[0]] if isinstance(found, list) else found


def _exemplary(node: Node) -> Node:
    """Returns a node; a task without a type of output gets that of its example."""
    if isinstance(node, Task) and node.returns is None:
        return replace(node, returns=node.example)
    return node


def invent(schema: Any, name: str = "value", depth: int = 0) -> Json:
    """Returns a value that probably fits a JSON Schema."""
    if not isinstance(schema, dict) or depth > _DEPTH_MAX:
        return f"(invented {name})"
    for word in ("const", "default"):
        if word in schema:
            return cast("Json", schema[word])
    for word in ("enum", "examples", "anyOf", "oneOf", "allOf"):
        options = schema.get(word)
        if isinstance(options, list) and options:
            is_schema = word.endswith("Of")
            return invent(options[0], name, depth + 1) if is_schema else cast("Json", options[0])
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((name_of_type for name_of_type in kind if name_of_type != "null"), "null")
    low, high = schema.get("minimum", 0), schema.get("maximum", 1)
    match kind:
        case "object":
            properties = schema.get("properties")
            fields = properties if isinstance(properties, dict) else {}
            return {key: invent(part, key, depth + 1) for key, part in fields.items()}
        case "array":
            number = max(1, int(schema.get("minItems", 1)))
            return [invent(schema.get("items"), name, depth + 1) for _ in range(min(number, 10))]
        case "boolean":
            return False
        case "integer":
            return int(max(low, min(1, high)))
        case "number":
            return float((low + max(low, high)) / 2)
        case "null":
            return None
    return f"(invented {name})"
