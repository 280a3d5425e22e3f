"""Agent programs that fail, lie, crash, hang or never stop talking: nothing of them is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stand_in import (
    CLAUDE,
    CODEX,
    GEMINI,
    StandIn,
    claude,
    claude_says,
    codex,
    codex_says,
    fault_of,
    perform,
    play,
)

from waiting import PATIENCE_S, wait_until
from whorl.providers import agents
from whorl.providers.task import Usage


@pytest.mark.parametrize(
    ("fields", "exit_code", "words", "retryable"),
    [
        ({"is_error": True, "result": "Credit balance is too low"}, 0, "Credit balance", False),
        ({"is_error": True, "result": "API Error", "api_error_status": 529}, 1, "API Er", True),
        ({"subtype": "error_during_execution", "errors": ["boom", "bang"]}, 1, "boom; bang", False),
        ({"subtype": "error_of_tomorrow", "result": None}, 0, "error_of_tomorrow", False),
    ],
)
def test_an_error_that_looks_like_a_success(
    tmp_path: Path, fields: dict[str, Any], exit_code: int, words: str, *, retryable: bool
) -> None:
    stand_in = claude(tmp_path, play(claude_says("so far", **fields), exit_code=exit_code))

    fault = fault_of(stand_in, CLAUDE)

    assert (fault.code, fault.retryable) == ("P130", retryable)
    assert "agent 'claude-code' failed: " in str(fault)
    assert words in str(fault)
    tokens = {"input_tokens": 123, "output_tokens": 7}
    assert fault.detail["usage"] == {"calls": 1, "cost_usd": 0.25, **tokens}


def test_a_failed_turn_of_others(tmp_path: Path) -> None:
    failed = {"type": "turn.failed", "error": {"message": "last status: 429 Too Many Requests"}}
    stand_in = codex(tmp_path, play([*codex_says("x")[:-1], failed]))

    fault = fault_of(stand_in, CODEX)

    assert (fault.code, fault.retryable) == ("P130", True)
    assert "429 Too Many Requests" in str(fault)
    assert (fault.detail["status"], fault.detail["value"]) == (429, "x")
    failed = {"type": "result", "status": "error", "error": {"message": "quota exceeded"}}
    gemini = StandIn(tmp_path, "gemini").plays(play([failed], exit_code=1))
    assert "quota exceeded" in str(fault_of(gemini, GEMINI))


def test_invalid_numbers_and_characters_are_replaced(tmp_path: Path) -> None:
    events = claude_says("a\ud800b", total_cost_usd=float("nan"), structured_output={"n": 1})

    reply = perform(claude(tmp_path, play(events)), CLAUDE)

    assert reply.value == "a\ufffdb"
    assert reply.usage.cost_usd is None


def test_plain_text_is_the_answer_if_there_is_no_json(tmp_path: Path) -> None:
    reply = perform(claude(tmp_path / "a", play(["just", "words"])), CLAUDE)
    # Between events they do no harm.
    lines = ["warning: {", *claude_says("fine")[:-1], "[1, 2]", "NaN", claude_says("fine")[-1]]
    mixed = perform(claude(tmp_path / "b", play(lines)), CLAUDE)

    assert (reply.value, reply.detail["format"]) == ("just\nwords", "text")
    assert reply.usage == Usage(1, 0, 0, None)
    assert mixed.value == "fine"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "ended without a result"),
        ([*claude_says("half")[:3], "Segmentation fault"], "without a result: Segmentation fault"),
        (claude_says(" "), "ended without a result"),
    ],
)
def test_a_program_that_ends_too_early(tmp_path: Path, lines: list[Any], words: str) -> None:
    fault = fault_of(claude(tmp_path, play(lines)), CLAUDE)

    assert fault.code == "P130"
    assert words in str(fault)


def test_a_crash(tmp_path: Path) -> None:
    ended = play(stderr="warming up\n\x1b[31mout of herons\x1b[0m\n", exit_code=3)
    fault = fault_of(claude(tmp_path / "a", ended), CLAUDE)
    # An exit code counts even after a result.
    after = fault_of(claude(tmp_path / "b", play(claude_says("done"), exit_code=2)), CLAUDE)

    assert fault.code == after.code == "P109"
    assert str(fault) == "agent 'claude-code' ended with exit code 3: out of herons"
    assert fault.detail["exit_code"] == 3
    assert after.detail["value"] == "done"


@pytest.mark.parametrize(
    ("inputs", "package"),
    [
        (CLAUDE, "npm install -g @anthropic-ai/claude-code"),
        (CODEX, "npm install -g @openai/codex"),
        (GEMINI, "npm install -g @google/gemini-cli"),
    ],
)
def test_a_missing_program_says_how_to_install_it(
    tmp_path: Path, inputs: dict[str, Any], package: str
) -> None:
    fault = fault_of(StandIn(tmp_path, "none"), inputs, environment={"PATH": str(tmp_path)})

    assert fault.code == "P109"
    assert "was not found on PATH" in str(fault)
    assert package in str(fault)


@pytest.mark.parametrize("allowed", [False, [], ["codex", "claude-code"]])
def test_without_leave_nothing_starts(tmp_path: Path, allowed: Any) -> None:
    stand_in = claude(tmp_path, play(claude_says("x")))

    fault = fault_of(stand_in, CLAUDE, table={"allow": {"commands": allowed}})

    assert fault.code == "R110"
    permitted = json.dumps([*(allowed or []), "claude"])
    assert f"commands = {permitted}" in str(fault)
    assert stand_in.calls == []
    table = {"allow": {"commands": ["claude"]}}
    assert perform(stand_in, CLAUDE, table=table).value == "x"


def test_an_unknown_agent(tmp_path: Path) -> None:
    fault = fault_of(StandIn(tmp_path, "none"), {"agent": "claude-cod", "prompt": "x"})

    assert fault.code == "P113"
    assert "did you mean 'claude-code'?" in str(fault)


def is_over(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def wait_for_end(*pids: int) -> None:
    """One that was killed may take a moment to be gone."""
    wait_until(lambda: all(map(is_over, pids)))


# A child with a child of its own, all deaf to the polite signal; their numbers are written down.
HANGING = """
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
script = "sleep 600 & echo $!; wait"
child = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
grandchild = child.stdout.readline().strip()
with open(os.path.join(place, "pids"), "w") as file:
    file.write(f"{os.getpid()} {child.pid} {grandchild}")
