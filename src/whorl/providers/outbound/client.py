"""The outbound client: one request at a time is simple, and everything about it is bounded."""

from __future__ import annotations

import asyncio
import codecs
import time
import zlib
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin
from weakref import WeakKeyDictionary

from whorl.errors import ProviderError
from whorl.lazily import dataclass
from whorl.providers.outbound.addresses import Policy, Target, target_of
from whorl.providers.outbound.faults import (
    cut_off,
    malformed,
    network_faults,
    status_fault,
    timed_out,
    too_large,
)
from whorl.providers.redaction import Secret, redact_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from httpcore2 import Response

    from whorl.providers.outbound.connections import Connections, Resolve

BYTES_MAX = 10_000_000
BYTES_HARD_MAX = 25_000_000
_PIECE = 65_536
REDIRECTS_MAX = 3
_MOVED = frozenset({301, 302, 303, 307, 308})
# The headers that may follow a redirect to another origin; any other may be a credential.
_HARMLESS = frozenset({"accept", "accept-language", "content-type", "user-agent"})


@dataclass(frozen=True, slots=True)
class Credential:
    """Secret headers and the one origin that they are sent to."""

    origin: str
    headers: tuple[tuple[str, Secret], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to be made. `timeout_s` is for all of it, redirects and reading included.

    A call to an address `of_operator` has the permission that naming it in the configuration gives;
    calls that a workflow makes by itself have no part in that, and neither has a redirect.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    credential: Credential | None = None
    follow: bool = False
    timeout_s: float = 60.0
    connect_s: float = 10.0
    read_s: float = 300.0
    bytes_max: int = BYTES_MAX
    of_operator: bool = False


class Outbound:
    """The one way out; keeps connections per event loop, reads nothing from the environment."""

    def __init__(
        self, policy: Policy, *, secrets: tuple[Secret, ...] = (), resolve: Resolve | None = None
    ) -> None:
        self._policy = policy
        self._secrets = secrets
        self._resolve = resolve
        # By event loop, and in each by scheme and permission.
        self._kept: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[tuple[str, bool], Connections]
        ] = WeakKeyDictionary()

    async def request(self, call: Call, *, check_status: bool = False) -> Received:
        """Sends, reads all; with `check_status` a status that is no success raises its error."""
        async with self.stream(call) as incoming:
            incoming.body = await incoming.read()
            if check_status and not 200 <= incoming.status < 300:
                raise self.fault(incoming, incoming.body)
            return incoming

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Received]:
        target = target_of(call.url)
        try:
            async with asyncio.timeout(call.timeout_s) as deadline, AsyncExitStack() as stack:
                response, target = await self._send(call, target, stack)
                what = f"{call.method} {target.shown}"
                yield Received(response, what=what, url=target.shown, bytes_max=call.bytes_max)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise timed_out(f"{call.method} {target.shown}", call.timeout_s) from None
        except ProviderError as fault:
            raise redact_error(fault, self._secrets) from fault.__cause__

    def fault(self, reply: Received, body: bytes) -> ProviderError:
        text = body.decode("utf-8", "replace")
        fault = status_fault(reply.what, reply.status, reply.headers, text, now=time.time())
        return redact_error(fault, self._secrets)

    async def close(self) -> None:
        for connections in self._kept.pop(asyncio.get_running_loop(), {}).values():
            await connections.aclose()

    async def _send(
        self, call: Call, target: Target, stack: AsyncExitStack
    ) -> tuple[Response, Target]:
        """The reply, which is open until the stack is closed, and where it came from."""
        import httpcore2

        first = target.origin
        times = {"connect": call.connect_s, "read": call.read_s, "write": call.read_s}
        for hop in range(REDIRECTS_MAX + 1):
            what = f"{call.method} {target.shown}"
            url = httpcore2.URL(
                scheme=target.scheme, host=target.host, port=target.port, target=target.path
            )
            headers = _headers(call, target, what)
            request = httpcore2.Request(
                call.method, url, headers=headers, content=call.body, extensions={"timeout": times}
            )
            with network_faults(what):
                connections = self._connections(target.scheme, of_operator=call.of_operator)
                response = await stack.enter_async_context(connections.send(request))
            status, place = response.status, _location(response)
            if not call.follow or status not in _MOVED or not place:
                return response, target
            await stack.aclose()
            if hop == REDIRECTS_MAX:
                break
            target = target_of(urljoin(f"{target.origin}{target.path}", place))
            call = _redirected(call, status, same=target.origin == first)
        raise ProviderError(
            f"{call.method} {target.shown} redirects more than {REDIRECTS_MAX} times", code="P104"
        )

    def _connections(self, scheme: str, *, of_operator: bool) -> Connections:
        """Those of one permission: a connection that it opened serves no call without it."""
        schemes = self._kept.setdefault(asyncio.get_running_loop(), {})
        if (scheme, of_operator) not in schemes:
            from whorl.providers.outbound.connections import Connections, resolve_by_system

            resolve = self._resolve or resolve_by_system
            policy = self._policy if of_operator else replace(self._policy, origins=frozenset())
            schemes[scheme, of_operator] = Connections(scheme, policy, resolve)
        return schemes[scheme, of_operator]


