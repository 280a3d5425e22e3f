"""Agents in workflows: their conversations go on in a loop, and their cost is counted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from stand_in import StandIn, claude_says, codex_says, play

import whorl

if TYPE_CHECKING:
    from pathlib import Path

LOOP = """
whorl: 1
name: improve
steps:
  improve:
    repeat:
      until: iteration >= 3
      session: SESSION
      steps: {work: {agent: AGENT, prompt: "turn {{ iteration }}"}}
outputs: {text: "{{ improve.work }}"}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for name in ("WHORL_HOME", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "whorl.toml").write_text("[allow]\ncommands = true\n")
    return tmp_path


def run(place: Path, text: str) -> Any:
    (place / "flow.yaml").write_text(text)
    return whorl.run_sync(whorl.load(place / "flow.yaml"))


def loop(agent: str, session: str) -> str:
    return LOOP.replace("AGENT", agent).replace("SESSION", session)


def test_a_loop_continues_with_the_conversation(place: Path) -> None:
    session = "5e551011-0000-4000-8000-000000000001"
    stand_in = StandIn(place, "claude").plays(*(play(claude_says(word)) for word in "abc"))

    result = run(place, loop("claude-code", "continue"))

    assert (result.status, result.output) == ("succeeded", "c")
    flags = [call["argv"][5:] for call in stand_in.calls]
    assert [call["stdin"] for call in stand_in.calls] == ["turn 1", "turn 2", "turn 3"]
    assert flags[0][0] == "--session-id"
    assert flags[1:] == [["--resume", session], ["--resume", session]]
    assert result.usage.cost_usd == pytest.approx(0.75)
    # With fresh sessions each begins anew.
    run(place, loop("claude-code", "fresh"))
    assert [call["argv"][5] for call in stand_in.calls[3:]] == ["--session-id"] * 3


def test_a_loop_counts_only_what_is_new_in_the_conversation(place: Path) -> None:
    plays = [play(codex_says("x", tokens=(n, n))) for n in (100, 250, 400)]
    stand_in = StandIn(place, "codex").plays(*plays)

    result = run(place, loop("codex", "continue"))

    assert [call["argv"][1] == "resume" for call in stand_in.calls] == [False, True, True]
    assert (result.usage.input_tokens, result.usage.output_tokens) == (400, 400)


def test_a_typed_answer_is_repaired(place: Path) -> None:
    plays = [play(codex_says("what?")), play(codex_says('{"ok": true}', tokens=(200, 9)))]
    stand_in = StandIn(place, "codex").plays(*plays)

    step = "{agent: codex, prompt: look, returns: {ok: boolean}}"
    outputs = 'outputs: {ok: "{{ review.ok }}"}'
    result = run(place, f"whorl: 1\nname: r\nsteps: {{review: {step}}}\n{outputs}\n")

    assert (result.status, result.output) == ("succeeded", True)
    assert len(stand_in.calls) == 2
    assert result.usage.calls == 2
