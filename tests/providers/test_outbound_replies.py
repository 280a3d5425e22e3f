"""Replies that are too long, too small for what they hold, damaged or cut off."""

from __future__ import annotations

import gzip
import resource
import zlib
from typing import TYPE_CHECKING

import pytest
from provider_server import Seen, begin, chunk, send, with_server

from whorl.errors import ProviderError
from whorl.providers.outbound.client import Call

if TYPE_CHECKING:
    import asyncio


def test_a_reply_of_fifty_megabytes_is_refused_without_being_held() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer, kind="text/plain")
        for _ in range(50):
            chunk(writer, b"x" * 1_000_000)
            await writer.drain()

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ProviderError) as caught:
        with_server(answer, lambda out, s: out.request(Call(method="GET", url=s.url)))

    assert caught.value.code == "P106"
    assert "10,000,000" in str(caught.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000


def test_a_long_reply_that_says_so_is_not_even_read() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 50000000\r\n\r\n")

    with pytest.raises(ProviderError) as caught:
        with_server(answer, lambda out, s: out.request(Call(method="GET", url=s.url)))

    assert caught.value.code == "P106"


def test_no_call_may_ask_for_more_than_the_hard_limit() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 26000000\r\n\r\n")

    with pytest.raises(ProviderError) as caught:
        with_server(
            answer, lambda out, s: out.request(Call(method="GET", url=s.url, bytes_max=10**9))
        )

    assert "25,000,000" in str(caught.value)


@pytest.mark.slow
def test_a_gzip_bomb_is_counted_as_it_grows() -> None:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(squeezed.compress(b"\0" * 1_000_000) for _ in range(300)) + squeezed.flush()
    assert len(bomb) < 400_000

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, bomb, content_encoding="gzip")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ProviderError) as caught:
        with_server(answer, lambda out, s: out.request(Call(method="GET", url=s.url)))

    assert caught.value.code == "P106"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_replies(encoding: str) -> None:
    text = "häuser ".encode() * 100_000
    squeezed = gzip.compress(text) if encoding == "gzip" else zlib.compress(text)

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer, extra=f"content-encoding: {encoding}\r\n")
        for at in range(0, len(squeezed), 7):
            chunk(writer, squeezed[at : at + 7])
        chunk(writer, b"")

    received, _ = with_server(answer, lambda out, s: out.request(Call(method="GET", url=s.url)))

    assert received.body == text


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b"hello" * 1000, mtime=0)[:-20], "gzip"),
        (b"not gzip at all", "gzip"),
        (b"hello", "br"),
        (b"hello", "gzip, gzip"),
    ],
)
def test_damaged_compression(body: bytes, encoding: str) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, body, content_encoding=encoding)

    with pytest.raises(ProviderError) as caught:
        with_server(answer, lambda out, s: out.request(Call(method="GET", url=s.url)))

    assert caught.value.code == "P111"


def test_a_reply_shorter_than_it_said() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort")
        await writer.drain()
        writer.close()

    with pytest.raises(ProviderError) as caught:
        with_server(answer, lambda out, s: out.request(Call(method="GET", url=s.url)))

    assert (caught.value.code, caught.value.retryable) == ("P111", True)


def test_what_is_not_http() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        await writer.drain()
        writer.close()

    with pytest.raises(ProviderError) as caught:
        with_server(answer, lambda out, s: out.request(Call(method="GET", url=s.url)))

    assert caught.value.code == "P111"
