"""Every sentence of the loop design that promises something, and the test that holds it to it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from shodan_files import HEAD, ROOT, SEED, read, run, settle

from whorl import ir
from whorl.errors import UsageError
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

HERE = "tests/dialects/shodan/test_shodan_seed.py"
CASES = "conformance/shodan/"
# The sentence, and where it is tested: a case of conformance, or a test of this folder.
PROMISES = {
    "Contains an inner workflow (like a component)": "loops.md: Write, review, revise",
    "Executes the inner workflow repeatedly": "loops.md: Write, review, revise",
    "Passes outputs from one iteration as inputs to the next": "loops.md: Write, review, revise",
    "Terminates when a condition becomes false (or max iterations reached)": "loops.md: Ten",
    "Inner workflow - either reference or inline": "loops.md: The inside may be a file",
    "operator: '==' | '!=' | '<' | '>' | '<=' | '>='": "test_every_operator_compares",
    "maxIterations: number;  // Default: 10": "loops.md: Ten iterations at most",
    "On first iteration: outer input": "loops.md: Write, review, revise",
    "On subsequent iterations: can also use previous": "loops.md: Write, review, revise",
    "iterations: 'first' | 'subsequent' | 'all'": "test_a_mapping_is_meant_for_its_iterations",
    "take: 'last' | 'first' | 'all';  // 'all' produces array": "loops.md: Ten iterations",
    "Built-in: iteration count": "loops.md: Write, review, revise",
    "Example: Code Review Loop": "test_the_code_review_loop_runs_verbatim",
    "Set iteration_count = 0": "loops.md: Ten iterations at most",
    "Resolve outer inputs": "test_outer_inputs_are_looked_at_once",
    "Store outputs for potential next iteration": "loops.md: A session goes on",
    "If true AND iteration_count < maxIterations": "test_a_condition_met_at_the_limit_is_no_limit",
    "Include iteration_count as built-in output": "test_the_count_is_an_output_of_every_loop",
    "If inner workflow fails: loop terminates with error": "loops.md: An inner failure ends",
    "loop terminates with warning, outputs last successful": "loops.md: Ten iterations at most",
    "All iteration outputs are available in execution logs": "test_every_iteration_stays_on_record",
    "map/forEach patterns where the loop runs in parallel": "loops.md: For each item of a list",
    "explicit break/early-exit outputs": "loops.md: An early exit ends the loop",
    "access `iteration_count` as a template variable": "loops.md: Loops nest",
    "Should loops be nestable?": "loops.md: Loops nest",
    "loops could resume the same conversation": "test_claude_goes_on_when_its_session_is_fed_back",
    "`--resume <session-id>` support detection": "mistakes.md: A runner that keeps no sessions",
    "session cleanup after loop completes": "test_a_second_run_of_the_loop_starts_a_new_session",
    "opt-in per agent node": "test_a_session_is_kept_for_those_who_ask_for_it",
}
STAND_IN = """#!{python}
import json, sys
args = sys.argv[1:]
prompt = args[args.index("-p") + 1] if "-p" in args else ""
prompt = sys.stdin.read() if not prompt or prompt.startswith("--") else prompt
with open("claude.log", "a") as log:
    log.write(json.dumps({{"args": args, "prompt": prompt}}) + "\\n")
turn = sum("Write code" in json.loads(line)["prompt"] for line in open("claude.log"))
text = json.dumps({{"approved": turn >= 2, "feedback": "handle floats"}})
text = text if "Review this code" in prompt else f"code v{{turn}}"
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": text,
                  "session_id": "s-1", "total_cost_usd": 0.01, "usage": {{}}}}))
"""


def test_every_promise_has_its_test() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / CASES).glob("*.md"))
    tests = "\n".join(path.read_text() for path in (ROOT / HERE).parent.glob("test_*.py"))
    seed = SEED.read_text() if SEED.is_file() else ""
    for sentence, where in PROMISES.items():
        name = where.partition(": ")[2]
        assert f"# {name}" in sources if name else f"def {where}(" in tests, where
        assert not seed or sentence in seed, sentence


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = settle(tmp_path / "project", monkeypatch)
    (folder / "bin").mkdir()
    program = folder / "bin" / "claude"
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    return folder


def calls(project: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project / "claude.log").read_text().splitlines()]


@pytest.mark.skipif(not SEED.is_file(), reason="the design is not beside the project")
def test_the_code_review_loop_runs_verbatim(project: Path) -> None:
    lines = SEED.read_text().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("- id: review-loop"))
    end = next(n for n in range(start, len(lines)) if lines[n] == "```")
    written = "\n".join(f"  {line}" for line in lines[start:end])
    (project / "review.yaml").write_text(f"{HEAD}nodes:\n{written}\nedges: []\n")

    result = run(project / "review.yaml", task="Add two numbers", guidelines="Use types")

    assert result.status == "succeeded", result.error
    assert result.outputs == {"approved": True, "final_code": "code v2", "iterations": 2}
    prompts = [call["prompt"] for call in calls(project)]
    assert ["Context: Use types" in prompts[0], "Context: handle floats" in prompts[2]] == [
        True
    ] * 2
    assert "code v1" in prompts[1]
    assert result.usage.cost_usd == pytest.approx(0.04)


def loop(data: str, *, script: str = "echo {{ iteration_count }}", more: str = "") -> str:
    """A loop around one shell node."""
    return f"""{HEAD}nodes:
  - id: turn
    type: loop
    data:
      nodeType: loop
      {data}
      inlineWorkflow:
        nodes:
          - id: step
            type: shell
            data:
              nodeType: shell
              script: '{script}'
              outputs: [{{name: n, type: number}}, {{name: exitCode, type: number}}]
              {more}
        edges: []
