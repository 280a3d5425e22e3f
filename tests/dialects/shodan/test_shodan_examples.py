"""The examples run as they say, with canned replies, on a real store."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from shodan_files import ROOT, run, settle

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "examples" / "shodan"
RUN_HERE = {"review", "titles", "count", "refine", "retry", "session"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return settle(tmp_path / "examples", monkeypatch)


def test_code_is_revised_until_it_is_approved(folder: Path) -> None:
    result = run(folder / "review.yaml", task="Add two numbers")

    assert result.status == "succeeded", result.error
    assert result.outputs == {
        "final_code": "def add(a: float, b: float) -> float: ...",
        "approved": True,
        "iterations": 2,
    }
    assert result.loops[0].exit_reason == "condition_met"


def test_each_text_gets_its_title(folder: Path) -> None:
    result = run(folder / "titles.yaml", texts=["Bees hum", "Mills turn"])

    assert result.outputs == {"titles": ["The Hum", "The Turn"]}


def test_a_text_is_improved_until_it_is_good_enough(folder: Path) -> None:
    result = run(folder / "refine.yaml", topic="a haiku about rain")

    assert result.outputs == {"text": "Rain falls, and stops", "scores": [0.5, 0.9]}
    assert result.loops[0].exit_reason == "condition_met"


def test_an_attempt_is_repeated_until_it_works(folder: Path) -> None:
    allow_commands(folder)

    result = run(folder / "retry.yaml")

    assert (result.status, result.outputs) == ("succeeded", {"attempts": 2, "said": "it worked"})


def test_a_conversation_goes_on_over_all_iterations(folder: Path) -> None:
    result = run(folder / "session.yaml")

    assert result.outputs == {"answer": "It is a heron.", "turns": 2}


def allow_commands(folder: Path) -> None:
    with (folder / "whorl.toml").open("a") as settings:
        settings.write("\n[allow]\ncommands = true\n")


def test_the_shell_counts_to_its_target(folder: Path) -> None:
    allow_commands(folder)

    result = run(folder / "count.yaml")

    assert result.outputs == {"final": 3}
    assert result.loops[0].iterations == 3


def test_every_example_is_run_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == RUN_HERE
