"""Auth: every request passes it and the limits before anything else (security rules R11-R14).

Nothing but a few public addresses is answered without a token, also on loopback: the server's own,
which may do everything, or one of the store's, which may do what its role says. A token is
taken from a header only, so no other site's page can make a browser send it. The page exchanges it
once for a cookie that no script can read, and that counts only beside a header of the page's own,
which another site's page cannot send either.
"""

import asyncio
import hmac
import ipaddress
import json
import logging
import re
import secrets
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.datastructures import Headers
from starlette.requests import cookie_parser as parse_cookies
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whorl.errors import StoreError, UsageError, safe
from whorl.interfaces.http.limits import HOOKS, RateLimit
from whorl.interfaces.http.problems import Refusal, answer_for
from whorl.interfaces.operations import OPERATIONS, ROUTES, has_role
from whorl.runtimes.service.tables import SERVER, Audit, AuditEntry, Role, Token, Tokens, digest_of
from whorl.source.paths import read_start, reason_of

# Calls whose bodies are signed: what answers them checks the signature.
WEBHOOK = re.compile(r"/hooks/[a-z0-9][a-z0-9._-]{0,63}")
SIGNATURES = ("webhook-signature", "x-hub-signature-256")
PUBLIC = frozenset({"/", "/healthz", "/readyz"})
ASSET = re.compile(r"/assets/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
HEAD_BYTES_MAX = 32_768
FAILURES_MAX = 10
FAILURES_S = 60
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
SESSION = "/api/session"
# Says that the page itself asks: another site's page would have to ask for leave to send it.
PAGE_HEADER = "x-whorl-page"
_SIGNED: Final = "signed address"
# The keys of the identity and of the audit note in the scope of a request.
IDENTITY: Final = "whorl.identity"
_NOTE: Final = "whorl.audit"

log = logging.getLogger("whorl.http")


@dataclass(frozen=True, slots=True)
class Identity:
    """The sender of a request: the name of its token, its role and its hash."""

    name: str
    role: Role
    digest: bytes

    @property
    def sees_broken(self) -> bool:
        return has_role(self.role, "see broken file")

    def check(self, name: str, *, edits: bool = False) -> None:
        """Refuses an operation, on a server that writes files or does not."""
        operation = OPERATIONS[name]
        if not has_role(self.role, name):
            words = f"the token {self.name!r} has the role {self.role!r}, and this needs "
            advice = "ask the operator of the server for a token"
            raise Refusal(403, "W915", f"{words}{operation.role!r}", advice)
        if operation.needs_edit and not edits:
            words = "this server does not write files, and takes no text that is not saved"
            raise Refusal(403, "C112", words, "start the server with `whorl serve --edit`")


@dataclass(eq=False)
class Auth:
    """An ASGI application around another one; `hosts` are its names without port."""

    app: ASGIApp
    token: str
    port: int
    hosts: frozenset[str]
    behind_proxy: bool
    # Whether an address, its path and the `sig` in its query, was given away by this server.
    is_signed: Callable[[str, str], bool]
    # Beside the server's own token.
    tokens: Tokens

    def __post_init__(self) -> None:
        self._own = Token(SERVER, "admin", 0.0, None, digest_of(self.token))
        # Cookies do not tell ports apart, so their names have to.
        self._cookie = f"whorl-{self.port}"
        self._failures = RateLimit(FAILURES_MAX, FAILURES_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # There are no web sockets; closing before accepting is a refusal.
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message["headers"]}
                more = [(name, value) for name, value in _HEADERS if name not in names]
                if scope["path"] == SESSION and message["status"] == 204:
                    more.append((b"set-cookie", self._set_cookie(scope)))
                message["headers"] = [*message["headers"], *more]
            await send(message)

        try:
            self._check(scope)
        except (Refusal, StoreError) as refusal:
            # Without the store, the server cannot check whose token it is.
            answer = answer_for(refusal)
            answer.headers["Connection"] = "close"
            if answer.status_code == 401:
                answer.headers["WWW-Authenticate"] = "Bearer"
            await answer(scope, receive, send_more)
            return
        await self.app(scope, receive, send_more)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        pairs = (*headers.raw, (scope["raw_path"], scope["query_string"]))
        if sum(len(name) + len(value) for name, value in pairs) > HEAD_BYTES_MAX:
            words = f"the head of the request has more than {HEAD_BYTES_MAX:,} bytes"
            raise Refusal(400, "W900", words)
        host = self._host(scope, headers)
        if "origin" in headers:
            proxied = self.behind_proxy and _header(headers, "x-forwarded-proto")
            scheme = str(proxied or "http").lower()
            if _header(headers, "origin").lower() != f"{scheme}://{host}":
                raise Refusal(403, "W910", "the request comes from another site's page")
        if "upgrade" in headers:
            raise Refusal(400, "W900", "this server speaks plain HTTP only")
        path = str(scope["path"])
        is_read = scope["method"] in ("GET", "HEAD")
        if is_read and (path in PUBLIC or ASSET.fullmatch(path)):
            return
        if path.startswith(HOOKS) and (signature := _signature(scope)):
            if self.is_signed(path, signature):
                return
            self._refuse_token(scope, headers, given=True)
        is_call = scope["method"] == "POST" and WEBHOOK.fullmatch(path)
        if is_call and any(name in headers for name in SIGNATURES):
            return
        given = _header(headers, "authorization")
        token = None
        if given:
            scheme, _, text = given.partition(" ")
            token = self._token(text.strip()) if scheme.lower() == "bearer" else None
        # A browser sends the origin with every request that changes something.
        elif (is_read or "origin" in headers) and PAGE_HEADER in headers:
            token = self._token_of_session(headers)
        if token is None:
            self._refuse_token(scope, headers, given=bool(given))
        if not token.is_valid(self.tokens.store.clock()):
            advice = f"ask the operator for a new one: `whorl server token rotate {token.name}`"
            raise Refusal(401, "W904", f"the token {token.name!r} has expired", advice)
        scope[IDENTITY] = Identity(token.name, token.role, token.digest)

    def _token(self, text: str) -> Token | None:
        is_own = hmac.compare_digest(digest_of(text), self._own.digest)
        return self._own if is_own else self.tokens.find(text)

    def _token_of_session(self, headers: Headers) -> Token | None:
        """Returns the token of a session cookie, with the rights that it has now."""
        given = parse_cookies("; ".join(headers.getlist("cookie"))).get(self._cookie, "")
        name, _, is_named = given.partition(".")
        stored = self.tokens.named(name) if is_named else []
        for token in [self._own] if name == SERVER else stored:
            wanted = self._session_of(token.name, token.digest)
            if hmac.compare_digest(given.encode(), wanted.encode()):
                return token
        return None

    def _session_of(self, name: str, digest: bytes) -> str:
        """Returns the session of a token; it cannot be computed from the store alone."""
        bound = b"whorl session\0" + name.encode() + b"\0" + digest
        return f"{name}.{hmac.digest(self.token.encode(), bound, 'sha256').hex()}"

    def _set_cookie(self, scope: Scope) -> bytes:
        headers = Headers(scope=scope)
        is_https = self.behind_proxy and headers.get("x-forwarded-proto", "").lower() == "https"
        secure = "; Secure" if is_https else ""
        where = f"Path=/api; HttpOnly; SameSite=Strict{secure}"
        identity = scope[IDENTITY]
        session = self._session_of(identity.name, identity.digest)
        return f"{self._cookie}={session}; {where}".encode()

    def _host(self, scope: Scope, headers: Headers) -> str:
        is_forwarded = self.behind_proxy and "x-forwarded-host" in headers
        host = _header(headers, "x-forwarded-host" if is_forwarded else "host")
        parsed = _HOST.fullmatch(host)
        if parsed is None:
            raise Refusal(400, "W910", "the Host header is missing or not valid")
        if self.behind_proxy:
            return host.lower()
        name, port = parsed["name"].lower(), int(parsed["port"] or 80)
        if port != self.port or not (name in self.hosts or _is_own(name, scope)):
            raise Refusal(421, "W910", f"{host!r} is not this server", "use the printed address")
        return host.lower()

    def _refuse_token(self, scope: Scope, headers: Headers, *, given: bool) -> NoReturn:
        client = scope.get("client")
        address = str(client[0]) if client else ""
        if self.behind_proxy and "x-forwarded-for" in headers:
            address = headers.getlist("x-forwarded-for")[-1].rpartition(",")[2].strip()[:64]
        # A right token is never refused here: it cannot be guessed, so that locking its owner out
        # is all that an attacker could gain from it.
        if given and not self._failures.allows(address):
            again_s = FAILURES_S
            raise Refusal(429, "W904", "too many wrong tokens; wait a minute", again_s=again_s)
        words = "the token is wrong" if given else "the token is missing"
        raise Refusal(401, "W904", words, "open the link that `whorl serve` has printed")


def new_token() -> str:
    return secrets.token_urlsafe(32)


def read_token(path: Path) -> tuple[str, list[str]]:
    """Returns the token in a file, and warnings about the file. Raises UsageError W906."""
    try:
        about = path.stat()
        text = read_start(path, 4_096).decode("utf-8").strip()
    except OSError as fault:
        raise UsageError(f"the token file {str(path)!r} {reason_of(fault)}") from fault
    except UnicodeDecodeError as fault:
        raise UsageError(f"the token file {str(path)!r} is not UTF-8") from fault
    if _TOKEN.fullmatch(text) is None or bits_of(text) < TOKEN_BITS_MIN:
        words = f"the token in {str(path)!r} is too easy to guess: it needs {TOKEN_BITS_MIN} bits"
        advice = "`openssl rand -hex 32` makes one; letters, digits and ._~+/=- are allowed"
        raise UsageError(words, help=advice, code="W906")
    if about.st_mode & (stat.S_IRGRP | stat.S_IROTH):
        return text, [f"the token file {str(path)!r} can be read by others; `chmod 600` it"]
    return text, []


def bits_of(token: str) -> float:
    """Returns the entropy of a token in bits, if its characters were chosen at random."""
    if len(set(token)) < _DISTINCT_MIN:
        return 0.0
    return len(token) * (4.0 if _HEX.fullmatch(token) else 6.0)


def _signature(scope: Scope) -> str:
    pairs = parse_qsl(scope["query_string"].decode("latin-1"))
    return next((value for name, value in pairs if name == "sig"), "")


def _header(headers: Headers, name: str) -> str:
    """Returns a header that may be given only once, or "" if it is not given."""
    values = headers.getlist(name)
    if len(values) > 1:
        raise Refusal(400, "W900", f"the header {name!r} is given twice")
    return values[0] if values else ""


def _is_own(name: str, scope: Scope) -> bool:
    """Returns whether a name is the address of the connection itself; no DNS can point there."""
    server = str((scope.get("server") or ("",))[0]).partition("%")[0]
    try:
        return ipaddress.ip_address(name.strip("[]")) == ipaddress.ip_address(server)
    except ValueError:
        return False


# Whether a request's token allows its operation, and what the audit notes of it.
#
# A request that is let in without a token or a session (a public address, a signature) may use
# that one address only, and has no role.


def operation_of(request: Request) -> str:
    """Returns the operation of a request; refuses an address that is not in the table."""
    name = ROUTES.get((request.method, request.scope["route"].path))
    if name is None:
        raise Refusal(403, "W915", "no role may use this address")
    return name


async def check_role(request: Request) -> None:
    """Refuses a request that its role does not allow; called once the address is known."""
    scope, name = request.scope, operation_of(request)
    identity = scope.get(IDENTITY)
    if OPERATIONS[name].is_noted and _NOTE in scope:
        scope[_NOTE].update(action=name, **await _subject(request))
    if identity is not None:
        identity.check(name, edits=request.app.state.server.edits)


async def _subject(request: Request) -> dict[str, str]:
    """Returns the run and the file that a request is about; does not read the body of hooks."""
    is_api = request.url.path.startswith("/api/")
    given = _object(await request.body()) if is_api else {}
    names = (given.get(name) for name in ("workflow", "file"))
    known = ("workflow", "schedule", *(["name"] if is_api else []))
    named = (request.path_params.get(name) for name in known)
    file = next((str(name) for name in (*names, *named) if name and isinstance(name, str)), "")
    return {"run": str(request.path_params.get("run", "")), "file": file}


@dataclass(eq=False)
class Audited:
    """An ASGI application around another one: notes each change in the audit, then answers."""

    app: ASGIApp
    audit: Audit
    _late: set[asyncio.Task[None]] = field(default_factory=set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        note: dict[str, Any] = {}
        scope[_NOTE] = note
        start: Message | None = None

        async def send_noted(message: Message) -> None:
            nonlocal start
            if note and message["type"] == "http.response.start":
                start = message
                return
            if note and start is not None:
                await self._add(scope, note, _outcome(start["status"], message, note))
                note.clear()
                await send(start)
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        finally:
            if note:
                # It may have been carried out although the client did not wait for the answer.
                late = asyncio.ensure_future(self._add(scope, dict(note), "not answered"))
                self._late.add(late)
                late.add_done_callback(self._late.discard)

    async def _add(self, scope: Scope, note: dict[str, Any], outcome: str) -> None:
        identity: Identity | None = scope.get(IDENTITY)
        who, role = (identity.name, identity.role) if identity else (_SIGNED, "")
        try:
            await self.audit.add(AuditEntry(who=who, role=role, outcome=outcome, **note))
        except StoreError as fault:
            words = (safe(note["action"]), safe(who), safe(str(fault)))
            log.error("%s by %s is not in the audit: %s", *words)


def _outcome(status: int, message: Message, note: dict[str, Any]) -> str:
    """Returns `ok`, or the status and the code of the fault; notes the run that was created."""
    answer = _object(message.get("body", b""))
    if status < 400:
        run = answer.get("run")
        if isinstance(run, str) and note["action"] != "fork":
            note["run"] = run
        return "ok"
    error = answer.get("error")
    code = error.get("code", "") if isinstance(error, dict) else ""
    return f"{status} {code}".strip()


def _object(content: bytes) -> dict[str, Any]:
    """Returns the JSON object in a body, or {} if it is not one or nested too deep."""
    try:
        value = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
