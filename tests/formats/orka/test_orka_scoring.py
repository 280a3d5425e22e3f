"""Where scores come from: validators with their criteria, strategies, moderators, agreement."""

from __future__ import annotations

import re

import pytest
from orka_runs import loop, run

CRITERIA = (
    '{"improvement": {"better_than_previous": %s, "significant_delta": false,'
    ' "approaching_target": true}, "stability": {"not_degrading": true,'
    ' "consistent_direction": false}, "convergence": {"delta_decreasing": false,'
    ' "within_tolerance": false}}'
)
VALIDATED = """
orchestrator: {id: work, agents: [polish]}
agents:
  - id: polish
    type: loop
    max_loops: 2
    score_threshold: 0.99
    SCORING
    internal_workflow:
      orchestrator: {agents: [improver, judge]}
      agents:
        - {id: improver, type: openai-answer, prompt: "Improve {{ input }} {{ get_past_loops() }}"}
        - id: judge
          type: loop_validator
          llm_model: gpt-oss
          model_url: http://localhost:1234
          provider: lm_studio
          scoring_preset: PRESET
          evaluation_target: improver
"""


def validated(scoring: str, preset: str = "moderate") -> str:
    return VALIDATED.replace("SCORING", scoring).replace("PRESET", preset)


@pytest.mark.parametrize(
    ("scoring", "preset", "score"),
    [
        ("scoring: {preset: strict, context: loop_convergence}", "moderate", 0.55),
        ("scoring: {preset: moderate, context: loop_convergence}", "moderate", 0.53),
        ("", "strict", 0.55),
        ("scoring: {preset: lenient, context: loop_convergence, custom_weights: {"
         "improvement.better_than_previous: 0.5, convergence.within_tolerance: 0.3, "
         "stability.consistent_direction: 0.2}}", "moderate", 0.52),
    ],
)  # fmt: skip
def test_validator_scores(scoring: str, preset: str, score: float) -> None:
    ran = run(
        validated(scoring, preset), [("criterion", [CRITERIA % "true"]), ("Improve", ["text"])]
    )

    assert score == ran.loop["score"]
    assert ran.outputs["polish"]["response"] == "text"


def test_validator_honours_its_model() -> None:
    ran = run(validated(""), [("criterion", [CRITERIA % "true"]), ("Improve", ["one", "two"])])

    inputs = ran.model.inputs_of("judge")
    names = ("model", "provider", "model_url", "temperature")
    expected = ["gpt-oss", "lm_studio", "http://localhost:1234/v1", 0.1]
    assert [inputs[name] for name in names] == expected
    assert "\ntwo\n" in str(inputs["prompt"])
    before = str(inputs["prompt"]).partition("The version before it, whose score was 0.53:")[2]
    assert "=====\none\n=====" in before


def test_custom_prompt_of_a_validator_holds_the_content() -> None:
    prompt = 'custom_prompt: "Look: {content} for {{ input }}"\n          evaluation_target:'
    text = validated("").replace("evaluation_target:", prompt)
    ran = run(text, [("criterion", [CRITERIA % "true"]), ("Improve", ["the work"])], "me")

    asked = str(ran.model.inputs_of("judge")["prompt"])
    assert re.match(r"Look: [^\n]*\n(=====\[[0-9a-f]{16}\]=====)\nthe work\n\1 for me", asked)


def test_fence_of_a_validator_is_another_one_for_each_call_and_the_same_in_a_replay() -> None:
    rules: list[tuple[str, list[str]]] = [("criterion", [CRITERIA % "false"]), ("Improve", ["it"])]

    def marks(name: str) -> list[list[str]]:
        prompts = run(validated(""), rules, name=name).model.prompts[1::2]
        return [sorted({*re.findall(r"=====\[(.+?)\]=====", prompt)}) for prompt in prompts]

    first = marks("one")
    assert marks("one") == first
    drawn = [mark for found in (*first, *marks("two")) for mark in found]
    assert len(drawn) == len(set(drawn)) > 2


@pytest.mark.parametrize(
    ("strategy", "said", "score"),
    [
        ("{type: pattern, patterns: ['A: ([0-9.]+)', 'B: ([0-9.]+)']}", "B: 0.5", 0.5),
        ("{type: direct_key, key: quality}", '{"quality": "60%"}', 0.6),
        ("{type: agent_key, agents: [critic], key: quality}", '{"quality": 7}', 0.07),
        ("{type: agent_key, agents: [critic], key: response, transform: x}", "Score is 0.7", 0.7),
        ("{type: nested_path, path: critic.review.score}", '{"review": {"score": 0.8}}', 0.8),
        ("{type: json, json_path: $.review.score}", '{"review": {"score": 0.8}}', 0.8),
        ("{type: json, json_path: \"$['the score']\"}", '{"the score": 0.8}', 0.8),
        ("{type: json, json_path: '$.scores[-1]'}", '{"scores": [0.1, 0.8]}', 0.8),
        ("{type: json, json_path: $.score, agents: [writer]}", '{"score": 0.8}', None),
        ("{type: json, path: $.review.score}", '```json\n{"review": {"score": 0.8}}\n```', 0.8),
    ],
)
def test_strategies(strategy: str, said: str, score: float | None) -> None:
    config = f"score_extraction_config: {{strategies: [{strategy}]}}"
    lines = [line for line in loop(most=1).split("\n") if "score_extraction_pattern" not in line]
    text = "\n".join(lines).replace("max_loops: 1", f"max_loops: 1\n    {config}")
    ran = run(text, [("Rate", [said]), ("Write", ["a"])])

    assert score == ran.loop["score"]


AGREEMENT = "score_extraction_config: {agreement_fallback: true}"


@pytest.mark.parametrize(
    ("more", "rated", "written", "score"),
    [
        ("high_priority_agents: [writer]", "SCORE: 0.1", "SCORE: 0.8", 0.8),
        (AGREEMENT, "we agree on all", "we agree on all", 1.0),
        ("", "SCORE: 0.8\n" + "because " * 30_000, "x", 0.8),
    ],
)
def test_moderators_agreement_and_long_texts(
    more: str, rated: str, written: str, score: float
) -> None:
    """Agents that come first, agreement where it is asked for, a score before a long text."""
    ran = run(loop(most=1, more=more), [("Rate", [rated]), ("Write", [written])])

    assert ran.loop["score"] == score


def test_plan_validator_in_a_loop_scores_as_the_loop_says() -> None:
    text = """
- id: plan
  type: loop
  max_loops: 1
  score_threshold: 0.5
  score_extraction_config:
    strategies: [{type: agent_key, agents: [check], key: validation_score}]
  internal_workflow:
    agents:
      - {id: planner, type: openai-answer, prompt: Plan}
      - {id: check, type: plan_validator, llm_model: m, provider: openai}
"""
    said = '{"completeness": {"has_all_required_steps": true, "handles_edge_cases": true}}'
    ran = run(text, [("criterion", [said]), ("Plan", ["the plan"])])

    assert ran.loop["score"] == round(2 / 15, 4)
    assert ran.outputs["plan"]["response"] == "the plan"
