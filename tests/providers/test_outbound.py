"""The outbound client: what it may reach, what it keeps to itself, and how much it takes in.

Replies may be too long, too small for what they hold, damaged or cut off.
"""

from __future__ import annotations

import asyncio
import gzip
import resource
import zlib
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpcore2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from provider_server import Seen, Server, answering, begin, chunk, send, with_server

from campaign import amount
from whorl.errors import ProviderError
from whorl.providers.outbound.addresses import Policy
from whorl.providers.outbound.client import (
    Credential,
    Outbound,
    OutboundCall,
    Received,
    network_faults,
)
from whorl.providers.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from provider_server import Answerer

# Hosts that stand for places which a workflow may not call, in every spelling we know.
PRIVATE_HOSTS = """
    127.0.0.1 127.1 127.0.1 127.255.255.254 2130706433 0x7f000001 0x7f.1 0x7F.0x0.0x0.0x1
    017700000001 0177.0.0.1 0177.1 0 0.0.0.0 00.0.0.0 10.0.0.1 10.255.255.255 167772161
    172.16.0.1 172.31.255.255 192.168.0.1 0xc0a80001 100.64.0.1 100.127.255.255 100.100.100.200
    169.254.169.254 169.254.170.2 2852039166 0xa9fea9fe 168.63.129.16 192.0.0.192 192.0.2.1
    192.88.99.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1
    255.255.255.255 [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1]
    [::ffff:0:127.0.0.1] [::ffff:169.254.169.254] [::127.0.0.1] [64:ff9b::7f00:1]
    [64:ff9b::169.254.169.254] [64:ff9b:1::a00:1] [2002:7f00:1::] [2002:a00:1::1]
    [2002:a9fe:a9fe::] [2001:0:7f00:1::1] [2001:0:808:808:0:0:80ff:fffe] [2001:db8::1] [3fff::1]
    [fc00::1] [fd12:3456:789a::1] [fd00:ec2::254] [fe80::1] [fe80::1%25eth0] [fec0::1] [ff02::1]
    [100::1] [5f00::1] [2a00:1450::5efe:7f00:1] 127.0.0.1. １２７.０.０.１ 127。0。0。1 ①②⑦.0.0.1
"""

PUBLIC_HOSTS = """
    8.8.8.8 134744072 1.1.1.1 100.63.255.255 172.32.0.1 [2606:4700:4700::1111] [::ffff:8.8.8.8]
    [64:ff9b::808:808] [2002:808:808::1]
"""


async def nowhere(host: str, port: int) -> list[str]:
    raise OSError("no such name")


def known_as(*addresses: str) -> Callable[[str, int], Awaitable[list[str]]]:
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


def fault_of(call: OutboundCall, outbound: Outbound) -> ProviderError:
    async def main() -> None:
        try:
            await outbound.request(call)
        finally:
            await outbound.close()

    with pytest.raises(ProviderError) as caught:
        asyncio.run(main())
    return caught.value


def get(answer: Answerer, **options: Any) -> tuple[Received, Server]:
    """What comes of a call to a server of our own."""
    return with_server(
        answer, lambda out, s: out.request(OutboundCall(method="GET", url=s.url, **options))
    )


@pytest.mark.sample(5)
@pytest.mark.parametrize("host", PRIVATE_HOSTS.split())
def test_no_private_place_is_called(host: str) -> None:
    for scheme in ("https", "http"):
        call = OutboundCall(method="GET", url=f"{scheme}://{host}:1/x", timeout_s=5)
        fault = fault_of(call, Outbound(Policy(), resolve=nowhere))

        assert (fault.code, fault.retryable) == ("P107", False)
        assert "address" in str(fault)
        assert "private" in str(fault) or "loopback" in str(fault)
        assert "private_network = [" in str(fault)


@pytest.mark.parametrize("host", PUBLIC_HOSTS.split())
def test_public_places_pass_the_check(host: str) -> None:
    from whorl.providers.outbound.addresses import literal_of

    address = literal_of(host)
    assert address is not None
    Policy().check("https", host.strip("[]"), 443, [str(address)])


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "::1", "169.254.169.254"])
def test_a_name_that_resolves_to_a_private_place(address: str) -> None:
    call = OutboundCall(method="GET", url="https://innocent.example/x")
    fault = fault_of(call, Outbound(Policy(), resolve=known_as("93.184.216.34", address)))

    assert fault.code == "P107"
    assert "innocent.example" in str(fault)


@pytest.mark.parametrize("policy", [Policy(), Policy(private_network=True)])
def test_plain_http_to_a_public_place_is_refused(policy: Policy) -> None:
    call = OutboundCall(method="GET", url="http://example.com/x")
    fault = fault_of(call, Outbound(policy, resolve=known_as("93.184.216.34")))

    assert fault.code == "P107"
    assert "https" in str(fault)


