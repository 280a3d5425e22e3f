"""The three wire formats at a real server: what is sent, and what is read from an answer."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import (
    Seen,
    answering,
    ask,
    begin,
    chunk,
    completion,
    delta,
    events,
    providers_for,
    send,
    serve,
    settings_for,
)
from wires import (
    ANTHROPIC,
    KEY,
    OLLAMA,
    OPENAI,
    Format,
    anthropic_event,
    anthropic_message,
    cut,
    every_format,
    fault_of,
    perform,
    streaming,
)

from whorl.errors import ProviderError
from whorl.providers.models.wires import AnthropicWire, OllamaWire, OpenAIWire

if TYPE_CHECKING:
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

    reply, server, _ = perform(form, answering(form.plain("hi")), request)

    seen = server.seen[0]
    assert seen.path == form.path
    assert (HEADERS[form.kind] | {"idempotency-key": "k1"}).items() <= seen.headers.items()
    assert seen.json == {"model": "m", "stream": True, **SENT[form.kind]}
    assert "left_out" not in reply.detail


@every_format
def test_a_plain_reply(form: Format) -> None:
    reply, server, _ = perform(form, answering(form.plain("hi")), stream=False)

    assert (reply.value, reply.usage.input_tokens, reply.usage.output_tokens) == ("hi", 7, 3)
    assert reply.usage.cost_usd == (0.0 if form is OLLAMA else None)
    assert not server.seen[0].json.get("stream")
    # One format needs a limit.
    assert server.seen[0].json.get("max_tokens") == (16384 if form is ANTHROPIC else None)


@pytest.mark.parametrize(
    ("wire", "base_urls", "url"),
    [
        (OpenAIWire, "https://a.b https://a.b/", "https://a.b/v1/chat/completions"),
        (OpenAIWire, "https://a.b/api/v1/", "https://a.b/api/v1/chat/completions"),
        (OpenAIWire, "https://a.b/x/chat/completions", "https://a.b/x/chat/completions"),
        (OpenAIWire, "https://a.b/g?v=1", "https://a.b/g/chat/completions?v=1"),
        (AnthropicWire, "https://a.b https://a.b/ https://a.b/v1", "https://a.b/v1/messages"),
        (AnthropicWire, "https://a.b/v1/messages", "https://a.b/v1/messages"),
        (AnthropicWire, "https://a.b/p?x=1", "https://a.b/p/v1/messages?x=1"),
        (OllamaWire, "http://h:1 http://h:1/ http://h:1/api http://h:1/v1", "http://h:1/api/chat"),
        (OllamaWire, "http://h:1/api/chat", "http://h:1/api/chat"),
        (OllamaWire, "http://h/ollama", "http://h/ollama/api/chat"),
    ],
)
def test_addresses(wire: Any, base_urls: str, url: str) -> None:
    assert {wire.url(base_url) for base_url in base_urls.split()} == {url}


@pytest.mark.parametrize(
    ("form", "body", "finish", "warning"),
    [
        (ANTHROPIC, anthropic_message("x", stop_reason="end_turn"), "stop", ""),
        (ANTHROPIC, anthropic_message("x", stop_reason="stop_sequence"), "stop", ""),
        (ANTHROPIC, anthropic_message("x", stop_reason="pause_turn"), "pause_turn", ""),
        (
            *(ANTHROPIC, anthropic_message("x", stop_reason="model_context_window_exceeded")),
            *("context", "P118"),
        ),
        (OPENAI, cut(OPENAI, "half"), "length", "own limit"),
        (OLLAMA, cut(OLLAMA, "half"), "length", "own limit"),
    ],
)
def test_why_it_stopped(form: Format, body: Any, finish: str, warning: str) -> None:
    reply, _, _ = perform(form, answering(body))

    assert reply.detail["finish"] == finish
    assert ("warnings" in reply.detail) == bool(warning)
    assert warning in str(reply.detail.get("warnings"))


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


@every_format
@pytest.mark.parametrize(
    "text",
    [
        '{"approved": true, "score": 0.5}',
        'Sure!\n```json\n{"approved": true, "score": 0.5}\n```\nAnything else?',
        'I think {"approved": true, "score": 0.5} is right',
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


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
def test_an_answer_by_schema_comes_through_a_tool(stream: bool) -> None:
    value = {"approved": True, "score": 0.5}
    text = json.dumps(value)
    block = {"type": "tool_use", "id": "t", "name": "give_answer", "input": value}
    parts = [{"type": "input_json_delta", "partial_json": part} for part in (text[:9], text[9:])]
    pieces: list[dict[str, Any]] = [
        {"type": "message_start", "message": anthropic_message("", content=[])},
        {"type": "content_block_start", "index": 0, "content_block": block | {"input": {}}},
        *({"type": "content_block_delta", "index": 0, "delta": part} for part in parts),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    plain = answering(anthropic_message("", content=[block], stop_reason="tool_use"))
    answer = streaming(ANTHROPIC, [anthropic_event(one) for one in pieces]) if stream else plain

    reply, _, said = perform(ANTHROPIC, answer, ask(returns=SCHEMA), stream=stream)

    assert reply.value == json.loads("".join(said)) == value
    assert reply.detail["finish"] == "stop"


def test_without_structured_answers_no_tool_is_offered() -> None:
    answer = answering(anthropic_message(FITTING))

    reply, server, _ = perform(ANTHROPIC, answer, ask(returns=SCHEMA), structured=False)

    assert reply.value == {"approved": True, "score": 1}
    assert "tools" not in server.seen[0].json


@every_format
def test_an_answer_that_does_not_fit_is_paid_for_and_repaired(form: Format) -> None:
    wrong = '{"approved": "yes"}'
    fault = fault_of(form, answering(form.plain(wrong)), ask(returns=SCHEMA))

    assert (fault.code, fault.retryable, fault.detail["answer"]) == ("P105", False, wrong)
    errors = fault.detail["errors"]
    assert errors == ["$ needs 'score'", "$.approved must be boolean, not string"]
    assert fault.detail["usage"]["output_tokens"] == 3  # type: ignore[index]

    for said in (wrong, ""):
        repair = {"answer": said, "errors": errors}
        _, server, _ = perform(
            form, answering(form.plain(FITTING)), ask(returns=SCHEMA, repair=repair)
        )
        messages = server.seen[0].json["messages"]
        roles = ["user", "assistant", "user"]
        assert [m["role"] for m in messages] == [*([] if form is ANTHROPIC else ["system"]), *roles]
        assert messages[-2]["content"] == said or not said
        # An empty message is refused by the real server.
        assert messages[-2]["content"] or form is not ANTHROPIC
        assert "$ needs 'score'" in messages[-1]["content"]


def test_fields_that_returns_does_not_name_are_kept_apart() -> None:
    answer = answering(completion('{"approved": true, "score": 1, "criteria": [1]}'))

    reply, _, _ = perform(OPENAI, answer, ask(returns=SCHEMA))
    fault = fault_of(OPENAI, answer, ask(returns=SCHEMA, strict=True))

    assert reply.value == {"approved": True, "score": 1}
    assert reply.detail["extra"] == {"criteria": [1]}
    assert "does not fit: it has a field 'criteria' that `returns` does not name" in str(fault)


def test_the_error_shows_the_beginning_of_an_answer_that_is_not_json() -> None:
    fault = fault_of(
        OPENAI, answering(completion("Sure!\nIt is " + "good " * 99)), ask(returns=SCHEMA)
    )

    assert "is not JSON: 'Sure! It is good good" in str(fault)
    assert "...'; describe the fields" in str(fault)


def test_thoughts_are_no_part_of_the_answer() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    content = [thought, *({"type": "text", "text": text} for text in ("one ", "two"))]

    reply, _, _ = perform(ANTHROPIC, answering(anthropic_message("", content=content)))

    assert reply.value == "one two"


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
        (OPENAI, "temperature", "temperature?"),
        (OPENAI, "stream_options", "unknown field stream_options"),
        (ANTHROPIC, "temperature", "temperature: not supported"),
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
        (OPENAI, {"message": "oops", "type": "server_error"}, "P103", True),
        (OPENAI, {"message": "rate", "type": "rate_limit_error"}, "P102", True),
        (OPENAI, {"message": "bad", "type": "invalid_request_error"}, "P104", False),
        (OPENAI, "broken", "P103", True),
        (ANTHROPIC, {"message": "over", "type": "overloaded_error"}, "P103", True),
        (ANTHROPIC, {"message": "rate", "type": "rate_limit_error"}, "P102", True),
        (ANTHROPIC, {"message": "oops", "type": "api_error"}, "P103", True),
        (ANTHROPIC, {"message": "bad", "type": "invalid_request_error"}, "P104", False),
        (ANTHROPIC, {"message": "who", "type": "authentication_error"}, "P104", False),
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


@every_format
def test_a_provider_is_checked_with_its_key(form: Format) -> None:
    path = "/api/tags" if form is OLLAMA else "/v1/models"

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        is_good = seen.path == path and HEADERS[form.kind].items() <= seen.headers.items()
        send(writer, {"data": []}, status=200 if is_good else 401)

    async def main() -> list[str]:
        async with serve(answer) as server:
            found = []
            for place, key in (("", KEY), ("", "wrong-key-22"), ("", "env:NOPE"), ("/no", KEY)):
                settings = settings_for(
                    "", kind=form.kind, base_url=server.url + place, api_key=key
                )
                async with providers_for(settings) as providers:
                    try:
                        found.append(await providers.check_provider("one"))
                    except ProviderError as fault:
                        found.append(str(fault))
            return found

    good, bad, unset, elsewhere = asyncio.run(main())

    assert good.startswith("answers at ")
    assert "401" in elsewhere
    if form is not OLLAMA:
        assert "401" in bad
        assert "wrong-key-22" not in bad
        assert "NOPE" in unset


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


@pytest.mark.parametrize("streamed", [False, True])
def test_connections_are_kept(streamed: bool) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if streamed:
            begin(writer)
            chunk(writer, events(delta("x", "stop")))
            await writer.drain()
            chunk(writer, b"")
        else:
            send(writer, completion("x"))

    async def main() -> int:
        async with serve(answer) as server, providers_for(settings_for(server.url)) as providers:
            for _ in range(5):
                await providers.kind("ask").perform(ask(), lambda _: None)
            return server.connections

    assert asyncio.run(main()) == 1
