"""Auth: every request passes here before anything else looks at it (security rules R11-R14).

Nothing but three public addresses is answered without the token, also on loopback. The token is
taken from a header only, so no other site's page can make a browser send it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import stat
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.errors import UsageError
from whorl.interfaces.http.faults import Refusal, answer_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PUBLIC = frozenset({"/", "/healthz"})
ASSET = re.compile(r"/assets/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
FAILURES_MAX = 10
FAILURES_S = 60.0
_ADDRESSES_MAX = 10_000
TOKEN_BITS_MIN = 128
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{22,512}")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_DISTINCT_MIN = 8
# For every answer; a page has a policy of its own.
_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may come in. `hosts` are the names (without port) that this server answers to."""

    token: str
    port: int
    hosts: frozenset[str] = frozenset(LOOPBACK_NAMES)
    behind_proxy: bool = False


class Auth:
    """An ASGI application around another one."""

    def __init__(
        self, app: ASGIApp, rules: Rules, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._rules = rules
        self._digest = _digest(rules.token)
        self._clock = clock
        # The times of wrong tokens by address, of the last minute.
        self._failures: dict[str, deque[float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # There are no web sockets; closing before accepting is a refusal.
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                more = [(name, value) for name, value in _HEADERS if name not in known]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        try:
            self._check(scope)
        except Refusal as refusal:
            answer = answer_for(refusal)
            answer.headers["Connection"] = "close"
            if refusal.status == 401:
                answer.headers["WWW-Authenticate"] = "Bearer"
            if refusal.status == 429:
                answer.headers["Retry-After"] = str(int(FAILURES_S))
            await answer(scope, receive, send_more)
            return
        await self._app(scope, receive, send_more)

    def _check(self, scope: Scope) -> None:
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        host = self._host(scope, headers)
        if b"origin" in headers:
            proxied = self._rules.behind_proxy and _one(headers, b"x-forwarded-proto")
            scheme = str(proxied or "http").lower()
            if (_one(headers, b"origin") or "").lower() != f"{scheme}://{host}":
                raise Refusal(403, "W904", "the request comes from another site's page")
        if b"upgrade" in headers:
            raise Refusal(400, "W904", "this server speaks plain HTTP only")
        path = str(scope["path"])
        is_read = scope["method"] in ("GET", "HEAD")
        if is_read and (path in PUBLIC or ASSET.fullmatch(path)):
            return
        given = _one(headers, b"authorization") or ""
        scheme, _, token = given.partition(" ")
        is_right = hmac.compare_digest(_digest(token.strip()), self._digest)
        if scheme.lower() == "bearer" and is_right:
            return
        self._refuse_token(scope, headers, given=bool(given))

    def _host(self, scope: Scope, headers: dict[bytes, list[str]]) -> str:
        """The host that was asked for: one of ours, or whatever a proxy vouches for."""
        is_forwarded = self._rules.behind_proxy and b"x-forwarded-host" in headers
        host = _one(headers, b"x-forwarded-host" if is_forwarded else b"host") or ""
        parsed = _HOST.fullmatch(host)
        if parsed is None:
            raise Refusal(400, "W904", "the Host header is missing or no host")
        if self._rules.behind_proxy:
            return host.lower()
        name, port = parsed["name"].lower(), int(parsed["port"] or 80)
        if port != self._rules.port or not (name in self._rules.hosts or _is_own(name, scope)):
            raise Refusal(421, "W904", f"{host!r} is not this server", "use the printed address")
        return host.lower()

    def _refuse_token(self, scope: Scope, headers: dict[bytes, list[str]], *, given: bool) -> None:
        client = scope.get("client")
        address = str(client[0]) if client else ""
        if self._rules.behind_proxy and b"x-forwarded-for" in headers:
            address = headers[b"x-forwarded-for"][-1].rpartition(",")[2].strip()[:64]
        if given:
            now = self._clock()
            if len(self._failures) >= _ADDRESSES_MAX:
                self._failures.clear()
            times = self._failures.setdefault(address, deque(maxlen=FAILURES_MAX + 1))
            times.append(now)
            while times[0] < now - FAILURES_S:
                times.popleft()
            # A right token is never refused here: it cannot be guessed, so that locking its owner
            # out is all that an attacker could gain from it.
            if len(times) > FAILURES_MAX:
                raise Refusal(429, "W904", "too many wrong tokens; wait a minute")
        words = "the token is wrong" if given else "the token is missing"
        raise Refusal(401, "W904", words, "open the link that `whorl serve` has printed")


def new_token() -> str:
    """A token of 256 bits."""
    return secrets.token_urlsafe(32)


def read_token(path: Path) -> tuple[str, list[str]]:
    """The token in a file, and what is odd about the file. Raises UsageError W906."""
    try:
        about = path.stat()
        text = path.read_bytes()[:4_096].decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"the token file {str(path)!r} cannot be read: {fault}") from fault
    if _TOKEN.fullmatch(text) is None or bits_of(text) < TOKEN_BITS_MIN:
        raise UsageError(
            f"the token in {str(path)!r} is too easy to guess: it needs {TOKEN_BITS_MIN} bits",
            help="`openssl rand -hex 32` makes one; letters, digits and ._~+/=- may stand in it",
            code="W906",
        )
    if about.st_mode & (stat.S_IRGRP | stat.S_IROTH):
        return text, [f"the token file {str(path)!r} can be read by others; `chmod 600` it"]
    return text, []


def bits_of(token: str) -> float:
    """How hard a token is to guess, if its characters were chosen at random."""
    if len(set(token)) < _DISTINCT_MIN:
        return 0.0
    return len(token) * (4.0 if _HEX.fullmatch(token) else 6.0)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def _one(headers: dict[bytes, list[str]], name: bytes) -> str | None:
    """A header that may be given once only."""
    values = headers.get(name, [])
    if len(values) > 1:
        raise Refusal(400, "W904", f"the header {name.decode('ascii')!r} is given twice")
    return values[0] if values else None


def _is_own(name: str, scope: Scope) -> bool:
    """Whether it is the very address that the connection came in on; no DNS can point there."""
    server = scope.get("server")
    try:
        return server is not None and ipaddress.ip_address(name.strip("[]")) == (
            ipaddress.ip_address(str(server[0]).partition("%")[0])
        )
    except ValueError:
        return False
