"""Writes the journal of a conformance case down, and reads it back as a journal in memory."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.expecting import mistakes
from conformance.reading import workflow_of
from conformance.replies import Script, ScriptedWorkers
from conformance.running import drive, options_of, result_of
from crash.in_memory import Crash
from simulation.turns import JumpingTurns
from strikes import StruckJournal
from whorl.interpreter.events import FED_KINDS, Event
from whorl.ir import content_hash, from_json
from whorl.runtimes.journal.folding import Replay, catch_up
from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.runtimes.journal.keys import Seals
from whorl.runtimes.simulated import SimulatedRuntime
from whorl.runtimes.time_slices import CPU_MAX_S

if TYPE_CHECKING:
    from conformance.literate import Case
    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import Entry

# Cases that a crash is part of, and such in which time passes while a run computes.
RECORDED_ONLY = tuple(Path(__file__).parent / name for name in ("interrupted.md", "computing.md"))
_KEY = b64encode(bytes(32)).decode()
# What must come of a run, in every later version; words may become better ones.
_RESULT = ("status", "output", "outputs", "usage")
_LOOP = ("path", "exit_reason", "stopped_by", "iterations", "score", "best_iteration")


@dataclass(slots=True)
class Recorded:
    """A run as it stands in a file: the workflow, the entries, a snapshot on the way, the end."""

    case: str
    run: str
    workflow: Any
    entries: list[list[Any]]
    snapshot: list[Any]
    result: dict[str, Any]

    def text(self) -> str:
        """The text of the file: JSON, with one line for each entry."""
        fields = {
            "case": self.case,
            "run": self.run,
            "workflow": self.workflow,
            "entries": self.entries,
            "snapshot": self.snapshot,
            "result": self.result,
        }
        lines = [f"{_json(name)}: {_json(value)}" for name, value in fields.items()]
        entries = ",\n".join(map(_json, self.entries))
        lines[3] = f'"entries": [\n{entries}\n]'
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def journal(self) -> StruckJournal:
        """The run in a journal in memory."""
        journal = _journal()
        events = [Event(kind, address, at, body) for kind, address, at, body in self.entries]
        workflow = from_json(self.workflow)
        name, dialect = workflow.name, workflow.dialect
        made = NewRun(RunId(self.run), self.workflow, content_hash(self.workflow), name, dialect)
        asyncio.run(journal.create(made, *events))
        return journal


def _journal() -> StruckJournal:
    # Secrets of recorded runs are opened with the key that they were sealed with.
    return StruckJournal(seals=Seals(given=_KEY))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read(text: str) -> Recorded:
    """A run as it was written down."""
    return Recorded(**json.loads(text))


def record(case: Case, workflow: Workflow | None = None) -> Recorded:
    """Runs a case, or a program in its place, and writes down what came of it."""
    journal, script = _journal(), Script(case.blocks.get("replies"))
    turns: Any = JumpingTurns(case.options["slice_s"]) if "slice_s" in case.options else None
    runtime = SimulatedRuntime(
        ScriptedWorkers(script),
        journal,
        turns=turns,
        cpu_max_s=case.options.get("cpu_max_s", CPU_MAX_S),
    )
    given, options = dict(case.blocks.get("input") or {}), options_of(case)
    for name in ("earlier", "run")[-case.options.get("runs", 1) :]:
        script.forget_calls()
        run = runtime.start(workflow or workflow_of(case), given, run=name, **options)
        if "interrupted" in case.options:
            _interrupt(runtime, run, script, case.options["interrupted"])
        run = drive(case, runtime, run, script)
    assert mistakes(case.blocks["outcome"], result_of(journal, run), script) == []
    entries = list(journal.read(run))
    lines = [[e.event.kind, e.event.address, e.event.at, e.event.body] for e in entries]
    pinned = journal.workflow(run)
    snapshot = _snapshot(journal, run, is_sliced="slice_s" in case.options)
    return Recorded(case.id, run, pinned, lines, snapshot, result(journal, RunId(run)))


def _interrupt(runtime: SimulatedRuntime, run: RunId, script: Script, address: str) -> None:
    """Drives a run until the call at an address; what came of that is lost with the process."""

    def strike(point: str, run: RunId) -> None:
        if script.performed[address]:
            raise Crash(point)

    assert isinstance(runtime.journal, StruckJournal)
    runtime.journal.strike = strike
    with suppress(Crash):
        runtime.resume(run)
    runtime.journal.strike = None
    assert script.performed[address] == 1


def _snapshot(journal: StruckJournal, run: RunId, *, is_sliced: bool) -> list[Any]:
    """The state in the middle, at an entry by which the journal has all notes of the machine.

    The past of a fork has no snapshots: the first one is that of the fork itself.
    """
    entries = list(journal.read(run))
    forked = max((e.seq for e in entries if e.event.kind == "run.forked"), default=0)
    replay = Replay(journal, run, seals=journal.seals)
    found = [0, None]
    for entry in entries:
        replay.take(entry)
        # Where slices take time, the driver has snapshots in the midst of work.
        if is_sliced:
            catch_up(replay.folded)
        else:
            replay.finish()
        said = replay.folded.journaled
        is_complete = entry.seq > forked and said == len(replay.folded.unsaid)
        if is_complete and (found[0] == 0 or entry.seq <= len(entries) // 2):
            found = [entry.seq, json.loads(replay.folded.machine.snapshot())]
    return found


def result(journal: StruckJournal, run: RunId) -> dict[str, Any]:
    """What must come of a run in every later version."""
    document = result_of(journal, run).document
    error = document["error"] or {}
    loops = [{name: loop.get(name) for name in _LOOP} for loop in document["loops"]]
    told = {name: document[name] for name in _RESULT}
    where = {name: error.get(name) for name in ("code", "path", "iteration")}
    return json.loads(_json(told | {"loops": loops, "error": where}))  # type: ignore[no-any-return]


def notes(entries: list[Entry]) -> list[Event]:
    """The notes among the entries of a journal."""
    return [entry.event for entry in entries if entry.event.kind not in FED_KINDS]


def wordless(value: Any) -> Any:
    """A value without texts for people, which later versions may say better."""
    if isinstance(value, dict):
        return {name: wordless(part) for name, part in value.items() if name != "message"}
    return [wordless(part) for part in value] if isinstance(value, list) else value
