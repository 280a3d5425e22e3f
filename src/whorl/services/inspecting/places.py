"""Which place of a run people mean: by RUN/ADDRESS, by a step inside of a loop, without numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.errors import UsageError, did_you_mean, plural
from whorl.interpreter.events import split_iteration, unescape
from whorl.lazily import regex
from whorl.runtimes.journal.projection import step_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

# So many places are named where a person has to choose one.
_NAMED_MAX = 8
# How the steps of a file are named: with the branch that they stand in.
_CASE = regex(r"@case\.[^/\[\]#]*")


def split_place(text: str, at: str = "") -> tuple[str, str]:
    """The run and the address in `RUN/ADDRESS`; `at` is an address that was given beside it."""
    run, _, address = text.partition("/")
    return run, _CASE.sub("", at or address).rstrip("/")


def is_like(place: str, address: str) -> bool:
    """Whether an address is this place, or leaves numbers of iterations and attempts out."""
    parts, wanted = place.split("/"), address.split("/")
    same = len(parts) == len(wanted)
    return same and all(map(_is_part_like, parts, wanted))


def _is_part_like(part: str, wanted: str) -> bool:
    return part == wanted or step_of(part) == unescape(wanted)


def places_like(store: SqliteStore, run: RunId, address: str) -> list[str]:
    """The addresses that are this one with the numbers that it leaves out."""
    found = store.addresses(run, re.split(r"[/\[\]#]", address)[0])
    return [place for place in found if is_like(place, address)]


def loop_around(address: str, loops: Collection[str]) -> tuple[str, int | None]:
    """The loop that an address names or lies in, and its iteration; nothing: there is none."""
    while address:
        loop, number = split_iteration(address)
        if loop in loops:
            return loop, number
        address = address.rpartition("/")[0]
    return "", None


def loops_meant(at: str, loops: Collection[str]) -> list[str]:
    """The loops that are at an address, in it, there in some iteration, or else around it."""
    if split_iteration(at)[0] in loops:
        return [split_iteration(at)[0]]
    inside = [loop for loop in loops if loop.startswith((f"{at}/", f"{at}["))]
    like = [loop for loop in loops if is_like(loop, at)]
    around = loop_around(at, loops)[0]
    return inside or like or ([around] if around else [])


def some(places: Collection[str]) -> str:
    """The first of some places, and how many more there are."""
    named = ", ".join(list(places)[:_NAMED_MAX])
    more = len(places) - _NAMED_MAX
    return f"{named} and {more:,} more" if more > 0 else named or "none"


def unknown_place(store: SqliteStore, run: RunId, address: str) -> UsageError:
    words = f"nothing happened at {address!r} in run {run}"
    if like := places_like(store, run, address):
        return UsageError(words, help=f"there is {some(like)}", code="W907")
    loops = {row.address: row.iterations for row in store.loops(run)}
    loop, number = loop_around(address, loops)
    if number is not None and number > loops[loop]:
        hint = f"{loop!r} has {plural(loops[loop], 'iteration')}"
        return UsageError(words, help=hint, code="W907")
    addresses = list(dict.fromkeys(entry.event.address for entry in store.read(run)))
    hint = did_you_mean(address, [text for text in addresses if text])
    return UsageError(words, help=hint or f"`whorl show {run}` lists steps and loops", code="W907")
