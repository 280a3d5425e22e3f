"""Everything that goes wrong on a network, with real bytes, in each wire format."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import pytest
from provider_server import ask, begin, chunk, providers_for, send, serve
from wires import ANTHROPIC, FORMATS, OPENAI, Format, every_format, fault_of, perform

from waiting import PATIENCE_S
from whorl.errors import ProviderError

if TYPE_CHECKING:
    from provider_server import Answerer, Seen

STREAMED = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
MEMORY_MAX = 64_000_000


def answering(status: int, body: object, **headers: str) -> Answerer:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, body, status=status, **headers)

    return answer


@every_format
@STREAMED
@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "P104", False),
        (401, "P104", False),
        (404, "P104", False),
        (413, "P104", False),
        (429, "P102", True),
        (500, "P103", True),
        (503, "P103", True),
        (529, "P103", True),
    ],
)
def test_statuses(form: Format, stream: bool, status: int, code: str, retryable: bool) -> None:
    answer = answering(status, form.error("no such luck"), retry_after="7")

    fault = fault_of(form, answer, stream=stream)

    assert (fault.code, fault.retryable, fault.retry_after_s) == (code, retryable, 7.0)
    assert fault.detail["status"] == status
    assert "no such luck" in str(fault)
    assert f"{form.path} gave status {status}" in str(fault)


@pytest.mark.parametrize("form", [OPENAI, ANTHROPIC], ids=lambda form: form.kind)
@pytest.mark.parametrize("said", ["the upstream server is away", "no stream today"])
def test_a_refusal_of_one_question_does_not_end_streaming(form: Format, said: str) -> None:
    """A refusal that another body does not mend says nothing about the fields of the body."""

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if "Bad" in seen.body.decode():
            send(writer, form.error(said), status=400)
            return
        begin(writer, kind=form.stream_type)
        for piece in (*form.pieces(["good"]), b""):
            chunk(writer, piece)

    async def main() -> tuple[list[Seen], str]:
        async with (
            serve(answer) as server,
            providers_for(form.settings(server.url)) as providers,
        ):
            kind = providers.kind("ask")
            with pytest.raises(ProviderError) as caught:
                await kind.perform(ask("Bad"), lambda _: None)
            reply = await kind.perform(ask("Good"), lambda _: None)
            assert reply.value == "good"
            assert "left_out" not in reply.detail
            return server.seen, str(caught.value)

    seen, fault = asyncio.run(main())
    assert said in fault
    assert seen[-1].json["stream"] is True
    assert len(seen) == (2 if "upstream" in said else 3)


@every_format
@STREAMED
@pytest.mark.parametrize("header", ["99999", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_retry_after_is_at_most_a_minute(form: Format, stream: bool, header: str) -> None:
    fault = fault_of(form, answering(429, {}, retry_after=header), stream=stream)

    assert fault.retry_after_s == 60.0


@every_format
@STREAMED
def test_connection_reset(form: Format, stream: bool) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    fault = fault_of(form, answer, stream=stream)

    assert (fault.code, fault.retryable) == ("P101", True)


@every_format
@pytest.mark.parametrize("how", ["ends", "breaks", "is reset"])
def test_a_truncated_stream_is_paid_for_as_far_as_it_came(form: Format, how: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer, kind=form.stream_type)
        for piece in form.pieces(["half of ", "the answer"])[:-2]:
            chunk(writer, piece)
        await writer.drain()
        if how == "ends":
            chunk(writer, b"")
        elif how == "breaks":
            writer.close()
        else:
            await asyncio.sleep(0.05)  # what was written must arrive before the reset
            writer.transport.abort()

    fault = fault_of(form, answer)

    assert fault.retryable
    assert fault.code in ("P111", "P101")
    assert str(fault.detail["partial"]).startswith("half of ")
    usage = fault.detail["usage"]
    assert isinstance(usage, dict)
    assert usage["output_tokens"] >= 2


@every_format
@STREAMED
@pytest.mark.parametrize(
    "body",
    [b"{not json", b"[1, 2]", b"{}", b'"text"', b"", b"[" * 100_000, b'{"a":' * 500],
    ids=["broken", "list", "empty object", "text", "nothing", "deep list", "deep object"],
)
def test_malformed_replies(form: Format, stream: bool, body: bytes) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if stream and form.stream_type == "text/event-stream":
            send(writer, b"data: " + body + b"\n\n", kind=form.stream_type)
        else:
            send(writer, body, kind=form.stream_type if stream else "application/json")

    fault = fault_of(form, answer, stream=stream)

    assert fault.code == "P111"


@every_format
@STREAMED
@pytest.mark.parametrize("kind", ["text/html", "image/png", "application/xml"])
def test_a_page_in_place_of_an_answer(form: Format, stream: bool, kind: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, b"<html><body>Welcome to the proxy</body></html>", kind=kind)

    assert fault_of(form, answer, stream=stream).code == "P111"


@every_format
@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/octet-stream"])
def test_a_stream_with_another_content_type(form: Format, kind: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, b"".join(form.pieces(["a", "b"])), kind=kind)

    reply, _, said = perform(form, answer)

    assert (reply.value, said) == ("ab", ["a", "b"])


@every_format
def test_a_plain_reply_where_a_stream_was_asked_for(form: Format) -> None:
    reply, server, said = perform(form, answering(200, form.plain("plain")))

    assert (reply.value, said) == ("plain", ["plain"])
    assert server.seen[0].json["stream"] is True
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 3)


@every_format
@STREAMED
def test_characters_split_over_chunks(form: Format, stream: bool) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer, kind=form.stream_type if stream else "application/json")
        whole = json.dumps(form.plain("Grüße an 😀"), ensure_ascii=False).encode()
        body = b"".join(form.pieces(["Grüße ", "an 😀"])) if stream else whole
        for byte in body:
            chunk(writer, bytes([byte]))
        chunk(writer, b"")

    reply, server, said = perform(form, answer, stream=stream)

    assert reply.value == "".join(said) == "Grüße an 😀"
    assert server.seen[0].path == form.path


@pytest.mark.slow
@pytest.mark.sample(5)
@every_format
@STREAMED
@pytest.mark.parametrize("packed", [False, True], ids=["50 MB", "gzip bomb"])
def test_replies_without_end_cost_no_memory(form: Format, stream: bool, packed: bool) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        kind = form.stream_type if stream else "application/json"
        begin(writer, kind=kind, extra="content-encoding: gzip\r\n" if packed else "")
        press = zlib.compressobj(wbits=31) if packed else None
        for _ in range(50):
            piece = b"x" * 1_000_000
            raw = piece if press is None else press.compress(piece)
            if raw:
                chunk(writer, raw)
                await writer.drain()
        if press is not None:
            chunk(writer, press.flush())
        chunk(writer, b"")

    tracemalloc.start()
    try:
        fault = fault_of(form, answer, ask(timeout_s=PATIENCE_S), stream=stream)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (fault.code, fault.retryable) == ("P106", False)
    assert peak < MEMORY_MAX


@every_format
@STREAMED
def test_a_server_that_drips_is_stopped_by_the_deadline(form: Format, stream: bool) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer, kind=form.stream_type if stream else "application/json")
        while True:
            chunk(writer, b"\n")
            await writer.drain()
            await asyncio.sleep(0.02)

    fault = fault_of(form, answer, ask(timeout_s=0.3), stream=stream)

    assert (fault.code, fault.retryable) == ("P108", True)


@every_format
def test_an_error_in_the_middle_of_a_stream(form: Format) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        pieces = form.pieces(["some text"])
        error = json.dumps(form.error("it broke")).encode()
        last = error + b"\n" if form.kind == "ollama" else b"data: " + error + b"\n\n"
        at = next(n for n, piece in enumerate(pieces) if b"some text" in piece)
        send(writer, b"".join(pieces[: at + 1]) + last, kind=form.stream_type)

    fault = fault_of(form, answer)

    assert (fault.code, fault.retryable) == ("P103", True)
    assert "it broke" in str(fault)
    assert fault.detail["partial"] == "some text"


@every_format
def test_a_server_that_does_not_end_its_stream_holds_nothing_up(form: Format) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer, kind=form.stream_type)
        for piece in form.pieces(["whole"]):
            chunk(writer, piece)
        await writer.drain()
        await asyncio.sleep(3600)

    reply, _, _ = perform(form, answer)

    assert reply.value == "whole"


@pytest.mark.parametrize("first", FORMATS, ids=lambda form: form.kind)
@pytest.mark.parametrize("second", FORMATS, ids=lambda form: form.kind)
def test_another_wire_takes_over(first: Format, second: Format) -> None:
    from provider_server import providers_for, serve

    from whorl.providers.settings.sections import settings_from

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.json["model"] == "bad":
            send(writer, first.error("overloaded"), status=529)
        else:
            send(writer, b"".join(second.pieces(["rescued"])), kind=second.stream_type)

    async def main() -> tuple[object, object, list[str]]:
        async with serve(answer) as server:
            table = {
                "providers": {
                    "one": {"kind": first.kind, "base_url": server.url, "api_key": "key-of-one"},
                    "two": {"kind": second.kind, "base_url": server.url, "api_key": "key-of-two"},
                }
            }
            async with providers_for(settings_from(table, {})) as providers:
                request = ask(model=["one/bad", "two/good"])
                reply = await providers.kind("ask").perform(request, lambda _: None)
                return reply.value, reply.detail, [seen.path for seen in server.seen]

    value, detail, paths = asyncio.run(main())

    assert value == "rescued"
    assert isinstance(detail, dict)
    assert detail["model"] == "two/good"
    assert "one/bad: POST" in detail["tried"][0]
    assert paths == [first.path, second.path]
