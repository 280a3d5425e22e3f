"""Files of the public system load as they are and give what its own tests expect."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from shodan_files import CORPUS, run, settle

from whorl import ir
from whorl.dialects import ProjectFiles, read_workflow

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the files are not beside the project")
FILES = sorted(str(path.relative_to(CORPUS)) for path in CORPUS.rglob("*.yaml"))
# Two files name a component that was never published; this one does what its name says.
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
# What a run of each file gives: a part of its main output, and its loop.
EXPECTED: dict[str, tuple[str, tuple[int, str] | None]] = {
    "workflows/test-loop-dock.yaml": ("5", (5, "condition_met")),
    "workflows/test-loop-counter.yaml": ("5", (5, "condition_met")),
    "history/test-loop-counter.471c86a-inlineWorkflow.yaml": ("5", (5, "condition_met")),
    "workflows/test-constant.yaml": ("Number: 42\nBoolean: true", None),
    "workflows/test-function-logic.yaml": ("A AND B = false", None),
    "workflows/test-component.yaml": ("Transformed: HELLO", None),
    "workflows/test-inline-component.yaml": ("Transformed: HELLO", None),
    "workflows/test-inline-component-nested.yaml": ("Shouted: HELLO!!!", None),
    "workflows/test-inline-component-reuse.yaml": ("Result 1: Hello, hello", None),
    "workflows/test-nested-workflow.yaml": ("SUCCESS: Nested workflow executed", None),
    "workflows/test-phase2-io.yaml": ("Received from trigger: hello", None),
    "workflows/multi-line-demo.yaml": ("Loop result: Sum: 15", None),
    "workflows/test-cwd.yaml": ("CWD: /", None),
    "workflows/components/text-wrapper.yaml": ("HELLO", None),
    ".robomesh/workflows/test-wire.yaml": ("manual", None),
}
WITHOUT_TEXT = ("test-loop-counter",)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    shutil.copytree(CORPUS, folder, copy_function=shutil.copyfile)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    (folder / "dot-robomesh").rename(folder / ".robomesh")
    (folder / "workflows" / "components" / "text-transform.yaml").write_text(TRANSFORM)
    return settle(folder, monkeypatch)


@pytest.mark.parametrize("name", FILES)
def test_a_file_loads(project: Path, name: str) -> None:
    path = project / name.replace("dot-robomesh", ".robomesh")

    reading = read_workflow(path.read_text(), str(path), ProjectFiles(str(project)))

    assert reading.workflow.dialect == "shodan"
    assert ir.from_json(ir.to_json(reading.workflow)) == reading.workflow


def given(name: str) -> dict[str, Any]:
    if any(part in name for part in WITHOUT_TEXT):
        return {}
    return {"input" if "text-wrapper" in name else "text": "hello"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_gives_what_its_own_tests_expect(project: Path, name: str) -> None:
    text, loop = EXPECTED[name]
    if "function" in name and shutil.which("node") is None:
        pytest.skip("Node is not installed")

    result = run(project / name, **given(name))

    assert result.status == "succeeded", result.error
    assert text in str(result.output)
    assert [(one.iterations, one.exit_reason) for one in result.loops] == ([loop] if loop else [])


def test_a_constant_decides_how_often_a_loop_turns(project: Path) -> None:
    name = "docs-blocks/plan__completed__progressive-results__L1379.yaml"
    text = (project / name).read_text().replace("sleep 1", "true")
    for value, expected in (("true", (3, "max_iterations")), ("false", (1, "condition_met"))):
        path = project / f"{value}.yaml"
        changed = text.replace("value: true", f"value: {value}")
        path.write_text(changed.replace("maxIterations: 5", "maxIterations: 3"))

        result = run(path)

        assert [(one.iterations, one.exit_reason) for one in result.loops] == [expected]
        assert bool(result.warnings) is (value == "true")


@pytest.mark.slow
def test_the_slow_loop_runs_to_its_limit(project: Path) -> None:
    name = "docs-blocks/plan__completed__progressive-results__L1379.yaml"
    result = run(project / name)

    assert [(one.iterations, one.exit_reason) for one in result.loops] == [(5, "max_iterations")]


def test_a_node_that_may_fail_lets_others_read_its_exit_code(project: Path) -> None:
    result = run(project / "workflows/test-stderr-exitcode.yaml")

    # The node behind it exits with 1 unless it reads 42.
    assert result.status == "failed"
    assert result.error["path"] == "shell-fail.status"
    assert "exit code 42" in result.error["message"]


@pytest.mark.slow
def test_three_shells_run_side_by_side(project: Path) -> None:
    result = run(project / "workflows/test-parallel/test-parallel-shell.yaml")

    said = " ".join(str(value) for name, value in result.outputs.items() if "stdout" in name)
    starts = [int(word) for word in said.split() if word.isdigit()][::2]
    assert len(starts) == 3
    assert max(starts) - min(starts) <= 1
