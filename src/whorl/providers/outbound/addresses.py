"""URLs and addresses, read strictly, and which of them may be called.

A text that two programs could read in two ways is refused. Characters that a path or query cannot
hold are percent-encoded, as in browsers; existing percent-encoding is not changed. Addresses inside
other addresses are also checked. The tables are Whorl's own, because those of the standard library
differ between Python versions.
"""

from __future__ import annotations

import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import quote, urlsplit

from whorl.errors import ProviderError
from whorl.lazily import dataclass
from whorl.providers.settings import line_below, with_entry
from whorl.providers.settings.tables import shown_url

if TYPE_CHECKING:
    from whorl.providers.settings import Settings

Address: TypeAlias = IPv4Address | IPv6Address
AddressKind: TypeAlias = Literal[
    "public", "loopback", "private", "link-local", "metadata", "multicast", "reserved"
]

_METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # most clouds
        "169.254.170.2",  # AWS containers
        "168.63.129.16",  # Azure
        "100.100.100.200",  # Alibaba
        "192.0.0.192",  # Oracle
        "fd00:ec2::254",  # AWS
        "fd20:ce::254",  # Google
    )
)

_PLACES: tuple[tuple[AddressKind, str], ...] = (
    ("loopback", "127.0.0.0/8 ::1/128"),
    ("private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7 fec0::/10"),
    ("link-local", "169.254.0.0/16 fe80::/10"),
    ("multicast", "224.0.0.0/4 ff00::/8"),
    ("reserved", "0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 240.0.0.0/4"),
    ("reserved", "198.51.100.0/24 203.0.113.0/24 2001::/23 2001:db8::/32 3fff::/20"),
)
_NETWORKS = tuple((ip_network(text), place) for place, texts in _PLACES for text in texts.split())

_GLOBAL_V6 = IPv6Network("2000::/3")
# IPv4 in the last bits: mapped, translated, NAT64.
_IN_LAST = tuple(map(IPv6Network, ("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")))
_COMPATIBLE = IPv6Network("::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")
_ISATAP = 0x5EFE


def place_of(address: Address) -> AddressKind:
    """Returns the kind of an address; one that leads to several gets the least public kind."""
    if isinstance(address, IPv6Address):
        address = IPv6Address(int(address))  # without a scope
    if address in _METADATA:
        return "metadata"
    inside = _inside(address) if isinstance(address, IPv6Address) else []
    if inside:
        return next((place for place in map(place_of, inside) if place != "public"), "public")
    for network, place in _NETWORKS:
        if address in network:
            return place
    is_known = isinstance(address, IPv4Address) or address in _GLOBAL_V6
    return "public" if is_known else "reserved"


def _inside(address: IPv6Address) -> list[IPv4Address]:
    """Returns the IPv4 addresses that this one contains or leads to."""
    number = int(address)
    low = IPv4Address(number & 0xFFFFFFFF)
    if any(address in network for network in _IN_LAST) or (address in _COMPATIBLE and number > 1):
        return [low]
    if address in _SIX_TO_FOUR:
        return [IPv4Address(number >> 80 & 0xFFFFFFFF)]
    if address in _TEREDO:
        return [IPv4Address(number >> 64 & 0xFFFFFFFF), IPv4Address(~number & 0xFFFFFFFF)]
    is_isatap = address in _GLOBAL_V6 and number >> 32 & 0xFDFFFFFF == _ISATAP
    return [low] if is_isatap else []


def literal_of(host: str) -> Address | None:
    """Returns the address if the host is a literal one, in any notation that systems accept.

    `2130706433`, `0x7f.1` and `0177.0.0.1` are all 127.0.0.1 to the C library.
    """
    text = fold_host(host).strip("[]")
    try:
        return ip_address(text)
    except ValueError:
        return _loose_v4(text)


def fold_host(host: str) -> str:
    """Returns the host in lower case, with plain digits and dots and without the last dot."""
    return unicodedata.normalize("NFKC", host).replace("\u3002", ".").lower().rstrip(".")


def _loose_v4(text: str) -> IPv4Address | None:
    numbers: list[int] = []
    for part in text.split("."):
        # Python's int takes blanks, signs and underscores too; the C library does not.
        if not (part.isascii() and part.isalnum()) or len(part) > 16:
            return None
        number_base = 10
        if part.startswith("0x"):
            part, number_base = part[2:] or "0", 16
        elif part.startswith("0") and len(part) > 1:
            part, number_base = part[1:], 8
        try:
            numbers.append(int(part, number_base))
        except ValueError:
            return None
    *heads, value = numbers
    if len(heads) > 3 or max(heads, default=0) > 255 or value >= 256 ** (4 - len(heads)):
        return None
    for at, head in enumerate(heads):
        value += head << 8 * (3 - at)
    return IPv4Address(value)


PORTS = {"http": 80, "https": 443}
LENGTH_MAX = 8_192

