"""Workers for any file: what they answer follows from what they are asked, and they keep it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from conformance.replies import Script, ScriptedWorkers, effect_of, seen_of
from whorl.errors import ProviderError
from whorl.interpreter.events import Event
from whorl.providers.task import Estimate, Reply, Usage
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.task import Effect, Emit, Request

CALLS_MAX = 120
GATES_MAX = 6
_USAGE = {"calls": 1, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.01}
_TEXTS = (
    "It lacks depth. SCORE: 0.4",
    '{"response": "better", "confidence": 0.7, "score": 7, "approved": false, "done": false}',
    "SCORE: 0.95 QUALITY: 0.95 APPROVED, yes",
    '{"response": "good", "confidence": 0.9, "score": 9, "approved": true, "done": true}',
)
_GIVEN: dict[str, Json] = {
    "number": 3,
    "integer": 3,
    "boolean": True,
    "list": ["a", "b"],
    "json": ["a", "b"],
}


class AnsweringWorkers(ScriptedWorkers):
    """Implements `Workers`; `sent` is all that was asked of them, in order."""

    def __init__(self) -> None:
        super().__init__(Script(None))
        self.sent: list[tuple[Any, ...]] = []

    def kind(self, name: str) -> AnsweringKind:
        """The kind of task of a name."""
        return AnsweringKind(self.sent, effect_of(name))


@dataclass(slots=True)
class AnsweringKind:
    """A kind of task that answers by what it is asked."""

    sent: list[tuple[Any, ...]]
    effect: Effect

    def estimate(self, request: Request) -> Estimate:
        """What its answers use."""
        return Estimate(1, 15, 0.01) if self.effect == "priced" else Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Keeps the request and answers it."""
        self.sent.append(seen_of(request))
        if len(self.sent) > CALLS_MAX:
            raise ProviderError("these are calls enough", code="P112")
        usage = Usage(**_USAGE) if self.effect == "priced" else Usage()
        return Reply(answer_to(request), usage)


def answer_to(request: Request) -> Json:
    """Another answer in each iteration, the same for the same question."""
    asked = f"{request.address} {json.dumps(request.inputs)}"
    chance = sha256(asked.encode()).digest()[0]
    if request.kind == "judge":
        return {"verdict": chance % 3 == 0, "answer": "yes" if chance % 3 == 0 else "no"}
    if request.returns is not None:
        return _of_type(request.returns, chance)
    return _TEXTS[chance % len(_TEXTS)]


def _of_type(schema: Any, chance: int) -> Json:
    match schema.get("type"):
        case "object":
            parts = schema.get("properties") or {}
            return {name: _of_type(part, chance + 1) for name, part in parts.items()}
        case "array":
            return [_of_type(schema.get("items") or {}, chance)]
        case "boolean":
            return chance % 3 == 0
        case "number" | "integer":
            return chance % 10
    choices = schema.get("enum")
    return choices[chance % len(choices)] if choices else _TEXTS[chance % len(_TEXTS)]


def run_through(workflow: Workflow) -> dict[str, Any]:
    """Runs a workflow to its end, approving what is asked; gives all that can be seen of it."""
    workers, journal = AnsweringWorkers(), MemoryJournal()
    runtime = SimulatedRuntime(workers, journal)
    given = {port.name: _GIVEN.get(port.type, "a text") for port in workflow.inputs}
    run = runtime.start(workflow, dict(given), run="run")
    status = runtime.resume(run)
    for _ in range(GATES_MAX):
        machine = fold(journal, run).machine
        gates = [address for address, entry in machine.pending.items() if entry["what"] == "gate"]
        if status != "waiting" or not gates:
            break
        decided = Event("gate.decided", gates[0], machine.now, {"approved": True})
        status = runtime.resume(run, (decided,))
    entries = [entry.event for entry in journal.read(run)]
    result = fold(journal, run).machine.state["result"]
    for event in entries:
        if "sealed" in event.body:
            event.body["sealed"] = "drawn"
    return {"status": status, "sent": workers.sent, "result": result, "entries": entries}