edges: []
"""


@pytest.mark.parametrize(
    ("operator", "value", "iterations"),
    [("==", 1, 2), ("!=", 3, 3), ("<", 3, 3), (">", 0, 4), ("<=", 2, 3), (">=", 1, 4)],
)
def test_every_operator_compares(project: Path, operator: str, value: int, iterations: int) -> None:
    condition = f'{{output: step.n, operator: "{operator}", value: {value}}}'
    (project / "a.yaml").write_text(loop(f"continueWhile: {condition}\n      maxIterations: 4"))

    result = run(project / "a.yaml")

    assert result.loops[0].iterations == iterations, result.error


def test_a_condition_met_at_the_limit_is_no_limit(project: Path) -> None:
    condition = '{output: step.n, operator: "<", value: 2}'
    (project / "a.yaml").write_text(loop(f"continueWhile: {condition}\n      maxIterations: 2"))

    result = run(project / "a.yaml")

    assert (result.loops[0].exit_reason, result.warnings) == ("condition_met", ())


def test_the_count_is_an_output_of_every_loop(project: Path) -> None:
    condition = '{output: step.n, operator: "<", value: 3}'
    (project / "a.yaml").write_text(loop(f"continueWhile: {condition}"))

    assert run(project / "a.yaml").outputs == {"iteration_count": 3}


def test_every_iteration_stays_on_record(project: Path) -> None:
    condition = '{output: step.exitCode, operator: "==", value: 0}'
    script = "echo {{ iteration_count }}; [ {{ iteration_count }} -lt 3 ]"
    (project / "a.yaml").write_text(loop(f"continueWhile: {condition}", script=script))
    result = run(project / "a.yaml")

    assert result.error["path"] == "turn[3]/step"
    assert result.error["iteration"] == 3
    assert recorded(project, result.run) == ["1\n", "2\n"]


def recorded(folder: Path, name: str) -> list[str]:
    """What the record holds that the finished commands of a run printed."""
    [file] = folder.rglob("*.db")
    store = SqliteStore(str(file))
    try:
        entries = list(store.read(store.resolve(name)))
    finally:
        store.close()
    done: list[Any] = [entry.event.body for entry in entries if entry.event.kind == "task.finished"]
    return [body["value"]["stdout"] for body in done]


def test_a_mapping_is_meant_for_its_iterations() -> None:
    text = loop(
        """continueWhile: {output: step.n, operator: "<", value: 3}
      inputs: [{name: a, type: string}]
      inputMappings:
        - {source: {type: outer, name: a}, target: {node: step, input: x}, iterations: all}
        - {source: {type: previous, node: step, output: n}, target: {node: step, input: x}}""",
        script="echo {{ x }}",
    )

    [found] = read(text).workflow.body.nodes

    assert isinstance(found, ir.Loop)
    assert [carry.name for carry in found.carry] == ["a", "step.n"]
    assert found.carry[0].later is None
    assert found.carry[1].first == ir.Constant(None)


def test_outer_inputs_are_looked_at_once(project: Path) -> None:
    text = loop(
        """continueWhile: {output: step.n, operator: "<", value: 3}
      inputs: [{name: a, type: number, required: true}]""",
    )
    (project / "a.yaml").write_text(text)

    try:
        error = run(project / "a.yaml").error["message"]
    except UsageError as fault:
        error = str(fault)
    assert "'a'" in error


def agent(ports: str) -> str:
    return f"""{HEAD}nodes:
  - id: turn
    type: loop
    data:
      nodeType: loop
      maxIterations: 2
      continueWhile: {{output: coder.output, operator: "!=", value: done}}
      inputMappings:
        - source: {{type: previous, node: coder, output: sessionId}}
          target: {{node: coder, input: sessionId}}
          iterations: subsequent
      inlineWorkflow:
        nodes:
          - {{id: coder, type: agent, data: {{nodeType: agent, prompt: Write code, {ports}}}}}
        edges: []
edges: []
"""


SESSION = "outputs: [{name: output, type: string}, {name: sessionId, type: string}]"


def test_a_session_is_kept_for_those_who_ask_for_it(project: Path) -> None:
    (project / "a.yaml").write_text(agent(SESSION))
    assert run(project / "a.yaml").status == "succeeded"

    first, second = (call["args"] for call in calls(project))
    assert "--session-id" in first
    assert second[second.index("--resume") + 1] == "s-1"


def test_a_second_run_of_the_loop_starts_a_new_session(project: Path) -> None:
    (project / "a.yaml").write_text(agent(SESSION))
    for _ in range(2):
        assert run(project / "a.yaml").status == "succeeded"

    resumed = ["--resume" in call["args"] for call in calls(project)]
    assert resumed == [False, True, False, True]
