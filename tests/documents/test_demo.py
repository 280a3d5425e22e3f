"""`make demo`: what a clone shows at first, without a key."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import PATIENCE_S

from .blocks import ROOT


@pytest.mark.slow
@pytest.mark.programs
def test_the_demo_shows_a_loop_that_gets_better(tmp_path: Path) -> None:
    """In a copy of what it needs; what it installs is there already."""
    shutil.copyfile(ROOT / "Makefile", tmp_path / "Makefile")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    own = Path(sys.executable).parent
    words = ["make", "--no-print-directory", "--assume-old=.venv/.installed", f"BIN={own}", "demo"]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE_S,  # it also asks the embedded model, which computes
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("No key is set, so these replies are scripted")
    lines = [line for line in done.stderr.splitlines() if line.lstrip().startswith("polish  ")]
    scores = [score for score in ("0.42", "0.81", "0.93") if any(score in line for line in lines)]
    assert scores == ["0.42", "0.81", "0.93"], done.stderr
    assert "the cat counting drops." in done.stdout
    assert done.stdout.rstrip().endswith("A real model: export OPENAI_API_KEY=...")
