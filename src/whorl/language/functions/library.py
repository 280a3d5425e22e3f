"""Libraries: which functions an expression may use, by kind and name.

The core library is there for every expression; a dialect adds its own table under a name, and an
expression that asks for that library sees both, the dialect's entries first. A library that stands
apart is a whole vocabulary of its own, without the core.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Callable

CORE: tuple[FunctionEntry, ...] = (
    TEXT + LISTS + ORDERING + SELECTING + NUMBERS + JSON + REGEX + OBJECTS + TESTS + METHODS
)


def _loom() -> tuple[FunctionEntry, ...]:
    from whorl.language.functions.loom import LOOM

    return LOOM


def _mcp_cli() -> tuple[FunctionEntry, ...]:
    from whorl.language.functions.mcp_cli import MCP_CLI

    return MCP_CLI


def _orka() -> tuple[FunctionEntry, ...]:
    from whorl.language.functions.orka import ORKA

    return ORKA


def _shodan() -> tuple[FunctionEntry, ...]:
    from whorl.language.functions.shodan import SHODAN

    return SHODAN


def _studio() -> tuple[FunctionEntry, ...]:
    from whorl.language.functions.studio import STUDIO

    return STUDIO


# Imported on demand: a file is written in one dialect.
LIBRARIES: dict[str, Callable[[], tuple[FunctionEntry, ...]]] = {
    "loom": _loom,
    "mcp-cli": _mcp_cli,
    "orka": _orka,
    "shodan": _shodan,
    "studio": _studio,
}


def _logic() -> tuple[FunctionEntry, ...]:
    from whorl.language.functions.logic import LOGIC

    return LOGIC


def _lenient_logic() -> tuple[FunctionEntry, ...]:
    from whorl.language.functions.logic import LENIENT_LOGIC

    return LENIENT_LOGIC


# Imported on demand: dates, XML and decimals are of no use to templates.
APART: dict[str, Callable[[], tuple[FunctionEntry, ...]]] = {
    "logic": _logic,
    "logic-lenient": _lenient_logic,
}

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
    if library in APART:
        return {(entry.kind, entry.name): entry for entry in APART[library]()}
    if library and library not in LIBRARIES:
        known = [*LIBRARIES, *APART]
        raise LanguageError(
            f"there is no function library {library!r}", help=did_you_mean(library, known)
        )
    entries = (*CORE, *additions(library))
    return {(entry.kind, entry.name): entry for entry in entries if entry.kind != "method"}


def additions(library: str) -> tuple[FunctionEntry, ...]:
    """What a dialect's library adds; nothing, where there is no such library."""
    return LIBRARIES[library]() if library in LIBRARIES else ()


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
    return (*known, *(() if library in APART else METHODS))
