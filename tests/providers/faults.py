"""What can go wrong between a run and a provider, numbered; each with what has to come of it (T5).

An answerer writes real bytes. The number of a call counts from 1, so that a fault may pass.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from provider_server import begin, chunk, completion, delta, events, send

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from provider_server import Seen

KEY = "sk-very-secret-key-0123456789"
ANSWER = "the answer"


@dataclass(frozen=True)
class Fault:
    """How a provider answers, and what is documented for it."""

    answer: Callable[[Seen, asyncio.StreamWriter, int], Awaitable[None]]
    # The code of each failed try; none: the reply is taken.
    code: str = ""
    # Whether another try is made, and whether nobody knows what became of the call.
    retried: bool = False
    in_doubt: bool = False
    # How long the run waits before the next try, where the provider says so.
    waits_s: float | None = None
    # The first try that is answered well; 0: none is.
    well_at: int = 0
    # There is no server, or none of that name.
    base_url: str = ""
    provider: dict[str, Any] = field(default_factory=dict)


def _status(status: int, body: Any = None, **headers: str) -> Any:
    async def answer(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
        send(writer, body or _error("no such luck"), status=status, **headers)

    return answer


def _error(message: str, code: str = "x") -> dict[str, Any]:
    return {"error": {"message": message, "type": code, "code": code}}


def _body(body: Any, kind: str = "application/json", **headers: str) -> Any:
    async def answer(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
        send(writer, body, kind=kind, **headers)

    return answer


def _raw(sent: bytes) -> Any:
    async def answer(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(sent)
        await writer.drain()
        writer.close()

    return answer


async def _reset(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    writer.transport.abort()


async def _never(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    await asyncio.Event().wait()


async def _drip_head(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
    await _drip(writer, b"x")


async def _drip_body(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    begin(writer)
    await _drip(writer, b"1\r\n\n\r\n")


async def _drip(writer: asyncio.StreamWriter, piece: bytes) -> None:
    while True:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(1)


async def _passing(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    if number < 3:
        send(writer, _error("busy"), status=503)
    else:
        send(writer, completion(ANSWER))


async def _elsewhere(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    """To the address at which clouds hand out credentials."""
    send(writer, b"", status=307, location="http://169.254.169.254/latest/meta-data/")


async def _round(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    send(writer, b"", status=307, location=seen.path)


async def _large(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    begin(writer, kind="application/json")
    for _ in range(50):
        chunk(writer, b"x" * 1_000_000)
        await writer.drain()


async def _bomb(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    send(writer, _PACKED, content_encoding="gzip")


async def _endless(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    begin(writer)
    piece = events(delta("x" * 100_000), done=False)
    while True:
        chunk(writer, piece)
        await writer.drain()


async def _cut_off(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    begin(writer)
    chunk(writer, events(delta("half of it"), done=False))
    await writer.drain()
    writer.close()


async def _lost(seen: Seen, writer: asyncio.StreamWriter, number: int) -> None:
    """It is carried out, and the first reply is lost on its way."""
    if number == 1:
        writer.transport.abort()
    else:
        send(writer, completion(ANSWER))


def _broken_stream() -> bytes:
    error = f"data: {json.dumps(_error('it broke'))}\n\n".encode()
    return events(delta("some"), done=False) + error


def _usage(prompt: Any, answer: Any) -> bytes:
    body = json.dumps(completion(ANSWER, "PROMPT", "ANSWER"))
    return body.replace('"PROMPT"', prompt).replace('"ANSWER"', answer).encode()


def _again(answer: Any, code: str, **more: Any) -> Fault:
    return Fault(answer, code, retried=True, **more)


def _unknown(answer: Any, code: str, **more: Any) -> Fault:
    return _again(answer, code, in_doubt=True, **more)


# Nobody waits that long: the time of these tests jumps once a request has arrived.
_SLOW = {"timeout_s": 30}
_PACKED = gzip.compress(bytes(50_000_000), 1)

FAULTS = {
    "P-01 nobody listens": _again(_never, "P101", base_url="http://127.0.0.1:9/v1"),
    "P-02 the name is not known": _again(_never, "P101", base_url="http://nowhere.invalid/v1"),
    "P-03 the connection is reset": _unknown(_reset, "P101"),
    "P-04 it hangs up": _unknown(_raw(b""), "P101"),
    "P-05 it speaks something else": _unknown(_raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "P111"),
    "P-06 it never answers": _unknown(_never, "P108", provider=_SLOW),
    "P-07 its head comes byte by byte": _unknown(_drip_head, "P108", provider=_SLOW),
    "P-08 its body comes byte by byte": _unknown(_drip_body, "P108", provider=_SLOW),
    "P-09 400": Fault(_status(400), "P104"),
    "P-10 401 that repeats the key": Fault(_status(401, _error(f"bad key {KEY}")), "P104"),
    "P-11 403": Fault(_status(403), "P104"),
    "P-12 404": Fault(_status(404, _error("no such model", "model_not_found")), "P127"),
    "P-13 the prompt is too long": Fault(
        _status(400, _error("too many", "context_length_exceeded")), "P106"
    ),
    "P-14 429, wait seven seconds": _again(_status(429, retry_after="7"), "P102", waits_s=7),
    "P-15 429, wait a day": _again(_status(429, retry_after="86400"), "P102", waits_s=60),
    "P-16 429, wait until 2099": _again(
        _status(429, retry_after="Wed, 21 Oct 2099 07:28:00 GMT"), "P102", waits_s=60
    ),
    "P-17 429, no credit left": Fault(_status(429, _error("quota", "insufficient_quota")), "P128"),
    "P-18 500": _again(_status(500), "P103"),
    "P-19 503 twice": _again(_passing, "P103", well_at=3),
    "P-20 529": _again(_status(529), "P103"),
    "P-21 sent on to a private address": Fault(_elsewhere, "P104"),
    "P-22 sent round in a circle": Fault(_round, "P104"),
    "P-23 an empty body": _again(_body(b""), "P111"),
    "P-24 broken JSON": _again(_body(b'{"choices": ['), "P111"),
    "P-25 JSON of a hundred thousand levels": _again(_body(b"[" * 100_000), "P111"),
    "P-26 the page of a proxy": _again(_body(b"<html>Welcome</html>", "text/html"), "P111"),
    "P-27 fifty megabytes": Fault(_large, "P106"),
    "P-28 fifty megabytes in a few": Fault(_bomb, "P106"),
    "P-29 a stream without end": Fault(_endless, "P106"),
    "P-30 a stream that is cut off": _unknown(_cut_off, "P111"),
    "P-31 a stream with an error in it": _again(
        _body(_broken_stream(), "text/event-stream"), "P103"
    ),
    "P-32 neither text nor refusal": _again(_body(completion("")), "P111"),
    "P-33 it was used less than nothing": Fault(_body(_usage("-9000", "-1e9")), well_at=1),
    "P-34 it is done and the reply is lost": _unknown(_lost, "P101", well_at=2),
}
