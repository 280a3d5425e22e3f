"""URLs, read strictly: a text that two programs could read in two ways is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from whorl.errors import ProviderError
from whorl.providers.outbound.addresses import fold_host, literal_of

PORTS = {"http": 80, "https": 443}
LENGTH_MAX = 8_192

_UNCLEAR = re.compile(r"[\x00-\x20\x7f\\]")
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
    shown = re.sub(r"//[^/?#]*@", "//", url.partition("?")[0])[:200]
    if len(url) > LENGTH_MAX or _UNCLEAR.search(url):
        raise _refusal(shown, "it is too long, or holds spaces, control characters or backslashes")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as cause:
        raise _refusal(shown, str(cause)) from None
    scheme = parts.scheme.lower()
    if scheme not in PORTS:
        raise _refusal(shown, "only https and http are known")
    if "@" in parts.netloc:
        raise _refusal(shown, "a name or password has no place in a URL; use a header")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        path += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    host = _host_of(parts.hostname or "")
    if not host:
        raise _refusal(shown, "its host is not a host name or an address")
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


def _refusal(shown: str, reason: str) -> ProviderError:
    return ProviderError(f"the address {shown!r} cannot be used: {reason}", code="P107")
