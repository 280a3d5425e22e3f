"""What the tests of the command line share: a configuration, workflows, how a command ended."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group, run_safely

if TYPE_CHECKING:
    from pathlib import Path

# Replies that reviews and reports are given.
REVIEWS = """
[[providers.canned.replies]]
match = "Review"
by = "iteration"
replies = [
    {json = {approved = false, score = 0.41}},
    {json = {approved = false, score = 0.63}},
    {json = {approved = true, score = 0.9}},
]

[[providers.canned.replies]]
match = "Report"
replies = ["the report"]

[prices.m]
input = 10.0
output = 100.0
"""

CONFIG = f"""
[defaults]
provider = "canned"
model = "m"

[providers.canned]
kind = "scripted"

[[providers.canned.replies]]
match = "Write"
by = "iteration"
replies = ["draft one", "draft two\\nwith two lines", "draft three"]

[[providers.canned.replies]]
match = "Fail"
replies = [{{status = 400, text = "no such model"}}]
{REVIEWS}"""

POLISH = """
whorl: 1
name: polish
inputs: {task: string}
steps:
  polish:
    repeat:
      until:
        - review.approved
        - score: {from: "{{ review.score }}", at_least: 0.95}
      at_most: 5
      carry: {hint: "{{ write }}"}
      steps:
        write: {ask: "Write {{ task }} after {{ hint | default('nothing') }}"}
        length: {value: "{{ write | length }}"}
        review:
          ask: "Review {{ write }}"
          returns: {approved: boolean, score: number}
  report: {ask: "Report on {{ polish.write }}"}
outputs:
  text: "{{ report }}"
  draft: "{{ polish.write }}"
"""

GATED = """
whorl: 1
name: gated
steps:
  draft: {ask: "Write it"}
  check: {approve: {message: "Publish it?", show: "{{ draft }}"}}
outputs: {ok: "{{ check.approved }}", words: "{{ check.feedback }}"}
"""

SLOW = """
whorl: 1
name: slow
steps:
  l:
    repeat:
      at_most: 200
      wait: 100ms
      steps:
        w: {ask: "Write {{ iteration }}"}
outputs: {text: "{{ l.w }}"}
"""

FAILING = """
whorl: 1
name: failing
steps:
  first: {ask: "Write it"}
  second: {ask: "Fail please"}
"""

COMMANDING = """
whorl: 1
name: commanding
steps:
  touch: {run: [touch, ran.txt]}
"""

WORKFLOWS = {
    "polish.yaml": POLISH,
    "gated.yaml": GATED,
    "slow.yaml": SLOW,
    "failing.yaml": FAILING,
    "commanding.yaml": COMMANDING,
}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as exactly one JSON document."""
        assert self.out.startswith(("{", "[")), f"no JSON, exit code {self.code}: {self.err}"
        return json.loads(self.out)

    def ends(self, code: int, *words: str) -> Done:
        """It ended so, and said all these words."""
        assert self.code == code, f"exit code {self.code}: {self.out}{self.err}"
        return self.says(*words)

    def says(self, *words: str) -> Done:
        """All these words are on standard error."""
        assert [each for each in words if each not in self.err] == [], self.err
        return self

    def prints(self, *words: str) -> Done:
        """All these words are on standard output."""
        assert [each for each in words if each not in self.out] == [], self.out
        return self


Whorl: TypeAlias = Callable[..., Done]
Spawn: TypeAlias = Callable[..., subprocess.Popen[str]]


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
    return lambda *words: start_process(project, dict(os.environ), *words)


def start_process(folder: Path, environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "whorl.interfaces.cli", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
