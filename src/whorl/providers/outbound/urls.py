"""URLs, read strictly: a text that two programs could read in two ways is refused.

Characters that a path or query cannot hold are percent-encoded, as browsers do: a search for
several words is what an author means. What is percent-encoded already stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from whorl.errors import ProviderError
from whorl.providers.outbound.addresses import fold_host, literal_of

PORTS = {"http": 80, "https": 443}
LENGTH_MAX = 8_192

# Line breaks would let a value write headers; a backslash is a slash to some programs.
_UNCLEAR = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_KEPT_IN_PATH = "/%:@!$&'()*+,;=~-._"
_KEPT_IN_QUERY = _KEPT_IN_PATH + "?"
_SHOWN_MAX = 300
# How the names of query parameters end whose values are not for messages.
_SECRET_NAMES = (
    *("key", "token", "secret", "password", "passwd", "pwd", "sig", "signature", "auth"),
    *("authorization", "credential", "credentials", "code", "session", "jwt"),
)
_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes; `path` holds the query too. A literal address is in its usual form."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """Scheme, host and port: what a credential belongs to."""
        return f"{self.scheme}://{self._shown_host}:{self.port}"

    @property
    def authority(self) -> str:
        """The text of the Host header."""
        usual = PORTS[self.scheme] == self.port
        return self._shown_host if usual else f"{self._shown_host}:{self.port}"

    @property
    def shown(self) -> str:
        """The URL as messages show it: without the query, which may hold what is not for all."""
        return f"{self.scheme}://{self.authority}{self.path.partition('?')[0]}"

    @property
    def _shown_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def target_of(url: str) -> Target:
    """Reads a URL; raises ProviderError P107."""
    url = url.strip(" ")
    if len(url) > LENGTH_MAX:
        raise _refusal(url, f"it has {len(url):,} characters, and {LENGTH_MAX:,} is the most")
    unclear = _UNCLEAR.search(url)
    if unclear is not None:
        raise _refusal(url, _unclear_reason(unclear[0]))
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as cause:
        raise _refusal(url, str(cause)) from None
    scheme = parts.scheme.lower()
    if scheme not in PORTS:
        raise _refusal(url, "only https and http are known")
    if "@" in parts.netloc:
        raise _refusal(url, "a name or password has no place in a URL; use a header")
    host = _host_of(parts.hostname or "")
    if not host:
        raise _refusal(url, "its host is not a host name or an address")
    path = _encoded(parts.path or "/", _KEPT_IN_PATH)
    if parts.query:
        path += "?" + _encoded(parts.query, _KEPT_IN_QUERY)
    return Target(scheme, host, PORTS[scheme] if port is None else port, path)


def origin_of(url: str) -> str:
    """The origin of a URL; raises ProviderError P107."""
    return target_of(url).origin


def _host_of(host: str) -> str:
    address = literal_of(host)
    if address is not None:
        return str(address)
    folded = fold_host(host)
    try:
        name = folded if folded.isascii() else folded.encode("idna").decode("ascii")
    except UnicodeError:
        return ""
    return name if len(name) <= 253 and _HOST.fullmatch(name) else ""


def _encoded(part: str, kept: str) -> str:
    """A path or query whose other characters are percent-encoded, also a `%` that begins none."""
    return quote(_BARE_PERCENT.sub("%25", part), safe=kept)


def _unclear_reason(character: str) -> str:
    if character == "\\":
        return "it holds a backslash; write / or %5C"
    if not character.isascii():
        return "it holds half of a character (a lone surrogate)"
    code = f"%{ord(character):02X}"
    return f"it holds the control character {character!r}; take it out, or write {code} for it"


def _refusal(url: str, reason: str) -> ProviderError:
    """The error for a URL, without its password and without what its query keeps secret."""
    bare, mark, query = url.partition("#")[0].partition("?")
    shown = _visible(re.sub(r"//[^/?#]*@", "//", bare)[:_SHOWN_MAX])
    asked = _visible(_shown_query(query)) if mark else ""
    return ProviderError(
        f"the address '{shown}{mark}{asked}' cannot be used: {reason}",
        code="P107",
        detail={"quoted": asked} if asked else {},
    )


def _shown_query(query: str) -> str:
    """Whole parameters only: a part of a secret could not be recognised any more."""
    shown: list[str] = []
    for parameter in query.split("&"):
        name, mark, _ = parameter.partition("=")
        is_secret = mark and name.strip().lower().endswith(_SECRET_NAMES)
        shown.append(f"{name}=***" if is_secret else parameter)
        if sum(map(len, shown)) > _SHOWN_MAX:
            return "&".join([*shown[:-1], "..."])
    return "&".join(shown)


def _visible(text: str) -> str:
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
