"""The functions of templates: each of them is there and says what it should."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whorl.language import Expression, LanguageError, MappingScope, evaluate

if TYPE_CHECKING:
    from whorl.language import Json

FLOW: dict[str, Json] = {
    "agents": ["writer", "progressive_voice", "split", "together", "polish", "reader"],
    "forks": ["split"],
    "joins": ["together"],
    "loops": ["polish"],
    "here": [],
}
SCOPE: dict[str, Json] = {
    "$flow": FLOW,
    "$threshold": 0.85,
    "input": {"topic": "rain", "size": 3},
    "loop_number": 3,
    "past_loops": [{"number": 1, "loop_number": 1, "score": 0.4, "idea": "one",
     "$insights": "a | b"}, {"number": 2, "loop_number": 2, "score": 0.6, "$insights": "b | c"}],
    "writer": "a long text about rain",
    "progressive_voice": {"response": "go on", "confidence": 0.9},
    "split": {"left": "L", "right": {"response": "R"}},
    "together": {"status": "done", "merged": {"left": "L", "right": "R"}},
    "polish": {"response": "polished", "loops_completed": 4, "final_score": 0.9,
     "threshold_met": True, "past_loops": [{"idea": "old"}], "result": {"inner": "text"}},
    "reader": {"memories": [{"content": "it rained", "metadata": {"kind": "fact"}}]},
}  # fmt: skip


def value(source: str, **more: Json) -> Json:
    scope = MappingScope(SCOPE | more)
    return evaluate(Expression("template", source, "orka"), scope)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ get_input() }}", {"topic": "rain", "size": 3}),
        ("{{ get_current_topic() }}", "rain"),
        ("{{ get_input_field(input, 'size', 1) }}", 3),
        ("{{ has_past_loops() }}", True),
        ("{{ get_past_loops()[0] }}", {"loop_number": 1, "score": 0.4, "idea": "one"}),
        ("{{ get_past_insights() }}", "a | b | c"),
        ("{{ get_past_loop_data('idea') }}", "one"),
        ("{{ get_score_threshold() }}", 0.85),
        ("{{ get_final_score() }}", 0.9),
        ("{{ get_loop_status() }}", "threshold met"),
        ("{{ get_loop_output('polish').result.inner }}", "text"),
        ("{{ get_loop_output('polish', previous_outputs).result.final_score }}", 0.9),
        ("{{ get_agent_response('writer') }}", "a long text about rain"),
        ("{{ get_agent_response('progressive_voice') }}", "go on"),
        ("{{ get_agent_response('none') }}", "No response found for none"),
        ("{{ safe_get_response('none', 'other') }}", "other"),
        ("{{ safe_get_response('writer', 'x', previous_outputs) }}", "a long text about rain"),
        ("{{ safe_get_response('polish.inner', 'x') }}", "text"),
        ("{{ safe_get_response('polish.final_score', 'x') }}", 0.9),
        ("{{ get_progressive_response() }}", "go on"),
        ("{{ get_collaborative_responses() }}", "Progressive: go on"),
        ("{{ get_fork_responses() }}", {"left": "L", "right": "R"}),
        ("{{ joined_results() }}", {"left": "L", "right": "R"}),
        ("{{ format_memory_query('calm') }}", "calm perspective on: rain"),
        ("{{ get_my_past_memory('fact') }}", "it rained"),
        ("{{ get_my_past_decisions('idea') }}", "Loop 1: one"),
        ("{{ get_agent_memory_context('fact', 'rained') }}", "it rained"),
        ("{{ get_debate_evolution() }}", "Round 1: score 0.4\nRound 2: score 0.6"),
        ("{{ safe_get(input, 'topic') }}", "rain"),
        ("{{ safe_get(previous_outputs, 'none', 'x') }}", "x"),
        ("{{ safe_str(previous_outputs.polish) }}", "polished"),
        ("{{ has_context('writer') }}", True),
        ("{{ get_execution_artifacts(previous_outputs).nodes_executed }}", []),
        ("{{ to_json_string({'a': 1}) }}", '{"a": 1}'),
        ("{{ truncate_text('abcdefghij', 8) }}", "abcde..."),
        ("{{ 'one two three' | truncate(10) }}", "one..."),
        ("{{ get_past_loops() | truncate(20) }}", '[{"loop_number":...'),
        ("{{ format_loop_metadata([{'a': 1}, {'a': 2}], 1) }}", 'Loop 2: {"a": 2}'),
        ("{{ 'a 12 b' | regex_search('([0-9]+)', '\\1') | first }}", "12"),
        ("{{ 'a' | regex_search('([0-9]+)', '\\1') | length }}", 0),
        ("{{ min(3, 2) }}", 2),
        ("{{ now() }}", ""),
    ],
)
def test_functions(source: str, expected: object) -> None:
    assert value(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ }}",
        "{{ previous_outputs.__class__.__mro__ }}",
        "{{ previous_outputs.writer.__init__.__globals__ }}",
        "{{ get_input().__class__ }}",
    ],
)
def test_nothing_of_python_is_reached(source: str) -> None:
    assert value(source) is None


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(100000000) %}{{ previous_outputs }}{% endfor %}",
        "{{ 'x' * 100000000 }}",
        "{{ '(' | regex_search('(') }}",
    ],
)
def test_functions_are_bounded(source: str) -> None:
    with pytest.raises(LanguageError):
        value(source)
