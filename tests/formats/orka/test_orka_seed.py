"""The examples of the document itself, taken from it line by line, and what they must learn."""

from __future__ import annotations

import textwrap

import pytest
from orka_runs import SHARED, run

SEEDS = sorted((SHARED / "seeds").glob("001_*.txt"))
pytestmark = pytest.mark.skipif(not SEEDS, reason="the document is not here")

HEAD = "orchestrator: {id: seed, strategy: sequential, agents: [%s]}\nagents:\n"


def block(first: int, last: int) -> str:
    return "\n".join(SEEDS[0].read_text().split("\n")[first - 1 : last]) + "\n"


def workflow(name: str, first: int, last: int) -> str:
    return HEAD % name + textwrap.indent(block(first, last), "  ")


def test_code_quality_loop() -> None:
    ran = run(
        workflow("code_quality_loop", 282, 340),
        [("Rate code", ["QUALITY: 0.5"]), ("Improve the code", ["new"]), ("Analyze", ["a"])],
        "def f(): pass",
    )

    assert ran.loop["exit_reason"] == "max_iterations"
    assert ran.outputs["code_quality_loop"]["loops_completed"] == 10
    assert "def f(): pass" in ran.model.prompt_at("code_quality_loop[1]/code_improver")


def test_prompt_that_learns_from_history() -> None:
    prompt = textwrap.indent(block(414, 426), " " * 8)
    text = (
        "- id: l\n  type: loop\n  max_loops: 2\n  score_threshold: 1\n"
        "  score_extraction_pattern: 'S: ([0-9.]+)'\n"
        "  past_loops_metadata: {iteration: '{{ loop_number }}', quality_score: '{{ score }}'}\n"
        "  internal_workflow:\n    agents:\n      - id: a\n        type: openai-answer\n" + prompt
    )
    ran = run(text, [(".", ["S: 0.3"])], "the task")

    assert "Iteration 1: Score 0.3" in ran.model.prompts[1]
    assert "Current task: the task" in ran.model.prompts[1]
