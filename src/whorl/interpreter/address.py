"""Addresses: one string for everything that happens, the same in journal, URL and terminal.

`polish[3]/review#2` is the second attempt of node `review` in the third iteration of `polish`.
A part that begins with a colon belongs to the construct itself: `polish[3]/:judge`.
"""

from __future__ import annotations

import re
from functools import lru_cache

_SPECIAL = re.compile(r"[%/\[\]#:]")
_ITERATION = re.compile(r"(?P<loop>.*)\[(?P<number>[0-9]+)\](?:#[0-9]+)?")


@lru_cache(maxsize=4096)
def escape(name: str) -> str:
    """A node's name as one part of an address."""
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", name)


def unescape(part: str) -> str:
    """The node's name that `escape` was given."""
    return re.sub(r"%([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), part)


def join(parent: str, name: str) -> str:
    """The address of a node below another address (empty: the run itself)."""
    return f"{parent}/{escape(name)}" if parent else escape(name)


def inner(parent: str, word: str) -> str:
    """The address of something that a construct does for itself, such as judging."""
    return f"{parent}/:{word}"


def numbered(address: str, number: int) -> str:
    """The address of an iteration, counted from 1."""
    return f"{address}[{number}]"


def attempted(address: str, attempt: int) -> str:
    """The address of an attempt; the first one is the address itself."""
    return f"{address}#{attempt}" if attempt > 1 else address


def split_iteration(address: str) -> tuple[str, int | None]:
    """`outer[1]/inner[3]` is iteration 3 of loop `outer[1]/inner`."""
    found = _ITERATION.fullmatch(address)
    if found is None:
        return address, None
    return found["loop"], int(found["number"])
