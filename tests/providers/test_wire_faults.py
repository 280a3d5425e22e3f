"""Everything that goes wrong on a network, with real bytes, in each wire format."""

from __future__ import annotations

import asyncio
import json
import time
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import answering, ask, begin, chunk, send
from wires import KEY, OLLAMA, OPENAI, Format, every_format, fault_of

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from provider_server import Seen


STREAMED = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])


@every_format
@STREAMED
@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        *((status, "P104", False) for status in (400, 401, 403)),
        *((402, "P128", False), (404, "P127", False), (413, "P106", False)),
        *((408, "P104", True), (429, "P102", True)),
        *((status, "P103", True) for status in (500, 503, 529)),
    ],
)
def test_statuses(form: Format, stream: bool, status: int, code: str, retryable: bool) -> None:
    answer = answering(form.error(f"no such luck: {KEY}"), status=status, retry_after="7")

    fault = fault_of(form, answer, stream=stream)

    assert (fault.code, fault.retryable, fault.retry_after_s) == (code, retryable, 7.0)
    assert fault.detail["status"] == status
    assert "no such luck: ***" in str(fault)
    assert "POST http://127.0.0.1" in str(fault)
    assert f"{form.path} gave status {status}" in str(fault)
    assert ("second model" in str(fault)) == (status == 529)


@every_format
@STREAMED
def test_retry_after_is_at_most_a_minute(form: Format, stream: bool) -> None:
    soon = formatdate(time.time() + 30, usegmt=True)
    for header, least, most in (
        *(("0.5", 0.5, 0.5), ("99999", 60, 60), ("Wed, 21 Oct 2099 07:28:00 GMT", 60, 60)),
        *((soon, 1, 31),),
    ):
        answer = answering({}, status=429, retry_after=header)
        wait_s = fault_of(form, answer, stream=stream).retry_after_s

        assert wait_s is not None
        assert least <= wait_s <= most


@every_format
@pytest.mark.parametrize("how", ["ends", "is reset"])
def test_a_truncated_stream_is_paid_for_as_far_as_it_came(form: Format, how: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer, kind=form.stream_type)
        for piece in form.pieces(["half of ", "the answer"])[:-2]:
            chunk(writer, piece)
        await writer.drain()
        if how == "ends":
            chunk(writer, b"")
        else:
            await asyncio.sleep(0.05)  # what was written must arrive before the reset
            writer.transport.abort()

    prices = {"prices": {"m": {"input": 1000.0, "output": 10000.0}}}
    fault = fault_of(form, answer, extra=prices)

    assert fault.retryable
    assert fault.code in (("P111",) if how == "ends" else ("P111", "P101"))
    assert str(fault.detail["partial"]).startswith("half of ")
    usage: Any = fault.detail["usage"]
    assert usage["calls"] == 1
    assert usage["output_tokens"] >= 2
    tokens = usage["input_tokens"], usage["output_tokens"]
    assert usage["cost_usd"] == pytest.approx(tokens[0] / 1000 + tokens[1] / 100)


DAMAGED = {
    "broken": b"{not json",
    "empty object": b"{}",
    "no choice": b'{"choices": []}',
    "nothing": b"",
    "deep list": b"[" * 100_000,
    "deep object": b'{"a":' * 500,
    "deep and whole": b'{"a":' * 500 + b"1" + b"}" * 500,
}


@every_format
@STREAMED
@pytest.mark.parametrize("name", DAMAGED)
def test_malformed_replies(form: Format, stream: bool, name: str) -> None:
    body = DAMAGED[name]
    if stream and form is not OLLAMA and body:
        body = b"data: " + body + b"\n\n"
    kind = form.stream_type if stream else "application/json"

    assert fault_of(form, answering(body, kind=kind), stream=stream).code == "P111"


@pytest.mark.parametrize("piece", [b"x" * 100_000, b": " + b"x" * 100_000 + b"\n"])
def test_a_stream_without_end(piece: bytes) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer)
        while True:
            chunk(writer, piece)
            await writer.drain()

    assert fault_of(OPENAI, answer, ask(timeout_s=PATIENCE_S)).code == "P106"


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
