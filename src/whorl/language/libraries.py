"""Libraries: what a dialect adds to expressions, opened by name through entry points.

A library has functions beside the core's, or a vocabulary of its own. It may bring a syntax of its
name, and rules for how values are read, printed and returned.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import UsageError, did_you_mean
from whorl.language.calls import Run
from whorl.language.faults import LanguageError
from whorl.language.values import Json, Limits, Value, item_of, member_of, to_result
from whorl.lazily import dataclass
from whorl.plugins import Plugins, formats, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.language.calls import FunctionEntry
    from whorl.language.tree import Tree

# Changes the records of a memory: given them, what a workflow asks for, and the time in seconds.
Amend: TypeAlias = "Callable[[list[Json], dict[str, Json], float], Amendment]"
# Reads a source into the tree; the second text is the name of the library for its functions.
Read: TypeAlias = "Callable[[str, str], Tree]"


@dataclass(frozen=True, slots=True)
class Amendment:
    """The result of a change of a memory: a record to keep, and the ids of records to remove.

    A record has an `id`; it replaces the record with the same one. A `warning` is for people.
    """

    value: Json
    record: dict[str, Json] | None = None
    drops: frozenset[str] = frozenset()
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Semantics:
    """How members and items are read, and how values become text and results.

    `forgiving_item` reads an item that may be missing; `pay` charges for what a function is given
    and gives; `names` are computed instead of looked up.
    """

    member: Callable[[Value, str], Value] = member_of
    item: Callable[[Value, Value], Value] = item_of
    text: Callable[[Run, Value], str] = Run.text
    forgiving_item: Callable[[Value, Value], Value] = item_of
    pay: Callable[[Run, Value], Value] = Run.pay
    result: Callable[[Value, Limits], Json] = to_result
    names: Mapping[str, Callable[[Run], Value]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What a dialect adds to expressions.

    Its functions come before the core's of the same name; one that stands alone has no others.
    `read` is the syntax that has the library's name. `semantics` count for every expression that
    names the library, in any syntax, and for sources of the syntax. `recorder`, written
    `module:name`, keeps records of the nodes that have ended (`whorl.interpreter.plan.Recorder`).
    `title` names the expressions in which authors call its functions, and `signature` shows how;
    one without a title is for readers, and not explained. `amendments` are the changes of memories
    that its workflows ask for by name, each written `module:name` (an `Amend`).
    """

    functions: tuple[FunctionEntry, ...] = ()
    stands_alone: bool = False
    read: Read | None = None
    semantics: Semantics | None = None
    recorder: str = ""
    title: str = ""
    signature: Callable[[FunctionEntry], str] = attrgetter("signature")
    amendments: Mapping[str, str] = field(default_factory=dict)


_CORE_SEMANTICS = Semantics()
# These syntaxes come with the language itself.
_CORE_SYNTAXES = ("jinja", "template", "plain")


@lru_cache(maxsize=1)
def libraries() -> Plugins:
    """Returns the libraries by name, ours first."""
    return Plugins("whorl.libraries", joined(each.libraries for each in formats()))


def open_library(name: str) -> Library:
    """Opens the library of that name; raises LanguageError with the nearest name or the cause."""
    if not libraries().has(name):
        raise LanguageError(
            f"there is no function library {name!r}", help=did_you_mean(name, libraries().names())
        )
    try:
        library = libraries().load(name)
    except UsageError as fault:
        raise LanguageError(str(fault), help=fault.help) from fault
    if not isinstance(library, Library):
        raise LanguageError(
            f"plugin {name!r} of whorl.libraries is {type(library).__name__}, not a Library",
            help="its entry point names an instance of whorl.language.Library",
        )
    return library


def additions(name: str) -> tuple[FunctionEntry, ...]:
    """Returns the functions that a library adds to a syntax; none if it stands alone."""
    library = open_library(name) if name else None
    return () if library is None or library.stands_alone else library.functions


def semantics_of(syntax: str, library: str) -> Semantics:
    """Returns the rules for sources of a syntax that use a library; the library's come first."""
    for name in (library, syntax):
        if name and name not in _CORE_SYNTAXES:
            semantics = open_library(name).semantics
            if semantics is not None:
                return semantics
    return _CORE_SEMANTICS
