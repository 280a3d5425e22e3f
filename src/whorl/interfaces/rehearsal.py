"""A dry run: invented answers of the right type, virtual time, nothing sent and nothing stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.events import Event, split_iteration
from whorl.ir import Loop
from whorl.ir.walk import index_nodes
from whorl.providers.task import Estimate, Reply, Usage
from whorl.runtimes.folding import fold
from whorl.runtimes.simulated import EPOCH, SimulatedRuntime
from whorl.runtimes.summary import document

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.task import Effect, Emit, Request, TaskKind
    from whorl.runtimes.driver import Watcher
    from whorl.runtimes.local import Start

# A dry run opens every gate; one that asks for ever is left where it is.
GATES_MAX = 1_000
_DEPTH_MAX = 16


class Inventor:
    """Implements `Workers`: every kind of task is answered here."""

    def __init__(self, workflow: Workflow, iterations: int | None) -> None:
        nodes = index_nodes(workflow).values()
        self._kind = Invention(_limits(nodes), iterations)

    def kind(self, name: str) -> TaskKind:
        """The one kind there is."""
        return self._kind

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        """Told as if it were real, so that the journal looks as it would."""
        return "outside"

    def redacted(self, value: Json) -> Json:
        """Nothing here has seen a secret."""
        return value


class Invention:
    """Answers every task at once."""

    effect: Effect = "outside"

    def __init__(self, limits: dict[str, int], iterations: int | None) -> None:
        self._limits = limits
        self._iterations = iterations

    def estimate(self, request: Request) -> Estimate:
        """Costs nothing."""
        return Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Invents an answer."""
        return Reply(self._answer(request), Usage(calls=1), {"invented": True})

    def _answer(self, request: Request) -> Json:
        if request.kind == "judge":
            return self._judgement(request.address)
        if request.returns is not None:
            return invent(request.returns)
        match request.kind:
            case "run":
                return {"stdout": "(invented output)", "stderr": "", "exit_code": 0}
            case "http":
                return {"status": 200, "headers": {}, "body": {}}
            case "connector":
                return {"statusCode": 200, "headers": {}, "body": {}}
            case "use":
                # What the task gives is not known; most give fields, and none is read as null.
                return {}
        return f"(invented answer of {request.address})"

    def _judgement(self, address: str) -> Json:
        loop, number = split_iteration(address.rpartition("/")[0])
        name = loop.rpartition("/")[2].partition("#")[0]
        limit = self._iterations or self._limits.get(name, 1)
        if (number or 0) >= limit:
            return {"verdict": "met", "answer": "YES (invented, in the last iteration)"}
        return {"verdict": "not_met", "answer": "NO (invented)"}


def rehearse(workflow: Workflow, start: Start, watcher: Watcher | None = None) -> dict[str, Json]:
    """Runs the workflow with invented answers; gives the result document."""
    runtime = SimulatedRuntime(Inventor(workflow, start.iterations))
    options: dict[str, Json] = {}
    if start.limits:
        options["limits"] = start.limits
    if start.iterations is not None:
        options["iterations"] = start.iterations
    run = runtime.start(workflow, start.input, run="dry-run", **options)
    status = runtime.resume(run, watcher=watcher)
    for _ in range(GATES_MAX):
        machine = fold(runtime.journal, run).machine
        gates = [a for a, entry in machine.pending.items() if entry["what"] == "gate"]
        if status != "waiting" or not gates:
            break
        yes: dict[str, Json] = {"approved": True, "feedback": "", "by": "dry run"}
        decided = tuple(Event("gate.decided", a, max(machine.now, EPOCH), yes) for a in gates)
        status = runtime.resume(run, decided, watcher=watcher)
    state = fold(runtime.journal, run).machine.state
    body: dict[str, Json] = dict(state["result"] or {}) | {"usage": dict(state["usage"])}
    told = document(run, status, Event("run.finished", "", EPOCH, body), runtime.journal)
    return told | {"dry_run": True}


def invent(schema: Json, name: str = "value", depth: int = 0) -> Json:
    """A value that fits a JSON Schema, as far as a guess goes."""
    if not isinstance(schema, dict) or depth > _DEPTH_MAX:
        return f"(invented {name})"
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    choices: Any = schema.get("enum") or schema.get("examples")
    if isinstance(choices, list) and choices:
        found: Json = choices[0]
        return found
    for word in ("anyOf", "oneOf", "allOf"):
        options = schema.get(word)
        if isinstance(options, list) and options:
            return invent(options[0], name, depth + 1)
    kind: Any = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    return _invent_typed(schema, str(kind), name, depth)


def _invent_typed(schema: dict[str, Any], kind: str, name: str, depth: int) -> Json:
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
            return int(max(schema.get("minimum", 0), min(1, schema.get("maximum", 1))))
        case "number":
            low, high = schema.get("minimum", 0), schema.get("maximum", 1)
            return float((low + max(low, high)) / 2)
        case "null":
            return None
    return f"(invented {name})"


def _limits(nodes: Any) -> dict[str, int]:
    loops = (node for node in nodes if isinstance(node, Loop))
    return {
        loop.name: loop.limits.iterations if isinstance(loop.limits.iterations, int) else 1
        for loop in loops
    }
