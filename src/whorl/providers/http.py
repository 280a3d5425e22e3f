"""The task `http`: calls a web service, with keys, polling and pages."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urljoin

from whorl.errors import ProviderError, did_you_mean
from whorl.providers.json_values import NotJson, beside, clean, json_bytes, parse_json
from whorl.providers.outbound.addresses import origin_of
from whorl.providers.outbound.client import Credential, OutboundCall, malformed, retry_after
from whorl.providers.redaction import Secret
from whorl.providers.settings.sections import basic
from whorl.providers.task import Emit, Inputs, OwnTask, Reply, Request, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from whorl.language import Json
    from whorl.providers.outbound.client import Outbound, Received
    from whorl.providers.settings import KeySettings


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TIMEOUT_S = 60.0
# How long to wait if the other side does not say.
LATER_S = 20.0
LATER_MAX_S = 3_600.0
PAGES_MAX = 1_000
ITEMS_MAX = 100_000
BYTES_MAX = 25_000_000
_NEXT = ("nextLink", "@odata.nextLink", "odata.nextLink")

_NO_LINES = {ord("\r"): " ", ord("\n"): " "}
_TEXT_TYPES = ("application/xml", "application/javascript", "application/x-www-form-urlencoded")


class Http(OwnTask):
    """Inputs: method, url, headers, query, body, key or auth, accept_status, poll, pages.

    A body that is not a text is sent as JSON, or as the bytes that `content_of` returns for it. The
    value is `{status, headers, body}`. An unsuccessful status is an error unless `accept_status`
    names it: a number, a class such as `4xx`, `any`, or a list of them. `auth` is `{type, ...}`:
    Basic with username and password, Bearer with token, Raw with value, or Key with the name of an
    operator's key, which `key` names alone. With `poll`, accepted work (202) is polled at its
    `location` until it is done. With `pages`, a list is read until it has so many items. With
    `hide_reply` the reply is not shown. With `secure_auth` only `auth` is secure, so errors may
    show the address.
    """

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Sends the call. Raises ProviderError; its detail has the value if there was a reply."""
        inputs = Inputs(request.kind or "http", request.inputs)
        call = _call_of(inputs, request)
        sent_to = inputs.text("sent_to")
        if sent_to and origin_of(sent_to) != origin_of(call.url):
            # A reply sent the call to another host, which gets neither its headers nor its key.
            call = replace(call, headers=())
        else:
            credential = _credential_of(inputs, call.url, self._settings.keys)
            call = replace(call, credential=credential)
        received = await self._context.outbound.request(call)
        value = await checked_value(self._context.outbound, received, inputs)
        detail = detail_of(received, inputs)
        if (pause := _later(inputs, received)) is not None:
            return Reply(value, Usage(calls=1), detail | {"later": pause})
        if (wanted := inputs.count("pages")) is not None:
            fetch = partial(self._page, inputs, call)
            value = await all_pages(value, len(received.body), wanted, fetch)
        return Reply(value, Usage(calls=1), detail)

    async def _page(
        self, inputs: Inputs, call: OutboundCall, place: str
    ) -> tuple[dict[str, Json], int]:
        """Reads another page of a list; for a page on another host, without the call's headers."""
        url = urljoin(call.url, place)
        if origin_of(url) != origin_of(call.url):
            call = replace(call, headers=(), credential=None)
        received = await self._context.outbound.request(replace(call, url=url))
        value = await checked_value(self._context.outbound, received, inputs)
        return value, len(received.body)


async def checked_value(outbound: Outbound, received: Received, inputs: Inputs) -> dict[str, Json]:
    value = await beside(partial(value_of, received), len(received.body))
    status = received.status
    wanted = inputs.get("accept_status")
    words = [str(word).lower() for word in (wanted if isinstance(wanted, list) else [wanted])]
    accepted = any(word in ("any", str(status), f"{status // 100}xx") for word in words)
    if accepted or 200 <= status < 300:
        return value
    is_hidden = inputs.flag("hide_reply")
    fault = outbound.fault(received, b"" if is_hidden else received.body)
    fault.detail = {**fault.detail, **value} | ({"secure": True} if is_hidden else {})
    raise fault


