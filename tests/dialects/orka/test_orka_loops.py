"""Loops of the dialect: score, threshold, learning, result. The table below names the promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from orka_runs import loop, run

from whorl.errors import ProviderError

# Every sentence of the document that promises something, and the test that holds it.
PROMISES = {
    "repeat until a quality threshold is met": "test_loop_stops_when_the_score_is_high_enough",
    "or maximum iterations reached": "test_loop_that_never_meets_its_threshold_succeeds",
    "cognitive extraction for learning from past attempts": "test_second_iteration_is_taught",
    "loop_validator evaluates the output of an internal agent": "test_validator_scores",
    "loop_validator expects llm_model instead of model": "test_validator_honours_its_model",
    "score_extraction_pattern: regex to extract score": "test_scores_in_every_form",
    "cognitive_extraction.enabled: default false": "test_nothing_is_extracted_unless_enabled",
    "patterns for insights, improvements, mistakes": "test_second_iteration_is_taught",
    "max_length_per_category": "test_lessons_are_cut_at_their_length",
    "past_loops_metadata: structure for loop history": "test_result_has_the_shape_of_the_document",
    "persist_across_runs: keep history between runs": "test_history_is_kept_between_runs",
    "persist_across_runs: default false": "test_history_is_not_kept_between_runs_by_default",
    "timeout: total loop timeout": "test_loop_ends_at_its_timeout",
    "timeout: default 300": "test_loop_without_timeout_has_the_usual_one",
    "fork and join inside a loop": "test_fork_and_join_inside_a_loop",
    "loop_number, score, get_loop_number()": "test_iterations_know_their_number_and_score",
    "has_past_loops(), get_past_loops()": "test_second_iteration_is_taught",
    "get_past_insights()": "test_insights_of_all_past_iterations",
    "previous_outputs.past_loops": "test_past_loops_are_among_the_previous_outputs",
    "output format": "test_result_has_the_shape_of_the_document",
    "individual agent timeouts": "test_agent_ends_at_its_own_timeout",
    "score not extracted: wrong pattern": "test_missing_score_is_a_warning_that_names_the_pattern",
    "no improvement: use has_past_loops() in prompts": "test_loop_that_does_not_learn",
    "ambiguous pattern could match any number": "test_ambiguous_pattern",
    "model and temperature of agents": "test_settings_of_agents_are_honoured",
}


def test_every_promise_has_a_test() -> None:
    files = Path(__file__).parent.glob("test_*.py")
    known = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text())}

    assert set() == set(PROMISES.values()) - known


def test_loop_stops_when_the_score_is_high_enough() -> None:
    ran = run(loop(), [("Rate", ["SCORE: 0.4", "SCORE: 0.95"]), ("Write", ["a", "b"])])

    assert ran.status == "succeeded"
    assert (
        ran.loop["iterations"],
        ran.loop["exit_reason"],
        ran.loop["score"],
    ) == (2, "condition_met", 0.95)
    assert ran.outputs["polish"]["threshold_met"] is True
    assert "b" == ran.outputs["response"] == ran.document["output"]


def test_loop_that_never_meets_its_threshold_succeeds() -> None:
    ran = run(loop(most=3), [("Rate", ["SCORE: 0.4"]), ("Write", ["a"])])

    assert ran.status == "succeeded"
    assert ran.loop["exit_reason"] == "max_iterations"
    assert tuple(
        ran.outputs["polish"][name] for name in ("threshold_met", "loops_completed", "final_score")
    ) == (False, 3, 0.4)


def test_score_equal_to_the_threshold_is_enough() -> None:
    ran = run(loop(), [("Rate", ["SCORE: 0.9"]), ("Write", ["a"])])

    assert ran.loop["iterations"] == 1


@pytest.mark.parametrize(
    ("said", "score"),
    [
        ("I think SCORE: 0.85", 0.85),
        ("SCORE: 85%", 0.85),
        ("SCORE: 8/10", 0.8),
        ("SCORE: 8.5 out of 10", 0.85),
        ("SCORE: 85 / 100", 0.85),
        ("SCORE: 1", 1.0),
        ("SCORE: 0.85.", 0.85),
        ("SCORE: 85", 0.85),
        ("SCORE: 850", None),
        ("SCORE: nan", None),
        ("SCORE: .", None),
        ("SCORE: 12/10", None),
        ("no number", None),
        ("", None),
        ({"response": "SCORE: 0.7"}, 0.7),
        ('{"response": "SCORE: 0.7", "confidence": 0.1}', 0.7),
    ],
)
def test_scores_in_every_form(said: object, score: float | None) -> None:
    ran = run(loop(most=1), [("Rate", [said]), ("Write", ["a"])])

    assert ran.status == "succeeded"
    assert score == ran.loop["score"]


def test_missing_score_is_a_warning_that_names_the_pattern() -> None:
    ran = run(loop(most=1), [("Rate", ["none"]), ("Write", ["a"])])

    told = [warning["message"] for warning in ran.document["warnings"]]
    assert any("no score" in text and "SCORE:" in text for text in told)
    assert ran.outputs["polish"]["final_score"] is None
    assert ran.outputs["polish"]["threshold_met"] is False


def test_answer_is_never_that_of_the_agent_which_is_asked_for_the_score() -> None:
    text = loop(most=1).replace('"Rate: ', '"Rate, as SCORE: X.XX, ')
    ran = run(text, [("Rate", ["I would rather not"]), ("Write", ["the text"])])

    assert ran.loop["score"] is None
    assert ran.outputs["polish"]["response"] == "the text"


@pytest.mark.parametrize(
    ("order", "prompts", "document"),
    [
        ("[one, two]", {"one": "Draft", "two": "Check it"}, "one"),
        ("[one, two]", {"one": "Rate it", "two": "Mend it"}, "two"),
        ("[one, two]", {"one": "Give SCORE: X", "two": "Mend it, rated before"}, "two"),
        ("[scorer, two]", {"scorer": "Look", "two": "Mend it"}, "two"),
        ("[one]", {"one": "Draft"}, "one"),
    ],
)
@pytest.mark.parametrize("has_score", [True, False])
def test_document_is_that_of_the_same_agent_with_and_without_a_score(
    order: str, prompts: dict[str, str], document: str, has_score: bool
) -> None:
    agents = "".join(
        f"      - {{id: {name}, type: openai-answer, prompt: '{prompt}'}}\n"
        for name, prompt in prompts.items()
    )
    text = (
        "- id: polish\n  type: loop\n  max_loops: 1\n  score_threshold: 0.9\n"
        f"  score_extraction_pattern: 'SCORE: ([0-9.]+)'\n  internal_workflow:\n"
        f"    orchestrator: {{agents: {order}}}\n    agents:\n{agents}"
    )
    names = list(prompts)
    scorer = next((name for name in names if name != document), document)
    said = {name: f"said by {name}" for name in names}
    said[scorer] += ", SCORE: 0.4" if has_score else ", about 40"
    ran = run(text, [(prompt, [said[name]]) for name, prompt in prompts.items()])

    assert ran.loop["score"] == (0.4 if has_score else None)
    assert ran.outputs["polish"]["response"] == said[document]


def test_later_agents_come_first_in_doubt() -> None:
    ran = run(loop(most=1), [("Rate", ["SCORE: 0.3"]), ("Write", ["They wrote SCORE: 1.0"])])

    assert ran.loop["score"] == 0.3
    assert ran.outputs["polish"]["response"] == "They wrote SCORE: 1.0"


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
TELLS = (
    "{% if has_past_loops() %}Of {{ get_past_loops() | length }}: "
    "{% for loop in get_past_loops() %}"
    "[{{ loop.iteration }} {{ loop.quality }}: {{ loop.learned }}; {{ loop.needed }}; "
    "{{ loop.mistakes_found }}]"
    "{% endfor %}{% endif %}"
)
LESSONS = "It shows a clear plan\nIt lacks depth on prices\nThe date is wrong by a year\nSCORE: 0.5"


def test_second_iteration_is_taught() -> None:
    ran = run(
        loop(more=LEARNING.strip(), prompt=TELLS),
        [("Rate", [LESSONS, "SCORE: 0.9"]), ("Write", ["a", "b"])],
    )

    assert "Of 1" not in ran.model.prompt_at("polish[1]/writer")
    taught = ran.model.prompt_at("polish[2]/writer")
    assert "Of 1: [1 0.5: a clear plan; depth on prices; by a year]" in taught


def test_result_has_the_shape_of_the_document() -> None:
    ran = run(
        loop(more=LEARNING.strip()), [("Rate", [LESSONS, "SCORE: 0.9"]), ("Write", ["a", "b"])]
    )

    result = ran.outputs["polish"]
    assert list(result) == [
        "response",
        "loops_completed",
        "final_score",
        "threshold_met",
        "past_loops",
        "result",
    ]
    first = result["past_loops"][0]
    assert {"iteration": 1, "quality": 0.5, "learned": "a clear plan"}.items() <= first.items()
    assert first["made"] == "2023-11-14T22:13:20+00:00"
    assert "number" not in first
    assert not any(name.startswith("$") for name in first)
    assert result["result"] == {"writer": "b", "critic": "SCORE: 0.9"}


def test_lessons_are_found_once_and_joined() -> None:
    said = "It shows A Clear plan\nIt SHOWS a clear plan\nIt shows  two\tthings\nSCORE: 0.9"
    ran = run(loop(more=LEARNING.strip()), [("Rate", [said]), ("Write", ["a"])])

    assert ran.outputs["polish"]["past_loops"][0]["learned"] == "A Clear plan | two things"


def test_lessons_are_cut_at_their_length() -> None:
    said = "\n".join(f"It shows thing number {n} of many" for n in range(20)) + "\nSCORE: 0.9"
    ran = run(loop(more=LEARNING.strip()), [("Rate", [said]), ("Write", ["a"])])

    learned = ran.outputs["polish"]["past_loops"][0]["learned"]
    assert len(learned) == 60
    assert learned.endswith("...")


def test_nothing_is_extracted_unless_enabled() -> None:
    more = LEARNING.strip().replace("enabled: true", "enabled: false")
    ran = run(loop(more=more), [("Rate", [LESSONS + "\nSCORE: 0.9"]), ("Write", ["a"])])

    assert ran.outputs["polish"]["past_loops"][0]["learned"] == ""


def test_iteration_without_a_score_is_remembered() -> None:
    more = """
    past_loops_metadata:
      quality: "{{ score }}"
      grade: "{{ 'good' if score >= 0.8 else 'poor' }}"
