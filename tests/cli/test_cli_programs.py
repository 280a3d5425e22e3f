"""Workflows that are written in Python, on the command line: `module:name`, where it is allowed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group, run_safely

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """
from pathlib import Path

import whorl

Path("imported").touch()


@whorl.step
def double(number: int) -> int:
    return number * 2


@whorl.workflow
def twice(number: int) -> int:
    sure = whorl.approve("sure?")
    with whorl.when(sure.approved):
        result = double(number)
    return result


not_one = double
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHORL_HOME", raising=False)
    (tmp_path / "twice_flow.py").write_text(PROGRAM)
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("twice_flow", None)


def _allow(folder: Path) -> None:
    (folder / "whorl.toml").write_text('[workflows]\npython = ["twice_flow:twice"]\n')


def _whorl(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run_safely(build_group(COMMANDS), words)
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def _first(printed: str) -> dict[str, object]:
    """The result, which comes before what is printed for people."""
    found: dict[str, object] = json.JSONDecoder().raw_decode(printed[printed.index("{") :])[0]
    return found


def test_it_is_drawn_checked_run_and_resumed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _allow(folder)

    assert "double" in _whorl(capsys, "graph", "twice_flow:twice")[1]
    assert _whorl(capsys, "validate", "twice_flow:twice")[0] == 0
    code, printed = _whorl(capsys, "run", "twice_flow:twice", "-i", "number:=4", "--json")
    assert (code, _first(printed)["status"]) == (4, "waiting")
    code, printed = _whorl(capsys, "approve", "last", "--json")
    assert (code, _first(printed)["output"]) == (0, 8)


@pytest.mark.parametrize("is_named", [False, True])
def test_code_is_not_imported_without_permission(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_named: bool,
) -> None:
    """Neither where whorl.toml does not name it, nor where nobody has trusted that."""
    if is_named:
        monkeypatch.delenv("WHORL_TRUST")
        _allow(folder)

    for command in ("graph", "validate", "run", "serve"):
        code, printed = _whorl(capsys, command, "twice_flow:twice")
        assert (code, "W908" in printed) == (2, True)
    assert not (folder / "imported").exists()


def test_a_run_without_its_functions_is_left_as_it_is_and_the_advice_helps(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _allow(folder)
    _whorl(capsys, "run", "twice_flow:twice", "-i", "number:=4", "--json")
    (folder / "whorl.toml").unlink()
    before = _whorl(capsys, "watch", "last", "--events")[1]

    code, printed = _whorl(capsys, "approve", "last")

    assert (code, "error[P114]" in printed) == (2, True)
    assert _whorl(capsys, "watch", "last", "--events")[1] == before
    program, line = re.findall(r'`python -c "(.*?)"`|`(python = .*?)` below \[workflows\]', printed)
    # It goes on, and waits for the answer again.
    path = os.pathsep.join(filter(None, sys.path))
    subprocess.run(
        [sys.executable, "-c", program[0]], check=True, env=os.environ | {"PYTHONPATH": path}
    )
    (folder / "whorl.toml").write_text(f"[workflows]\n{line[1]}\n[limits]\n")
    code, printed = _whorl(capsys, "approve", "last", "--json")
    assert (code, _first(printed)["output"]) == (0, 8)
