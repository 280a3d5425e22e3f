"""Files of the public system load as they are and give what its own tests expect."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from corpus_cases import CASES, CODE, NUMBERS
from shodan_files import CORPUS, ROOT, printed, run, settle

from whorl.dialects import ProjectFiles, read_workflow
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from corpus_cases import Case

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the files are not beside the project")
FILES = sorted(str(path.relative_to(CORPUS)) for path in CORPUS.rglob("*.yaml"))
SLOW_LOOP = "docs-blocks/plan__completed__progressive-results__L1379.yaml"
CALCULATES = "docs-blocks/plan__completed__loop-primitive__L377.yaml"
# A component that two files name is not among them; this one does what its name says.
MISSING = "workflows/components/text-transform.yaml"
TRANSFORM = """
version: 2
metadata: {name: Text Transform}
interface: {inputs: [{name: text, type: string}], outputs: [{name: result, type: string}]}
nodes:
  - {id: in, data: {nodeType: interface-input, outputs: [{name: text, type: string}]}}
  - {id: up, data: {nodeType: shell, script: 'echo "{{ inputs.text }}" | tr a-z A-Z'}}
  - {id: out, data: {nodeType: interface-output, inputs: [{name: result, type: string}]}}
edges:
  - {source: in, target: up, sourceHandle: "output:text", targetHandle: "input:text"}
  - {source: up, target: out, sourceHandle: "output:stdout", targetHandle: "input:result"}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return copied(tmp_path / "project", monkeypatch)


def copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with all files, and with the one that is missing among them."""
    shutil.copytree(CORPUS, folder, copy_function=shutil.copyfile)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    (folder / "dot-robomesh").rename(folder / ".robomesh")
    (folder / MISSING).write_text(TRANSFORM)
    return settle(folder, monkeypatch)


def place(project: Path, name: str) -> Path:
    return project / name.replace("dot-robomesh", ".robomesh")


def check(project: Path, name: str, case: Case) -> Any:
    """Runs a file and compares; gives the result."""
    result = run(place(project, name), **case.given)

    if case.fault is None:
        assert result.status == "succeeded", result.error
    else:
        assert (result.status, result.error["path"]) == ("failed", case.fault[0])
        assert case.fault[1] in result.error["message"]
    assert case.says in str(result.output or "")
    assert case.outputs.items() <= result.outputs.items()
    loops = tuple((one.iterations, one.exit_reason) for one in result.loops)
    assert loops == case.loops
    assert bool(result.warnings) is any(reason == "max_iterations" for _, reason in case.loops)
    said = "\n".join(printed(project, result.run))
    assert [words for words in case.prints if words not in said] == []
    assert not case.silent or case.silent not in said
    return result


def test_every_file_has_its_case() -> None:
    assert sorted(CASES) == FILES


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("workflows/test-component.yaml", MISSING),
        ("workflows/components/text-wrapper.yaml", MISSING),
        ("dot-robomesh/workflows/test-component.yaml", ".robomesh/workflows/plan.yaml"),
    ],
)
def test_a_component_that_is_missing_is_named(project: Path, name: str, missing: str) -> None:
    (project / missing).unlink()
    path = place(project, name)

    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(path.read_text(), str(path), ProjectFiles(str(project)))

    [found] = caught.value.diagnostics
    assert (found.code, found.message) == ("W016", f"file {missing!r} does not exist")
    line = path.read_text().splitlines()[found.span.line - 1] if found.span else ""
    assert line.strip() == f"workflowPath: {missing}"


@pytest.fixture
def programs(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Sets the programs up that a file needs: no sleep takes time, and agents are stand-ins."""
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "agents"))
    stand_in, models = import_module("stand_in"), import_module("model_server")
    folder = project.parent
    node = shutil.which("node")
    path = [str(folder / "bin"), "/usr/bin", "/bin", *([os.path.dirname(node)] if node else [])]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    (folder / "bin").mkdir()
    (folder / "bin" / "sleep").write_text("#!/bin/sh\n")
    (folder / "bin" / "sleep").chmod(0o700)

    def says(program: str, reply: Any) -> Any:
        if program == "codex":
            return stand_in.play(stand_in.codex_says(reply))
        fields = {} if isinstance(reply, str) else {"structured_output": reply}
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return stand_in.play(stand_in.claude_says(text, **fields))

    def set_up(case: Case) -> dict[str, Any]:
        made = {}
        for program, replies in case.replies.items():
            if program != "openai":
                plays = [says(program, reply) for reply in replies]
                made[program] = stand_in.StandIn(folder, program).plays(*plays)
        return made

    replies = [CODE, '{"approved": true, "feedback": "good"}'] * 3
    with models.model_server(*replies) as model:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        yield set_up