UNCLEAR_URLS = """
    ftp://example.com/x file:///etc/passwd gopher://127.0.0.1/ example.com/x
    //example.com/x https:// https:///x https://user:hunter22@example.com/
    https://example.com:99999/ https://[::1/ https://-bad-.example/ https://a..b/
"""


@pytest.mark.parametrize(
    "url",
    [
        *UNCLEAR_URLS.split(),
        *("https://example.com\\@127.0.0.1/", "https://example.com /x", "https://exam ple.com/x"),
        *("https://example.com/x\r\nx-evil: 1", "https://example.com/?q=a\nb"),
        *("https://exa\nmple.com/", "https://" + "a" * 300 + "/"),
    ],
)
def test_unclear_urls_are_refused(url: str) -> None:
    fault = fault_of(OutboundCall(method="GET", url=url), Outbound(Policy(), resolve=nowhere))

    assert fault.code == "P113"
    assert "hunter22" not in str(fault)


WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\\#&+%"))


@pytest.mark.campaign
@settings(max_examples=amount(20, 400), deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=20))
def test_a_server_gets_the_words_of_a_query(queries: list[str]) -> None:
    async def make(out: Outbound, server: Server) -> None:
        for words in queries:
            url = f"{server.url}/a b/{words.replace('?', '')}/?q={words}&n=1"
            await out.request(OutboundCall(method="GET", url=url))

    _, server = with_server(answering(b"ok"), make)

    for words, seen in zip(queries, server.seen, strict=True):
        parts = urlsplit(seen.path)
        assert parse_qs(parts.query, keep_blank_values=True) == {"q": [words], "n": ["1"]}
        assert unquote(parts.path) == f"/a b/{words.replace('?', '')}/"
        assert seen.headers["host"] == f"127.0.0.1:{server.port}"


def test_general_permission_does_not_cover_addresses_with_credentials() -> None:
    policy = Policy(private_network=True)

    policy.check("http", "localhost", 80, ["127.0.0.1", "::1"])
    policy.check("https", "intern", 443, ["10.0.0.1"])
    for address in ("169.254.169.254", "168.63.129.16", "fe80::1", "224.0.0.1", "0.0.0.0"):
        with pytest.raises(ProviderError):
            policy.check("http", "x", 80, [address])


def test_permission_covers_the_named_addresses_only() -> None:
    policy = Policy(private_network=("localhost:8080", "10.1.0.0/16", "192.168.0.7"))

    policy.check("http", "localhost", 8080, ["127.0.0.1"])
    policy.check("http", "any", 80, ["10.1.2.3"])
    policy.check("http", "other", 80, ["192.168.0.7"])
    for host, port, address in (
        *(("localhost", 81, "127.0.0.1"), ("any", 80, "10.2.0.1"), ("other", 80, "192.168.0.8")),
    ):
        with pytest.raises(ProviderError):
            policy.check("http", host, port, [address])


def test_a_redirect_to_a_private_place_is_refused() -> None:
    place = "http://169.254.169.254/latest/meta-data"
    with pytest.raises(ProviderError, match="metadata") as caught:
        get(answering(status=302, location=place), follow=True)

    assert caught.value.code == "P107"


def test_redirects_are_followed_three_times_at_most() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, status=302, location=f"/{len(seen.path)}{seen.path[1:]}")

    with pytest.raises(ProviderError, match="3 times"):
        get(answer, follow=True)


@pytest.mark.parametrize(
    ("status", "method", "body"), [(303, "GET", b""), (302, "GET", b""), (307, "POST", b"hello")]
)
def test_a_redirect_to_another_host_takes_no_credentials(
    status: int, method: str, body: bytes
) -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        if seen.path == "/first":
            port = seen.headers["host"].partition(":")[2]
            send(writer, status=status, location=f"http://other.example:{port}/second")
        else:
            send(writer, b"ok", kind="text/plain")

    async def make(out: Outbound, server: Server) -> Received:
        origin = f"http://first.example:{server.port}"
        call = OutboundCall(
            method="POST",
            url=f"{origin}/first",
            headers=(("X-Token", "mine"), ("Cookie", "c=1"), ("Accept", "text/plain")),
            body=b"hello",
            credential=Credential(origin, (("Authorization", Secret("Bearer abcdefgh")),)),
            follow=True,
        )
        return await out.request(call)

    received, server = with_server(answer, make)

    first, second = server.seen
    assert received.body == b"ok"
    assert first.headers["authorization"] == "Bearer abcdefgh"
    assert first.headers["x-token"] == "mine"
    assert first.headers["host"] == f"first.example:{server.port}"
    assert second.headers["host"] == f"other.example:{server.port}"
    assert second.headers["accept"] == "text/plain"
    assert not {"authorization", "x-token", "cookie"} & set(second.headers)
    assert (second.method, second.body) == (method, body)


