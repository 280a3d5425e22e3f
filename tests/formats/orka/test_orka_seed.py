"""The examples of the document itself, taken from it line by line, and what they must learn."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from orka_runs import run

SEEDS = sorted((Path(__file__).parents[4] / "shared" / "seeds").glob("001_*.txt"))
pytestmark = pytest.mark.skipif(not SEEDS, reason="the document is not here")


def block(first: int, last: int, margin: int) -> str:
    lines = SEEDS[0].read_text().split("\n")[first - 1 : last]
    return textwrap.indent("\n".join(lines), " " * margin)


def test_code_quality_loop() -> None:
    head = "orchestrator: {id: seed, strategy: sequential, agents: [code_quality_loop]}\nagents:\n"
    rules = [("Rate code", ["QUALITY: 0.5"]), ("Improve the code", ["new"]), ("Analyze", ["a"])]
    ran = run(head + block(282, 340, 2), rules, "def f(): pass")

    assert (ran.loop["exit_reason"], ran.loop["iterations"]) == ("max_iterations", 10)
    assert "def f(): pass" in ran.model.prompt_at("code_quality_loop[1]/code_improver")


def test_prompt_that_learns_from_history() -> None:
    text = (
        "- id: l\n  type: loop\n  max_loops: 2\n  score_threshold: 1\n"
        "  score_extraction_pattern: 'S: ([0-9.]+)'\n"
        "  past_loops_metadata: {iteration: '{{ loop_number }}', quality_score: '{{ score }}'}\n"
        "  internal_workflow:\n    agents:\n      - id: a\n        type: openai-answer\n"
    )
    ran = run(text + block(414, 426, 8), [(".", ["S: 0.3"])], "the task")

    assert "Iteration 1: Score 0.3" in ran.model.prompts[1]
    assert "Current task: the task" in ran.model.prompts[1]
