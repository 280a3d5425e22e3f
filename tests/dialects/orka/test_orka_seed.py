"""The examples of the document itself, taken from it line by line, and what they must learn."""

from __future__ import annotations

import textwrap

import pytest
from orka_runs import SHARED, read, run

from whorl.dialects import read_workflow

SEEDS = sorted((SHARED / "seeds").glob("001_*.txt"))
pytestmark = pytest.mark.skipif(not SEEDS, reason="the document is not here")

HEAD = "orchestrator: {id: seed, strategy: sequential, agents: [%s]}\nagents:\n"


def block(first: int, last: int) -> str:
    return "\n".join(SEEDS[0].read_text().split("\n")[first - 1 : last]) + "\n"


def workflow(name: str, first: int, last: int) -> str:
    return HEAD % name + textwrap.indent(block(first, last), "  ")


def test_basic_configuration() -> None:
    ran = run(
        workflow("improvement_loop", 14, 30),
        [("Rate: SCORE", ["SCORE: 0.5", "SCORE: 0.9"]), ("Improve: draft", ["one", "two"])],
        "draft",
    )

    assert ran.outputs["improvement_loop"]["response"] == "two"
    assert ran.loop["iterations"] == 2


def test_quality_loop() -> None:
    ran = run(
        workflow("quality_improver", 77, 109),
        [("Rate quality", ["QUALITY: 0.6", "QUALITY: 0.91"]), ("Improve this", ["better", "best"])],
    )

    assert ran.outputs["quality_improver"]["final_score"] == 0.91
    assert "Previous attempts" not in ran.model.prompts[0]
    assert "Previous attempts: 1" in ran.model.prompts[2]


def test_cognitive_extraction_teaches() -> None:
    said = "It provides a clear structure\nIt lacks depth on prices\nThere is a flaw in the sum\n"
    ran = run(
        workflow("learning_loop", 115, 197),
        [
            ("Rate quality", ["SCORE: 0.5", "SCORE: 0.95"]),
            ("Evaluate this", [said]),
            ("Analyze:", ["first", "second"]),
        ],
    )

    taught = ran.model.prompt_at("learning_loop[2]/analyzer")
    assert "**Iteration 1** (Score: 0.5)" in taught
    assert "Insights: a clear structure" in taught
    assert "Needs: depth on prices" in taught
    assert "Mistakes: in the sum" in taught
    assert "Build upon these lessons" in taught
    first = ran.outputs["learning_loop"]["past_loops"][0]
    assert (first["iteration"], first["quality_score"]) == (1, 0.5)


def test_society() -> None:
    ran = run(
        workflow("society_deliberation", 203, 276),
        [
            ("Evaluate consensus", ["CONSENSUS: 0.4", "CONSENSUS: 0.93"]),
            ("Logical analysis", ["strategy: weigh the costs"]),
            ("Empathetic", ["recommendation: listen first"]),
            ("Critical", ["convergence: not yet"]),
        ],
        delay_s=10,
    )

    first = ran.outputs["society_deliberation"]["past_loops"][0]
    assert first["strategies"] == "weigh the costs | listen first"
    assert first["convergence"] == "not yet"
    assert "weigh the costs" in ran.model.prompt_at(
        "society_deliberation[2]/fork_agents/logical_reasoner"
    )
    assert ran.seconds == 40


def test_code_quality_loop() -> None:
    ran = run(
        workflow("code_quality_loop", 282, 340),
        [("Rate code", ["QUALITY: 0.5"]), ("Improve the code", ["new"]), ("Analyze", ["a"])],
        "def f(): pass",
    )

    assert ran.loop["exit_reason"] == "max_iterations"
    assert ran.outputs["code_quality_loop"]["loops_completed"] == 10
    assert "def f(): pass" in ran.model.prompt_at("code_quality_loop[1]/code_improver")


def test_validator_block() -> None:
    inner = textwrap.indent(block(39, 47), " " * 8)
    text = (
        "- id: l\n  type: loop\n  max_loops: 1\n  score_threshold: 0.5\n  internal_workflow:\n"
        "    agents:\n        - {id: improver, type: openai-answer, prompt: Improve}\n" + inner
    )
    ran = run(text, [("criterion", ["better_than_previous: true"]), ("Improve", ["x"])])

    assert ran.model.inputs_of("boolean_evaluator")["model"] == "openai/gpt-oss-20b"
    assert ran.outputs["l"]["response"] == "x"


@pytest.mark.parametrize(
    ("pattern", "warned"),
    [
        ("QUALITY_SCORE:\\\\s*([0-9.]+)", False),
        ("SCORE:\\\\s*([0-9.]+)", False),
        ("([0-9.]+)", True),
    ],
)
def test_good_and_bad_patterns_of_the_document(pattern: str, warned: bool) -> None:
    text = workflow("quality_improver", 77, 109).replace("QUALITY:\\\\s*([0-9.]+)", pattern)
    told = [one.message for one in read_workflow(text, "x.yml").warnings]

    assert any("matches any number" in message for message in told) is warned


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


def test_thresholds_of_the_document_load() -> None:
    for most, threshold in ((10, 0.95), (5, 0.85), (3, 0.75)):
        text = workflow("quality_improver", 77, 109)
        text = text.replace("max_loops: 5", f"max_loops: {most}")
        assert read(text.replace("score_threshold: 0.85", f"score_threshold: {threshold}"))
