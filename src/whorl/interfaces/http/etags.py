"""An answer that its asker has already is not sent again: 304 without a body, by its `ETag`.

Whoever asks again and again pays for a body only when there is something new in it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from whorl.lazily import dataclass

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_OF_BODIES = (b"content-length", b"content-type")


@dataclass(slots=True)
class Unchanged:
    """An ASGI application around another one."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        known = dict(scope["headers"]).get(b"if-none-match")
        held: Message | None = None

        async def send_changed(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _is_whole(message):
                held = message
                return
            if held is not None:
                start, held = held, None
                if not message.get("more_body"):
                    message = _tagged(start, message, known)
                await send(start)
            await send(message)

        await self.app(scope, receive, send_changed)


def _is_whole(start: Message) -> bool:
    """Whether it is a document of the API; pages have tags of their own, and streams none."""
    headers = dict(start["headers"])
    is_json = headers.get(b"content-type", b"").startswith(b"application/json")
    return start["status"] == 200 and is_json and b"etag" not in headers


def _tagged(start: Message, body: Message, known: bytes | None) -> Message:
    """Gives the head its tag; the body is empty where the asker knows it."""
    tag = b'"%s"' % hashlib.sha256(body.get("body", b"")).hexdigest()[:32].encode()
    headers = [*start["headers"], (b"etag", tag)]
    if known != tag:
        start["headers"] = headers
        return body
    start["status"] = 304
    start["headers"] = [pair for pair in headers if pair[0] not in _OF_BODIES]
    return {**body, "body": b""}
