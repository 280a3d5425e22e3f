"""Tool nodes that need no server: the built-in shell and files, with permission and approval."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from studio_files import canvas, node, whorl_says, without_keys

import whorl
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = "[allow]\ncommands = true\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return without_keys(tmp_path, monkeypatch)


def run(place: Path, text: str, topic: str = "t") -> whorl.Result:
    (place / "canvas.json").write_text(text)
    return whorl.run_sync(whorl.load(place / "canvas.json"), {"topic": topic})


def built_in(tool: str, **given: Any) -> str:
    use = node("use", "tool", toolName=f"builtin__{tool}", serverName="", toolInput=given)
    return canvas([use], "in > use > out")


def test_the_built_in_shell_runs_with_permission_only(place: Path) -> None:
    drawn = built_in("shell", command='echo "[{{topic}}]"; echo oh >&2; exit 3')

    refused = run(place, drawn, topic="$(id); x")
    (place / "whorl.toml").write_text(ALLOWED)
    allowed = run(place, drawn, topic="$(id); x")

    assert "commands are not allowed" in str(refused.error)
    assert allowed.output == "[$(id); x]\n[stderr] oh\n[exit code: 3]"


def test_the_built_in_shell_keeps_to_its_folder_and_its_time(place: Path) -> None:
    (place / "whorl.toml").write_text(ALLOWED)
    (place / "sub").mkdir()

    inside = run(place, built_in("shell", command="basename $PWD", cwd="sub"))
    outside = run(place, built_in("shell", command="pwd", cwd="../.."))
    slow = run(place, built_in("shell", command="sleep 60", timeout=0.2))
    quiet = run(place, built_in("shell", command="true"))

    assert inside.output == "sub"
    assert "leads out of the project's folder" in str(outside.error)
    assert (slow.status, slow.output) == ("succeeded", "[timed out]")
    assert quiet.output == "(no output)"


def test_a_command_of_a_model_runs_when_a_person_has_read_it(place: Path) -> None:
    (place / "whorl.toml").write_text(ALLOWED)
    use = node("use", "tool", toolName="builtin__shell", serverName="", approval="auto")
    asked = run(place, canvas([use], "in > use > out"), topic="echo $((6 * 7))")
    shown = json.loads(whorl_says(place, "show", "--brief", asked.run, "--json"))["waiting_for"]
    done = json.loads(whorl_says(place, "runs", "approve", asked.run, "--json"))

    assert asked.status == "waiting"
    assert [question["show"] for question in shown] == [{"command": "echo $((6 * 7))"}]
    assert done["outputs"] == {"text": "42"}


def test_the_built_in_tools_for_files(place: Path) -> None:
    refused = run(place, built_in("write_file", path="out/a.txt", content="{{topic}}"))
    (place / "whorl.toml").write_text('[allow]\nfiles = {write = ["out/**", "b.txt"]}\n')
    wrote = run(place, built_in("write_file", path="out/a.txt", content="{{topic}}"))
    read = run(place, built_in("read_file", path="out/a.txt"))
    empty = run(place, built_in("write_file", path="b.txt", content=""))
    outside = run(place, built_in("read_file", path="/etc/passwd"))

    assert refused.error is not None
    assert "file 'out/a.txt' may not be written" in str(refused.error["message"])
    assert (wrote.output, read.output) == ("wrote 1 bytes to out/a.txt", "t")
    assert empty.status == "succeeded"
    assert run(place, built_in("read_file", path="b.txt")).output == "(empty file)"
    with pytest.raises(InvalidWorkflow, match="'toolInput' of tool 'use' lacks 'path'"):
        run(place, built_in("read_file", file="out/a.txt"))
    assert outside.status == "failed"
