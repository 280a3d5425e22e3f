"""The task `http` against a real server."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import answering, hang, said_by, send, serve, settings_for

from whorl.errors import ProviderError
from whorl.providers.task import Reply, Request

if TYPE_CHECKING:
    from provider_server import Answerer, Seen, Server

LEAVE = {"allow": {"private_network": True}}


def results(
    answer: Answerer, timeout_s: float | None = None, **inputs: Any
) -> tuple[Reply | ProviderError, Server]:
    async def main() -> tuple[Reply | ProviderError, Server]:
        async with serve(answer) as server:
            given = {**inputs, "url": inputs.get("url", "/x").replace("/", f"{server.url}/", 1)}
            request = Request("r", "s", "http", given, key="key-7", timeout_s=timeout_s)
            (found,) = await said_by(settings_for("https://x.example", LEAVE), request)
            return found, server

    return asyncio.run(main())


def perform(answer: Answerer, **inputs: Any) -> tuple[Any, Reply, Server]:
    reply, server = results(answer, **inputs)
    assert isinstance(reply, Reply), reply
    return reply.value, reply, server


def fault_of(answer: Answerer, **inputs: Any) -> ProviderError:
    fault, _ = results(answer, **inputs)
    assert isinstance(fault, ProviderError)
    return fault


async def echo(seen: Seen, writer: asyncio.StreamWriter) -> None:
    send(writer, {"path": seen.path, "body": seen.body.decode(), "headers": seen.headers})


@pytest.mark.parametrize(
    ("kind", "content", "body"),
    [
        ("text/plain; charset=utf-8", "grün".encode(), "grün"),
        ("text/html; charset=ISO-8859-1", "grün".encode("latin-1"), "grün"),
        ("application/problem+json", b'{"a": 1}', {"a": 1}),
        ("application/octet-stream", b"\0\1\2", base64.b64encode(b"\0\1\2").decode()),
        ("image/png", b"\x89PNG", base64.b64encode(b"\x89PNG").decode()),
        ("text/plain", b"", ""),
    ],
)
def test_kinds_of_content(kind: str, content: bytes, body: Any) -> None:
    value, _, _ = perform(answering(content, kind=kind))

    assert value["body"] == body
    assert (value.get("encoding") == "base64") == kind.startswith(("image", "application/octet"))


def test_what_is_no_answer() -> None:
    assert fault_of(answering(b"{oops")).code == "P111"
    # The timeout of the request is for all of it.
    assert fault_of(hang, timeout_s=0.2).code == "P108"


@pytest.mark.parametrize("inputs", [{"method": "BREW"}, {"headers": "x"}, {"query": [1]}])
def test_wrong_inputs(inputs: dict[str, Any]) -> None:
    assert fault_of(echo, **inputs).code == "P113"


def test_a_named_key_is_sent_to_its_own_host_alone() -> None:
    """Neither to the host that a redirect leads to, nor to one that a file asks for."""

    async def main() -> tuple[Server, Server, Any, Any]:
        async with serve(echo) as other:
            move = answering({}, status=302, location=f"{other.url}/elsewhere")
            async with serve(move) as server:
                key = {"search": {"url": server.url, "headers": {"X-Api-Key": "sek-123456"}}}
                urls = (f"{server.url}/a", f"{other.url}/b")
                asked = [Request("r", "s", "http", {"url": u, "key": "search"}) for u in urls]
                found = await said_by(
                    settings_for("https://x.example", LEAVE | {"keys": key}), *asked
                )
        return server, other, *found

    server, other, reply, fault = asyncio.run(main())

    assert server.seen[0].headers["x-api-key"] == "sek-123456"
    assert reply.value["body"]["path"] == "/elsewhere"
    assert [seen.path for seen in other.seen] == ["/elsewhere"]
    assert "x-api-key" not in other.seen[0].headers
    assert "key 'search' is for" in str(fault)