def detail_of(received: Received, inputs: Inputs) -> dict[str, Json]:
    detail: dict[str, Json] = {"status": received.status, "url": received.url}
    return detail | ({"secure": True} if inputs.flag("hide_reply") else {})


def _call_of(inputs: Inputs, request: Request) -> OutboundCall:
    method = inputs.text("method", "GET").upper()
    if method not in METHODS:
        inputs.refuse("method", f"must be one of {', '.join(METHODS)}, not {method!r}")
    headers = {name.lower(): text for name, text in inputs.texts("headers").items()}
    given, body, kind = inputs.get("body"), b"", ""
    if isinstance(given, str):
        body, kind = clean(given).encode(), "text/plain; charset=utf-8"
    elif (content := content_of(given)) is not None:
        body, kind = content
        if "boundary=" in kind:
            headers["content-type"] = kind
    elif given is not None:
        body, kind = json_bytes(given), "application/json"
    if body:
        headers.setdefault("content-type", kind)
    if method not in ("GET", "HEAD", "OPTIONS") and request.key:
        headers.setdefault("idempotency-key", request.key)
    url, query = inputs.needed("url"), inputs.table("query")
    if query:
        pairs = [
            (name, item if isinstance(item, str) else json.dumps(item))
            for name, value in query.items()
            for item in (value if isinstance(value, list) else [value])
            if item is not None
        ]
        bare, hash_mark, fragment = url.partition("#")
        url = f"{bare}{'&' if '?' in bare else '?'}{urlencode(pairs)}{hash_mark}{fragment}"
    given_s, chosen = request.timeout_s or TIMEOUT_S, tuple(headers.items())
    return OutboundCall(
        method=method, url=url, headers=chosen, body=body, follow=True, timeout_s=given_s
    )


def content_of(value: Json) -> tuple[bytes, str] | None:
    """Returns the bytes and type that a JSON value encodes, or None for any other value.

    It is `{"$content-type": ..., "$content": BASE64}`, or several parts, `{"$content-type":
    "multipart/...", "$multipart": [{"headers": {...}, "body": ...}]}`.
    """
    if not isinstance(value, dict) or not isinstance(kind := value.get("$content-type"), str):
        return None
    parts, content = value.get("$multipart"), value.get("$content")
    if isinstance(content, str):
        try:
            return base64.b64decode(content, validate=True), kind
        except ValueError:
            raise ProviderError("'$content' of a body is not base64", code="P113") from None
    if not isinstance(parts, list):
        return None
    written = [_part(part) for part in parts]
    digest = hashlib.sha256(b"".join(written)).hexdigest()[:32]
    mark = f"--{digest}\r\n".encode()
    joined = b"".join(mark + part + b"\r\n" for part in written) + f"--{digest}--\r\n".encode()
    return joined, f"{kind.partition(';')[0]}; boundary={digest}"


def _part(part: Json) -> bytes:
    table = part if isinstance(part, dict) else {"body": part}
    body, headers = table.get("body"), table.get("headers")
    lines = {k.lower(): str(v) for k, v in headers.items()} if isinstance(headers, dict) else {}
    if (content := content_of(body)) is None:
        is_text = isinstance(body, str)
        kind = "text/plain; charset=utf-8" if is_text else "application/json"
        content = str(body).encode() if is_text else json_bytes(body), kind
    lines.setdefault("content-type", content[1])
    head = "".join(f"{k}: {v}".translate(_NO_LINES) + "\r\n" for k, v in lines.items())
    return head.encode() + b"\r\n" + content[0]


def value_of(received: Received) -> dict[str, Json]:
    kind, body, status = received.content_type, received.body, received.status
    headers: dict[str, Json] = {name: clean(text) for name, text in received.headers.items()}
    value: dict[str, Json] = {"status": status, "headers": headers, "body": ""}
    if kind == "application/json" or kind.endswith("+json"):
        try:
            value["body"] = parse_json(body.decode("utf-8-sig", "replace")) if body else ""
        except NotJson as cause:
            if status < 400:
                raise malformed(received.what, f"the reply is not JSON: {cause}") from None
            value["body"] = body.decode("utf-8", "replace")
    elif kind.startswith("text/") or kind in _TEXT_TYPES or (not kind and _is_text(body)):
        _, _, parameters = received.headers.get("content-type", "").lower().partition("charset=")
        charset = parameters.partition(";")[0].strip(" \"'")
        is_latin = charset in ("iso-8859-1", "latin-1", "windows-1252")
        value["body"] = clean(body.decode("cp1252" if is_latin else "utf-8-sig", "replace"))
    elif body:
        value["body"] = base64.b64encode(body).decode("ascii")
        value["encoding"] = "base64"
    return value


