"""The examples run as they say, with canned replies, on a real store."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from studio_files import ROOT

import whorl

EXAMPLES = ROOT / "examples" / "studio"
RUN_HERE = {"self-refine", "judged", "summary", "agentic-search", "chapters"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    left_out = ("_API_KEY", "_BASE_URL", "WHORL_HOME")
    for name in [name for name in os.environ if name.endswith(left_out)]:
        monkeypatch.delenv(name)
    place = tmp_path / "examples"
    shutil.copytree(EXAMPLES, place)
    monkeypatch.chdir(place)
    return place


def test_a_text_refines_itself(folder: Path) -> None:
    result = whorl.run_sync(whorl.load(folder / "self-refine.json"), {"topic": "bees"})

    assert result.status == "succeeded", result.error
    assert result.outputs == {
        "result": "DRAFT: Bees fly to flowers and carry pollen.\nCRITIQUE: Good.",
        "turns": 3,
    }
    assert result.loops[0].exit_reason == "max_iterations"


def test_a_router_says_when_it_is_enough(folder: Path) -> None:
    result = whorl.run_sync(whorl.load(folder / "judged.json"), {"question": "Why?"})

    assert result.output == "The sky is blue because air scatters blue light most."
    assert [(loop.iterations, loop.stopped_by) for loop in result.loops] == [(2, "branch")]


def test_a_summary_is_written_when_it_stops_changing(folder: Path) -> None:
    result = whorl.run_sync(whorl.load(folder / "summary.json"))

    assert (result.loops[0].iterations, result.loops[0].stopped_by) == (3, "stable")
    assert (folder / "out" / "summary.txt").read_text() == "The mill ran again after two days."


def test_chapters_are_revised_one_by_one(folder: Path) -> None:
    titles: dict[str, Any] = {"titles": ["Spring", "Summer"]}
    result = whorl.run_sync(whorl.load(folder / "chapters.json"), titles)

    assert result.output == "Snow melts, and bees wake.\n\nIt is hot, and bees swarm."
    assert [loop.path for loop in result.loops] == ["each[1]/revise", "each[2]/revise"]


def test_a_tool_searches_until_it_is_enough(folder: Path) -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    server = Path(__file__).parent / "notes_server.py"
    config = folder / "whorl.toml"
    config.write_text(
        config.read_text().replace("\n[allow]\n", "\n[allow]\ncommands = true\n")
        + f"[mcp.notes]\ncommand = [{sys.executable!r}, {str(server)!r}]\n"
    )
    question = {"question": "What do bees do in winter?"}
    result = whorl.run_sync(whorl.load(folder / "agentic-search.json"), question)

    assert result.status == "succeeded", result.error
    assert result.output == "In winter bees keep warm in a ball."
    assert (result.loops[0].iterations, result.loops[0].stopped_by) == (2, "branch")


def test_every_example_is_run_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.json")} == RUN_HERE
