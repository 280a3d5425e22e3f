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

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from corpus_cases import Case

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the files are not beside the project")
FILES = sorted(str(path.relative_to(CORPUS)) for path in CORPUS.rglob("*.yaml"))
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


def test_an_answer_is_streamed_while_it_comes(project: Path, programs: Any) -> None:
    name = "workflows/test-progressive-agent-stream.yaml"
    programs(CASES[name])

    command = [sys.executable, "-m", "whorl.interfaces.cli", "run", name, "--events-as", "dialect"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    events = [json.loads(line) for line in said.splitlines()]

    pieces = [event["chunk"] for event in events if event["event"] == "node-output"]
    assert len(pieces) > 1
    assert "".join(pieces) == NUMBERS