time.sleep(600)
"""


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    stand_in = claude(tmp_path, play(code=HANGING))

    for timeout_s in (1.5, 6, 60):
        fault = fault_of(stand_in, CLAUDE, timeout_s=timeout_s)
        assert (fault.code, fault.retryable) == ("P108", True)
        assert f"took longer than {timeout_s} s" in str(fault)
        if (tmp_path / "of-claude" / "pids").exists():  # else it was too slow to begin
            break
    pids = [int(word) for word in (tmp_path / "of-claude" / "pids").read_text().split()]
    assert len(pids) == 3
    wait_for_end(*pids)


def test_a_program_that_is_done_but_does_not_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer was paid for, so it is kept."""
    monkeypatch.setattr(agents, "LINGER_S", 0.3)
    stand_in = claude(tmp_path, play(claude_says("done"), code="time.sleep(600)"))

    reply = perform(stand_in, CLAUDE, timeout_s=PATIENCE_S)

    assert reply.value == "done"
    wait_for_end(stand_in.calls[0]["pid"])


def test_a_huge_output_is_followed_to_its_result(tmp_path: Path) -> None:
    """More than is kept: of what is kept, the middle is left out."""
    noise = json.dumps({"type": "user", "message": {"content": "x" * 99_900}})
    code = f"for _ in range(250): print({noise!r})\nprint({json.dumps(claude_says('done')[-1])!r})"
    said: list[str] = []

    reply = perform(claude(tmp_path, play(claude_says("start")[:-1], code=code)), CLAUDE, said=said)

    assert reply.value == "done"
    assert reply.usage.cost_usd == 0.25
    assert "".join(said) == "start"


def test_an_answer_has_a_limit(tmp_path: Path) -> None:
    code = "e = {!r}; e['result'] = 'x' * {}; print(json.dumps(e))"
    event = claude_says("")[-1]
    cut = claude(tmp_path / "a", play(code=code.format(event, 1_500_000)))
    dropped = claude(tmp_path / "b", play(claude_says("ok"), code=code.format(event, 9_000_000)))

    reply = perform(cut, CLAUDE)

    assert isinstance(reply.value, str)
    assert len(reply.value) == 1_000_003
    assert reply.detail["cut"] is True
    assert reply.detail["warnings"][0]["code"] == "R117"
    # A line that is too long is not read.
    assert perform(dropped, CLAUDE).value == "ok"
