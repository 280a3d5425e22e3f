"""The task `http` against a real server."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from provider_server import (
    Answerer,
    Seen,
    Server,
    providers_for,
    send,
    serve,
    settings_for,
)

from whorl.errors import ProviderError
from whorl.providers.task import Reply, Request


def perform(
    answer: Answerer, timeout_s: float | None = None, **inputs: Any
) -> tuple[Reply, Server]:
    async def main() -> tuple[Reply, Server]:
        async with serve(answer) as server:
            given = {**inputs, "url": inputs.get("url", "/x").replace("/", f"{server.url}/", 1)}
            settings = settings_for("https://x.example", {"allow": {"private_network": True}})
            async with providers_for(settings) as providers:
                request = Request("r", "s", "http", given, key="key-7", timeout_s=timeout_s)
                return await providers.kind("http").perform(request, print), server

    return asyncio.run(main())


async def echo(seen: Seen, writer: asyncio.StreamWriter) -> None:
    send(writer, {"path": seen.path, "body": seen.body.decode(), "headers": seen.headers})


def test_a_get_gives_parsed_json() -> None:
    reply, server = perform(echo, query={"q": "a b", "n": [1, 2], "none": None, "t": True})

    value: Any = reply.value
    assert value["status"] == 200
    assert value["headers"]["content-type"] == "application/json"
    assert value["body"]["path"] == "/x?q=a+b&n=1&n=2&t=true"
    assert "idempotency-key" not in server.seen[0].headers
    assert reply.usage.calls == 1


def test_an_address_with_spaces_is_encoded() -> None:
    reply, server = perform(echo, url="/find it?q=rust ownership", query={"n": "a b"})

    value: Any = reply.value
    assert value["status"] == 200
    assert server.seen[0].path == "/find%20it?q=rust%20ownership&n=a+b"


def test_a_post_sends_json_and_an_idempotency_key() -> None:
    reply, server = perform(echo, method="post", body={"a": "ü"}, headers={"X-A": "1", "n": 2})

    value: Any = reply.value
    assert value["body"]["body"] == '{"a": "ü"}'
    headers = server.seen[0].headers
    assert headers["content-type"] == "application/json"
    assert headers["idempotency-key"] == "key-7"
    assert (headers["x-a"], headers["n"]) == ("1", "2")
    assert "authorization" not in headers


def test_json_is_sent_as_json_even_when_it_is_a_text() -> None:
    _, server = perform(echo, method="POST", json="hello")

    assert server.seen[0].body == b'"hello"'
    assert server.seen[0].headers["content-type"] == "application/json"


def test_a_text_is_sent_as_it_is() -> None:
    _, server = perform(echo, method="PUT", body="hällo", headers={"content-type": "text/csv"})

    assert server.seen[0].body == "hällo".encode()
    assert server.seen[0].headers["content-type"] == "text/csv"


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
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, content, kind=kind)

    value: Any = perform(answer)[0].value

    assert value["body"] == body
    assert (value.get("encoding") == "base64") == kind.startswith(("image", "application/octet"))


@pytest.mark.parametrize(("status", "code"), [(404, "P104"), (503, "P103"), (429, "P102")])
def test_other_statuses_are_errors_that_hold_the_reply(status: int, code: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, {"why": "so"}, status=status)

    with pytest.raises(ProviderError) as caught:
        perform(answer)

    assert caught.value.code == code
    assert caught.value.detail["status"] == status
    assert caught.value.detail["body"] == {"why": "so"}


@pytest.mark.parametrize("accepted", [404, "404", "4xx", ["2xx", 404], "any"])
def test_statuses_can_be_accepted(accepted: Any) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, {"why": "so"}, status=404)

    value: Any = perform(answer, accept_status=accepted)[0].value

    assert value["status"] == 404
    with pytest.raises(ProviderError):
        perform(answer, accept_status=[500, "5xx"])


def test_redirects_are_followed_unless_told_otherwise() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.path == "/x":
            send(writer, status=302, location="/y")
        else:
            send(writer, b"y", kind="text/plain")

    followed: Any = perform(answer)[0].value
    stayed: Any = perform(answer, follow=False, accept_status="3xx")[0].value

    assert (followed["body"], stayed["headers"]["location"]) == ("y", "/y")


def test_malformed_json() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, b"{oops")

    with pytest.raises(ProviderError) as caught:
        perform(answer)

    assert caught.value.code == "P111"


def test_the_timeout_of_the_request_is_for_all_of_it() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3600)

    with pytest.raises(ProviderError) as caught:
        perform(answer, timeout_s=0.2)

    assert caught.value.code == "P108"


@pytest.mark.parametrize(
    "inputs",
    [{"method": "BREW"}, {"headers": "x"}, {"query": [1]}, {"follow": "yes"}],
)
def test_wrong_inputs(inputs: dict[str, Any]) -> None:
    with pytest.raises(ProviderError) as caught:
        perform(echo, **inputs)

    assert caught.value.code == "P113"


def test_without_leave_a_private_address_is_refused_before_anything_is_sent() -> None:
    async def main() -> Server:
        async with serve(echo) as server:
            async with providers_for(settings_for("https://x.example")) as providers:
                request = Request("r", "s", "http", {"url": server.url})
                with pytest.raises(ProviderError, match="loopback"):
                    await providers.kind("http").perform(request, print)
            return server

    assert asyncio.run(main()).connections == 0


def test_the_address_of_a_configured_provider_gets_no_key_from_a_workflow() -> None:
    async def main() -> Server:
        async with (
            serve(echo) as server,
            providers_for(
                settings_for(server.url, {"allow": {"private_network": True}})
            ) as providers,
        ):
            request = Request("r", "s", "http", {"url": f"{server.url}/other"})
            await providers.kind("http").perform(request, print)
            return server

    assert "authorization" not in asyncio.run(main()).seen[0].headers


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
            async with providers_for(settings) as providers:
                if asked_first:
                    prompt = Request("r", "s", "ask", {"prompt": "Hi", "model": "m"})
                    await providers.kind("ask").perform(prompt, print)
                    use = Request("r", "t", "use", {"task": "own", "with": {}})
                    await providers.kind("use").perform(use, print)
                url = f"{server.url}/admin/delete"
                request = Request("r", "h", "http", {"method": "POST", "url": url})
                with pytest.raises(ProviderError) as caught:
                    await providers.kind("http").perform(request, print)
                return [seen.path for seen in server.seen], caught.value

    paths, fault = asyncio.run(main())

    assert fault.code == "P107"
    assert paths == (["/v1/chat/completions", "/task"] if asked_first else [])


def test_a_named_key_is_sent_to_its_own_host_alone() -> None:
    """Neither to the host that a redirect leads to, nor to one that a file asks for."""

    async def main() -> tuple[Server, Server, Reply, str]:
        async with serve(echo) as other:

            async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
                send(writer, {}, status=302, location=f"{other.url}/elsewhere")

            async with serve(answer) as server:
                key = {"search": {"url": server.url, "headers": {"X-Api-Key": "sek-123456"}}}
                extra = {"allow": {"private_network": True}, "keys": key}
                async with providers_for(settings_for("https://x.example", extra)) as providers:
                    kind = providers.kind("http")
                    given: Any = {"url": f"{server.url}/a", "key": "search"}
                    reply = await kind.perform(Request("r", "s", "http", given), print)
                    given = {"url": f"{other.url}/b", "key": "search"}
                    with pytest.raises(ProviderError) as fault:
                        await kind.perform(Request("r", "s", "http", given), print)
        return server, other, reply, str(fault.value)

    server, other, reply, fault = asyncio.run(main())

    value: Any = reply.value
    assert server.seen[0].headers["x-api-key"] == "sek-123456"
    assert value["body"]["path"] == "/elsewhere"
    assert [seen.path for seen in other.seen] == ["/elsewhere"]
    assert "x-api-key" not in other.seen[0].headers
    assert "key 'search' is for" in fault
