"""A project in an empty folder, with a scripted provider, and the command line run in it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from command_line import CONFIG, WORKFLOWS, Done, Spawn, Whorl

from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group, run_safely

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: whorl.toml and a few workflows; no provider from the environment."""
    (tmp_path / "whorl.toml").write_text(CONFIG)
    for name, text in WORKFLOWS.items():
        (tmp_path / name).write_text(text)
    for variable in list(os.environ):
        if variable.endswith(("_API_KEY", "_BASE_URL")) or variable in (
            "WHORL_HOME",
            "OLLAMA_HOST",
        ):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def whorl(project: Path, capsys: pytest.CaptureFixture[str]) -> Whorl:
    """Runs a command in this process, as the installed script does: words, or a line of them."""

    def run(*words: str) -> Done:
        capsys.readouterr()
        words = tuple(shlex.split(words[0])) if len(words) == 1 else words
        code = run_safely(build_group(COMMANDS), words)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
def spawn(project: Path) -> Spawn:
    """Starts a command in a process of its own."""

    def start(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "whorl.interfaces.cli", *words],
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )

    return start
