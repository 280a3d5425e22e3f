"""Names and values of a file, and the words for its loops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from shodan_files import HEAD, ROOT, read, run, settle

from whorl import ir
from whorl.interfaces.status_words import condition_words

if TYPE_CHECKING:
    from pathlib import Path


def test_a_value_is_never_text_of_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = settle(tmp_path / "project", monkeypatch)
    script = """echo {{ inputs.x }} "{{ inputs.x }}" '{{ inputs.x }}'"""
    quoted = json.dumps(script)
    (folder / "a.yaml").write_text(
        f"{HEAD}nodes: [{{id: a, data: {{nodeType: shell, script: {quoted}, "
        "inputs: [{name: x, type: string}]}}]\nedges: []\n"
    )
    hostile = "$(touch broken); `touch broken` ' \" \\"

    result = run(folder / "a.yaml", x=hostile)

    assert result.status == "succeeded", result.error
    assert not (folder / "broken").exists()
    assert result.outputs["stdout"].count("$(touch broken)") == 3


def test_a_node_may_have_the_name_of_an_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = settle(tmp_path / "project", monkeypatch)
    (folder / "a.yaml").write_text(
        f"{HEAD}nodes:\n"
        "  - {id: text, data: {nodeType: constant, value: node}}\n"
        "  - {id: start, data: {nodeType: trigger}}\n"
        "  - {id: say, data: {nodeType: shell, script: 'echo {{ text.value }} {{ start.text }}'}}\n"
        "edges: []\n"
    )

    assert run(folder / "a.yaml", text="given").output == "node given"


@pytest.mark.parametrize(
    ("name", "words"), [("refine", "rate.score >= 0.8"), ("retry", "attempt.exitCode == 0")]
)
def test_people_are_told_in_words_when_a_loop_stops(name: str, words: str) -> None:
    workflow = read((ROOT / "examples" / "shodan" / f"{name}.yaml").read_text()).workflow
    (loop,) = [node for node in workflow.body.nodes if isinstance(node, ir.Loop)]

    assert condition_words(loop.until) == words
