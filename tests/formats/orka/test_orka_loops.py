"""Loops of the dialect: score, threshold, learning, result."""

from __future__ import annotations

import pytest
from orka_runs import loop, run

LEARNING = """
    cognitive_extraction:
      enabled: true
      max_length_per_category: 60
      extract_patterns:
        insights: ["shows?\\\\s+(.+?)(?:\\\\n|$)"]
        improvements: ["LACKS?\\\\s+(.+?)(?:\\\\n|$)"]
        mistakes: ["wrong\\\\s+(.+?)(?:\\\\n|$)"]
    past_loops_metadata:
      iteration: "{{ loop_number }}"
      quality: "{{ score }}"
      learned: "{{ insights }}"
      needed: "{{ improvements }}"
      mistakes_found: "{{ mistakes }}"
      made: "{{ timestamp }}"
"""
LESSONS = "It shows a clear plan\nIt lacks depth on prices\nThe date is wrong by a year\nSCORE: 0.5"


def test_result_has_the_shape_of_the_document() -> None:
    ran = run(
        loop(more=LEARNING.strip()), [("Rate", [LESSONS, "SCORE: 0.9"]), ("Write", ["a", "b"])]
    )

    result = ran.outputs["polish"]
    names = "response loops_completed final_score threshold_met past_loops result"
    assert list(result) == names.split()
    first = result["past_loops"][0]
    assert {"iteration": 1, "quality": 0.5, "learned": "a clear plan"}.items() <= first.items()
    assert first["made"] == "2023-11-14T22:13:20+00:00"
    assert "number" not in first
    assert not any(name.startswith("$") for name in first)
    assert result["result"] == {"writer": "b", "critic": "SCORE: 0.9"}


@pytest.mark.parametrize(
    ("is_enabled", "said", "learned"),
    [
        (True, "It shows A Clear plan\nIt SHOWS a clear plan\nIt shows  two\tthings",
         "A Clear plan | two things"),
        (True, "\n".join(f"It shows thing number {n} of many" for n in range(20)), "..."),
        (False, LESSONS, ""),
    ],
)  # fmt: skip
def test_lessons_are_found_once_and_cut_where_that_is_enabled(
    is_enabled: bool, said: str, learned: str
) -> None:
    more = LEARNING.strip().replace("enabled: true", f"enabled: {is_enabled}".lower())
    ran = run(loop(more=more), [("Rate", [said + "\nSCORE: 0.9"]), ("Write", ["a"])])

    found = ran.outputs["polish"]["past_loops"][0]["learned"]
    assert found == learned or (learned == "..." and found.endswith(learned) and len(found) == 60)


BAD: list[tuple[str, list[str]]] = [("Rate", ["SCORE: 0.1"]), ("Write", ["a"])]


def test_history_is_not_kept_between_runs_by_default() -> None:
    text = loop(most=1, prompt="{{ get_past_loops() | length }} old")
    first = run(text, BAD)

    assert "0 old" in run(text, BAD, journal=first.journal, name="again").model.prompts[0]


def test_loop_without_timeout_has_the_usual_one() -> None:
    ran = run(loop(most=1), BAD)

    assert ran.bodies("loop.started")[0]["limits"]["time_s"] == 300.0


def test_settings_of_agents_are_honoured() -> None:
    inputs = run(loop(most=1), BAD).model.inputs_of("writer")

    names = ("model", "temperature", "max_tokens", "system")
    assert [inputs[name] for name in names] == ["gpt-4o", 0.5, 200, "Be brief."]


def test_loop_needs_a_least_number_of_iterations_where_asked() -> None:
    rules = [("Rate", ["SCORE: 1"]), ("Write", ["a"])]

    assert run(loop(more="min_loops: 2"), rules).loop["iterations"] == 2


def test_figures_of_a_loop_are_read_by_later_agents() -> None:
    after = """
  - id: report
    type: local_llm
    prompt: |
      {{ previous_outputs.polish }} {{ previous_outputs.polish.final_score }}
      {{ previous_outputs.polish.result.loops_completed }}
      {{ previous_outputs.polish.result.writer }}
      {{ get_loop_output('polish', previous_outputs).threshold_met }} {{ get_final_score() }}
      {{ get_loop_rounds() }} {{ get_loop_status() }} {{ get_past_loops() | length }}
"""
    text = loop().replace("agents: [polish]", "agents: [polish, report]") + after
    ran = run(text, [("Rate", ["SCORE: 0.95"]), ("Write", ["done"]), (".", ["reported"])])

    told = ran.model.prompt_at("report").split()
    assert told == ["done", "0.95", "1", "done", "true", "0.95", "1", "threshold", "met", "1"]
    assert ran.document["output"] == "reported"


def test_past_loops_are_among_the_previous_outputs() -> None:
    each = "{{ old.loop_number }}:{{ old.score }} "
    prompt = f"{{% for old in previous_outputs.past_loops %}}{each}{{% endfor %}}"
    ran = run(loop(prompt=prompt), [("Rate", ["SCORE: 0.4", "SCORE: 1.0"]), ("Write", ["a"])])

    assert "1:0.4 " in ran.model.prompt_at("polish[2]/writer")
