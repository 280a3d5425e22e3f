"""What is added to the core: our wings and formats, and entry points of other packages.

A wing or a format is a folder below `wings` or `formats`; its `WING` says what it adds. It is
imported when it is first used, and a missing folder is ignored.
"""

from __future__ import annotations

import os
from dataclasses import field
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl.errors import UsageError, did_you_mean
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# A reference: `module:name`.
Ref: TypeAlias = str
Group: TypeAlias = Literal["whorl.tasks", "whorl.providers", "whorl.dialects", "whorl.libraries"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A file or folder that marks a project; a file must contain `pattern`.

    If the mark is a configuration, `sections` reads it as sections of whorl.toml.
    """

    name: str
    pattern: bytes = b""
    sections: Ref = ""


@dataclass(frozen=True, slots=True)
class Database:
    """A database with workflows: the tables by which it is recognised, and all that are read."""

    known_by: frozenset[str]
    tables: tuple[str, ...]
    take_over: Ref


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of files beside workflows, such as tests.

    Whorl knows them by a part of their names, or by a word in each that `claims` then confirms.
    `check` returns the result of a file. `init` writes the `schema` for files with `ending`.
    """

    name: str
    schema: Ref
    check: Ref
    infix: str = ""
    word: str = ""
    claims: Ref = ""
    ending: str = ""


@dataclass(frozen=True, slots=True)
class Wing:
    """What a wing or a format adds to the core."""

    # Commands: the section of the help or the group, the position there, where they are, their
    # first lines.
    commands: Mapping[str, tuple[str, int, Ref, str]] = field(default_factory=dict)
    files: tuple[FileKind, ...] = ()
    routers: tuple[Ref, ...] = ()
    # What a server does beside its runs, given its state.
    jobs: tuple[Ref, ...] = ()
    # Names of Python, and the modules that have them.
    names: Mapping[str, str] = field(default_factory=dict)
    # Answers to names that the core looks up; a name may have no answer.
    offers: Mapping[str, Ref] = field(default_factory=dict)
    # Of formats: when they are asked whether a file is theirs, the first ones first.
    rank: int = 0
    readers: Mapping[str, Ref] = field(default_factory=dict)
    libraries: Mapping[str, Ref] = field(default_factory=dict)
    # Kinds of tasks; the provider of the core's kinds performs them.
    tasks: Mapping[str, Ref] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    find_named: Ref = ""
    databases: tuple[Database, ...] = ()


@cache
def wings() -> tuple[Wing, ...]:
    return tuple(_found("wings"))


@cache
def formats() -> tuple[Wing, ...]:
    return tuple(sorted(_found("formats"), key=lambda each: each.rank))


def _found(folder: str) -> Iterator[Wing]:
    root = f"{os.path.dirname(__file__)}/{folder}"
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else ():
        if os.path.isfile(f"{root}/{name}/__init__.py"):
            wing: Wing = vars(import_module(f"whorl.{folder}.{name}"))["WING"]
            yield wing


def joined(tables: Iterable[Mapping[str, Ref]]) -> dict[str, Ref]:
    return {name: reference for table in tables for name, reference in table.items()}


def offered(name: str) -> Any:
    """Returns the object that the first wing offers under a name, or None if no wing does."""
    for wing in wings():
        if name in wing.offers:
            return load_reference(wing.offers[name])
    return None


def needed(name: str) -> Any:
    """Returns the same; raises UsageError if no wing offers it."""
    if (answer := offered(name)) is None:
        raise UsageError(f"this installation of whorl has no {name.replace('_', ' ')}", code="W025")
    return answer


class Plugins:
    """The names of one group: our own, given as `module:name`, and those of other packages.

    Our own are loaded in the same way as others. Other packages are searched only if a name is not
    one of ours, because the search reads the metadata of every installed package.
    """

    def __init__(self, group: Group, built_in: Mapping[str, str]) -> None:
        self.group = group
        self.built_in = dict(built_in)
        self._loaded: dict[str, object] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.built_in, *self._installed]))

    def has(self, name: str) -> bool:
        return name in self.built_in or name in self._installed

    def load(self, name: str) -> object:
        """Returns the object of a name; raises UsageError with the name and the cause."""
        if name not in self._loaded:
            reference = self.built_in.get(name) or self._installed.get(name)
            if reference is None:
                raise UsageError(
                    f"{self.group} has no {name!r}",
                    help=did_you_mean(name, self.names()) or f"known: {', '.join(self.names())}",
                    code="W005",
                )
            try:
                self._loaded[name] = load_reference(reference)
            # The code of a plugin may raise anything, and the one who asked must learn its name.
            except Exception as cause:
                raise UsageError(
                    f"plugin {name!r} of {self.group} ({reference}) does not load: "
                    f"{type(cause).__name__}: {cause}",
                    help="install its missing parts, or remove the package",
                    code="W025",
                ) from cause
        return self._loaded[name]

    @cached_property
    def _installed(self) -> dict[str, str]:
        from importlib.metadata import entry_points

        return {entry.name: entry.value for entry in entry_points(group=self.group)}


def load_reference(reference: Ref) -> object:
    """Returns the object that `module:name` names; raises ImportError."""
    module_name, _, name = reference.partition(":")
    module = import_module(module_name.strip())
    value: object = vars(module).get(name.strip())
    if value is None:
        raise ImportError(f"module {module_name!r} has no {name!r}")
    return value
