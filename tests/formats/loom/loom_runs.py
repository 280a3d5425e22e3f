"""Runs files of the dialect on the simulated runtime: a scripted web, models and functions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from public_files.worlds import Workers
from whorl.dialects import read_workflow
from whorl.errors import ProviderError
from whorl.providers.task import Estimate, Reply, Usage
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime
from whorl.services.inspecting.results import document

if TYPE_CHECKING:
    from whorl.dialects.reader import Reading
    from whorl.language import Json
    from whorl.providers.task import Effect, Emit, Request

PROJECT = Path(__file__).parents[3]
SHARED = PROJECT.parent / "shared"


@dataclass(slots=True)
class World:
    """Answers: `web` by "METHOD path" (each a list of (status, body), the last one for ever),
    `answers` of models in order, `functions` by task name.
    """

    effect: Effect = "none"
    web: dict[str, list[tuple[int, Json]]] = field(default_factory=dict)
    answers: list[Json] = field(default_factory=list)
    functions: dict[str, Any] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    used: Counter[str] = field(default_factory=Counter)

    def estimate(self, request: Request) -> Estimate:
        """Nothing is reserved."""
        return Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Answers."""
        self.requests.append(request)
        inputs: dict[str, Any] = request.inputs
        if request.kind == "http":
            return self._http(inputs)
        if request.kind == "ask":
            self.used["ask"] += 1
            answer = self.answers[min(self.used["ask"], len(self.answers)) - 1]
            return Reply(answer, Usage(1, 10, 5, 0.01))
        if request.kind == "javascript":
            return Reply(self.functions[f"javascript:{inputs['name']}"](inputs["inputs"]), Usage(1))
        if request.kind == "connector":
            answer = self.functions[f"connector:{inputs['action']}"](inputs["input"])
            return Reply({"status": 200, "headers": {}, "body": answer}, Usage(1))
        function = self.functions.get(inputs["task"])
        if function is None:
            message = f"task {inputs['task']!r} is not known; add it to [tasks] of whorl.toml"
            raise ProviderError(message, code="P114")
        return Reply(function(**inputs["with"]), Usage(1))

    def _http(self, inputs: dict[str, Any]) -> Reply:
        key = f"{inputs.get('method', 'GET')} {urlsplit(inputs['url']).path}"
        rules = self.web.get(key, [(404, {"error": key})])
        self.used[key] += 1
        status, body = rules[min(self.used[key], len(rules)) - 1]
        value: dict[str, Any] = {"status": status, "headers": {}, "body": body}
        if status >= 400:
            code = "P103" if status >= 500 else "P102" if status == 429 else "P104"
            raise ProviderError(
                f"HTTP {status}", code=code, retryable=status >= 500, detail=dict(value)
            )
        return Reply(value, Usage(1))


@dataclass(slots=True)
class Ran:
    """What came of a run."""

    document: dict[str, Any]
    world: World
    journal: MemoryJournal
    machine: Any

    @property
    def status(self) -> str:
        """How the run ended."""
        return str(self.document["status"])

    @property
    def output(self) -> Any:
        """The main output."""
        return self.document["output"]

    @property
    def outputs(self) -> dict[str, Any]:
        """The outputs by name."""
        found: dict[str, Any] = self.document["outputs"]
        return found

    @property
    def loops(self) -> dict[str, dict[str, Any]]:
        """The loops by path."""
        return {loop["path"]: loop for loop in self.document["loops"]}

    @property
    def actions(self) -> dict[str, Any]:
        """The records of all actions."""
        scopes = self.machine.state["scopes"]
        root = next(s for s in scopes.values() if s["up"] is None and "$actions" in s["values"])
        found: dict[str, Any] = root["values"]["$actions"]
        return found

    @property
    def seconds(self) -> float:
        """How long the run took, in virtual time."""
        times = [entry.event.at for entry in self.journal.read(RunId(self.document["run"]))]
        return round(times[-1] - times[0], 6)

    def bodies(self, kind: str) -> list[Any]:
        """The bodies of all events of a kind."""
        entries = self.journal.read(RunId(self.document["run"]))
        return [entry.event.body for entry in entries if entry.event.kind == kind]


def read(definition: Any, file: str = "workflow.json") -> Reading:
    """Reads a file, given as text or as JSON."""
    text = definition if isinstance(definition, str) else json.dumps(definition)
    return read_workflow(text, file, dialect="loom")


def flow(text: str) -> Any:
    """What is written in short, as YAML."""
    return yaml.safe_load(text)


def run(
    definition: Any,
    given: dict[str, Json] | None = None,
    answering: World | None = None,
    **world: Any,
) -> Ran:
    """Runs a file from beginning to end."""
    answering = answering or World(**world)
    journal = MemoryJournal()
    runtime = SimulatedRuntime(Workers(answering), journal)
    started = runtime.start(read(definition).workflow, given or {}, run="run")
    runtime.resume(started)
    machine = fold(journal, started).machine
    finished = [e.event for e in journal.read(started) if e.event.kind == "run.finished"]
    told = document(started, machine.status, finished[-1] if finished else None, journal)
    return Ran(told, answering, journal, machine)