def test_a_credential_goes_only_to_its_own_host() -> None:
    own = (("authorization", Secret("k")),)
    _, server = get(answering(b"ok"), credential=Credential("https://api.openai.com:443", own))

    assert "authorization" not in server.seen[0].headers


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\0b"])
def test_headers_cannot_be_smuggled(value: str) -> None:
    with pytest.raises(ProviderError) as caught:
        get(answering(b"ok"), headers=(("x-note", value),))

    assert caught.value.code == "P104"


def test_queries_and_secrets_stay_out_of_messages() -> None:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        send(writer, f"you sent {seen.headers['x-key']}".encode(), status=403)

    secret = Secret("abcdefghij")

    async def make(out: Outbound, server: Server) -> Received:
        origin = f"http://127.0.0.1:{server.port}"
        call = OutboundCall(
            method="GET",
            url=f"{origin}/p?token=abc",
            credential=Credential(origin, (("x-key", secret),)),
        )
        return await out.request(call, check_status=True)

    with pytest.raises(ProviderError) as caught:
        with_server(answer, make, secrets=(secret,))

    shown = str(caught.value) + repr(caught.value.detail)
    assert "abcdefghij" not in shown
    assert "token" not in shown
    assert "/p gave status 403" in shown


def test_the_environment_names_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    received, _ = get(answering(b"direct"))

    assert received.body == b"direct"


@pytest.mark.parametrize(
    ("url", "hosts", "is_called"),
    [
        ("https://API.example.com./x", ("api.example.com",), True),
        ("https://api.example.com:8443/x", ("api.example.com:8443",), True),
        ("https://api.example.com/x", ("api.example.com:8443",), False),
        ("https://a.b.example.com/x", ("*.example.com",), True),
        ("https://example.com/x", ("*.example.com",), False),
        ("https://badexample.com/x", ("*.example.com", "example.com"), False),
        ("https://api.example.com.evil.net/x", ("api.example.com",), False),
    ],
)
def test_where_hosts_are_named_only_those_are_called(
    url: str, hosts: tuple[str, ...], is_called: bool
) -> None:
    looked_up: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        looked_up.append(host)
        raise OSError("nobody is asked here")

    policy = Policy(hosts=hosts, private_network=True)
    fault = fault_of(OutboundCall(method="GET", url=url), Outbound(policy, resolve=resolve))

    assert bool(looked_up) is is_called
    assert ("not among the hosts" in str(fault)) is not is_called
    assert is_called or fault.code == "P107"


def refused(answer: Answerer, **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        get(answer, **options)
    return caught.value


def raw(content: bytes, *, ends: bool = True) -> Answerer:
    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(content)
        await writer.drain()
        if ends:
            writer.close()

    return answer


def test_a_long_reply_that_says_so_is_not_even_read() -> None:
    head = "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n"

    assert refused(raw(head.format(50_000_000).encode(), ends=False)).code == "P106"
    # No call may ask for more than the hard limit.
    hard = refused(raw(head.format(26_000_000).encode(), ends=False), bytes_max=10**9)
    assert "25,000,000" in str(hard)


@pytest.mark.slow
def test_a_gzip_bomb_is_counted_as_it_grows() -> None:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(squeezed.compress(b"\0" * 1_000_000) for _ in range(300)) + squeezed.flush()
    assert len(bomb) < 400_000

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert refused(answering(bomb, content_encoding="gzip")).code == "P106"
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

    received, _ = get(answer)

    assert received.body == text


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        *((gzip.compress(b"hello" * 1000, mtime=0)[:-20], "gzip"), (b"not gzip at all", "gzip")),
        *((b"hello", "br"), (b"hello", "gzip, gzip")),
    ],
)
def test_damaged_compression(body: bytes, encoding: str) -> None:
    assert refused(answering(body, content_encoding=encoding)).code == "P111"


@pytest.mark.parametrize(
    "content",
    [b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort", b"SSH-2.0-OpenSSH_9.6\r\n\r\n"],
)
def test_a_reply_that_is_too_short_or_no_http(content: bytes) -> None:
    fault = refused(raw(content))

    assert (fault.code, fault.retryable) == ("P111", True)


@pytest.mark.parametrize(
    ("fault", "is_doubtful"), [("ConnectTimeout", False), ("ReadTimeout", True)]
)
def test_a_call_that_did_not_connect_was_not_sent(fault: str, is_doubtful: bool) -> None:
    with pytest.raises(ProviderError) as caught, network_faults("GET /"):
        raise getattr(httpcore2, fault)

    assert (caught.value.code, caught.value.is_doubtful) == ("P108", is_doubtful)
