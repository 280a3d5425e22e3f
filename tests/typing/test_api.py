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
@pytest.mark.parametrize("files", [["tests/typing/api.py"], EXAMPLES], ids=["api", "examples"])
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
