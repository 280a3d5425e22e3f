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


def test_a_get_gives_parsed_json() -> None:
    query = {"q": "a b", "n": [1, 2], "none": None, "t": True}
    value, reply, server = perform(echo, url="/find it?a=rust ownership", query=query)

    assert value["status"] == 200
    assert value["headers"]["content-type"] == "application/json"
    assert value["body"]["path"] == "/find%20it?a=rust%20ownership&q=a+b&n=1&n=2&t=true"
    assert "idempotency-key" not in server.seen[0].headers
    assert reply.usage.calls == 1


def test_a_post_sends_json_and_an_idempotency_key() -> None:
    _, _, server = perform(echo, method="post", body={"a": "ü"}, headers={"X-A": "1", "n": 2})

    headers = server.seen[0].headers
    assert server.seen[0].body == '{"a": "ü"}'.encode()
    assert headers["content-type"] == "application/json"
    assert headers["idempotency-key"] == "key-7"
    assert (headers["x-a"], headers["n"]) == ("1", "2")
    assert "authorization" not in headers


@pytest.mark.parametrize(
    ("inputs", "body", "kind"),
    [({"body": "hällo", "headers": {"content-type": "text/csv"}}, "hällo", "text/csv")],
)
def test_a_text_is_sent_as_it_is(inputs: dict[str, Any], body: str, kind: str) -> None:
    _, _, server = perform(echo, **{"method": "PUT", **inputs})

    assert server.seen[0].body == body.encode()
    assert server.seen[0].headers["content-type"] == kind


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


@pytest.mark.parametrize(("status", "code"), [(404, "P104"), (503, "P103"), (429, "P102")])
def test_other_statuses_are_errors_that_hold_the_reply(status: int, code: str) -> None:
    fault = fault_of(answering({"why": "so"}, status=status))

    assert fault.code == code
    assert fault.detail["status"] == status
    assert fault.detail["body"] == {"why": "so"}


@pytest.mark.parametrize("accepted", [404, "404", "4xx", ["2xx", 404], "any"])
def test_statuses_can_be_accepted(accepted: Any) -> None:
    answer = answering({"why": "so"}, status=404)

    assert perform(answer, accept_status=accepted)[0]["status"] == 404
    assert fault_of(answer, accept_status=[500, "5xx"]).code == "P104"


def test_what_is_no_answer() -> None:
    assert fault_of(answering(b"{oops")).code == "P111"
    # The timeout of the request is for all of it.
    assert fault_of(hang, timeout_s=0.2).code == "P108"


@pytest.mark.parametrize("inputs", [{"method": "BREW"}, {"headers": "x"}, {"query": [1]}])
def test_wrong_inputs(inputs: dict[str, Any]) -> None:
    assert fault_of(echo, **inputs).code == "P113"


async def answer_or_move(seen: Seen, writer: asyncio.StreamWriter) -> None:
    """A model's server, which also has a path for its operator; `/moved` leads to that."""
    if seen.path == "/moved":
        send(writer, {}, status=307, location="/admin/delete")
    else:
        send(writer, {"choices": [{"message": {"role": "assistant", "content": "yes"}}]})


@pytest.mark.parametrize("asked_first", [False, True])
def test_the_address_of_a_provider_is_open_to_its_own_calls_only(asked_first: bool) -> None:
    """Also while a connection to it is kept open from such a call."""

    async def main() -> tuple[list[str], ProviderError]:
        async with serve(answer_or_move) as server:
            settings = settings_for(server.url, {"tasks": {"own": f"{server.url}/task"}})
            prompt = Request("r", "s", "ask", {"prompt": "Hi", "model": "m"})
            use = Request("r", "t", "use", {"task": "own", "with": {}})
            inputs = {"method": "POST", "url": f"{server.url}/admin/delete"}
            asked = (prompt, use) if asked_first else ()
            found = await said_by(settings, *asked, Request("r", "h", "http", inputs))
            return [seen.path for seen in server.seen], found[-1]

    paths, fault = asyncio.run(main())

    assert fault.code == "P107"
    assert paths == (["/v1/chat/completions", "/task"] if asked_first else [])


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
