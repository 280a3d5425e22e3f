"""The OpenAI wire format against a real server: what is sent, and how answers arrive."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import (
    Answerer,
    Seen,
    Server,
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

from waiting import PATIENCE_S
from whorl.errors import ProviderError

if TYPE_CHECKING:
    from whorl.providers.task import Reply, Request

SCHEMA = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "score": {"type": "number"}},
    "required": ["approved", "score"],
    "additionalProperties": False,
}


def perform(
    answer: Answerer, request: Request | None = None, **provider: Any
) -> tuple[Reply, Server, list[str]]:
    async def main() -> tuple[Reply, Server, list[str]]:
        said: list[str] = []
        async with serve(answer) as server:
            settings = settings_for(server.url, **provider)
            async with providers_for(settings) as providers:
                reply = await providers.kind("ask").perform(request or ask(), said.append)
            return reply, server, said

    return asyncio.run(main())


def fault_of(answer: Answerer, request: Request | None = None, **provider: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        perform(answer, request, **provider)
    fault = caught.value
    assert "secret-key-1" not in str(fault) + repr(fault.detail)
    return fault


async def stream_hello(seen: Seen, writer: asyncio.StreamWriter) -> None:
    begin(writer)
    body = events(
        delta("Grüße "),
        delta("an 😀"),
        delta("", "stop"),
        {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 4}},
    )
    for byte in body:  # every character of more than one byte is cut into several chunks
        chunk(writer, bytes([byte]))
    chunk(writer, b"")


def test_a_stream_is_put_together_from_single_bytes() -> None:
    reply, server, said = perform(stream_hello)

    assert reply.value == "Grüße an 😀"
    assert said == ["Grüße ", "an 😀"]
    assert (reply.usage.calls, reply.usage.input_tokens, reply.usage.output_tokens) == (1, 11, 4)
    assert reply.detail["model"] == "one/m"
    assert reply.detail["finish"] == "stop"
    assert server.seen[0].path == "/v1/chat/completions"


def test_what_is_sent() -> None:
    request = ask("P", system="S", temperature=0.2, max_tokens=9, stop=["x"], seed=5)

    _, server, _ = perform(stream_hello, request)

    assert server.seen[0].headers["authorization"] == "Bearer secret-key-1"
    assert server.seen[0].json == {
        "model": "m",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "P"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.2,
        "max_tokens": 9,
        "stop": ["x"],
        "seed": 5,
    }


def test_a_text_that_looks_like_a_template_is_sent_as_it_is() -> None:
    _, server, _ = perform(stream_hello, ask("{{ secret }} {% if %}"))

    assert server.seen[0].json["messages"][0]["content"] == "{{ secret }} {% if %}"


def test_a_server_that_does_not_stream() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, completion("plain"))

    reply, _, said = perform(answer)

    assert reply.value == "plain"
    assert said == ["plain"]
    assert reply.usage.input_tokens == 7


def test_a_line_of_a_stream_may_be_as_long_as_a_reply() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, events(delta("word " * 400_000, "stop")), kind="text/event-stream")

    reply, _, _ = perform(answer)

    assert reply.value == "word " * 400_000


def test_half_an_emoji_in_each_of_two_events() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        body = (
            b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n'
            b'data: {"choices":[{"delta":{"content":"\\ude00b"},"finish_reason":"stop"}]}\n\n'
            b"data: [DONE]\n\n"
        )
        send(writer, body, kind="text/event-stream")

    reply, _, said = perform(answer)

    assert reply.value == "a😀b"
    assert said == ["a", "😀b"]


def test_a_lone_surrogate_is_replaced() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        body = b'{"choices":[{"message":{"content":"x\\ud800y"},"finish_reason":"stop"}]}'
        send(writer, body)

    reply, _, _ = perform(answer)

    assert reply.value == "x\ufffdy"


def test_an_answer_cut_at_its_limit_is_told() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, events(delta("half", "length")), kind="text/event-stream")

    reply, _, _ = perform(answer)

    assert reply.detail["finish"] == "length"
    assert "own limit" in str(reply.detail["warnings"])


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "P104", False),
        (401, "P104", False),
        (403, "P104", False),
        (404, "P104", False),
        (408, "P104", True),
        (429, "P102", True),
        (500, "P103", True),
        (503, "P103", True),
        (529, "P103", True),
    ],
)
def test_statuses(status: int, code: str, retryable: bool) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        said = {"error": {"message": f"no: {seen.headers['authorization']}"}}
        send(writer, said, status=status)

    fault = fault_of(answer)

    assert (fault.code, fault.retryable) == (code, retryable)
    assert fault.detail["status"] == status
    assert "POST http://127.0.0.1" in str(fault)
    assert "***" in str(fault)


@pytest.mark.parametrize(("header", "seconds"), [("2", 2.0), ("0.5", 0.5), ("9999", 60.0)])
def test_retry_after_is_read_and_capped(header: str, seconds: float) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, {}, status=429, retry_after=header)

    assert fault_of(answer).retry_after_s == seconds


def test_retry_after_as_a_date() -> None:
    from email.utils import formatdate

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, {}, status=503, retry_after=formatdate(time.time() + 30, usegmt=True))

    found = fault_of(answer).retry_after_s

    assert found is not None
    assert 25 <= found <= 31


def test_nobody_listens() -> None:
    async def main() -> None:
        async with serve(stream_hello) as server:
            url = server.url
        async with providers_for(settings_for(url)) as providers:
            await providers.kind("ask").perform(ask(), print)

    with pytest.raises(ProviderError) as caught:
        asyncio.run(main())

    assert (caught.value.code, caught.value.retryable) == ("P101", True)


def test_connection_reset() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    fault = fault_of(answer)

    assert (fault.code, fault.retryable) == ("P101", True)


def test_a_stream_that_ends_too_early() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, events(delta("half of the answer"), done=False), kind="text/event-stream")

    fault = fault_of(answer, extra={"prices": {"m": {"input": 1000.0, "output": 10000.0}}})

    assert (fault.code, fault.retryable) == ("P111", True)
    assert fault.detail["partial"] == "half of the answer"
    usage = fault.detail["usage"]
    assert isinstance(usage, dict)
    assert (usage["calls"], usage["input_tokens"], usage["output_tokens"]) == (1, 5, 5)
    assert usage["cost_usd"] == pytest.approx(0.055)


def test_a_stream_whose_connection_breaks() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer)
        chunk(writer, events(delta("half"), done=False))
        await writer.drain()
        writer.close()

    fault = fault_of(answer)

    assert (fault.code, fault.retryable) == ("P111", True)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{not json", "application/json"),
        (b"[1, 2]", "application/json"),
        (b"{}", "application/json"),
        (b'{"choices": []}', "application/json"),
        (b"", "application/json"),
        (b"<html>hello</html>", "text/html"),
        (b"data: {not json\n\n", "text/event-stream"),
        (b"", "text/event-stream"),
        (b"[" * 100_000, "application/json"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "application/json"),
    ],
)
def test_malformed_replies(body: bytes, kind: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, body, kind=kind)

    assert fault_of(answer).code == "P111"


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"message": "slow down", "code": 429}, "P102", True),
        ({"message": "oops", "type": "server_error"}, "P103", True),
        ({"message": "rate", "type": "rate_limit_error"}, "P102", True),
        ({"message": "bad", "type": "invalid_request_error"}, "P104", False),
        ("broken", "P103", True),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_errors_inside_a_success(error: Any, code: str, retryable: bool, streamed: bool) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if streamed:
            send(writer, events({"error": error}), kind="text/event-stream")
        else:
            send(writer, {"error": error})

    fault = fault_of(answer)

    assert (fault.code, fault.retryable) == (code, retryable)


def test_a_server_that_drips_is_stopped_by_the_deadline() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer)
        while True:
            chunk(writer, b": still here\n\n")
            await writer.drain()
            await asyncio.sleep(0.02)

    fault = fault_of(answer, ask(timeout_s=0.3))

    assert (fault.code, fault.retryable) == ("P108", True)


@pytest.mark.parametrize("piece", [b"x" * 100_000, b": " + b"x" * 100_000 + b"\n"])
def test_a_stream_without_end(piece: bytes) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer)
        while True:
            chunk(writer, piece)
            await writer.drain()

    assert fault_of(answer, ask(timeout_s=PATIENCE_S)).code == "P106"


def test_the_timeout_of_the_provider_holds_too() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3600)

    assert fault_of(answer, timeout_s=0.2).code == "P108"


@pytest.mark.parametrize(
    "text",
    [
        '{"approved": true, "score": 0.5}',
        'Sure!\n```json\n{"approved": true, "score": 0.5}\n```\nAnything else?',
        'I think {"approved": true, "score": 0.5} is right',
        '<think>{"approved": false}</think>{"approved": true, "score": 0.5}',
    ],
)
def test_typed_answers_are_found(text: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, completion(text))

    reply, server, _ = perform(answer, ask(returns=SCHEMA))

    assert reply.value == {"approved": True, "score": 0.5}
    sent = server.seen[0].json
    assert sent["response_format"]["json_schema"]["strict"] is True
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert '"approved"' in sent["messages"][0]["content"]


def test_a_typed_answer_that_does_not_fit_is_told_and_paid_for() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, completion('{"approved": "yes"}'))

    fault = fault_of(answer, ask(returns=SCHEMA))

    assert (fault.code, fault.retryable) == ("P105", False)
    assert fault.detail["answer"] == '{"approved": "yes"}'
    errors = fault.detail["errors"]
    assert errors == ["$ needs 'score'", "$.approved must be boolean, not string"]
    usage = fault.detail["usage"]
    assert isinstance(usage, dict)
    assert usage["output_tokens"] == 3


def test_fields_that_returns_does_not_name_are_kept_apart() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, completion('{"approved": true, "score": 1, "criteria": [1]}'))

    reply, _, _ = perform(answer, ask(returns=SCHEMA))
    fault = fault_of(answer, ask(returns=SCHEMA, strict=True))

    assert reply.value == {"approved": True, "score": 1}
    assert reply.detail["extra"] == {"criteria": [1]}
    assert "does not fit: it has a field 'criteria' that `returns` does not name" in str(fault)


def test_a_repair_shows_the_wrong_answer_and_why() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, completion('{"approved": true, "score": 1}'))

    repair = {"answer": '{"approved": 1}', "errors": ["$ needs 'score'"]}
    _, server, _ = perform(answer, ask(returns=SCHEMA, repair=repair))

    messages = server.seen[0].json["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == '{"approved": 1}'
    assert "$ needs 'score'" in messages[3]["content"]


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("response_format", "response_format is not supported"),
        ("temperature", "Unsupported value: 'temperature' does not support 0.1"),
        ("stream_options", "unknown field stream_options"),
    ],
)
def test_a_field_that_the_server_refuses_is_left_out(field: str, said: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if field in seen.json:
            send(writer, {"error": {"message": said}}, status=400)
        else:
            send(writer, completion('{"approved": true, "score": 1}'))

    reply, server, _ = perform(answer, ask(returns=SCHEMA, temperature=0.1))

    assert reply.value == {"approved": True, "score": 1}
    assert reply.detail["left_out"] == [field]
    assert len(server.seen) == 2


def test_the_new_name_of_max_tokens_is_learned() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if "max_tokens" in seen.json:
            said = "'max_tokens' is not supported, use 'max_completion_tokens'"
            send(writer, {"error": {"message": said}}, status=400)
        else:
            send(writer, completion(str(seen.json["max_completion_tokens"])))

    reply, _, _ = perform(answer, ask(max_tokens=12))

    assert reply.value == "12"


@pytest.mark.parametrize("bad", [-5, float("nan"), "many", None, True, 1e300])
def test_wrong_usage_cannot_lower_spending(bad: Any) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        body = completion("four words of text", 1, 1)
        body["usage"] = {"prompt_tokens": 0, "completion_tokens": bad}
        send(writer, body)

    prices = {"prices": {"m": {"input": 1000.0, "output": 10000.0}}}
    reply, _, _ = perform(answer, extra=prices)

    assert reply.usage.output_tokens == 5
    assert reply.usage.cost_usd == pytest.approx(0.05)
    assert reply.detail["usage_estimated"] is True


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/octet-stream"])
def test_a_stream_that_says_it_is_something_else(kind: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, events(delta("a"), delta("b", "stop")), kind=kind)

    reply, _, said = perform(answer)

    assert (reply.value, said) == ("ab", ["a", "b"])


def test_the_key_of_a_call_is_sent_and_changes_with_its_body() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if "temperature" in seen.json:
            send(writer, {"error": {"message": "temperature?"}}, status=400)
        else:
            send(writer, completion("ok"))

    _, server, _ = perform(answer, ask(temperature=0.5))

    assert [seen.headers["idempotency-key"] for seen in server.seen] == ["k1", "k1-1"]


def test_a_server_that_does_not_end_its_stream_holds_nothing_up() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer)
        chunk(writer, events(delta("whole", "stop")))
        await writer.drain()
        await asyncio.sleep(3600)

    reply, _, _ = perform(answer)

    assert reply.value == "whole"


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
        async with (
            serve(answer) as server,
            providers_for(settings_for(server.url)) as providers,
        ):
            for _ in range(5):
                await providers.kind("ask").perform(ask(), lambda _: None)
            return server.connections

    assert asyncio.run(main()) == 1
