"""The outbound client: one request at a time is simple, and everything about it is bounded."""

from __future__ import annotations

import asyncio
import time
import weakref
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urljoin

from whorl.errors import ProviderError
from whorl.providers.outbound.faults import network_faults, status_fault, timed_out
from whorl.providers.outbound.reading import BYTES_MAX, Incoming
from whorl.providers.outbound.urls import Target, target_of
from whorl.providers.secrets import redact

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpcore2

    from whorl.language import Json
    from whorl.providers.outbound.connecting import Connections, Resolve, Sent
    from whorl.providers.outbound.policy import Policy
    from whorl.providers.secrets import Secret

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

    A call to an address `of_operator` has the leave that naming it in the configuration gives. The
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


@dataclass(frozen=True, slots=True)
class Received:
    """A reply that was read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes
    url: str
    what: str

    @property
    def content_type(self) -> str:
        """The content type in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


_Kept: TypeAlias = "dict[tuple[str, bool], Connections]"


class Outbound:
    """The one way out; keeps connections per event loop, reads nothing from the environment."""

    def __init__(
        self, policy: Policy, *, secrets: tuple[Secret, ...] = (), resolve: Resolve | None = None
    ) -> None:
        self._policy = policy
        self._secrets = secrets
        self._resolve = resolve
        self._kept: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Kept] = (
            weakref.WeakKeyDictionary()
        )

    async def request(self, call: Call, *, check_status: bool = False) -> Received:
        """Sends, reads all; with `check_status` a status that is no success raises its error."""
        async with self.stream(call) as incoming:
            body = await incoming.read()
            if check_status and not 200 <= incoming.status < 300:
                raise self.fault(incoming, body)
            return Received(incoming.status, incoming.headers, body, incoming.url, incoming.what)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Incoming]:
        """Sends, and gives the reply as it arrives."""
        target = target_of(call.url)
        try:
            async with asyncio.timeout(call.timeout_s) as deadline:
                sent, target = await self._send(call, target)
                what = f"{call.method} {target.shown}"
                try:
                    yield Incoming(
                        sent.response, what=what, url=target.shown, bytes_max=call.bytes_max
                    )
                finally:
                    await sent.aclose()
        except TimeoutError:
            if not deadline.expired():
                raise
            raise timed_out(f"{call.method} {target.shown}", call.timeout_s) from None
        except ProviderError as fault:
            raise self._redacted(fault) from fault.__cause__

    def fault(self, reply: Incoming | Received, body: bytes) -> ProviderError:
        """The error for a reply whose status is not a success."""
        text = body.decode("utf-8", "replace")
        fault = status_fault(reply.what, reply.status, reply.headers, text, now=time.time())
        return self._redacted(fault)

    async def close(self) -> None:
        """Closes the kept connections of this event loop."""
        for connections in self._kept.pop(asyncio.get_running_loop(), {}).values():
            await connections.aclose()

    async def _send(self, call: Call, target: Target) -> tuple[Sent, Target]:
        first = target.origin
        for hop in range(REDIRECTS_MAX + 1):
            sent = await self._send_once(call, target)
            status, place = sent.response.status, _location(sent.response)
            if not call.follow or status not in _MOVED or not place:
                return sent, target
            await sent.aclose()
            if hop == REDIRECTS_MAX:
                break
            target = target_of(urljoin(f"{target.origin}{target.path}", place))
            call = _redirected(call, status, same=target.origin == first)
        raise ProviderError(
            f"{call.method} {target.shown} redirects more than {REDIRECTS_MAX} times", code="P104"
        )

    async def _send_once(self, call: Call, target: Target) -> Sent:
        import httpcore2

        what = f"{call.method} {target.shown}"
        request = httpcore2.Request(
            call.method,
            httpcore2.URL(
                scheme=target.scheme, host=target.host, port=target.port, target=target.path
            ),
            headers=_headers(call, target, what),
            content=call.body,
            extensions={
                "timeout": {"connect": call.connect_s, "read": call.read_s, "write": call.read_s}
            },
        )
        with network_faults(what):
            return await self._connections(target.scheme, of_operator=call.of_operator).send(
                request
            )

    def _connections(self, scheme: str, *, of_operator: bool = False) -> Connections:
        """Those of one kind of leave: a connection that it opened serves no call without it."""
        schemes = self._kept.setdefault(asyncio.get_running_loop(), {})
        if (scheme, of_operator) not in schemes:
            from whorl.providers.outbound.connecting import Connections, resolve_by_system

            resolve = self._resolve or resolve_by_system
            policy = self._policy if of_operator else replace(self._policy, origins=frozenset())
            schemes[scheme, of_operator] = Connections(scheme, policy, resolve)
        return schemes[scheme, of_operator]

    def _redacted(self, fault: ProviderError) -> ProviderError:
        detail: dict[str, Json] = fault.detail  # type: ignore[assignment]
        redacted = redact(detail, self._secrets)
        assert isinstance(redacted, dict)
        return ProviderError(
            redact(str(fault), self._secrets),
            code=fault.code,
            retryable=fault.retryable,
            retry_after_s=fault.retry_after_s,
            detail=dict(redacted),
            answered=fault.answered,
        )


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


def _location(response: httpcore2.Response) -> str:
    found = [value for name, value in response.headers if name.lower() == b"location"]
    if not found:
        return ""
    try:
        return found[0].decode("utf-8").strip()
    except UnicodeDecodeError:
        return found[0].decode("latin-1").strip()


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
