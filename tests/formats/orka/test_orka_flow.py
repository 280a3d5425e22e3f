"""Agents and their order: forks, joins, routers, failovers, parallel strategy, memory, types."""

from __future__ import annotations

import pytest
from orka_runs import run

from whorl.errors import ProviderError

DOWN = ProviderError("it is down", code="P100")
ANY: list[tuple[str, list[object]]] = [(".", ["x"])]


def flow(agents: str, order: str, strategy: str = "sequential") -> str:
    head = f"orchestrator: {{id: flow, strategy: {strategy}, agents: {order}}}\nagents:\n"
    return head + agents


ASK = "  - {id: %s, type: openai-answer, prompt: '%s'}\n"


def asks(**prompts: str) -> str:
    return "".join(ASK % (name, prompt) for name, prompt in prompts.items())


FORK = "  - {id: split, type: fork, %stargets: [[a], [b]]}\n"


@pytest.mark.parametrize(
    ("agents", "order", "strategy", "seconds", "prompts"),
    [
        (asks(a="A", b="B", c="C of {{ previous_outputs.a }}")
         + "  - {id: d, type: openai-answer, prompt: D, depends_on: [c]}\n",
         "[a, b, c, d]", "parallel", 30, ["A", "B", "C of x", "D"]),
        (FORK % "mode: sequential, " + asks(a="A", b="B"), "[split]", "sequential", 20, ["A", "B"]),
        # An agent of a fork runs once, although it is listed.
        (FORK % "" + asks(a="A", b="B", c="C"), "[split, a, b, c]", "sequential", 20,
         ["A", "B", "C"]),
    ],
)  # fmt: skip
def test_parallel_and_sequential_order(
    agents: str, order: str, strategy: str, seconds: int, prompts: list[str]
) -> None:
    ran = run(flow(agents, order, strategy), ANY, delay_s=10)

    assert (ran.seconds, sorted(ran.model.prompts)) == (seconds, prompts)


def test_join_without_group_takes_the_last_fork() -> None:
    forks = "".join(f"  - {{id: {n}, type: fork, targets: [[{n[0]}]]}}\n" for n in ("one", "two"))
    agents = forks + "  - {id: all, type: join}\n" + asks(o="O", t="T")

    assert run(flow(agents, "[one, two, all]"), ANY).outputs["all"]["group"] == "two"


ROUTER = (
    "  - {id: judge, type: %s, prompt: Judge, options: [news, story]}\n"
    + asks(good="Good", bad="Bad", last="Last")
    + "  - {id: choose, type: router, params: {decision_key: judge, routing_map: {%s}}}\n"
)
BINARY = "'true': [good], 'false': [bad]"


@pytest.mark.parametrize(
    ("kind", "routes", "said", "taken"),
    [
        ("local_llm", BINARY, "Yes, it is right", ["Good"]),
        ("local_llm", BINARY, '{"response": "true"}', ["Good"]),
        # A target of both ways runs behind the others.
        ("classification", "news: [good, last], story: [bad, last]", "A Story", ["Bad", "Last"]),
    ],
)
def test_router_takes_one_way(kind: str, routes: str, said: object, taken: list[str]) -> None:
    order = "[judge, choose]" if "last" in routes else "[judge, choose, last]"
    ran = run(flow(ROUTER % (kind, routes), order), [("Judge", [said]), *ANY])

    assert ran.model.prompts == ["Judge", *taken] + ["Last"] * ("last" not in routes)
    assert ran.outputs["good" if "Bad" in taken else "bad"] is None


def test_the_target_that_is_selected_decides() -> None:
    rules: list[tuple[str, list[object]]] = [("Judge", ["true"]), ("Good", [DOWN]), *ANY]
    ran = run(flow(ROUTER % ("local_llm", BINARY), "[judge, choose]"), rules)

    assert ran.status == "failed"
    assert "it is down" in ran.document["error"]["message"]


@pytest.mark.parametrize(
    ("kind", "more", "said", "value"),
    [
        ("binary", "", "unclear", False),
        ("openai-classification", ", params: {categories: [red]}", "green", "not-classified"),
    ],
)
def test_kinds_of_agents(kind: str, more: str, said: str, value: object) -> None:
    agents = f"  - {{id: one, type: {kind}, prompt: P{more}}}\n"
    ran = run(flow(agents, "[one]"), [(".", [said])])

    assert ran.outputs["one"] == value


