"""A world in which files of other systems run: models that answer by rule, and tasks that do."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from crash.priced import Priced
from whorl.errors import ProviderError
from whorl.interpreter.events import Event
from whorl.language.libraries import open_library
from whorl.plugins import load_reference
from whorl.providers.asking import judged_value
from whorl.providers.memory import amended, key_of, search
from whorl.providers.task import Estimate, Reply, Usage
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime
from whorl.services.inspecting.results import document

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.language.libraries import Amend
    from whorl.providers.task import Effect, Emit, Request

Rules = list[tuple[str, list[str]]]


@dataclass(slots=True)
class World:
    """Models answer by the first rule that a prompt fits, its answers in order; a judge says yes
    in the second iteration. Whatever else is asked for gives `tasks`, by kind or by name.
    """

    rules: Rules
    tasks: dict[str, Any] = field(default_factory=dict)
    effect: Effect = "none"
    used: Counter[int] = field(default_factory=Counter)
    kept: dict[str, list[Json]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def estimate(self, request: Request) -> Estimate:
        """Nothing is reserved."""
        return Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Answers."""
        inputs: dict[str, Any] = request.inputs
        self.asked.append(request.address)
        match request.kind:
            case "ask":
                return Reply(self._answer(inputs, request), Usage(1, 10, 5, 0.01))
            case "judge":
                word = "NO" if re.search(r"\[1\][^\[]*$", request.address) else "YES"
                return Reply(judged_value({}, word), Usage(1, 10, 1, 0.01))
            case "memory":
                return Reply(self._memory(inputs, request))
            case "use":
                return Reply(self.tasks.get(str(inputs["task"]), ["a page about it"]))
        if request.kind not in self.tasks:
            raise ProviderError(f"nobody does {request.kind!r} here", code="P114")
        return Reply(self.tasks[request.kind])

    def _answer(self, inputs: dict[str, Any], request: Request) -> Json:
        text = f"{inputs.get('system', '')}\n{inputs.get('prompt', '')}"
        for index, (pattern, answers) in enumerate(self.rules):
            if re.search(pattern, text, re.DOTALL):
                self.used[index] += 1
                answer = answers[min(self.used[index], len(answers)) - 1]
                value: Json = json.loads(answer) if request.returns is not None else answer
                return value
        raise ProviderError(f"no rule for {text[:100]!r}", code="P112")

    def _memory(self, inputs: dict[str, Any], request: Request) -> Json:
        kept = self.kept.setdefault(key_of(inputs["namespace"]), [])
        match inputs["operation"]:
            case "amend":
                reference = open_library(inputs["library"]).amendments[inputs["change"]]
                change = cast("Amend", load_reference(reference))
                given = {**inputs["with"], "key": request.key or request.address}
                made = amended(change, kept, given, request)
                if made.record is not None:
                    record = made.record
                    kept[:] = [old for old in kept if cast("Any", old)["id"] != record["id"]]
                    kept.append(record)
                return made.value
            case "write":
                kept.append({"content": inputs["content"], "metadata": inputs.get("metadata")})
                return {"status": "success", "memory_key": request.key}
        return {"status": "success", "memories": list(search(kept, inputs["query"]))}


class Workers(Priced):
    """Implements `Workers` with one world, in which nothing costs anything."""

    def __init__(self, world: Any) -> None:
        super().__init__()
        self._world = world

    def kind(self, name: str) -> Any:
        return self._world

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        return "none"


def run(workflow: Workflow, given: dict[str, Json], world: World) -> dict[str, Any]:
    """Runs a workflow to its end on the simulated runtime; people say yes to all."""
    journal = MemoryJournal()
    runtime = SimulatedRuntime(Workers(world), journal)
    started = runtime.start(workflow, given, run="run")
    runtime.resume(started)
    while waiting := _asked_of_people(journal, started):
        runtime.resume(started, waiting)
    machine = fold(journal, started).machine
    ended = [entry.event for entry in journal.read(started) if entry.event.kind == "run.finished"]
    found = document(started, machine.status, ended[-1] if ended else None, journal)
    failed = [e.event.address for e in journal.read(started) if e.event.kind == "task.failed"]
    return {**found, "failed_calls": failed}


def _asked_of_people(journal: MemoryJournal, run: Any) -> list[Event]:
    """A yes for whatever a run waits for."""
    events = [entry.event for entry in journal.read(run)]
    decided = {event.address for event in events if event.kind == "gate.decided"}
    waiting = [e for e in events if e.kind == "gate.waiting" and e.address not in decided]
    return [Event("gate.decided", e.address, e.at, {"approved": True}) for e in waiting]
