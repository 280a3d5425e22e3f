"""What is wrong or odd in a file: where, why, and what to write instead; all of it at once."""

from __future__ import annotations

import pytest
from orka_runs import loop

from whorl.dialects import read_workflow
from whorl.errors import Diagnostic, InvalidWorkflow


def found(text: str) -> list[Diagnostic]:
    try:
        reading = read_workflow(text, "file.yml")
    except InvalidWorkflow as fault:
        return list(fault.diagnostics)
    return list(reading.warnings)


def only(text: str) -> Diagnostic:
    diagnostics = found(text)
    assert len(diagnostics) == 1, diagnostics
    return diagnostics[0]


LEARNS = "{{ get_past_loops() }}"


INSIGHTS = "max_loops: 5\n    past_loops_metadata: {a: '{{ insihgts }}'}"


@pytest.mark.parametrize(
    ("old", "new", "found_as", "words", "line"),
    [
        ("([0-9.]+)", "[0-9.]+", "W014 warning", "captures nothing", 8),
        ("([0-9.]+)", "([0-9.]+", "W014 error", "", 8),
        ("max_tokens", "max_token", "W004 warning", "did you mean 'max_tokens'?", 0),
        ("outputs.writer", "outputs.writter", "W005 error", "did you mean 'writer'?", 23),
        ("{{ input }}", "{{ inptu }}", "W005 warning", "did you mean 'input'?", 0),
        ("max_loops: 5", INSIGHTS, "W005 warning", "did you mean 'insights'?", 0),
    ],
)
def test_one_thing_is_reported_with_its_place_and_what_to_write(
    old: str, new: str, found_as: str, words: str, line: int
) -> None:
    text = loop(prompt=LEARNS)
    assert old in text
    diagnostic = only(text.replace(old, new))

    assert f"{diagnostic.code} {diagnostic.severity}" == found_as
    for part in words.split(" ... "):
        assert part in f"{diagnostic.message}\n{diagnostic.help}"
    assert diagnostic.span is not None
    assert line in (0, diagnostic.span.line)


VALIDATOR = """
- id: polish
  type: loop
  max_loops: 1
  score_threshold: 0.9
  internal_workflow:
    agents:
      - {id: improver, type: openai-answer, prompt: Improve}
      - id: judge
        type: loop_validator
        llm_model: m
        provider: lm_studio
        evaluation_target: improver
"""
WEIGHTS = "scoring: {context: quality, custom_weights: {accuracy.right: 1}}\n  max_loops: 1"


@pytest.mark.parametrize(
    ("old", "new", "code", "told"),
    [
        ("max_loops: 5", "max_loops: 0", "W007", "a whole number from 1 to 1,000,000"),
        ("max_loops: 5", "max_loops: 5\n    min_loops: 6", "W007", "a whole number from 1 to 5"),
        ("max_loops: 5", "max_loops: 5\n    timeout: soon", "W007", "a time above 0"),
        ("orchestrator: {id: work,", "agnets: []\norchestrator: {id: work,", "W004", "'agnets'"),
        ("agents: [writer, critic]", "agents: [{id: writer}, critic]", "W007", "name of an agent"),
        ("score_threshold: 0.9", "score_threshold: 90", "W007", "from 0 to 1"),
        ("id: critic", "id: score", "W012", "reserved in templates"),
        ("id: critic", "id: writer", "W012", "two agents are called 'writer'"),
        ("{{ previous_outputs.writer }}", "{{ previous_outputs.writer", "W008", ""),
        ("provider: lm_studio", "scoring_preset: harsh", "W007", "no scoring preset 'harsh'"),
        ("max_loops: 1", WEIGHTS, "W007", "no criterion 'accuracy.right'"),
    ],
)
def test_mistakes(old: str, new: str, code: str, told: str) -> None:
    text = next(text for text in (loop(prompt=LEARNS), VALIDATOR) if old in text)
    errors = [one for one in found(text.replace(old, new)) if one.severity == "error"]

    assert any(one.code == code and told in one.message for one in errors), errors
    assert all(one.span is not None for one in errors)


