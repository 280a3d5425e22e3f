"""The outbound client: it sends one request at a time, with limits, and reports faults."""

from __future__ import annotations

import asyncio
import codecs
import re
import time
import zlib
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING
from urllib.parse import urljoin
from weakref import WeakKeyDictionary

from whorl.errors import ProviderError
from whorl.lazily import dataclass
from whorl.providers.json_values import NotJson, clean, parse_json, shorten, table_of
from whorl.providers.outbound.addresses import Policy, Target, target_of
from whorl.providers.redaction import Secret, redact_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from httpcore2 import Response

    from whorl.providers.outbound.connections import Connections, Resolve


# What can go wrong on the network, as errors that say what was sent where, and what to do.

RETRY_AFTER_MAX_S = 60.0
EXCERPT_MAX = 500
# Statuses below 500 after which the same request may succeed: timeout, conflict, too early.
_PASSING = frozenset({408, 409, 425})
# A gateway says that it has no answer of the server behind it, which may have done the work.
_UNANSWERED = frozenset({502, 504, 524})
_NO_CREDIT = "the account has no credit left: add some at the provider, or name another model"
_CODES = {402: "P128", 413: "P106"}
_ADVICE = {
    402: _NO_CREDIT,
    401: "check the key or credentials for this host",
    403: "check what the key or credentials for this host may do",
    404: "check the URL and the model's name",
    413: "send less",
    429: "wait, or lower requests_per_minute or max_concurrent of the provider",
    529: "its servers are overloaded: wait, or name a second model to fall back to",
}
# What a server says by its error's code, type or message. No credit has the status of a limit of
# rate with some, but no wait ends it.
_OF_CREDIT = re.compile(
    r"insufficient_quota|billing_(?:not_active|hard_limit_reached|error)|credit balance is too low|"
    r"insufficient[ _](?:balance|credit|fund)",
    re.IGNORECASE,
)
_MEANINGS = (
    (_OF_CREDIT, "P128", _NO_CREDIT),
    (
        re.compile(
            r"context_length_exceeded|exceed_context_size|maximum context length|context window|"
            r"(?:prompt|input) is too long|exceeds the (?:available )?context|"
            r"input token count|request_too_large",
            re.IGNORECASE,
        ),
        "P106",
        "the prompt is longer than the model can read: shorten it, or take one that reads more",
    ),
    (
        re.compile(r"content[ _](?:policy|filter|management)|moderation_blocked", re.IGNORECASE),
        "P119",
        "the provider refuses this content: change the prompt, or name another model",
    ),
    (re.compile(r"invalid_api_key|api key not valid", re.IGNORECASE), "P104", _ADVICE[401]),
    (re.compile(r"model_not_found", re.IGNORECASE), "P127", _ADVICE[404]),
)


def status_fault(
    what: str, status: int, headers: Mapping[str, str], text: str, *, now: float = 0.0
) -> ProviderError:
    """Returns the error for an unsuccessful status. `what` is the method and the URL."""
    message, kinds = _server_message(text)
    excerpt = shorten(" ".join(clean(message).split()), EXCERPT_MAX)
    words = " ".join((*kinds, message[:EXCERPT_MAX]))
    # What to do, by what the server says of its error, or else by its status.
    code, advice = _CODES.get(status, "P104"), _ADVICE.get(status, "")
    for pattern, meant, meaning in _MEANINGS if status < 500 else ():
        if pattern.search(words) and (status != 429 or meant == "P128"):
            code, advice = meant, meaning
            break
    is_rate = status == 429 and code != "P128"
    code = "P102" if is_rate else "P103" if status >= 500 else code
    reason = (f": {excerpt}" if excerpt else "") + (f"; {advice}" if advice else "")
    return ProviderError(
        f"{what} gave status {status}{reason}",
        code=code,
        retryable=code in ("P102", "P103") or status in _PASSING,
        retry_after_s=retry_after(headers.get("retry-after", ""), now),
        detail={"status": status, "body": excerpt} | ({"too_long": True} if code == "P106" else {}),
        answered=status not in _UNANSWERED,
    )


def _server_message(text: str) -> tuple[str, list[str]]:
    """Returns the message in a server's error, without the JSON around it, its codes and types."""
    try:
        reply = parse_json(text)
    except NotJson:
        return text, []
    tables = (table_of(reply), table_of(table_of(reply).get("error")))
    kinds = [str(table[name]) for table in tables for name in ("code", "type") if table.get(name)]
    message = reply
    for name in ("error", "message"):
        message = table_of(message).get(name) or message
    return message if isinstance(message, str) else text, kinds


def retry_after(text: str, now: float, most: float = RETRY_AFTER_MAX_S) -> float | None:
    """Returns the wait of a `Retry-After` header (seconds or a date), at most `most`."""
    text = text.strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        from email.utils import parsedate_to_datetime

        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return None if isnan(seconds) else min(max(seconds, 0.0), most)