def _headers(call: Call, target: Target, what: str) -> list[tuple[bytes, bytes]]:
    chosen = {
        "host": target.authority,
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
        "user-agent": "whorl",
    }
    for name, value in call.headers:
        if name.lower() not in ("host", "content-length", "transfer-encoding", "connection"):
            chosen[name.lower()] = value
    if call.credential is not None and call.credential.origin == target.origin:
        chosen |= {name.lower(): text.reveal() for name, text in call.credential.headers}
    if call.body or call.method not in ("GET", "HEAD"):
        chosen["content-length"] = str(len(call.body))
    try:
        return [(name.encode("ascii"), text.encode("utf-8")) for name, text in chosen.items()]
    except UnicodeError:
        raise ProviderError(f"{what}: a header is not plain text", code="P104") from None


def _location(response: Response) -> str:
    place = next((value for name, value in response.headers if name.lower() == b"location"), b"")
    try:
        return place.decode("utf-8").strip()
    except UnicodeDecodeError:
        return place.decode("latin-1").strip()


def _redirected(call: Call, status: int, *, same: bool) -> Call:
    """The call that follows a redirect; to another origin it carries nothing that is secret."""
    keeps_body = status in (307, 308) or call.method in ("GET", "HEAD")
    headers = call.headers
    if not keeps_body:
        call = replace(call, method="GET", body=b"")
        headers = tuple(pair for pair in headers if pair[0].lower() != "content-type")
    if not same:
        headers = tuple(pair for pair in headers if pair[0].lower() in _HARMLESS)
        call = replace(call, of_operator=False)
    return replace(call, headers=headers)


class Received:
    """A reply that is arriving; `body` is there once all was read. Header names are lower case."""

    def __init__(self, response: Response, *, what: str, url: str, bytes_max: int) -> None:
        self.status = response.status
        self.url = url
        self.what = what
        self.body = b""
        self.headers: dict[str, str] = {}
        for name, value in response.headers:
            key, text = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text
        self._response = response
        self._bytes_max = min(bytes_max, BYTES_HARD_MAX)

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, decompressed in small pieces; raises P106 as soon as it has too many bytes."""
        length = self.headers.get("content-length", "")
        if length.isdigit() and int(length) > self._bytes_max:
            raise too_large(self.what, self._bytes_max)
        encoding = self.headers.get("content-encoding", "")
        inflate = None
        if encoding.strip().lower() in ("gzip", "x-gzip", "deflate"):
            inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        elif encoding.strip().lower() not in ("", "identity"):
            raise malformed(self.what, f"unknown content encoding {encoding!r}", retryable=False)
        count, is_begun = 0, False
        with network_faults(self.what):
            async for raw in self._response.aiter_stream():
                while raw:
                    is_begun, piece, rest = True, raw, b""
                    if inflate is not None:
                        piece = self._inflated(inflate.decompress, raw)
                        rest = inflate.unconsumed_tail
                        if not piece and inflate.eof:
                            break
                    raw = rest
                    count += len(piece)
                    if count > self._bytes_max:
                        raise too_large(self.what, self._bytes_max)
                    yield piece
        if inflate is not None and is_begun and not inflate.eof:
            raise cut_off(self.what, "the compressed reply is cut off")

    def _inflated(self, decompress: Callable[[bytes, int], bytes], raw: bytes) -> bytes:
        try:
            return decompress(raw, _PIECE)
        except zlib.error as cause:
            raise malformed(self.what, f"the compressed reply is damaged ({cause})") from None

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.chunks()])

    async def lines(self) -> AsyncIterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        parts: list[str] = []
        async for piece in self.chunks():
            first, *lines = decoder.decode(piece).split("\n")
            parts.append(first)
            for line in lines:
                yield "".join(parts).removesuffix("\r")
                parts = [line]
        if rest := "".join(parts) + decoder.decode(b"", final=True):
            yield rest.removesuffix("\r")
