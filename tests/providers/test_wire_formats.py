"""The three wire formats at a real server: what is sent, and what is read from an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from provider_server import Seen, answering, ask, delta, events, send
from wires import (
    ANTHROPIC,
    KEY,
    OLLAMA,
    OPENAI,
    Format,
    anthropic_event,
    anthropic_message,
    every_format,
    fault_of,
    perform,
    streaming,
)

from whorl.providers.models.wires import AnthropicWire, OllamaWire, OpenAIWire

if TYPE_CHECKING:
    import asyncio

    from provider_server import Answerer

SCHEMA = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "score": {"type": "number"}},
    "required": ["approved", "score"],
    "additionalProperties": False,
}
FITTING = '{"approved": true, "score": 1}'
HISTORY = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]
# It looks like a template, and is sent as it is.
PROMPT = {"role": "user", "content": "{{ secret }} {% if %}"}
WHOLE = [{"role": "system", "content": "S"}, *HISTORY, PROMPT]
OPTIONS = {"temperature": 1.5}
USAGE = {"include_usage": True}
SENT: dict[str, dict[str, Any]] = {
    "openai": {"messages": WHOLE, "stream_options": USAGE, "max_tokens": 9, **OPTIONS},
    "anthropic": {"messages": [*HISTORY, PROMPT], "system": "S", "max_tokens": 9}
    | {"temperature": 1.0},
    "ollama": {"messages": WHOLE, "truncate": False, "options": {"num_predict": 9, **OPTIONS}},
}
HEADERS = {
    "openai": {"authorization": f"Bearer {KEY}"},
    "anthropic": {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
    "ollama": {},
}


@every_format
def test_what_is_sent(form: Format) -> None:
    options: dict[str, Any] = {"system": "S", "messages": HISTORY, "temperature": 1.5}
    request = ask(PROMPT["content"], max_tokens=9, **options)

    reply, server, _ = perform(form, streaming(form, form.pieces(["hi"])), request)

    seen = server.seen[0]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 3)
    assert seen.path == form.path
    assert (HEADERS[form.kind] | {"idempotency-key": "k1"}).items() <= seen.headers.items()
    assert seen.json == {"model": "m", "stream": True, **SENT[form.kind]}
    assert "left_out" not in reply.detail


@pytest.mark.parametrize(
    ("wire", "base_urls", "url"),
    [
        (OpenAIWire, "https://a.b https://a.b/", "https://a.b/v1/chat/completions"),
        (OpenAIWire, "https://a.b/x/chat/completions", "https://a.b/x/chat/completions"),
        (OpenAIWire, "https://a.b/g?v=1", "https://a.b/g/chat/completions?v=1"),
        (AnthropicWire, "https://a.b https://a.b/ https://a.b/v1", "https://a.b/v1/messages"),
        (AnthropicWire, "https://a.b/p?x=1", "https://a.b/p/v1/messages?x=1"),
        (OllamaWire, "http://h:1 http://h:1/ http://h:1/api http://h:1/v1", "http://h:1/api/chat"),
        (OllamaWire, "http://h/ollama", "http://h/ollama/api/chat"),
    ],
)
def test_addresses(wire: Any, base_urls: str, url: str) -> None:
    assert {wire.url(base_url) for base_url in base_urls.split()} == {url}


def test_tokens_of_a_prompt_cache_are_counted() -> None:
    cached = {"cache_read_input_tokens": 200, "cache_creation_input_tokens": 30}
    usage = {"input_tokens": 10, "output_tokens": 4, **cached}
    silent = OLLAMA.plain("hi")
    del silent["prompt_eval_count"]

    told, _, _ = perform(ANTHROPIC, answering(anthropic_message("x", usage=usage)))
    estimated, _, _ = perform(OLLAMA, answering(silent))

    assert (told.usage.input_tokens, told.usage.output_tokens) == (240, 4)
    assert told.detail["cache"] == {"read_tokens": 200, "written_tokens": 30}
    assert estimated.usage.input_tokens == 5
    assert estimated.detail["usage_estimated"] is True


@pytest.mark.parametrize("bad", [-5, float("nan"), "many", None, True, 1e300])
def test_wrong_usage_cannot_lower_spending(bad: Any) -> None:
    used: dict[str, Any] = {
        "openai": {"prompt_tokens": 0, "completion_tokens": bad},
        "anthropic": {"input_tokens": bad, "output_tokens": bad},
    }
    prices = {"prices": {"m": {"input": 1000.0, "output": 10000.0}}}
    for form, tokens, cost in ((OPENAI, 0, 0.05), (ANTHROPIC, 5, 0.055)):
        body = form.plain("four words of text") | {"usage": used[form.kind]}

        reply, _, _ = perform(form, answering(body), extra=prices)

        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (tokens, 5)
        assert reply.usage.cost_usd == pytest.approx(cost)
        assert reply.detail["usage_estimated"] is True


def test_an_answer_that_is_not_json_is_shown_in_part() -> None:
    fault = fault_of(OPENAI, answering(OPENAI.plain("x" * 101)), ask(returns=SCHEMA))

    assert f"is not JSON: '{'x' * 100}...'; describe" in str(fault)


@every_format
@pytest.mark.parametrize(
    "text",
    [
        '{"approved": true, "score": 0.5}',
        'Sure!\n```json\n{"approved": true, "score": 0.5}\n```\nAnything else?',
        '<think>{"approved": false}</think>{"approved": true, "score": 0.5}',
    ],
)
def test_typed_answers_are_found(form: Format, text: str) -> None:
    reply, server, _ = perform(form, answering(form.plain(text)), ask(returns=SCHEMA))

    assert reply.value == {"approved": True, "score": 0.5}
    sent = server.seen[0].json
    assert '"approved"' in (sent.get("system") or sent["messages"][0]["content"])
    match form.kind:
        case "openai":
            assert sent["response_format"]["json_schema"]["strict"] is True
            assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
        case "anthropic":
            assert sent["tool_choice"] == {"type": "tool", "name": "give_answer"}
            assert sent["tools"][0]["input_schema"] == SCHEMA
        case _:
            assert sent["format"] == SCHEMA


def refusing(form: Format, field: str, said: str) -> Answerer:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if field in seen.json:
            send(writer, form.error(said), status=400)
        else:
            send(writer, form.plain(FITTING))

    return answer


@pytest.mark.parametrize(
    ("form", "field", "said"),
    [
        (OPENAI, "response_format", "response_format is not supported"),
        (OPENAI, "temperature", "Unsupported value: 'temperature' does not support 0.1"),
        (OPENAI, "stream_options", "unknown field stream_options"),
        (ANTHROPIC, "tool_choice", "tool_choice: not supported"),
        (ANTHROPIC, "stream", "stream: not supported"),
        (OLLAMA, "format", "format is not supported by this model"),
    ],
)
def test_a_field_that_the_server_refuses_is_left_out(form: Format, field: str, said: str) -> None:
    request = ask(returns=SCHEMA, temperature=0.1)

    reply, server, _ = perform(form, refusing(form, field, said), request)

    assert reply.value == {"approved": True, "score": 1}
    assert reply.detail["left_out"] == [field]
    assert [seen.headers["idempotency-key"] for seen in server.seen] == ["k1", "k1-1"]


def test_the_new_name_of_max_tokens_is_learned() -> None:
    said = "'max_tokens' is not supported, use 'max_completion_tokens'"

    _, server, _ = perform(OPENAI, refusing(OPENAI, "max_tokens", said), ask(max_tokens=12))

    assert server.seen[1].json["max_completion_tokens"] == 12


@pytest.mark.parametrize(
    ("form", "error", "code", "retryable"),
    [
        (OPENAI, {"message": "slow down", "code": 429}, "P102", True),
        (OPENAI, {"message": "bad", "type": "invalid_request_error"}, "P104", False),
        (OPENAI, "broken", "P103", True),
        (ANTHROPIC, {"message": "over", "type": "overloaded_error"}, "P103", True),
        (ANTHROPIC, {"message": "rate", "type": "rate_limit_error"}, "P102", True),
        (ANTHROPIC, {"message": "bad", "type": "invalid_request_error"}, "P104", False),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_errors_inside_a_success(
    form: Format, error: Any, code: str, retryable: bool, streamed: bool
) -> None:
    body = {"type": "error", "error": error}
    event = events(body) if form is OPENAI else anthropic_event(body)

    fault = fault_of(form, streaming(form, [event]) if streamed else answering(body))

    assert (fault.code, fault.retryable) == (code, retryable)
    assert (error if isinstance(error, str) else error["message"]) in str(fault)


@pytest.mark.parametrize(
    ("body", "kind", "value", "texts"),
    [
        (
            b'{"choices":[{"message":{"content":"x\\ud800y"},"finish_reason":"stop"}]}',
            *("application/json", "x\ufffdy", ["x\ufffdy"]),
        ),
        (
            events(delta("word " * 400_000, "stop")),
            *("text/event-stream", "word " * 400_000, ["word " * 400_000]),
        ),
        (
            b'data: {"choices":[{"delta":{"content":"all"},"finish_reason":"stop"}]}\n',
            *("text/event-stream", "all", ["all"]),
        ),
    ],
    ids=["a lone surrogate", "a line as long as a reply", "no empty line behind the last event"],
)
def test_unusual_texts(body: bytes, kind: str, value: str, texts: list[str]) -> None:
    reply, _, said = perform(OPENAI, answering(body, kind=kind))

    assert (reply.value, said) == (value, texts)
