"""Functions on the parts of addresses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from whorl.language.functions.logic.arguments import not_valid, text
from whorl.language.functions.logic.envelopes import decode_text, envelope
from whorl.language.functions.logic.strings import concat
from whorl.language.functions.logic.table import Family

if TYPE_CHECKING:
    from whorl.language.entry import FunctionEntry
    from whorl.language.run import Run
    from whorl.language.values import Value

# What encodeURIComponent of JavaScript leaves as it is, beside letters, digits and `_.-~`.
_UNESCAPED = "!'()*"
_PORTS = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}
_ADDRESS = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?:[^/?#@]*@)?"
    r"(?P<host>\[[^\]/?#]*\]|[^:/?#]*)(?::(?P<port>[0-9]{0,5}))?)?"
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?\Z",
    re.DOTALL,
)


def encode_component(run: Run, values: list[Value]) -> Value:
    # The designer writes several parts into one call; Azure joins them.
    source = concat(run, values)
    run.check_text(len(source) * 3, "uriComponent")
    return quote(source, safe=_UNESCAPED, errors="replace")


def decode_component(run: Run, value: Value) -> Value:
    return decode_text(unquote_to_bytes(text("uriComponentToString", None, value)), "utf-8")


def component_to_binary(run: Run, value: Value) -> Value:
    source = text("uriComponentToBinary", None, value)
    run.check_text(len(source) * 4 // 3, "uriComponentToBinary")
    return envelope(source.encode("utf-8", "replace"))


def _address(function: str, value: Value) -> re.Match[str]:
    found = _ADDRESS.match(text(function, None, value).strip())
    if found is None:
        raise not_valid(function, "the value is not an absolute URI")
    return found


def host(run: Run, value: Value) -> Value:
    return (_address("uriHost", value)["host"] or "").lower()


def path(run: Run, value: Value) -> Value:
    return _address("uriPath", value)["path"] or "/"


def path_and_query(run: Run, value: Value) -> Value:
    found = _address("uriPathAndQuery", value)
    return (found["path"] or "/") + (found["query"] or "")


def port(run: Run, value: Value) -> Value:
    found = _address("uriPort", value)
    return int(found["port"]) if found["port"] else _PORTS.get(found["scheme"].lower(), -1)


def query(run: Run, value: Value) -> Value:
    return _address("uriQuery", value)["query"] or ""


def scheme(run: Run, value: Value) -> Value:
    return _address("uriScheme", value)["scheme"].lower()


_uri = Family("uri")

URIS: tuple[FunctionEntry, ...] = (
    _uri.collecting("uriComponent(text)", encode_component, "escaped for use in a URI"),
    _uri.collecting("encodeUriComponent(text)", encode_component, "escaped for use in a URI"),
    _uri("uriComponentToString(text)", decode_component, "without its escapes"),
    _uri("decodeUriComponent(text)", decode_component, "without its escapes"),
    _uri("uriComponentToBinary(text)", component_to_binary, "an escaped text as content"),
    _uri("uriHost(uri)", host, "the host"),
    _uri("uriPath(uri)", path, "the path, / if it has none"),
    _uri("uriPathAndQuery(uri)", path_and_query, "the path with the query"),
    _uri("uriPort(uri)", port, "the port, the usual one of the scheme if it has none"),
    _uri("uriQuery(uri)", query, "the query with its question mark"),
    _uri("uriScheme(uri)", scheme, "the scheme"),
)