@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_what_its_own_tests_expect(project: Path, programs: Any, name: str) -> None:
    case = CASES[name]
    if "function" in place(project, name).read_text() and shutil.which("node") is None:
        pytest.skip("Node is not installed")
    if name == CALCULATES:
        bash = shutil.which("bash")
        if bash is None:
            pytest.skip("bash is not installed")
        (project.parent / "bin" / "sh").symlink_to(bash)
    made = programs(case)

    result = check(project, name, case)

    for program, stand_in in made.items():
        assert len(stand_in.calls) == len(case.replies[program])
    asked = sum(len(replies) for replies in case.replies.values())
    assert result.usage.output_tokens == 7 * asked


def test_a_strict_shell_does_not_calculate_with_null(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dash = shutil.which("dash")
    if dash is None:
        pytest.skip("dash is not installed")
    (project.parent / "bin").mkdir()
    (project.parent / "bin" / "sh").symlink_to(dash)
    monkeypatch.setenv("PATH", f"{project.parent / 'bin'}:/usr/bin:/bin")

    error = run(project / CALCULATES, text="5").error

    assert (error["path"], error["iteration"]) == ("count-loop[1]/counter", 1)
    assert "null" in error["message"]


def test_a_session_goes_on_in_the_next_node(project: Path, programs: Any) -> None:
    case = CASES["workflows/test-session-persistence.yaml"]
    claude = programs(case)["claude"]

    check(project, "workflows/test-session-persistence.yaml", case)

    first, second = (call["argv"] for call in claude.calls)
    assert "--session-id" in first
    assert second[second.index("--resume") + 1] == "5e551011-0000-4000-8000-000000000001"


def test_an_answer_is_streamed_while_it_comes(project: Path, programs: Any) -> None:
    name = "workflows/test-progressive-agent-stream.yaml"
    programs(CASES[name])

    command = [sys.executable, "-m", "whorl.interfaces.cli", "run", name, "--events-as", "dialect"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    events = [json.loads(line) for line in said.splitlines()]

    pieces = [event["chunk"] for event in events if event["event"] == "node-output"]
    assert len(pieces) > 1
    assert "".join(pieces) == NUMBERS


def test_a_constant_decides_how_often_a_loop_turns(project: Path, programs: Any) -> None:
    text = (project / SLOW_LOOP).read_text()
    for value, expected in (("true", (3, "max_iterations")), ("false", (1, "condition_met"))):
        path = project / f"{value}.yaml"
        changed = text.replace("value: true", f"value: {value}")
        path.write_text(changed.replace("maxIterations: 5", "maxIterations: 3"))

        result = run(path)

        assert [(one.iterations, one.exit_reason) for one in result.loops] == [expected]
        assert bool(result.warnings) is (value == "true")


@pytest.mark.slow
def test_three_shells_run_side_by_side(project: Path) -> None:
    result = run(project / "workflows/test-parallel/test-parallel-shell.yaml")

    said = " ".join(str(value) for name, value in result.outputs.items() if "stdout" in name)
    starts = [int(word) for word in said.split() if word.isdigit()][::2]
    assert len(starts) == 3
    assert max(starts) - min(starts) <= 1
