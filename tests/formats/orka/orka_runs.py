"""Runs workflows of the dialect on the simulated runtime with a model whose answers are rules."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from public_files.worlds import Workers
from whorl.dialects import read_workflow
from whorl.errors import ProviderError
from whorl.formats.orka.functions import LIBRARY
from whorl.plugins import load_reference
from whorl.providers.memory import key_of, search
from whorl.providers.task import Estimate, Reply, Usage
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime
from whorl.services.inspecting.results import document

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.language.libraries import Amend
    from whorl.providers.task import Effect, Emit, Request

PROJECT = Path(__file__).parents[3]
SHARED = PROJECT.parent / "shared"
FILE = "workflow.yml"


class Model:
    """Answers tasks by the first rule that the prompt matches, and keeps what is to be kept.

    A rule is a pattern and its answers in order, the last one for ever; an answer that is an
    exception is raised.
    """

    effect: Effect = "none"

    def __init__(self, rules: list[tuple[str, list[Any]]], delay_s: float = 0.0) -> None:
        self._rules = rules
        self._delay_s = delay_s
        self._used: Counter[int] = Counter()
        self.requests: list[Request] = []
        self.memories: dict[str, list[Json]] = {}

    @property
    def prompts(self) -> list[str]:
        """What models were asked, in order."""
        return [str(r.inputs["prompt"]) for r in self.requests if r.kind == "ask"]

    def prompt_at(self, address: str) -> str:
        """What the model was asked at an address."""
        return next(str(r.inputs["prompt"]) for r in self.requests if r.address == address)

    def inputs_of(self, name: str) -> dict[str, Json]:
        """The inputs of the last task of a node."""
        found = [r for r in self.requests if re.search(rf"(^|/){re.escape(name)}$", r.address)]
        return found[-1].inputs

    def estimate(self, request: Request) -> Estimate:
        """Nothing is reserved."""
        return Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Answers."""
        self.requests.append(request)
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        if request.kind == "memory":
            return Reply(self._remember(request))
        if request.kind == "use":
            return Reply(["a page about it"])
        return Reply(self._answer(request), Usage(1, 10, 5, 0.01))

    def _answer(self, request: Request) -> Json:
        text = f"{request.inputs.get('system', '')}\n{request.inputs['prompt']}"
        for index, (pattern, answers) in enumerate(self._rules):
            if re.search(pattern, text, re.DOTALL):
                self._used[index] += 1
                answer = answers[min(self._used[index], len(answers)) - 1]
                if isinstance(answer, Exception):
                    raise answer
                said: Json = answer
                return said
        raise ProviderError(f"no rule for {text[:200]!r}", code="P112")

    def _remember(self, request: Request) -> Json:
        inputs: dict[str, Any] = request.inputs
        kept = self.memories.setdefault(key_of(inputs["namespace"]), [])
        if inputs["operation"] == "amend":
            given = {**inputs["with"], "key": f"key-{len(self.requests)}"}
            made = cast("Amend", load_reference(LIBRARY.amendments[inputs["change"]]))(
                kept, given, 1_000_000.0
            )
            if made.record is not None:
                kept[:] = [one for one in kept if one["id"] != made.record["id"]]  # type: ignore[index,call-overload]
                kept.append(made.record)
            return made.value
        if inputs["operation"] == "write":
            kept.append({"content": inputs["content"], "metadata": inputs.get("metadata")})
            return {"status": "success", "memory_key": request.key}
        return {"status": "success", "memories": list(search(kept, inputs["query"]))}


@dataclass(slots=True)
class Ran:
    """What came of a run."""

    document: dict[str, Any]
    model: Model
    journal: MemoryJournal = field(default_factory=MemoryJournal)

    @property
    def status(self) -> str:
        """How the run ended."""
        return str(self.document["status"])

    @property
    def outputs(self) -> dict[str, Any]:
        """The outputs by name."""
        found: dict[str, Any] = self.document["outputs"]
        return found

    def bodies(self, kind: str) -> list[Any]:
        """The bodies of all events of a kind."""
        entries = self.journal.read(RunId(self.document["run"]))
        return [entry.event.body for entry in entries if entry.event.kind == kind]

    @property
    def seconds(self) -> float:
        """How long the run took, in virtual time."""
        times = [entry.event.at for entry in self.journal.read(RunId(self.document["run"]))]
        return round(times[-1] - times[0], 6)

    @property
    def loop(self) -> dict[str, Any]:
        """The first loop."""
        found: dict[str, Any] = self.document["loops"][0]
        return found


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
    model = Model(rules, delay_s)
    kept = journal or MemoryJournal()
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