def _is_text(body: bytes) -> bool:
    try:
        return "\0" not in body.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _later(inputs: Inputs, received: Received) -> dict[str, Json] | None:
    """Returns the wait and inputs of the next poll, or None if no poll follows."""
    place = received.headers.get("location", "").strip()
    if not inputs.flag("poll") or received.status != 202 or not place:
        return None
    asked: dict[str, Json] = {"method": "GET", "query": None, "body": None}
    asked["url"] = urljoin(received.url, place)
    asked["sent_to"] = inputs.text("sent_to") or inputs.needed("url")
    after_s = retry_after(received.headers.get("retry-after", ""), time.time(), LATER_MAX_S)
    return {"after_s": LATER_S if after_s is None else after_s, "inputs": asked}


async def all_pages(
    value: dict[str, Json],
    size: int,
    wanted: int,
    fetch: Callable[[str], Awaitable[tuple[dict[str, Json], int]]],
) -> dict[str, Json]:
    """Returns a reply of `size` bytes with the items of further pages, until there are enough."""
    body = value.get("body")
    if not isinstance(body, dict) or not isinstance(listed := body.get("value"), list):
        return value
    items: list[Json] = [*listed]
    for _ in range(PAGES_MAX):
        place = next((body[name] for name in _NEXT if isinstance(body.get(name), str)), None)
        if place is None or len(items) >= wanted:
            break
        page, length = await fetch(str(place))
        size += length
        if size > BYTES_MAX:
            raise ProviderError(f"the list has more than {BYTES_MAX:,} bytes", code="P106")
        body = page.get("body")
        if not isinstance(body, dict):
            raise ProviderError("a page of the list is not a JSON object", code="P111")
        more = body.get("value")
        items += more if isinstance(more, list) else []
        if len(items) > ITEMS_MAX:
            raise ProviderError(f"the list has more than {ITEMS_MAX} items", code="P106")
    first = value["body"]
    assert isinstance(first, dict)
    rest = {name: body[name] for name in _NEXT if name in body}
    kept = {name: part for name, part in first.items() if name not in _NEXT}
    return value | {"body": kept | {"value": items} | rest}


def _credential_of(inputs: Inputs, url: str, keys: Mapping[str, KeySettings]) -> Credential | None:
    """Returns headers for one origin; a file can only name a key, for the key's own host.

    Any other kind is an identity that only a platform can prove, such as a managed one. The
    operator's key for that host replaces it.
    """
    auth = {name.lower(): str(value) for name, value in inputs.texts("auth").items()}
    if name := inputs.text("key"):
        auth = {"type": "Key", "name": name}
    kind, origin = auth.get("type", ""), origin_of(url)
    headers = {
        "basic": f"Basic {basic(auth.get('username', ''), auth.get('password', ''))}",
        "bearer": f"Bearer {auth.get('token') or auth.get('value', '')}",
        "raw": auth.get("value", ""),
    }
    if kind.lower() in ("", "none"):
        return None
    if header := headers.get(kind.lower()):
        return Credential(origin, (("Authorization", Secret(header)),))
    name = auth.get("name", "")
    if kind.lower() == "key":
        key, what = keys.get(name), f"there is no key {name!r}"
    else:
        key = next((each for each in keys.values() if origin_of(each.url) == origin), None)
        what = f"{kind!r} cannot be proved on this machine, and there is no key for the host"
    why = ""
    if key is None:
        near = f"; {near}" if (near := did_you_mean(name, keys)) else ""
        why = f'{what}; the operator adds [keys.NAME] with url = "{origin}" and token to whorl.toml'
        why += near
    elif origin_of(key.url) != origin:
        why = f"key {key.name!r} is for {key.url}, and is not sent to {origin}"
    elif not key.headers:
        why = f"key {key.name!r} is empty: the variable that it names is not set, or is empty"
    if key is None or why:
        raise ProviderError(f"the request cannot be authenticated: {why}", code="P116")
    return Credential(origin, key.headers)