def too_large(what: str, limit: int) -> ProviderError:
    why = f"{what} answered with more than {limit:,} bytes; ask for less"
    return ProviderError(why, code="P106")


def malformed(what: str, why: str, *, retryable: bool = True) -> ProviderError:
    return ProviderError(f"{what}: {why}", code="P111", retryable=retryable)


def cut_off(what: str, why: str) -> ProviderError:
    """Returns the error for a reply that ends too early; the rest of it is unknown."""
    return ProviderError(f"{what}: {why}", code="P111", retryable=True, answered=False)


def timed_out(what: str, seconds: float) -> ProviderError:
    why = f"{what} took longer than {seconds:g} s; raise timeout of the step or of the provider"
    return ProviderError(why, code="P108", retryable=True)


@contextmanager
def network_faults(what: str) -> Iterator[None]:
    import httpcore2

    try:
        yield
    except httpcore2.TimeoutException as cause:
        why = f"{what}: no answer in time ({type(cause).__name__}); raise timeout of the step"
        unsent = isinstance(cause, httpcore2.ConnectTimeout)
        detail: dict[str, object] = {"unsent": True} if unsent else {}
        raise ProviderError(why, code="P108", retryable=True, detail=detail) from cause
    except httpcore2.LocalProtocolError as cause:
        why = f"{what}: the request cannot be sent ({cause}); check its headers"
        raise ProviderError(why, code="P104") from cause
    except (httpcore2.RemoteProtocolError, httpcore2.NetworkError) as cause:
        why = str(cause) or type(cause).__name__
        is_protocol = isinstance(cause, httpcore2.RemoteProtocolError)
        if is_protocol and "without sending a response" not in why:
            raise cut_off(what, f"the reply is cut off or malformed ({cause})") from cause
        is_untrusted = "CERTIFICATE_VERIFY_FAILED" in why
        advice = "check the URL, the network and that the server runs"
        message = f"not reachable or connection lost ({why}); {advice}"
        if is_untrusted:
            message = f"its certificate is not trusted ({why})"
        is_unsent = is_untrusted or isinstance(cause, httpcore2.ConnectError)
        fault = ProviderError(f"{what}: {message}", code="P101", answered=False)
        fault.retryable, fault.detail = not is_untrusted, {"unsent": True} if is_unsent else {}
        raise fault from cause


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
class OutboundCall:
    """A request. `timeout_s` is for all of it, including redirects and reading.

    A call to an address `of_operator` has the permission of addresses that the configuration names.
    Calls that a workflow makes do not have it, and neither does a redirect.
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
    """The only way out: keeps connections for each event loop, and ignores the environment."""

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

    async def request(self, call: OutboundCall, *, check_status: bool = False) -> Received:
        """Sends a call and reads the reply; with `check_status` raises if it is unsuccessful."""
        async with self.stream(call) as incoming:
            incoming.body = await incoming.read()
            if check_status and not 200 <= incoming.status < 300:
                raise self.fault(incoming, incoming.body)
            return incoming

    @asynccontextmanager
    async def stream(self, call: OutboundCall) -> AsyncIterator[Received]:
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
        self, call: OutboundCall, target: Target, stack: AsyncExitStack
    ) -> tuple[Response, Target]:
        """Returns the reply, open until the stack is closed, and its target."""
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
            locations = (text for name, text in response.headers if name.lower() == b"location")
            status, place = response.status, next(locations, b"").decode("utf-8", "replace").strip()
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
        """Returns the connections of one permission; calls without it never use them."""
        schemes = self._kept.setdefault(asyncio.get_running_loop(), {})
        if (scheme, of_operator) not in schemes:
            from whorl.providers.outbound.connections import Connections, resolve_by_system

            resolve = self._resolve or resolve_by_system
            policy = self._policy if of_operator else replace(self._policy, origins=frozenset())
            schemes[scheme, of_operator] = Connections(scheme, policy, resolve)
        return schemes[scheme, of_operator]


def _headers(call: OutboundCall, target: Target, what: str) -> list[tuple[bytes, bytes]]:
    chosen = {"host": target.authority, "accept": "*/*", "accept-encoding": "gzip, deflate"}
    chosen["user-agent"] = "whorl"
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


def _redirected(call: OutboundCall, status: int, *, same: bool) -> OutboundCall:
    """Returns the call that follows a redirect; to another origin it carries no secrets."""
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
    """A reply that is arriving; `body` is set after all was read. Header names are lower case."""

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
        """Yields the body, decompressed in small pieces. Raises P106 when it has too many bytes."""
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
                        try:
                            piece = inflate.decompress(raw, _PIECE)
                        except zlib.error as cause:
                            why = f"the compressed reply is damaged ({cause})"
                            raise malformed(self.what, why) from None
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
