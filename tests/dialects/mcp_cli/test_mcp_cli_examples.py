"""The examples run as their comments say, with canned replies, on a real store."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from mcp_cli_files import ROOT

import whorl

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "examples" / "mcp-cli"
# Files that others call; each is run through its caller.
QUESTION = "The text has at most twelve words"
CALLED = {"chapter", "colour", "dev_cycle", "draft", "shorten", "stage", "try_approach"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    left_out = ("_API_KEY", "_BASE_URL", "WHORL_HOME")
    for name in [name for name in os.environ if name.endswith(left_out)]:
        monkeypatch.delenv(name)
    place = tmp_path / "examples"
    shutil.copytree(EXAMPLES, place)
    monkeypatch.chdir(place)
    return place


def run(folder: Path, name: str, text: str = "") -> whorl.Result:
    return whorl.run_sync(whorl.load(folder / f"{name}.yaml"), {"input": text})


def test_code_is_developed_until_its_review_passes(folder: Path) -> None:
    result = run(folder, "iterative_developer", "a function that adds")

    assert result.status == "succeeded", result.error
    assert result.output == "The function adds two whole numbers; it took two rounds."
    assert [(loop.path, loop.iterations, loop.stopped_by) for loop in result.loops] == [
        ("develop", 2, "judge")
    ]


def test_a_document_is_refined(folder: Path) -> None:
    result = run(folder, "refine_document", "The meeting ...")

    assert result.output == "The meeting has moved to Monday at ten."
    assert result.loops[0].iterations == 3


def test_a_search_goes_on_after_a_failed_round(folder: Path) -> None:
    result = run(folder, "search_solution", "the server stands still")

    assert result.output == "The disk is full: df shows 100%."
    assert list(result.loops[0].failed_iterations) == [1]
    assert result.loops[0].exit_reason == "condition_met"


def test_a_loop_runs_inside_of_a_loop(folder: Path) -> None:
    result = run(folder, "book")

    assert result.output == "It ended in sun."
    assert [loop.path for loop in result.loops] == ["book", "book[1]/drafts", "book[2]/drafts"]


def test_stages_follow_each_other(folder: Path) -> None:
    result = run(folder, "pipeline", "a calculator")

    assert result.output == "Released: parser.py, printer.py (12 passed)."
    assert [loop.path for loop in result.loops] == ["develop", "test"]


def test_items_are_worked_on_and_models_agree(folder: Path) -> None:
    result = run(folder, "batch")

    assert result.status == "succeeded", result.error
    assert result.output == "YES, it is right."
    assert result.usage.calls == 6


def test_each_judgement_tells_its_question_and_its_answer(folder: Path) -> None:
    async def watch() -> list[dict[str, object]]:
        async with whorl.Session() as session:
            started = await session.start(whorl.load(folder / "refine_document.yaml"), {})
            return [dict(event.body) async for event in started.events() if _is_judged(event)]

    notes = asyncio.run(watch())

    assert [note["facts"] for note in notes] == [
        [{"leaf": 1, "by": "judge", "met": met, "answer": answer, "question": QUESTION}]
        for met, answer in ((False, "NO"), (False, "NO"), (True, "YES"))
    ]


def test_verbose_runs_show_each_judgement(folder: Path) -> None:
    command = [sys.executable, "-m", "whorl.interfaces.cli", "run", "refine_document.yaml", "Text"]
    done = subprocess.run(
        [*command, "--verbose"], cwd=folder, capture_output=True, text=True, check=True
    )
    line = f"[INFO] Condition evaluation: '{QUESTION}' -> "

    assert [said.strip() for said in done.stderr.splitlines() if line in said] == [
        line + "NO",
        line + "NO",
        line + "YES",
    ]


def _is_judged(event: whorl.Event) -> bool:
    return event.kind == "iteration.finished"


def test_every_example_is_run_here() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.yaml")}

    assert names - CALLED == {
        *("iterative_developer", "refine_document", "search_solution"),
        *("book", "pipeline", "batch"),
    }
