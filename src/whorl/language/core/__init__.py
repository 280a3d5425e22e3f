"""Which functions an expression may use, by kind and name.

The core's are there for every expression; one that names a library sees its functions first, and
those alone where the library stands alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.language.core.conversion import JSON, NUMBERS
from whorl.language.core.lists import LISTS, ORDERING, SELECTING
from whorl.language.core.methods import METHODS, OBJECTS
from whorl.language.core.tests import TESTS
from whorl.language.core.text import TEXT
from whorl.language.faults import LanguageError
from whorl.language.libraries import Library, open_library
from whorl.language.patterns import REGEX

if TYPE_CHECKING:
    from whorl.language.signatures import FunctionEntry, Kind

CORE: tuple[FunctionEntry, ...] = (
    TEXT + LISTS + ORDERING + SELECTING + NUMBERS + JSON + REGEX + OBJECTS + TESTS + METHODS
)
# All methods, by the kind of value that has them and by name.
METHODS_OF = {(entry.family, entry.name): entry for entry in METHODS}

_CHANCE = "its result would differ each time a run is replayed"
# Names that people expect and that the language leaves out, with the reason.
_REFUSED: dict[tuple[Kind, str], str] = {
    ("filter", "random"): _CHANCE,
    ("filter", "urlize"): "templates here write prompts and values, not web pages",
    ("filter", "shuffle"): _CHANCE,
    ("function", "lipsum"): _CHANCE,
    ("function", "now"): _CHANCE,
    ("function", "random"): _CHANCE,
}


@lru_cache(maxsize=32)
def table(library: str) -> dict[tuple[Kind, str], FunctionEntry]:
    """All filters, tests and functions that an expression with this library may use."""
    opened = open_library(library) if library else Library()
    entries = opened.functions if opened.stands_alone else CORE + opened.functions
    return {(entry.kind, entry.name): entry for entry in entries if entry.kind != "method"}


def find(library: str, kind: Kind, name: str) -> FunctionEntry:
    """Return a function by name, or raise LanguageError with the nearest name."""
    functions = table(library)
    if (kind, name) in functions:
        return functions[kind, name]
    if (kind, name) in _REFUSED:
        raise LanguageError(f"{kind} {name!r} is not available: {_REFUSED[kind, name]}")
    names = [other for other_kind, other in functions if other_kind == kind]
    raise LanguageError(f"unknown {kind} {name!r}", help=did_you_mean(name, names))


def check_method(name: str) -> None:
    """Raise LanguageError unless some kind of value has this method."""
    names = [entry.name for entry in METHODS]
    if name not in names:
        raise LanguageError(f"unknown method {name!r}", help=did_you_mean(name, names))


def entries(library: str = "") -> tuple[FunctionEntry, ...]:
    """All functions that an author may use in an expression with this library."""
    # A name that begins with a dollar sign is for readers alone.
    functions = tuple(entry for entry in table(library).values() if not entry.name.startswith("$"))
    return functions if library and open_library(library).stands_alone else functions + METHODS
