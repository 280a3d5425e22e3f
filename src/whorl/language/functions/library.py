"""Which functions an expression may use, by kind and name.

The core's are there for every expression; one that names a library sees its functions first, and
those alone where the library stands alone.
"""

from __future__ import annotations

from functools import lru_cache

from whorl.errors import did_you_mean
from whorl.language.entry import FunctionEntry, Kind, Refused
from whorl.language.faults import LanguageError
from whorl.language.functions.json import JSON
from whorl.language.functions.lists import LISTS
from whorl.language.functions.methods import METHODS
from whorl.language.functions.numbers import NUMBERS
from whorl.language.functions.objects import OBJECTS
from whorl.language.functions.ordering import ORDERING
from whorl.language.functions.regex import REGEX
from whorl.language.functions.selecting import SELECTING
from whorl.language.functions.tests import TESTS
from whorl.language.functions.text import TEXT
from whorl.language.libraries import open_library

CORE: tuple[FunctionEntry, ...] = (
    TEXT + LISTS + ORDERING + SELECTING + NUMBERS + JSON + REGEX + OBJECTS + TESTS + METHODS
)


_CHANCE = "its result would differ each time a run is replayed"
_REFUSED = (
    Refused("filter", "random", _CHANCE),
    Refused("filter", "urlize", "templates here write prompts and values, not web pages"),
    Refused("filter", "shuffle", _CHANCE),
    Refused("function", "lipsum", _CHANCE),
    Refused("function", "now", _CHANCE),
    Refused("function", "random", _CHANCE),
)


@lru_cache(maxsize=32)
def table(library: str) -> dict[tuple[Kind, str], FunctionEntry]:
    """All filters, tests and functions that an expression with this library may use."""
    opened = open_library(library) if library else None
    if opened is not None and opened.stands_alone:
        return {(entry.kind, entry.name): entry for entry in opened.functions}
    entries = CORE if opened is None else CORE + opened.functions
    return {(entry.kind, entry.name): entry for entry in entries if entry.kind != "method"}


def find(library: str, kind: Kind, name: str) -> FunctionEntry:
    """Return a function by name, or raise LanguageError with the nearest name."""
    known = table(library)
    entry = known.get((kind, name))
    if entry is None:
        raise _unknown(kind, name, [other for other_kind, other in known if other_kind == kind])
    return entry


def _unknown(kind: Kind, name: str, names: list[str]) -> LanguageError:
    for refused in _REFUSED:
        if (refused.kind, refused.name) == (kind, name):
            return LanguageError(f"{kind} {name!r} is not available: {refused.reason}")
    return LanguageError(f"unknown {kind} {name!r}", help=did_you_mean(name, names))


@lru_cache(maxsize=1)
def methods() -> dict[tuple[str, str], FunctionEntry]:
    """All methods, by the kind of value that has them and by name."""
    return {(entry.family, entry.name): entry for entry in METHODS}


def check_method(name: str) -> None:
    """Raise LanguageError unless some kind of value has this method."""
    names = [entry.name for entry in METHODS]
    if name not in names:
        raise LanguageError(f"unknown method {name!r}", help=did_you_mean(name, names))


def entries(library: str = "") -> tuple[FunctionEntry, ...]:
    """All functions that an author may use in an expression with this library."""
    # A name that begins with a dollar sign is for readers alone.
    known = (entry for entry in table(library).values() if not entry.name.startswith("$"))
    alone = library != "" and open_library(library).stands_alone
    return (*known, *(() if alone else METHODS))
