"""Limits: every request is bounded in size and time, and its body is JSON of the bounded kind only.

They apply after auth and before anything else (security rules R11-R14). No answer shows a secret.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders

from whorl.interfaces.http.problems import Refusal, answer_for
from whorl.providers.json_values import NotJson, as_json
from whorl.providers.redaction import Secret, redact

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


BODY_MAX = 2_000_000
DEADLINE_S = 30.0
# A caller of a workflow waits for its answer, up to two minutes.
HOOK_S = 150.0
NAMES_MAX = 50
# Addresses that are given away, each with a signature of its own.
HOOKS = "/hooks/"
_LIMITED_MAX = 10_000
_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})

log = logging.getLogger("whorl.http")


@dataclass(eq=False)
class Limits:
    """An ASGI application around another one: reads bodies and keeps the time."""

    app: ASGIApp
    secrets: tuple[Secret, ...]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope["path"])
        is_hook = path.startswith(HOOKS)
        secrets = self.secrets if is_hook or path.startswith("/api/") else ()
        known = Headers(scope=scope).get("if-none-match", "") if scope["method"] == "GET" else None
        answering = _Answering(send, secrets, known)
        deadline_s = HOOK_S if is_hook else DEADLINE_S
        content: bytes | None = None

        async def receive_again() -> Message:
            """Returns the body that was read before, and then further messages."""
            nonlocal content
            body, content = content, None
            if body is None:
                return await receive()
            return {"type": "http.request", "body": body, "more_body": False}

        try:
            async with asyncio.timeout(deadline_s) as deadline:
                answering.deadline = deadline
                _check_query(scope)
                if scope["method"] in _WITH_BODY:
                    # What is deleted is named by its address; a body would mean nothing.
                    is_json = not is_hook and scope["method"] != "DELETE"
                    content = await _body(scope, receive, is_json=is_json)
                    answering.has_read = True
                await self.app(scope, receive_again, answering.send)
        except Refusal as refusal:
            await _refuse(refusal, scope, receive, answering)
        except TimeoutError:
            if not deadline.expired():
                raise
            slow = not answering.has_read and scope["method"] in _WITH_BODY
            status, words = (408, "did not arrive") if slow else (503, "was not answered")
            late = Refusal(status, "W900", f"the request {words} within {deadline_s:g} s")
            await _refuse(late, scope, receive, answering)
        except Exception as fault:  # noqa: BLE001 - the edge: our mistakes are reported, not dumped
            if not answering.has_begun:
                answering.deadline = None
                await answer_for(fault)(scope, receive, answering.send)


@dataclass(slots=True)
class _Answering:
    """Sends an answer without secrets; once it has begun, it has no deadline.

    A client that has the answer by its `ETag` does not receive it again; streams have no such tag.
    """

    _send: Send
    _secrets: tuple[Secret, ...]
    # The tag that is known; None: nothing is looked at, but changed.
    _known: str | None
    _start: Message | None = None
    deadline: asyncio.Timeout | None = None
    has_begun: bool = False
    has_read: bool = False

    async def send(self, message: Message) -> None:
        """Passes a message on; the head of an answer waits for the first part of its body."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            if self.deadline is not None:
                self.deadline.reschedule(None)
            self._start = message
            return
        body = message.get("body", b"")
        shown = _redacted(body, self._secrets) if self._secrets else body
        if self._start is not None:
            start, self._start = self._start, None
            if not message.get("more_body"):
                shown = self._whole(start, shown)
            await self._send(start)
        await self._send({**message, "body": shown})

    def _whole(self, start: Message, body: bytes) -> bytes:
        """Returns the body of an answer in one piece, and fits the head to it."""
        headers = MutableHeaders(scope=start)
        if start["status"] == 200 and self._known is not None and "etag" not in headers:
            headers["etag"] = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            if headers["etag"] == self._known:
                start["status"] = 304
                del headers["content-length"], headers["content-type"]
                return b""
        if "content-length" in headers:
            headers["content-length"] = str(len(body))
        return body


def _redacted(body: bytes, secrets: tuple[Secret, ...]) -> bytes:
    """Removes secrets from an answer; JSON stays valid for any characters in a secret."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return body
    redacted = redact(text, secrets)
    if redacted == text:
        return body
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return redacted.encode()
    return json.dumps(redact(value, secrets), ensure_ascii=False).encode()


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, way: _Answering) -> None:
    if way.has_begun:
        log.error("an answer was cut short: %s", refusal)
        return
    answer = answer_for(refusal)
    # The server does not wait for the rest of a body that it refuses.
    answer.headers["Connection"] = "close"
    way.deadline = None
    await answer(scope, receive, way.send)


def _check_query(scope: Scope) -> None:
    """Refuses a name that is given twice, since one of its values would be ignored."""
    try:
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True,
                          max_num_fields=NAMES_MAX)  # fmt: skip
    except ValueError:
        raise Refusal(400, "W900", f"the query has more than {NAMES_MAX} names") from None
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise Refusal(400, "W900", f"{name[:80]}: it is given twice")


async def _body(scope: Scope, receive: Receive, *, is_json: bool) -> bytes:
    headers = Headers(scope=scope)
    kind, _, parameter = headers.get("content-type", "").partition(";")
    parameter = parameter.strip().lower().replace('"', "")
    is_ours = kind.strip().lower() == "application/json" and parameter in ("", "charset=utf-8")
    if is_json and not is_ours:
        raise Refusal(415, "W900", "the body must be application/json in UTF-8")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "W900", "a compressed body is not accepted")
    try:
        announced = int(headers.get("content-length", "0"))
    except ValueError:
        raise Refusal(400, "W900", "the Content-Length is not a number") from None
    content = bytearray()
    while True:
        if max(announced, len(content)) > BODY_MAX:
            raise Refusal(413, "W900", f"the body has more than {BODY_MAX:,} bytes")
        message = await receive()
        if message["type"] != "http.request":
            raise Refusal(400, "W900", "the request was cut short")
        content += message.get("body", b"")
        if not message.get("more_body") and len(content) <= BODY_MAX:
            if not is_json:
                return bytes(content)
            if len(content) > 100_000:
                return await asyncio.to_thread(_reread, content)
            return _reread(content)


def _reread(content: bytearray) -> bytes:
    """Returns the same JSON, checked: bounded, finite, no repeated keys, no lone surrogates."""
    try:
        text = content.decode("utf-8")
        value = as_json(json.loads(text, object_pairs_hook=_once))
    except RecursionError:
        raise Refusal(400, "W900", "the body is nested too deep") from None
    except json.JSONDecodeError as fault:
        place = f"line {fault.lineno}, column {fault.colno}"
        raise Refusal(400, "W900", f"the body is not valid JSON, see {place}") from None
    except ValueError as fault:
        raise Refusal(400, "W900", f"the body is not valid JSON: {fault}") from None
    return json.dumps(value, ensure_ascii=False).encode("utf-8")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise NotJson("a key is given twice")
    return fields


@dataclass(slots=True)
class RateLimit:
    """Allows at most `most` requests within `seconds`, each name by itself."""

    most: int
    seconds: float
    _times: dict[str, deque[float]] = field(default_factory=dict)

    def allows(self, name: str = "") -> bool:
        """Returns whether another one is allowed now; if so, it counts."""
        now = time.monotonic()
        if len(self._times) >= _LIMITED_MAX:
            self._times.clear()
        times = self._times.setdefault(name, deque(maxlen=self.most))
        if len(times) == self.most and now - times[0] < self.seconds:
            return False
        times.append(now)
        return True
