"""The dry run: how a run would go with invented answers; nothing is sent and nothing is stored."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from whorl.errors import ProviderError
from whorl.interpreter.events import split_iteration
from whorl.ir import Loop, Task, Workflow
from whorl.ir.walk import index_nodes, with_all_nodes
from whorl.ir.worst_case import UNCOUNTED
from whorl.providers.task import Effect, Emit, Estimate, Reply, Request, Usage
from whorl.runtimes.simulated import SimulatedRuntime
from whorl.services.replay import OneKind, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.ir import Node
    from whorl.language import Json
    from whorl.runtimes.runtime import Watcher
    from whorl.runtimes.start_options import Start

_DEPTH_MAX = 16
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
    """Answers every task at once, with a value of the right type, or with what files hold."""

    effect: Effect = "outside"

    def __init__(
        self, workflow: Workflow, iterations: int | None, read: Callable[[Request], Json] | None
    ) -> None:
        loops = [node for node in index_nodes(workflow).values() if isinstance(node, Loop)]
        limits = {loop.name: loop.limits.iterations for loop in loops}
        self._limits = {name: n if isinstance(n, int) else 1 for name, n in limits.items()}
        self._iterations = iterations
        self._read = read

    def estimate(self, request: Request) -> Estimate:
        return Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        calls = 0 if request.kind in UNCOUNTED else 1
        if self._read is not None and request.kind in ("file_read", "file_glob"):
            # A file that is not there, or may not be read, is invented, too.
            with suppress(ProviderError):
                return Reply(self._read(request), Usage(calls))
        return Reply(self._answer(request), Usage(calls), {"invented": True})

    def _answer(self, request: Request) -> Json:
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
    workflow: Workflow,
    start: Start,
    watcher: Watcher | None = None,
    read: Callable[[Request], Json] | None = None,
) -> dict[str, Json]:
    """How a run would go with invented answers; `read` gives what files of the project hold."""
    workflow = with_all_nodes(workflow, _exemplary)
    runtime = SimulatedRuntime(OneKind(_Inventing(workflow, start.iterations, read)))
    given: dict[str, Json] = {"limits": start.limits or None, "iterations": start.iterations}
    options = {name: value for name, value in given.items() if value is not None}
    run = runtime.start(workflow, start.input, run="dry-run", **options)
    yes: dict[str, Json] = {"approved": True, "feedback": "", "by": "dry run"}
    return simulate(runtime, run, lambda _: yes, watcher) | {"dry_run": True}


def _exemplary(node: Node) -> Node:
    """What a task usually gives is what is invented for it."""
    if isinstance(node, Task) and node.returns is None:
        return replace(node, returns=node.example)
    return node


def invent(schema: Any, name: str = "value", depth: int = 0) -> Json:
    """A value that fits a JSON Schema, as far as a guess goes."""
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