"""
    ran = run(loop(most=1, more=more.strip()), [("Rate", ["none"]), ("Write", ["a"])])

    assert ran.outputs["polish"]["past_loops"][0]["grade"] == "poor"
    assert "quality" not in ran.outputs["polish"]["past_loops"][0]


def test_iterations_know_their_number_and_score() -> None:
    prompt = "No {{ loop_number }}/{{ get_loop_number() }} after {{ score }}!"
    ran = run(loop(prompt=prompt), [("Rate", ["SCORE: 0.4", "SCORE: 1.0"]), ("Write", ["a"])])

    assert "No 1/1 after !" in ran.model.prompt_at("polish[1]/writer")
    assert "No 2/2 after 0.4!" in ran.model.prompt_at("polish[2]/writer")


def test_insights_of_all_past_iterations() -> None:
    ran = run(
        loop(more=LEARNING.strip(), prompt="<{{ get_past_insights() }}>"),
        [
            (
                "Rate",
                ["It shows one thing\nSCORE: 0.1", "It shows two things\nSCORE: 0.2", "SCORE: 1"],
            ),
            ("Write", ["a"]),
        ],
    )

    assert "<>" in ran.model.prompt_at("polish[1]/writer")
    assert "<one thing | two things>" in ran.model.prompt_at("polish[3]/writer")


def test_past_loops_are_among_the_previous_outputs() -> None:
    each = "{{ old.loop_number }}:{{ old.score }} "
    prompt = f"{{% for old in previous_outputs.past_loops %}}{each}{{% endfor %}}"
    ran = run(loop(prompt=prompt), [("Rate", ["SCORE: 0.4", "SCORE: 1.0"]), ("Write", ["a"])])

    assert "1:0.4 " in ran.model.prompt_at("polish[2]/writer")


def test_at_most_twenty_past_loops_are_kept() -> None:
    ran = run(
        loop(most=25, prompt="{{ get_past_loops() | length }}"),
        [("Rate", ["SCORE: 0.1"]), ("Write", ["a"])],
    )

    assert len(ran.outputs["polish"]["past_loops"]) == 20
    assert ran.outputs["polish"]["loops_completed"] == 25


def test_history_is_kept_between_runs() -> None:
    text = loop(
        most=1, more="persist_across_runs: true", prompt="{{ get_past_loops() | length }} old"
    )
    rules = [("Rate", ["SCORE: 0.1"]), ("Write", ["a"])]
    first = run(text, rules)
    second = run(text, rules, journal=first.journal, name="again")

    assert "0 old" in first.model.prompts[0]
    assert "1 old" in second.model.prompts[0]
    assert len(first.journal.memory("work/polish")) == 2


def test_history_is_not_kept_between_runs_by_default() -> None:
    text = loop(most=1, prompt="{{ get_past_loops() | length }} old")
    rules = [("Rate", ["SCORE: 0.1"]), ("Write", ["a"])]
    first = run(text, rules)
    second = run(text, rules, journal=first.journal, name="again")

    assert "0 old" in second.model.prompts[0]


def test_loop_without_timeout_has_the_usual_one() -> None:
    ran = run(loop(most=1), [("Rate", ["SCORE: 0.1"]), ("Write", ["a"])])

    assert ran.bodies("loop.started")[0]["limits"]["time_s"] == 300.0


def test_loop_ends_at_its_timeout() -> None:
    slow = loop(more="timeout: 5")
    ran = run(slow, [("Rate", ["SCORE: 0.3"]), ("Write", ["a"])], delay_s=2)

    assert ran.status == "succeeded"
    assert ran.loop["exit_reason"] == "timeout"
    result = ran.outputs["polish"]
    assert (
        result["threshold_met"],
        result["loops_completed"],
        result["final_score"],
        result["response"],
    ) == (False, 1, 0.3, "a")


def test_agent_ends_at_its_own_timeout() -> None:
    text = loop(most=1).replace("temperature: 0.5", "timeout: 1")
    ran = run(text, [("Rate", ["SCORE: 0.3"]), ("Write", ["a"])], delay_s=2)

    asked = [request for request in ran.model.requests if "writer" in request.address]
    assert [request.timeout_s for request in asked] == [2.0]
    told = ran.bodies("node.finished")[0]["error"]
    assert told["message"].startswith("'writer' took longer than 1 s")


def test_settings_of_agents_are_honoured() -> None:
    ran = run(loop(most=1), [("Rate", ["SCORE: 1"]), ("Write", ["a"])])

    inputs = ran.model.inputs_of("writer")
    assert tuple(inputs[name] for name in ("model", "temperature", "max_tokens", "system")) == (
        "gpt-4o",
        0.5,
        200,
        "Be brief.",
    )


def test_failing_agent_of_a_loop_is_never_passed_over() -> None:
    down = ProviderError("it is down", code="P100")
    for rules in ([("Rate", ["SCORE: 1"]), ("Write", [down])], [("Rate", [down]), (".", ["a"])]):
        failed = run(loop(most=1), rules)

        assert failed.status == "failed"
        assert "it is down" in failed.document["error"]["message"]
        assert "Rate: " not in failed.model.prompts


def test_loop_needs_a_least_number_of_iterations_where_asked() -> None:
    ran = run(loop(more="min_loops: 2"), [("Rate", ["SCORE: 1"]), ("Write", ["a"])])

    assert ran.loop["iterations"] == 2


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


def test_fork_and_join_inside_a_loop() -> None:
    text = """
