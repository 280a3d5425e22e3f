"""The public interface as a type checker sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


EXAMPLES = sorted(str(path) for path in (ROOT / "examples" / "python").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [["tests/typing/api.py"], ["tests/typing/programs.py"], EXAMPLES],
    ids=["api", "programs", "examples"],
)
def test_a_program_that_uses_all_of_it_is_sound(files: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *files],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_mistakes_in_a_workflow_are_found_by_the_type_checker(tmp_path: Path) -> None:
    """A missing and a wrong argument, a forgotten await, an unknown field, a wrong result."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text((ROOT / "tests" / "typing" / "mistakes.txt").read_text())
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests' / 'typing'}"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(wrong)],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line]

    assert lines == ["8", "9", "10", "14", "15"], done.stdout