@pytest.mark.parametrize(
    ("provider", "url", "expected"),
    [
        ("lm_studio", "http://localhost:1234", "http://localhost:1234/v1"),
        ("lmstudio", "http://localhost:1234/v1/chat/completions", "http://localhost:1234/v1"),
        ("ollama", "http://localhost:11434/api/generate", "http://localhost:11434"),
        ("openai_compatible", "https://x.example/v1/chat/completions", "https://x.example/v1"),
    ],
)
def test_local_models_are_found_where_the_file_says(provider: str, url: str, expected: str) -> None:
    agents = (
        f"  - {{id: one, type: local_llm, prompt: P, model: m, provider: {provider}, "
        f"model_url: '{url}'}}\n"
    )
    ran = run(flow(agents, "[one]"), ANY)

    inputs = ran.model.inputs_of("one")
    named = {"lmstudio": "lm_studio", "openai_compatible": None}.get(provider, provider)
    assert (inputs["model"], inputs["model_url"], inputs.get("provider")) == ("m", expected, named)


MEMORY = (
    "  - {id: keep, type: memory, namespace: facts, config: {operation: write}, "
    "prompt: 'Paris is in {{ input }}', metadata: {about: '{{ input }}'}}\n"
    "  - {id: recall, type: memory, namespace: facts, config: {operation: read, limit: 1}, "
    "prompt: 'where is Paris'}\n"
    "  - {id: other, type: memory, namespace: elsewhere, config: {operation: read}, prompt: P}\n"
    + asks(
        end="{{ previous_outputs.recall }}/{{ previous_outputs.recall.memories | length }}/"
        "{{ previous_outputs.other }}/{{ previous_outputs.keep.status }}"
    )
)


def test_memory_is_written_and_read_by_namespace() -> None:
    answer = "  - {id: answer, type: rag, namespace: facts, prompt: 'Where is Paris?'}\n"
    text = flow(MEMORY + answer, "[keep, recall, other, end, answer]")
    ran = run(text, [("Where is Paris", ["in France"]), *ANY], "France")

    assert ran.model.prompts[0] == "Paris is in France/1/NONE/success"
    assert ran.model.kept["memory/facts"][0] == {
        "content": "Paris is in France",
        "metadata": {"about": "France"},
    }
    assert "Paris is in France" in ran.model.prompts[1]
    assert ran.model.prompts[1].endswith("Question: Where is Paris?")
    assert ran.outputs["answer"] == "in France"


def test_web_search_is_a_task_that_an_operator_maps() -> None:
    agents = "  - {id: web, type: duckduckgo, prompt: 'about {{ input }}', max_results: 3}\n"
    ran = run(flow(agents, "[web]"), [], "cats")

    [request] = ran.model.requests
    given = {"query": "about cats", "max_results": 3}
    assert (request.kind, request.inputs) == ("use", {"task": "duckduckgo", "with": given})
    assert ran.document["output"] == "a page about it"


def test_plan_validator_outside_of_a_loop() -> None:
    validator = "type: plan_validator, llm_model: m, provider: openai, scoring_preset: strict"
    agents = f"{asks(plan='Plan')}  - {{id: check, {validator}, evaluation_target: plan}}\n"
    met = '{"safety": {"validates_inputs": "yes"}, "efficiency": {"optimizes_cost": true}}'
    ran = run(flow(agents, "[plan, check]"), [("criterion", [met]), ("Plan", ["it is"])])

    assert "it is" in ran.model.prompt_at("check")
    passed = ["efficiency.optimizes_cost", "safety.validates_inputs"]
    assert ran.outputs["check"]["passed_criteria"] == passed


def test_nested_loops() -> None:
    scored = "type: loop, score_extraction_pattern"
    work = "In {{ get_loop_number() }} of {{ get_past_loops() | length }}"
    judge = "Out {{ loop_number }} {{ previous_outputs.inner.loops_completed }}"
    text = f"""
- {{id: outer, {scored}: "OUTER: ([0-9.]+)", max_loops: 2, score_threshold: 1,
   internal_workflow: {{agents: [
     {{id: inner, {scored}: "INNER: ([0-9.]+)", max_loops: 3, score_threshold: 0.5,
      internal_workflow: {{agents: [{{id: work, type: openai-answer, prompt: "{work}"}}]}}}},
     {{id: judge, type: openai-answer, prompt: "{judge}"}}]}}}}
"""
    ran = run(text, [("In ", ["INNER: 0.1", "INNER: 0.6"]), ("Out", ["OUTER: 0"])])

    paths = ["outer", "outer[1]/inner", "outer[2]/inner"]
    assert sorted(row["path"] for row in ran.document["loops"]) == paths
    expected = ["In 1 of 0", "In 2 of 1", "Out 1 2", "In 1 of 0", "Out 2 1"]
    assert ran.model.prompts == expected


def test_prompt_that_is_one_expression_is_a_text() -> None:
    agents = asks(a="A", b="{{ previous_outputs.a }}")
    said = '{"response": "inner", "confidence": 1}'

    assert run(flow(agents, "[a, b]"), [("A", [said]), *ANY]).model.prompts[1] == "inner"