# Line breaks would let a value write headers; a backslash is a slash to some programs.
_UNCLEAR = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")
_BRACKETED = re.compile(r"\[[^\[\]]*\](:\d*)?")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_KEPT_IN_PATH = "/%:@!$&'()*+,;=~-._"
_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a request; `path` includes the query. A literal address has its usual form."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """The scheme, host and port that a credential belongs to."""
        return f"{self.scheme}://{bracketed(self.host)}:{self.port}"

    @property
    def authority(self) -> str:
        port = "" if PORTS[self.scheme] == self.port else f":{self.port}"
        return bracketed(self.host) + port

    @property
    def shown(self) -> str:
        """The URL for messages, without the query, which may be private."""
        return f"{self.scheme}://{self.authority}{self.path.partition('?')[0]}"


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def target_of(url: str) -> Target:
    """Parses a URL. Raises ProviderError P113."""
    url = url.strip(" ")
    if len(url) > LENGTH_MAX:
        words = f"it has {len(url):,} characters, but at most {LENGTH_MAX:,} are allowed"
        raise _refusal(url, words)
    if unclear := _UNCLEAR.search(url):
        why = f"it holds {unclear[0]!r}, which programs read in different ways"
        raise _refusal(url, f"{why}; remove it, or percent-encode it")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as cause:
        raise _refusal(url, str(cause)) from None
    scheme = parts.scheme.lower()
    if scheme not in PORTS:
        raise _refusal(url, "only https and http are known")
    if "@" in parts.netloc:
        raise _refusal(url, "a URL must not contain a user name or password; use a header")
    # `urlsplit` leaves out what stands beside the brackets.
    is_odd = "[" in parts.netloc and not _BRACKETED.fullmatch(parts.netloc)
    host = "" if is_odd else _host_of(parts.hostname or "")
    if not host:
        raise _refusal(url, "its host is not a host name or an address")
    path = _encoded(parts.path or "/", _KEPT_IN_PATH)
    if parts.query:
        path += "?" + _encoded(parts.query, _KEPT_IN_PATH + "?")
    return Target(scheme, host, PORTS[scheme] if port is None else port, path)


def origin_of(url: str) -> str:
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
    """Percent-encodes other characters of a path or query, and each `%` that begins no code."""
    return quote(_BARE_PERCENT.sub("%25", part), safe=kept)


def _refusal(url: str, reason: str) -> ProviderError:
    return ProviderError(f"the address {shown_url(url)} cannot be used: {reason}", code="P113")


# General permission for the private network excludes addresses that hand out credentials.
_GENERALLY_PERMITTED: frozenset[AddressKind] = frozenset({"loopback", "private"})


@dataclass(frozen=True, slots=True)
class Policy:
    """The network rules of the operator.

    `origins` are those that the configuration names. They are open to its own calls
    (`OutboundCall.of_operator`), but not to calls that a workflow makes. If `hosts` are set, only
    these and `origins` are called.
    """

    private_network: bool | tuple[str, ...] = False
    origins: frozenset[str] = frozenset()
    hosts: tuple[str, ...] | None = None

    @classmethod
    def of(cls, settings: Settings) -> Policy:
        urls = [provider.base_url for provider in settings.providers.values() if provider.base_url]
        urls += [server.url for server in settings.mcp.values() if server.url]
        urls += [task for task in settings.tasks.values() if not task.startswith("python:")]
        urls += [settings.connectors.url] if settings.connectors.url else []
        allow, origins = settings.allow, frozenset(target_of(url).origin for url in urls)
        return cls(allow.private_network, origins, allow.hosts)

    def check_host(self, scheme: str, host: str, port: int) -> None:
        """Raises ProviderError P107 for a host that is not allowed, before it is looked up."""
        shown = bracketed(host)
        if self.hosts is None or f"{scheme}://{shown}:{port}" in self.origins:
            return
        if not any(_names_host(entry, host, port) for entry in self.hosts):
            line = line_below("allow", f"hosts = {with_entry(self.hosts, shown)}")
            raise ProviderError(
                f"{shown}:{port} is not among the hosts that workflows may call; the operator "
                f"permits it with {line}",
                code="P107",
                detail={"host": shown, "port": port},
            )

    def check(self, scheme: str, host: str, port: int, addresses: list[str]) -> None:
        """Raises ProviderError P107 unless every address of the host may be reached."""
        shown = bracketed(host)
        if f"{scheme}://{shown}:{port}" in self.origins:
            return
        where: dict[str, object] = {"host": shown, "port": port}
        for text in addresses:
            address = ip_address(text)
            place = place_of(address)
            if place == "public":
                if scheme == "http":
                    why = "is a public address, which may not be called over plain http"
                    advice = "(private addresses are, with permission); use https"
                    raise ProviderError(f"{shown}:{port} {why} {advice}", code="P107", detail=where)
                continue
            if isinstance(self.private_network, bool):
                is_permitted = self.private_network and place in _GENERALLY_PERMITTED
            else:
                is_permitted = any(_names(e, host, port, address) for e in self.private_network)
            if not is_permitted:
                named = shown if shown == text else f"{shown} ({text})"
                kind = place if place in _GENERALLY_PERMITTED else f"{place} (private)"
                permitted = with_entry(self.private_network, f"{shown}:{port}")
                line = line_below("allow", f"private_network = {permitted}")
                raise ProviderError(
                    f"{named} is a {kind} address, which a workflow may not call; the operator "
                    f"permits it with {line}",
                    code="P107",
                    detail={**where, "address": text, "place": place},
                )


def _names_host(entry: str, host: str, port: int) -> bool:
    """Whether an entry of `[allow] hosts` (host, host:port, *.domain) matches."""
    entry = entry.strip().lower().rstrip(".")
    if entry.startswith("*."):
        return host.endswith(entry[1:])
    return entry in (host, f"{host}:{port}", f"[{host}]", f"[{host}]:{port}")


def _names(entry: str, host: str, port: int, address: Address) -> bool:
    """Whether an entry of `[allow] private_network` (host, host:port, address, network) matches."""
    entry = entry.strip().lower()
    if entry in (host, f"{host}:{port}", f"[{host}]", f"[{host}]:{port}"):
        return True
    if "/" not in entry:
        return literal_of(entry) == address
    try:
        return address in ip_network(entry, strict=False)
    except ValueError:
        return False
