"""Runs every public file of every system, or says why it does not run, and on which line."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.reading import CaseFiles
from public_files.blocks import WORKFLOW, complete_actions, complete_agents, complete_steps
from public_files.definitions import Answers
from public_files.worlds import Rules, World, run
from whorl.dialects import Opened, ProjectFiles, read_workflow
from whorl.errors import Diagnostic, InvalidWorkflow, Span
from whorl.interpreter.events import unescape
from whorl.providers.task import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whorl.dialects import Reading
    from whorl.language import Json
    from whorl.providers.task import Emit, Request

ROOT = Path(__file__).parents[2]
CORPORA = Path(os.environ.get("WHORL_CORPORA", ROOT.parent / "shared" / "corpora"))
EXPECTED = Path(__file__).parent / "expected.json"
ENDINGS = (".yaml", ".yml", ".json")
AS_IT_IS, COMPLETED, CONFIGURATION, LISTED = "as it is", "completed", "configuration", "listed"

CRITERIA = '{"improvement": {"better_than_previous": true, "significant_delta": true}}'
OBJECT = '{"response": "It lacks more depth. SCORE: 0.5", "confidence": 0.5}'
AGENTS: Rules = [
    ("true or false for each criterion", [CRITERIA]),
    ("recommended_path", ['{"recommended_path": []}']),
    # Without the name of a route, its router does not know where to go.
    ("Return ONLY one of these exact strings", ['{"response": "safeguard_gate"}']),
    ("Answer with one JSON", [OBJECT]),
    (".", ["It lacks more depth. SCORE: 0.5", "SCORE: 0.97 QUALITY: 0.97 CONSENSUS: 0.97"]),
]
STEPS: Rules = [
    ("Approve|APPROVED|approve", ["APPROVED"]),
    ("array|List it|Parse", ['["one", "two"]']),
    (".", ["an answer"]),
]
CANVASES: Rules = [
    ("Classify the following input", ["approve"]),
    ("JSON array|commands|deploy", ['["true"]']),
    (".", ["an answer"]),
]
SEARCHED = {"results": ["a page"], "total_results": 1}


@dataclass(frozen=True)
class Row:
    """What came of a file. Of one that is listed, `line` is at fault, and `reason` says why."""

    file: str
    form: str
    outcome: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    line: int = 0


class BlockFiles(CaseFiles):
    """The files beside a block: each workflow that it names, and each list of items."""

    def open(self, base: str, reference: str, span: Span) -> Opened:
        """Opens what a block names."""
        if reference.endswith(".json"):
            return Opened(reference, reference, '["one", "two"]')
        if not reference.endswith(ENDINGS):
            raise InvalidWorkflow([Diagnostic("W016", f"there is no file {reference!r}", span)])
        name = reference.rpartition("/")[2].partition(".")[0]
        return Opened(reference, reference, WORKFLOW.replace("{name}", name))

    def find(self, base: str, names: Sequence[str]) -> str | None:
        """The first name."""
        return None if names[0].endswith("SKILL.md") else names[0]


def files_of(system: str) -> list[Path]:
    """The files of a system; what its own results were is no file of it."""
    found = sorted(path for path in (CORPORA / system).rglob("*") if path.name.endswith(ENDINGS))
    return [path for path in found if "expected" not in path.parts]


def rows_of(system: str) -> list[Row]:
    return list(SYSTEMS[system]())


def _read(path: Path, text: str, files: Any = None) -> Reading:
    return read_workflow(text, path.name, files)


def _row(path: Path, form: str, reading: Reading, given: dict[str, Json], world: World) -> Row:
    """A file that loads, with what a run of it gives."""
    try:
        found = run(reading.workflow, given, world)
    except InvalidWorkflow as fault:  # pragma: no cover - a mistake of the harness
        raise AssertionError(path) from fault
    loops = {row["path"]: [row["iterations"], row["exit_reason"]] for row in found["loops"]}
    outcome = {"status": found["status"], "calls": len(world.asked), "loops": loops}
    outcome["output"] = json.dumps(found["output"], ensure_ascii=False)[:100]
    if found["failed_calls"]:
        outcome["failed"] = found["failed_calls"]
    if found["error"]:
        outcome["error"] = found["error"]["message"]
    return Row(_name(path), form, outcome)


def _name(path: Path) -> str:
    return "/".join(path.relative_to(CORPORA).parts[1:])


def _listed(path: Path, fault: InvalidWorkflow) -> Row:
    """A file that is refused; the first of its mistakes stands for all.

    What completing a block did not help against is looked for in the block itself.
    """
    found = fault.diagnostics
    if isinstance(whole := fault.__context__, InvalidWorkflow):
        codes = {each.code for each in found}
        found = [each for each in whole.diagnostics if each.code in codes] or found
    first = min(found, key=lambda each: each.span.line if each.span else 0)
    line = first.span.line if first.span else 0
    reason = first.message.partition("; looked")[0]
    return Row(_name(path), LISTED, {"code": first.code}, reason, line)


def orka() -> Iterator[Row]:
    """Agents are asked a question; what a block leaves out is added."""
    given: dict[str, Json] = {"input": "why is the sky blue?"}
    for path in files_of("orka"):
        text, form = path.read_text(), AS_IT_IS
        try:
            try:
                reading = _read(path, text)
            except InvalidWorkflow:
                if "docs-blocks" not in path.parts:
                    raise
                reading, form = _read(path, complete_agents(text)), COMPLETED
        except InvalidWorkflow as fault:
            yield _listed(path, fault)
            continue
        yield _row(path, form, reading, given, World(AGENTS))


def mcp_cli() -> Iterator[Row]:
    """Files stand in their folders, blocks in a frame; workflows that none of them is are made."""
    for path in files_of("mcp-cli"):
        text, form = path.read_text(), AS_IT_IS
        if path.name == "settings.yaml":
            _check_configuration(path)
            yield Row(_name(path), CONFIGURATION)
            continue
        world = World(STEPS, {"rag": SEARCHED, "embeddings": [0.5]})
        try:
            try:
                reading = read_workflow(text, str(path), ProjectFiles(str(path.parent)))
            except InvalidWorkflow as fault:
                is_block = "docs-blocks" in path.parts
                if not is_block and any(found.code != "W016" for found in fault.diagnostics):
                    raise
                completed = complete_steps(text) if is_block else text
                reading, form = _read(path, completed, BlockFiles({})), COMPLETED
        except InvalidWorkflow as fault:
            yield _listed(path, fault)
            continue
        asked = (port for port in reading.workflow.inputs if port.required)
        given: dict[str, Json] = {"input": "it", **{port.name: "given" for port in asked}}
        yield _row(path, form, reading, given, world)


def _check_configuration(path: Path) -> None:
    """Reads a configuration that names some settings, and nothing else."""
    from whorl.services.configuration.foreign import read_foreign

    with tempfile.TemporaryDirectory(prefix="whorl-public-") as folder:
        (Path(folder) / "settings.yaml").write_text(path.read_text())
        root = Path(folder) / "config.yaml"
        root.write_text("includes: {settings: settings.yaml}\n")
        read_foreign(root)


def studio() -> Iterator[Row]:
    """Canvases with a shell, files, a tool and a knowledge base that answer."""
    tasks: dict[str, Any] = {
        "tool": {"image": "a frame"},
        "run": {"stdout": "done\n", "stderr": "", "exit_code": 0},
        "file_glob": {"files": [{"path": "a.txt", "content": "words"}], "count": 1},
        "knowledge_base": {"context": "docs", "results": []},
        "email_send": {"sent": True},
    }
    for path in files_of("studio"):
        reading = _read(path, path.read_text())
        yield _row(path, AS_IT_IS, reading, {}, World(CANVASES, tasks))


def shodan() -> Iterator[Row]:
    """Every file runs in a project of all of them, as the tests of the dialect show."""
    sys.path.append(str(ROOT / "tests" / "formats" / "shodan"))
    from corpus_cases import CASES

    missing = ("workflows/components/text-wrapper.yaml", "workflows/test-component.yaml")
    for path in files_of("shodan"):
        name = _name(path)
        if path.name == "config.json":
            yield Row(name, CONFIGURATION)
            continue
        case = CASES[name]
        outcome = {"status": "failed" if case.fault else "succeeded", "loops": [*case.loops]}
        yield Row(name, COMPLETED if name in missing else AS_IT_IS, outcome)


# What the blocks of its documentation are given, as their readers would.
_GIVEN: dict[str, dict[str, Json]] = {
    "L128": {"done": True},
    "L151": {"body": {"items": [1, 2]}},
    "L594": {"page": "https://example.com/1"},
    "L710": {"jobId": "7"},
}
_WEB: dict[str, list[tuple[int, Json]]] = {
    "L594": [(200, {"items": [1]})],
    "L710": [(200, {"status": "running"}), (200, {"status": "complete"})],
}
_THOUGHT: list[Json] = [{"action": "look", "actionInput": "x"}, {"action": "FINAL_ANSWER"}]


def loom() -> Iterator[Row]:
    """Definitions with a web, a model and functions that answer; blocks are completed."""
    sys.path.append(str(ROOT / "tests" / "formats" / "loom"))
    from loom_runs import run as run_loom

    for path in files_of("loom"):
        if path.suffix == ".yaml":
            # What its actors are: here, the operator names them under [tasks].
            yield Row(_name(path), CONFIGURATION)
            continue
        text, line = path.read_text(), path.stem.rpartition("__")[2]
        completed = complete_actions(text) if path.parent.name == "docs-blocks" else text
        form = AS_IT_IS if completed == text else COMPLETED
        web = _WEB.get(line, [(200, {})])
        try:
            ran = run_loom(
                completed,
                _GIVEN.get(line, {}),
                functions=_Anybody(_nothing),
                web=_Anybody(web),
                answers=_THOUGHT,
            )
        except InvalidWorkflow as fault:
            if path.parent.name == "compile":
                # There, its compiler refuses it, too.
                yield Row(_name(path), AS_IT_IS, {"status": "refused"})
            else:
                yield _listed(path, fault)
            continue
        yield Row(_name(path), form, _came_to(ran))


def _came_to(ran: Any) -> dict[str, Any]:
    loops = {path: [loop["iterations"], loop["exit_reason"]] for path, loop in ran.loops.items()}
    outcome = {"status": ran.status, "loops": loops}
    if ran.status == "failed":
        outcome["error"] = ran.document["error"]["message"]
    return outcome


class _Anybody(dict[str, Any]):
    """Answers for every name alike."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    def get(self, key: str, default: Any = None) -> Any:
        return self._answer


