"""What kind of place an address is; addresses inside other addresses are taken out first.

The tables are our own because those of the standard library differ between Python versions.
"""

from __future__ import annotations

import unicodedata
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Literal, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Place: TypeAlias = Literal[
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

_V4_PLACES: tuple[tuple[str, Place], ...] = (
    ("127.0.0.0/8", "loopback"),
    ("10.0.0.0/8", "private"),
    ("172.16.0.0/12", "private"),
    ("192.168.0.0/16", "private"),
    ("100.64.0.0/10", "private"),
    ("169.254.0.0/16", "link-local"),
    ("224.0.0.0/4", "multicast"),
    ("0.0.0.0/8", "reserved"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "reserved"),
    ("192.88.99.0/24", "reserved"),
    ("198.18.0.0/15", "reserved"),
    ("198.51.100.0/24", "reserved"),
    ("203.0.113.0/24", "reserved"),
    ("240.0.0.0/4", "reserved"),
)
_V4 = tuple((IPv4Network(text), place) for text, place in _V4_PLACES)

_V6_PLACES: tuple[tuple[str, Place], ...] = (
    ("::1/128", "loopback"),
    ("fc00::/7", "private"),
    ("fec0::/10", "private"),
    ("fe80::/10", "link-local"),
    ("ff00::/8", "multicast"),
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "reserved"),
    ("3fff::/20", "reserved"),
)
_V6 = tuple((IPv6Network(text), place) for text, place in _V6_PLACES)

_GLOBAL_V6 = IPv6Network("2000::/3")
_MAPPED = IPv6Network("::ffff:0:0/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_COMPATIBLE = IPv6Network("::/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")
_ISATAP = 0x5EFE


def place_of(address: Address) -> Place:
    """What kind of place it is; one that leads to several places is the worst of them."""
    if address in _METADATA:
        return "metadata"
    if isinstance(address, IPv4Address):
        return next((place for network, place in _V4 if address in network), "public")
    bare = IPv6Address(int(address))  # without a scope
    if bare in _METADATA:
        return "metadata"
    inside = _inside(bare)
    if inside:
        return next((place for place in map(place_of, inside) if place != "public"), "public")
    for network, place in _V6:
        if bare in network:
            return place
    return "public" if bare in _GLOBAL_V6 else "reserved"


def _inside(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that this one stands for or leads to."""
    number = int(address)
    low = IPv4Address(number & 0xFFFFFFFF)
    if address in _MAPPED or address in _TRANSLATED or address in _NAT64:
        return [low]
    if address in _COMPATIBLE and number > 1:
        return [low]
    if address in _SIX_TO_FOUR:
        return [IPv4Address(number >> 80 & 0xFFFFFFFF)]
    if address in _TEREDO:
        return [IPv4Address(number >> 64 & 0xFFFFFFFF), IPv4Address(~number & 0xFFFFFFFF)]
    if address in _GLOBAL_V6 and number >> 32 & 0xFDFFFFFF == _ISATAP:
        return [low]
    return []


def literal_of(host: str) -> Address | None:
    """The address that a host is written as, in any of the ways that systems accept, if it is one.

    `2130706433`, `0x7f.1` and `0177.0.0.1` are all 127.0.0.1 to the C library.
    """
    text = fold_host(host).strip("[]")
    try:
        return ip_address(text)
    except ValueError:
        return _loose_v4(text)


def fold_host(host: str) -> str:
    """The host in lower case, with wide digits and dots made plain and without the last dot."""
    return unicodedata.normalize("NFKC", host).replace("\u3002", ".").lower().rstrip(".")


def _loose_v4(text: str) -> IPv4Address | None:
    numbers = [_loose_number(part) for part in text.split(".")]
    if not 1 <= len(numbers) <= 4 or None in numbers:
        return None
    *heads, last = [number for number in numbers if number is not None]
    if any(head > 255 for head in heads) or last >= 256 ** (4 - len(heads)):
        return None
    value = last
    for at, head in enumerate(heads):
        value += head << 8 * (3 - at)
    return IPv4Address(value)


def _loose_number(part: str) -> int | None:
    # Python's int takes blanks, signs and underscores too; the C library does not.
    if not (part.isascii() and part.isalnum()) or len(part) > 16:
        return None
    number_base = 10
    if part.startswith("0x"):
        part, number_base = part[2:] or "0", 16
    elif part.startswith("0") and len(part) > 1:
        part, number_base = part[1:], 8
    try:
        return int(part, number_base)
    except ValueError:
        return None
