"""The real program, in a loop of a file, goes on with the conversation whose id is fed back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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
              runner: claude-code
              prompt: "turn {{{{ iteration_count }}}}"
              inputs: [{{name: sessionId, type: string}}]
              outputs: [{{name: output, type: string}}, {{name: sessionId, type: string}}]
        edges: []
edges: []
"""


@pytest.mark.slow
def test_claude_goes_on_when_its_session_is_fed_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "agents"))
    programs = import_module("test_real_programs")

    with programs.model_server("The word is heron.", "done") as model:
        machine = programs.Machine(tmp_path, "claude", model)
        project = settle(machine.root, monkeypatch)
        for name, value in machine.environment.items():
            monkeypatch.setenv(name, value)
        (project / "loop.yaml").write_text(LOOP)

        result = run(project / "loop.yaml")

    assert result.status == "succeeded", result.error
    assert (result.loops[0].iterations, result.loops[0].exit_reason) == (2, "condition_met")
    sessions = result.outputs["sessions"]
    assert sessions[0] == sessions[1]
    said = programs.texts_of(model.turns[1]["messages"])
    for words in ("turn 1", "The word is heron.", "turn 2"):
        assert words in said