def _nothing(*given: Any, **named: Any) -> dict[str, Any]:
    return {"status": "success", "output": "actor-result"}


def logic_apps() -> Iterator[Row]:
    """Definitions with answers of the least that they read; recorded runs; expressions."""
    sys.path.append(str(ROOT / "tests" / "formats" / "loom"))
    from loom_runs import World as LoomWorld
    from loom_runs import run as run_loom

    class Answering(LoomWorld):
        answers_by_name: Answers

        async def perform(self, request: Request, emit: Emit) -> Reply:
            name = unescape(re.sub(r"[#\[].*", "", request.address.rpartition("/")[2]))
            value = self.answers_by_name.of(name)
            if request.kind == "ask":
                value = {"content": "done", "calls": [], "turn": {}}
            elif request.kind in ("http", "connector"):
                value = {"status": 200, "headers": {}, "body": value}
            return Reply(value, Usage(1))

    for path in files_of("logic-apps/definitions"):
        if path.name == "INDEX.json":
            continue
        text, number = path.read_text(encoding="utf-8-sig"), path.name[:3]
        answers, world = Answers(json.loads(text), number), Answering()
        world.answers_by_name = answers
        ran = run_loom(text, answers.given(number), world)
        if ran.status == "failed":
            error = ran.document["error"]
            reason, line = f"its run fails: {error['message']}", _line_of(text, error["path"])
            yield Row(_name(path), LISTED, {"status": "failed"}, reason, line)
        else:
            yield Row(_name(path), AS_IT_IS, _came_to(ran))
    for path in files_of("logic-apps/runs"):
        # What each of them must come to is in the file, and held by the tests of the dialect.
        yield Row(_name(path), AS_IT_IS, {"status": "as recorded"})
    for path in (CORPORA / "logic-apps").glob("expressions.json"):
        yield Row(_name(path), AS_IT_IS, {"cases": len(json.loads(path.read_text())["cases"])})


def _line_of(text: str, path: str) -> int:
    """The line of an action that failed."""
    name = path.rpartition("/")[2]
    lines = text.split("\n")
    return next((at for at, line in enumerate(lines, start=1) if f'"{name}"' in line), 1)


SYSTEMS: dict[str, Callable[[], Iterator[Row]]] = {
    "orka": orka,
    "mcp-cli": mcp_cli,
    "studio": studio,
    "shodan": shodan,
    "loom": loom,
    "logic-apps": logic_apps,
}
