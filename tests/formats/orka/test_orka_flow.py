"""Agents and their order: forks, joins, routers, failovers, parallel strategy, memory, types."""

from __future__ import annotations

import pytest
from orka_runs import run

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


def test_web_search_is_a_task_that_an_operator_maps() -> None:
    agents = "  - {id: web, type: duckduckgo, prompt: 'about {{ input }}', max_results: 3}\n"
    ran = run(flow(agents, "[web]"), [], "cats")

    [request] = ran.model.requests
    given = {"query": "about cats", "max_results": 3}
    assert (request.kind, request.inputs) == ("use", {"task": "duckduckgo", "with": given})
    assert ran.document["output"] == "a page about it"
