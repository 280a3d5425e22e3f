"""What real shells complete: commands, options, runs and files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import POLISH

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from command_line import Whorl

START = Path(__file__).parent.parent.parent / "docs" / "start.md"
# `compopt` works in a shell that has a keyboard only; here it tells that files are completed.
SCRIPT = """
eval "$(whorl project completion bash)"
compopt() { COMPREPLY+=("files"); }
for line in "$@"; do
    COMPREPLY=() COMP_WORDS=($line)
    [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    _whorl_completion whorl
    echo "${COMPREPLY[*]}"
done
"""


@pytest.fixture
def program(project: Path) -> Path:
    """The command, as it is found by a shell, beside a workflow."""
    program = project / "bin" / "whorl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m whorl.interfaces.cli "$@"\n')
    program.chmod(0o755)
    (project / "polish.yaml").write_text(POLISH)
    return program


def run_shell(*words: str) -> list[str]:
    """The lines that a shell prints."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stdout, done.stderr
    return done.stdout.splitlines()


def offered_by_bash(program: Path, *lines: str) -> list[str]:
    """What it completes each line with."""
    script = f"PATH={program.parent}:$PATH\n{SCRIPT}"
    return run_shell("bash", "--norc", "-c", script, "bash", *lines)


def asked_of_all(whorl: Whorl) -> dict[str, str]:
    """What every shell completes, and with what."""
    run = whorl("run", "polish.yaml", "a song", "--json").json["run"]
    return {"whorl run --detac": "--detach", "whorl show las": "last", f"whorl why {run[:6]}": run}


@pytest.mark.slow
def test_bash_completes_commands_runs_and_files(program: Path, whorl: Whorl) -> None:
    asked = asked_of_all(whorl) | {
        "whorl res": "resume",
        "whorl runs ap": "approve",
        "whorl run pol": "files",
        "whorl server schedule rm --sto": "--store",
    }

    assert offered_by_bash(program, *asked) == list(asked.values())


def test_fish_completes_commands_runs_and_files(
    program: Path, whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed")
    asked = asked_of_all(whorl) | {
        "whorl project re": "restore",
        "whorl run polish.y": "polish.yaml",
    }
    script = (
        "whorl project completion fish | source\nfor line in $argv\necho (complete -C $line)\nend"
    )
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(program.parent))
    lines = run_shell(fish, "--no-config", "-c", script, *asked)

    # Descriptions stand behind a tab.
    words = [re.sub(r"\t\S.*?(?= \S+\t|$)", "", line) for line in lines]
    assert words == list(asked.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "whole"),
    [
        ("whorl run --detac", "whorl run --detach"),
        ("whorl show las", "whorl show last"),
        ("whorl run polish.y", "whorl run polish.yaml"),
    ],
)
def test_zsh_completes_at_the_keyboard(
    program: Path, whorl: Whorl, monkeypatch: pytest.MonkeyPatch, typed: str, whole: str
) -> None:
    """As the documents set it up; a word with one end is written out at the first tab."""
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("zsh is not installed")
    pytest.importorskip("pty", reason="this system has no pseudo terminals")
    from terminals import Terminal

    home = program.parent
    whorl("run", "polish.yaml", "a song")
    (home / ".zfunc").mkdir()
    (home / ".zfunc" / "_whorl").write_text(whorl("project", "completion", "zsh").out)
    setting = next(line for line in START.read_text().splitlines() if line.startswith("fpath+="))
    (home / ".zshrc").write_text(f"{setting}\nPS1='ready> '\n")
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ZDOTDIR", str(home))
    terminal = Terminal("-i", program=(zsh,))
    try:
        terminal.read_until("ready> ")
        terminal.press(typed)
        terminal.read_until(typed)
        terminal.press("\t")
        terminal.read_until(whole)
    finally:
        terminal.close()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_asks_this_program(whorl: Whorl, shell: str) -> None:
    whorl("project", "completion", shell).ends(0).prints(f"_WHORL_COMPLETE={shell}_complete")