ITSELF = "{orchestrator: {agents: [l, m]}, agents: [{id: m, type: openai-answer, prompt: x}]}"


@pytest.mark.parametrize(
    ("order", "agents", "told"),
    [
        ("j", "{id: j, type: join, group: g}", "no fork 'g'"),
        ("a, r", "{id: a, type: brain}, {id: r, type: router, decision_key: a}",
         "no 'routing_map'"),
        ("r, a", "{id: a, type: brain}, {id: r, type: router, decision_key: a, "
         "routing_map: {x: [a]}}", "'a' has not run before"),
        ("r", "{id: r, type: router, decision_key: x, routing_map: {a: [b]}}", "no agent 'b'"),
        ("f", "{id: f, type: failover, children: [lost]}", "no agent 'lost'"),
        ("f", "{id: j, type: join}, {id: f, type: failover, children: [j]}", "cannot try 'j'"),
        ("f", "{id: f, type: fork, targets: [{id: x}]}", "the name of an agent is needed here"),
        ("a, b", "{id: a, type: brain, depends_on: [b]}, {id: b, type: brain, depends_on: [a]}",
         "wait for each other"),
        ("v, a", "{id: a, type: brain}, {id: v, type: plan_validator, evaluation_target: a}",
         "'a' has not run before this"),
        ("a", "{id: a, type: brain, params: {opertion: learn}}", "unknown field 'opertion'"),
        ("a", "{id: a, type: local_llm, structured_output: {enabeld: true}}",
         "unknown field 'enabeld'"),
        ("c", "{id: c, type: openai-classification}", "no 'options'"),
        ("", "", "the file names no agents"),
        ("l", f"{{id: l, type: loop, max_loops: 2, internal_workflow: {ITSELF}}}", "no agent 'l'"),
        ("m", "{id: m, type: memory, config: {operation: burn}}", "burn"),
        ("s", "{id: s, type: graph-scout, scoring_mode: boolean}", "no scoring mode 'boolean'"),
    ],
)  # fmt: skip
def test_mistakes_in_the_flow(order: str, agents: str, told: str) -> None:
    diagnostics = found(f"orchestrator: {{agents: [{order}]}}\nagents: [{agents}]")

    assert any(told in one.message for one in diagnostics), diagnostics


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("orchestrator: [a]\nagents: [{id: a, type: local_llm, prompt: x}]", "must be an object"),
        ("orchestrator: {agents: [a]}", "there are no agents"),
    ],
)
def test_mistakes_around_the_agents(text: str, told: str) -> None:
    assert any(told in one.message for one in found(text))


SCORED = """
- id: polish
  type: loop
  max_loops: 1
  score_threshold: 0.9
  score_extraction_config: {strategies: [STRATEGY]}
  internal_workflow:
    agents:
      - {id: writer, type: openai-answer, prompt: Write}
"""


@pytest.mark.parametrize(
    ("strategy", "code", "told", "at"),
    [
        ('{type: json, json_path: "$"}', "W007", "is not a path", '"$"'),
        ('{type: json, json_path: "$.*"}', "W007", "is not a path", '"$.*"'),
        ('{type: json, json_path: "$.a[x]"}', "W007", "is not a path", '"$.a[x]"'),
        ("{type: pattern, json_path: a}", "W004", "no field 'json_path'", "json_path:"),
        ("{type: pattern}", "W006", "no 'patterns'", "{type: pattern}"),
        ("{type: agent_key, key: a}", "W006", "which agents", "{type: agent_key"),
        ("{type: direct_key, agent: writre}", "W005", "no agent 'writre'", "writre"),
        ("pattern", "W007", "must be a list of objects", "pattern]"),
    ],
)
def test_mistakes_in_strategies(strategy: str, code: str, told: str, at: str) -> None:
    text = SCORED.replace("STRATEGY", strategy)
    line = text.split("\n")[5]
    errors = [one for one in found(text) if one.severity == "error"]

    assert any(
        one.code == code
        and told in one.message
        and one.span is not None
        and one.span.line == 6
        and line[one.span.column - 1 :].startswith(at)
        for one in errors
    ), errors
