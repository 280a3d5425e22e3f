"""The task `http`: calls a web service through the outbound client."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urljoin

from whorl.providers.http_following import all_pages, is_elsewhere, later
from whorl.providers.http_keys import credential_of
from whorl.providers.inputs import Inputs
from whorl.providers.outbound import Call, origin_of
from whorl.providers.outbound.faults import malformed
from whorl.providers.task import Estimate, Reply, Usage
from whorl.providers.texts import NotJson, clean, parse_json

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.context import Context
    from whorl.providers.outbound import Received
    from whorl.providers.task import Effect, Emit, Request

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TIMEOUT_S = 60.0

_TEXT_TYPES = ("application/xml", "application/javascript", "application/x-www-form-urlencoded")


class Http:
    """Inputs: method, url, headers, query, body or json, auth, follow, accept_status, poll, pages.

    A body that is no text is sent as JSON, and `json` always is. The value is `{status, headers,
    body}`. A status that is no success is an error unless `accept_status` names it: a number, a
    class such as `4xx`, `any`, or a list of them. `auth` is `{type, ...}`: Basic with username and
    password, Bearer with token, Raw with value, or Key with the name of an operator's key. With
    `poll`, work that was accepted (202) is asked after at its `location` until it is done. With
    `pages`, a list is read until it has so many items. With `hide_reply` nobody
    is shown what the other side said.
    """

    effect: Effect = "outside"

    def __init__(self, context: Context) -> None:
        self._outbound = context.outbound
        self._keys = context.settings.keys

    def estimate(self, request: Request) -> Estimate:
        """A call, without a price."""
        return Estimate(calls=1)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Calls. Raises ProviderError, with the value in its detail when there was a reply."""
        inputs = Inputs(request.kind or "http", request.inputs)
        call = self._call(inputs, request)
        received = await self._outbound.request(call)
        self._check(inputs, received)
        value = value_of(received)
        told: dict[str, Json] = {"status": received.status, "url": received.url}
        told |= {"secure": True} if inputs.flag("hide_reply", default=False) else {}
        pause = later(inputs, received)
        if pause is not None:
            return Reply(value, Usage(calls=1), told | {"later": pause})
        wanted = inputs.count("pages")
        if wanted is not None:
            value = await all_pages(
                value, len(received.body), wanted, partial(self._page, inputs, call)
            )
        return Reply(value, Usage(calls=1), told)

    def _call(self, inputs: Inputs, request: Request) -> Call:
        call = call_of(inputs, request)
        if is_elsewhere(inputs):
            return replace(call, headers=())
        return replace(call, credential=credential_of(inputs, call.url, self._keys))

    async def _page(self, inputs: Inputs, call: Call, place: str) -> tuple[dict[str, Json], int]:
        """Another page of a list; a page of another host is asked for without our headers."""
        url = urljoin(call.url, place)
        if origin_of(url) != origin_of(call.url):
            call = replace(call, headers=(), credential=None)
        received = await self._outbound.request(replace(call, url=url))
        self._check(inputs, received)
        return value_of(received), len(received.body)

    def _check(self, inputs: Inputs, received: Received) -> None:
        if _accepts(inputs, received.status):
            return
        hidden = inputs.flag("hide_reply", default=False)
        fault = self._outbound.fault(received, b"" if hidden else received.body)
        fault.detail = {**fault.detail, **value_of(received)}
        fault.detail |= {"secure": True} if hidden else {}
        raise fault


def call_of(inputs: Inputs, request: Request) -> Call:
    """The call that the inputs describe."""
    method = inputs.text("method", "GET").upper()
    if method not in METHODS:
        inputs.refuse("method", f"must be one of {', '.join(METHODS)}, not {method!r}")
    headers = {name.lower(): text for name, text in inputs.texts("headers").items()}
    body, kind = _body(inputs)
    if kind and body:
        headers.setdefault("content-type", kind)
    if method not in ("GET", "HEAD", "OPTIONS") and request.key:
        headers.setdefault("idempotency-key", request.key)
    return Call(
        method=method,
        url=_url(inputs),
        headers=tuple(headers.items()),
        body=body,
        follow=inputs.flag("follow", default=True),
        timeout_s=request.timeout_s or TIMEOUT_S,
    )


def value_of(received: Received) -> dict[str, Json]:
    """Status, headers and body; a body that is neither JSON nor text is written in base64."""
    value: dict[str, Json] = {
        "status": received.status,
        "headers": {name: clean(text) for name, text in received.headers.items()},
        "body": None,
    }
    kind = received.content_type
    if not received.body:
        value["body"] = ""
    elif kind == "application/json" or kind.endswith("+json"):
        try:
            value["body"] = parse_json(received.body.decode("utf-8-sig", "replace"))
        except NotJson as cause:
            if received.status < 400:
                raise malformed(received.what, f"the reply is not JSON: {cause}") from None
            value["body"] = received.body.decode("utf-8", "replace")
    elif kind.startswith("text/") or kind in _TEXT_TYPES or (not kind and _is_text(received.body)):
        value["body"] = _decoded(received)
    else:
        value["body"] = base64.b64encode(received.body).decode("ascii")
        value["encoding"] = "base64"
    return value


def _url(inputs: Inputs) -> str:
    url = inputs.needed("url")
    query = inputs.table("query")
    if not query:
        return url
    pairs = [
        (name, item if isinstance(item, str) else json.dumps(item))
        for name, value in query.items()
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]
    bare, hash_mark, fragment = url.partition("#")
    return f"{bare}{'&' if '?' in bare else '?'}{urlencode(pairs)}{hash_mark}{fragment}"


def _body(inputs: Inputs) -> tuple[bytes, str]:
    body, as_json = inputs.get("body"), inputs.get("json")
    if body is None and as_json is None:
        return b"", ""
    if body is None:
        body = as_json
    elif isinstance(body, str):
        return clean(body).encode(), "text/plain; charset=utf-8"
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"), "application/json"


def _accepts(inputs: Inputs, status: int) -> bool:
    if 200 <= status < 300:
        return True
    wanted = inputs.get("accept_status")
    words = [str(word).lower() for word in (wanted if isinstance(wanted, list) else [wanted])]
    return any(word in ("any", str(status), f"{status // 100}xx") for word in words)


def _decoded(received: Received) -> str:
    _, _, parameters = received.headers.get("content-type", "").lower().partition("charset=")
    charset = parameters.partition(";")[0].strip(" \"'")
    if charset in ("iso-8859-1", "latin-1", "windows-1252"):
        return received.body.decode("cp1252", "replace")
    return clean(received.body.decode("utf-8-sig", "replace"))


def _is_text(body: bytes) -> bool:
    try:
        return "\0" not in body.decode("utf-8")
    except UnicodeDecodeError:
        return False
