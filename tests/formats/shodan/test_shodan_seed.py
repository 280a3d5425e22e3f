"""What the loop design promises holds; `promises.toml` says which test is about what."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from shodan_files import HEAD, printed, run, settle

if TYPE_CHECKING:
    from pathlib import Path

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


def test_a_condition_met_at_the_limit_is_no_limit(project: Path) -> None:
    condition = '{output: step.n, operator: "<", value: 2}'
    (project / "a.yaml").write_text(loop(f"continueWhile: {condition}\n      maxIterations: 2"))

    result = run(project / "a.yaml")

    assert (result.loops[0].exit_reason, result.warnings) == ("condition_met", ())


def test_every_iteration_stays_on_record(project: Path) -> None:
    condition = '{output: step.exitCode, operator: "==", value: 0}'
    script = "echo {{ iteration_count }}; [ {{ iteration_count }} -lt 3 ]"
    (project / "a.yaml").write_text(loop(f"continueWhile: {condition}", script=script))
    result = run(project / "a.yaml")

    assert result.error["path"] == "turn[3]/step"
    assert result.error["iteration"] == 3
    assert printed(project, result.run) == ["1\n", "2\n"]


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
    for _ in range(2):
        assert run(project / "a.yaml").status == "succeeded"

    # A second run of the loop starts a new session.
    first, second, *again = (call["args"] for call in calls(project))
    assert "--session-id" in first
    assert second[second.index("--resume") + 1] == "s-1"
    assert ["--resume" in each for each in again] == [False, True]


def test_a_session_is_sent_only_what_is_new(project: Path) -> None:
    text = agent(SESSION).replace("prompt: Write code", 'prompt: "Write code; mind {{ advice }}"')
    text = text.replace(
        "outputs: [", "inputs: [{name: advice, type: string, default: all}], outputs: ["
    )
    text = text.replace(
        "      inlineWorkflow:",
        "        - source: {type: previous, node: coder, output: output}\n"
        "          target: {node: coder, input: advice}\n"
        "          iterations: subsequent\n"
        "      inlineWorkflow:",
    )
    (project / "a.yaml").write_text(text)
    assert run(project / "a.yaml").status == "succeeded"

    assert [call["prompt"] for call in calls(project)] == [
        "Write code; mind all",
        "Write code; mind code v1",
    ]


def told(*arguments: str) -> str:
    """What the program prints, on both of its outputs."""
    command = [sys.executable, "-m", "whorl.interfaces.cli", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_people_see_which_iteration_runs(project: Path) -> None:
    condition = '{output: step.n, operator: "<", value: 3}'
    script = "echo {{ iteration_count }}; echo round {{ iteration_count }} >&2"
    text = loop(f"continueWhile: {condition}\n      maxIterations: 5", script=script)
    (project / "a.yaml").write_text(text)

    said = told("run", "a.yaml")

    for words in ("turn  1/5", "turn  2/5", "turn  3/5", "turn: condition_met"):
        assert words in said
    assert "turn  4/5" not in said
    for number in (1, 2, 3):
        assert f"round {number}" in told("show", f"last/turn[{number}]/step")
