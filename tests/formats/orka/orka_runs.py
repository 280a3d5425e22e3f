"""Runs workflows of the dialect on the simulated runtime with a model whose answers are rules."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from public_files.worlds import Workers, World
from whorl.dialects import read_workflow
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime
from whorl.services.inspecting.results import document

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.task import Emit, Reply, Request

FILE = "workflow.yml"


@dataclass(slots=True)
class Model(World):
    """A world that keeps what it was asked, and takes its time."""

    delay_s: float = 0.0
    requests: list[Request] = field(default_factory=list)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        self.requests.append(request)
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        return await World.perform(self, request, emit)

    @property
    def prompts(self) -> list[str]:
        """What models were asked, in order."""
        return [str(r.inputs["prompt"]) for r in self.requests if r.kind == "ask"]

    def inputs_of(self, name: str) -> dict[str, Json]:
        """The inputs of the last task at an address, or of a node."""
        found = [r for r in self.requests if re.search(rf"(^|/){re.escape(name)}$", r.address)]
        return found[-1].inputs

    def prompt_at(self, address: str) -> str:
        return str(self.inputs_of(address)["prompt"])


@dataclass(slots=True)
class Ran:
    """What came of a run: how it ended, its outputs by name, its first loop."""

    document: dict[str, Any]
    model: Model
    journal: MemoryJournal
    status: str = field(init=False)
    outputs: dict[str, Any] = field(init=False)
    loop: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.status, self.outputs = self.document["status"], self.document["outputs"]
        self.loop = next(iter(self.document["loops"]), {})

    def bodies(self, kind: str) -> list[Any]:
        """The bodies of all events of a kind."""
        entries = self.journal.read(RunId(self.document["run"]))
        return [entry.event.body for entry in entries if entry.event.kind == kind]

    @property
    def seconds(self) -> float:
        """How long the run took, in virtual time."""
        times = [entry.event.at for entry in self.journal.read(RunId(self.document["run"]))]
        return round(times[-1] - times[0], 6)


def read(text: str, file: str = FILE) -> Workflow:
    """Reads a workflow of the dialect."""
    return read_workflow(text, file, dialect="orka").workflow


def run(
    text: str,
    rules: list[tuple[str, list[Any]]],
    given: Json = "the text",
    *,
    journal: MemoryJournal | None = None,
    name: str = "run",
    delay_s: float = 0.0,
) -> Ran:
    """Runs a workflow from beginning to end."""
    model, kept = Model(rules, delay_s=delay_s), journal or MemoryJournal()
    runtime = SimulatedRuntime(Workers(model), kept)
    started = runtime.start(read(text), {"input": given}, run=name)
    runtime.resume(started)
    machine = fold(kept, started).machine
    finished = [e.event for e in kept.read(started) if e.event.kind == "run.finished"]
    told = document(started, machine.status, finished[-1] if finished else None, kept)
    return Ran(told, model, kept)


LOOP = """
orchestrator: {id: work, strategy: sequential, agents: [polish]}
agents:
  - id: polish
    type: loop
    max_loops: MAX
    score_threshold: 0.9
    score_extraction_pattern: "SCORE:\\\\s*([0-9.]+)"
    MORE
    internal_workflow:
      orchestrator: {id: inner, strategy: sequential, agents: [writer, critic]}
      agents:
        - id: writer
          type: openai-answer
          model: gpt-4o
          temperature: 0.5
          max_tokens: 200
          system_prompt: Be brief.
          prompt: |
            Write about {{ input }}. PROMPT
        - id: critic
          type: openai-answer
          prompt: "Rate: {{ previous_outputs.writer }}"
"""


def loop(*, most: int = 5, more: str = "", prompt: str = "") -> str:
    """A loop with a writer and a critic."""
    return LOOP.replace("MAX", str(most)).replace("MORE", more).replace("PROMPT", prompt)