orchestrator: {id: work, agents: [debate]}
agents:
  - id: debate
    type: loop
    max_loops: 2
    score_threshold: 0.9
    score_extraction_pattern: "AGREE:\\\\s*([0-9.]+)"
    internal_workflow:
      orchestrator: {agents: [split, together, moderator]}
      agents:
        - {id: split, type: fork, targets: [[left], [right]]}
        - {id: left, type: openai-answer, prompt: "Left of {{ input }} {{ get_past_loops() }}"}
        - {id: right, type: openai-answer, prompt: "Right of {{ get_input() }}"}
        - {id: together, type: join}
        - id: moderator
          type: openai-answer
          prompt: "{{ previous_outputs.left }}|{{ previous_outputs.right }}|{{ joined_results() }}"
"""
    ran = run(
        text,
        [("^\nLeft", ["L1", "L2"]), ("^\nRight", ["R1", "R2"]), (".", ["AGREE: 0.2", "AGREE: 1"])],
        delay_s=10,
    )

    assert ran.loop["iterations"] == 2
    expected = 'L2|R2|{"left": "L2", "right": "R2"}'
    assert expected == ran.model.prompt_at("debate[2]/moderator")
    assert ran.seconds == 40
    assert ran.outputs["debate"]["response"]["merged"] == {"left": "L2", "right": "R2"}
