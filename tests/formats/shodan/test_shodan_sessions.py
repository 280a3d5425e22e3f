"""In a loop of a file each runner goes on with the conversation whose id is fed back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from shodan_files import HEAD, ROOT, run, settle

if TYPE_CHECKING:
    from pathlib import Path

LOOP = f"""{HEAD}nodes:
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
      outputMappings: [{{source: {{node: coder, output: sessionId}}, target: sessions, take: all}}]
      outputs: [{{name: sessions, type: json}}]
      inlineWorkflow:
        nodes:
          - id: coder
            type: agent
            data:
              nodeType: agent
              runner: RUNNER
              prompt: "turn {{{{ iteration_count }}}}"
              inputs: [{{name: sessionId, type: string}}]
              outputs: [{{name: output, type: string}}, {{name: sessionId, type: string}}]
        edges: []
edges: []
"""


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "agents"))
    return import_module("test_real_programs")


def run_loop(folder: Path, runner: str) -> Any:
    (folder / "loop.yaml").write_text(LOOP.replace("RUNNER", runner))
    result = run(folder / "loop.yaml")
    assert result.status == "succeeded", result.error
    assert (result.loops[0].iterations, result.loops[0].exit_reason) == (2, "condition_met")
    return result.outputs["sessions"]


def check_second_turn(said: str) -> None:
    for words in ("turn 1", "The word is heron.", "turn 2"):
        assert words in said


@pytest.mark.slow
@pytest.mark.programs
@pytest.mark.parametrize(("program", "runner"), [("claude", "claude-code"), ("codex", "codex")])
def test_a_program_continues_when_its_session_is_fed_back(
    programs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, runner: str
) -> None:
    with programs.model_server("The word is heron.", "done") as model:
        machine = programs.Machine(tmp_path, program, model)
        project = settle(machine.root, monkeypatch)
        for name, value in machine.environment.items():
            monkeypatch.setenv(name, value)
        sessions = run_loop(project, runner)

    # Behind the name of the session stands, for codex, what it has used so far.
    assert len({session.partition(":")[0] for session in sessions}) == 1
    turn = model.turns[1]
    check_second_turn(programs.texts_of(turn.get("messages") or turn["input"]))
