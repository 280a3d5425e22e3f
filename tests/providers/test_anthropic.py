"""The Anthropic messages wire format against a real server: what is sent, what is read."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import ask, providers_for, send, serve, settings_for
from wires import ANTHROPIC, anthropic_event, anthropic_message, fault_of, perform

from whorl.providers.models.anthropic import AnthropicWire
from whorl.providers.settings.sections import settings_from

if TYPE_CHECKING:
    from provider_server import Answerer, Seen

SCHEMA = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "score": {"type": "number"}},
    "required": ["approved", "score"],
    "additionalProperties": False,
}


def answering(message: dict[str, Any]) -> Answerer:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, message)

    return answer


HELLO = answering(anthropic_message("hello"))


def test_what_is_sent() -> None:
    history = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]
    request = ask(
        "P", system="S", messages=history, temperature=1.5, max_tokens=9, stop=["x"], seed=5
    )

    reply, server, _ = perform(ANTHROPIC, HELLO, request)

    assert server.seen[0].path == "/v1/messages"
    assert server.seen[0].headers["x-api-key"] == "secret-key-1"
    assert server.seen[0].headers["anthropic-version"] == "2023-06-01"
    assert server.seen[0].headers["idempotency-key"] == "k1"
    assert server.seen[0].json == {
        "model": "m",
        "max_tokens": 9,
        "system": "S",
        "messages": [*history, {"role": "user", "content": "P"}],
        "stream": True,
        "temperature": 1.0,
        "stop_sequences": ["x"],
    }
    assert reply.detail["left_out"] == ["seed"]


def test_a_limit_is_always_sent() -> None:
    _, server, _ = perform(ANTHROPIC, HELLO, stream=False)

    assert server.seen[0].json == {
        "model": "m",
        "max_tokens": 16384,
        "messages": [{"role": "user", "content": "Hello"}],
    }


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://a.example", "https://a.example/v1/messages"),
        ("https://a.example/", "https://a.example/v1/messages"),
        ("https://a.example/v1", "https://a.example/v1/messages"),
        ("https://a.example/v1/messages", "https://a.example/v1/messages"),
        ("https://a.example/proxy?x=1", "https://a.example/proxy/v1/messages?x=1"),
    ],
)
def test_addresses(base_url: str, url: str) -> None:
    assert AnthropicWire.url(base_url) == url


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("model_context_window_exceeded", "context"),
        ("pause_turn", "pause_turn"),
    ],
)
def test_why_it_stopped(reason: str, finish: str) -> None:
    reply, _, _ = perform(ANTHROPIC, answering(anthropic_message("x", stop_reason=reason)))

    assert reply.detail["finish"] == finish
    assert ("warnings" in reply.detail) == (finish == "context")


def test_tokens_of_a_prompt_cache_are_counted() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "output_tokens": 4,
    }

    reply, _, _ = perform(ANTHROPIC, answering(anthropic_message("x", usage=usage)))

    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (240, 4)
    assert reply.detail["cache"] == {"read_tokens": 200, "written_tokens": 30}


@pytest.mark.parametrize("bad", [-5, float("nan"), "many", None, True])
def test_wrong_usage_cannot_lower_spending(bad: Any) -> None:
    usage = {"input_tokens": bad, "output_tokens": bad}

    reply, _, _ = perform(
        ANTHROPIC, answering(anthropic_message("four words of text", usage=usage))
    )

    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (5, 5)
    assert reply.detail["usage_estimated"] is True


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
def test_an_answer_by_schema_comes_through_a_tool(stream: bool) -> None:
    value = {"approved": True, "score": 0.5}

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        block = {"type": "tool_use", "id": "t", "name": "give_answer", "input": value}
        if not stream:
            send(writer, anthropic_message("", content=[block], stop_reason="tool_use"))
            return
        text = json.dumps(value)
        pieces: list[dict[str, Any]] = [
            {"type": "message_start", "message": anthropic_message("", content=[])},
            {"type": "content_block_start", "index": 0, "content_block": block | {"input": {}}},
            *(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": piece},
                }
                for piece in (text[:9], text[9:])
            ),
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"},
        ]
        send(writer, b"".join(map(anthropic_event, pieces)), kind="text/event-stream")

    reply, server, said = perform(ANTHROPIC, answer, ask(returns=SCHEMA), stream=stream)

    assert reply.value == value
    assert json.loads("".join(said)) == value
    assert reply.detail["finish"] == "stop"
    sent = server.seen[0].json
    assert sent["tool_choice"] == {"type": "tool", "name": "give_answer"}
    assert sent["tools"][0]["input_schema"] == SCHEMA
    assert '"approved"' in sent["system"]


@pytest.mark.parametrize("structured", [True, False])
def test_an_answer_by_schema_in_words(structured: bool) -> None:
    answer = answering(anthropic_message('Sure: {"approved": true, "score": 1}'))

    reply, server, _ = perform(ANTHROPIC, answer, ask(returns=SCHEMA), structured=structured)

    assert reply.value == {"approved": True, "score": 1}
    assert ("tools" in server.seen[0].json) == structured


def test_an_answer_that_does_not_fit_and_its_repair() -> None:
    fault = fault_of(
        ANTHROPIC, answering(anthropic_message('{"approved": 1}')), ask(returns=SCHEMA)
    )
    assert fault.code == "P105"
    repair = {"answer": "", "errors": fault.detail["errors"]}

    _, server, _ = perform(
        ANTHROPIC,
        answering(anthropic_message('{"approved": true, "score": 1}')),
        ask(returns=SCHEMA, repair=repair),
    )

    messages = server.seen[0].json["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"]  # an empty message is refused by the real server
    assert "$ needs 'score'" in messages[2]["content"]


def test_thoughts_are_no_part_of_the_answer() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "one "},
        {"type": "text", "text": "two"},
    ]

    reply, _, _ = perform(ANTHROPIC, answering(anthropic_message("", content=content)))

    assert reply.value == "one two"


@pytest.mark.parametrize("field", ["temperature", "tool_choice", "stream"])
def test_a_field_that_is_refused_is_left_out(field: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if field in seen.json:
            error = {"type": "invalid_request_error", "message": f"{field}: not supported"}
            send(writer, {"type": "error", "error": error}, status=400)
        else:
            send(writer, anthropic_message('{"approved": true, "score": 1}'))

    reply, server, _ = perform(ANTHROPIC, answer, ask(returns=SCHEMA, temperature=0.1))

    assert reply.detail["left_out"] == [field]
    assert [seen.headers["idempotency-key"] for seen in server.seen] == ["k1", "k1-1"]


@pytest.mark.parametrize(
    ("kind", "code", "retryable"),
    [
        ("overloaded_error", "P103", True),
        ("rate_limit_error", "P102", True),
        ("api_error", "P103", True),
        ("invalid_request_error", "P104", False),
        ("authentication_error", "P104", False),
    ],
)
def test_errors_inside_a_stream(kind: str, code: str, retryable: bool) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        event = {"type": "error", "error": {"type": kind, "message": "Overloaded"}}
        send(writer, anthropic_event(event), kind="text/event-stream")

    fault = fault_of(ANTHROPIC, answer)

    assert (fault.code, fault.retryable) == (code, retryable)
    assert "Overloaded" in str(fault)


def test_being_overloaded_is_told_with_what_to_do() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        error = {"type": "overloaded_error", "message": "Overloaded"}
        send(writer, {"type": "error", "error": error}, status=529, retry_after="3")

    fault = fault_of(ANTHROPIC, answer)

    assert (fault.code, fault.retryable, fault.retry_after_s) == ("P103", True, 3.0)
    assert "second model" in str(fault)


def test_the_provider_that_everybody_knows() -> None:
    settings = settings_from({}, {"ANTHROPIC_API_KEY": "k" * 10})
    provider = settings.providers["anthropic"]

    assert (provider.kind, provider.base_url) == ("anthropic", "https://api.anthropic.com")
    assert AnthropicWire.url(provider.base_url) == "https://api.anthropic.com/v1/messages"


def test_the_provider_is_checked_with_its_key() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        good = seen.headers.get("x-api-key") == "secret-key-1" and seen.path == "/v1/models"
        send(writer, {"data": []}, status=200 if good else 401)

    async def main() -> list[Any]:
        async with serve(answer) as server:
            found = []
            for key in ("secret-key-1", "wrong-key-22"):
                settings = settings_for(
                    server.url, kind="anthropic", base_url=server.url, api_key=key
                )
                async with providers_for(settings) as providers:
                    found.append(await providers.check_provider("one"))
            return found

    good, bad = asyncio.run(main())

    assert good.ok
    assert not bad.ok
    assert "401" in bad.message
    assert "wrong-key-22" not in bad.message
