"""The GitHub action and the pre-commit hooks: their own steps, run in a real repository."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from waiting import PATIENCE_S

ROOT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
FLOW = """
whorl: 1
name: flow
budget: 0.50
steps:
  turn:
    repeat:
      until: done
      at_most: 3
      steps:
        write: {ask: "Write."}
        done: {value: "{{ write == 'good' }}"}
"""
TESTS = """
whorl_tests: 1
tests:
  it ends: {mocks: {write: good}, expect: {loops: {turn: {iterations: 1}}}}
"""


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temp = folder.parent / f"{folder.name}-temp"
        self.temp.mkdir()
        program = self.temp / "whorl"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m whorl.interfaces.cli "$@"\n')
        program.chmod(0o755)
        (self.temp / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.com\n")
        self.call("git", "init", "--quiet")

    def call(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PATH": f"{self.temp}:{os.environ['PATH']}",
            "GIT_CONFIG_GLOBAL": str(self.temp / ".gitconfig"),
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary.md"),
        }
        return subprocess.run(
            words,
            cwd=self.folder,
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def step(
        self, name: str, own: dict[str, str] | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a step of the action as a runner does, with what its `env` asks for."""
        step = next(step for step in ACTION["runs"]["steps"] if step["name"] == name)
        assert set(step.get("env", {})) == set(variables)
        words = ("bash", "-e", "-o", "pipefail", "-c", step["run"])
        return self.call(*words, **variables, **own or {})

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            (self.folder / name.replace("__", ".")).write_text(text)
        self.call("git", "add", "--all")
        self.call("git", "commit", "--quiet", "-m", "change")
        return self.call("git", "rev-parse", "HEAD").stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    (tmp_path / "project").mkdir()
    return Repository(tmp_path / "project")


def test_the_action_checks_tests_and_tells_what_changed(repository: Repository) -> None:
    other = "services: {web: {image: x}}\n"
    files = {"flow__yaml": FLOW, "flow__test__yaml": TESTS, "compose__yaml": other}
    base = repository.commit(**files)
    more = FLOW.replace("at_most: 3", "at_most: 5").replace("0.50", "0.90")
    repository.commit(
        flow__yaml=more.replace("        done:", "        look: {ask: Look.}\n        done:")
    )
    patterns: str = ACTION["inputs"]["files"]["default"]

    valid = repository.step("Validate", FILES=patterns)
    repository.commit(flow__test__yaml=TESTS.replace("write: good", "write: good, look: x"))
    tested = repository.step("Test", FAIL_UNDER="0")
    told = repository.step("Report", FILES=patterns, BASE=base)

    assert (valid.returncode, tested.returncode, told.returncode) == (0, 0, 0), valid.stderr
    assert "compose.yaml" not in valid.stdout + valid.stderr
    summary = (repository.temp / "summary.md").read_text()
    assert "| flow.yaml | 12 → **40** | $0.00 | $0.50 → **$0.90** |" in summary
    assert "```diff" in summary
    assert any(line.startswith("+") and "look" in line for line in summary.splitlines())
    assert "it ends" in summary


def test_a_mistake_and_a_failed_test_fail_the_steps(repository: Repository) -> None:
    repository.commit(flow__yaml=FLOW, flow__test__yaml=TESTS.replace("write: good", "write: bad"))
    tested = repository.step("Test", FAIL_UNDER="0")
    repository.commit(flow__yaml=FLOW.replace("at_most", "at_mots"))
    broken = repository.step("Validate", FILES="*.yaml")
    told = repository.step("Report", FILES="*.yaml", BASE="")

    assert (tested.returncode, told.returncode) == (1, 0)
    assert broken.returncode != 0
    assert "did you mean 'at_most'?" in broken.stderr
    assert (
        "| flow.yaml | broken | broken | broken |" in (repository.temp / "summary.md").read_text()
    )


def test_the_hooks_check_what_is_committed(repository: Repository) -> None:
    repository.commit(flow__yaml=FLOW, flow__test__yaml=TESTS, other__json="{}")
    validate, test = (shlex.split(HOOKS[f"whorl-{name}"]["entry"]) for name in ("validate", "test"))
    files = ["flow.yaml", "flow.test.yaml", "other.json"]

    assert repository.call(*validate, *files).returncode == 0
    assert repository.call(*test).returncode == 0
    repository.commit(flow__yaml=FLOW.replace("until: done", "until: dnoe"))
    assert repository.call(*validate, *files).returncode == 2


@pytest.mark.slow
@pytest.mark.threat(row="T23")
def test_nothing_of_the_checkout_is_imported(repository: Repository) -> None:
    evil = "open('RAN', 'w').close()\n"
    repository.commit(venv__py=evil, pip__py=evil, whorl__py=evil)

    done = repository.step("Install", own={"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull})

    assert (repository.temp / "whorl-env" / "bin" / "python").exists(), done.stderr
    assert "ERROR" in done.stderr  # pip itself, which finds no packages here
    assert not (repository.folder / "RAN").exists()


@pytest.mark.threat(row="T23")
def test_a_file_that_is_called_like_an_option_is_checked(repository: Repository) -> None:
    repository.commit(**{"-h__yaml": FLOW.replace("at_most", "at_mots")})

    broken = repository.step("Validate", FILES="*.yaml")
    told = repository.step("Report", FILES="*.yaml", BASE="")

    assert broken.returncode != 0
    assert "did you mean 'at_most'?" in broken.stderr
    assert told.returncode == 0
    assert "| -h.yaml | broken | broken | broken |" in (repository.temp / "summary.md").read_text()


@pytest.mark.threat(row="T23")
def test_everything_that_is_installed_is_pinned_and_hashed() -> None:
    install = next(step["run"] for step in ACTION["runs"]["steps"] if step["name"] == "Install")
    image = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    calls = re.findall(
        r"^.*(?:\"\$\{pip\[@\]\}\"|pip (?:install|wheel)) .*$", install + image, re.M
    )
    calls = [
        part
        for call in calls
        for part in call.split(" && ")
        if "pip" in part and "-m pip" not in part
    ]
    assert len(calls) == 6
    for call in calls:
        assert "--require-hashes" in call or "--no-deps" in call, call
        assert "--no-build-isolation" in call or "--require-hashes" in call or "*.whl" in call, call
    pins = re.split(r"\n(?=[a-z])", (ROOT / "requirements" / "build.txt").read_text())
    assert {pin.partition("==")[0] for pin in pins} >= {"hatchling", "packaging", "tomlkit"}
    assert all("==" in pin and "--hash=sha256:" in pin for pin in pins)
