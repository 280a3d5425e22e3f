"""Each test of experiments works in a folder of its own, with a loop that guesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from experiments.guess import CONFIG, EXPERIMENT, FILE, FLOW, write_cases
from experiments.served import billed, model

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["billed", "model"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHORL_TRUST", "1")
    (tmp_path / "guess.yaml").write_text(FLOW)
    (tmp_path / FILE).write_text(EXPERIMENT)
    (tmp_path / "whorl.toml").write_text(CONFIG)
    write_cases(12)
    return tmp_path
