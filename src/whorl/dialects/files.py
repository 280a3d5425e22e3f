"""The files of a project, by path or by the names that they give themselves; those of others."""

from __future__ import annotations

import posixpath
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from whorl.errors import Diagnostic, InvalidWorkflow, Span
from whorl.lazily import dataclass
from whorl.source import LIMITS
from whorl.source.paths import SearchFolder, find_beside, list_beside, open_beside, resolve_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


# A project may be a home folder by mistake; loading a file must not read through all of it.
FILES_MAX = 1_000
CHARACTERS_MAX = 8_000_000
ENDINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened file: its real path, its name in the project, and its text."""

    path: str
    name: str
    text: str


class SourceFiles(Protocol):
    """Opens files for a reader: those of a project, or none for an upload."""

    def real_path(self, file: str) -> str:
        """Returns the path by which a file is recognised when another one names it."""

    def open(self, base: str, reference: str, span: Span) -> Opened:
        """Opens the file that the file `base` names by `reference`; raises InvalidWorkflow."""

    def find(self, base: str, names: Sequence[str]) -> str | None:
        """Returns how `base` would name the nearest file with one of these names."""

    def list(self, base: str, endings: tuple[str, ...]) -> Iterable[SearchFolder]:
        """Returns the files with one of these endings around `base`, the nearest place first."""


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files below a folder except those that are `closed`; `folders` are searched for names."""

    root: str
    folders: tuple[str, ...] = ()
    closed: frozenset[str] = frozenset()

    def real_path(self, file: str) -> str:
        try:
            return str(resolve_beside(file, file.rpartition("/")[2], root=self.root))
        except InvalidWorkflow:
            # It is outside of the project, where no file of the project can name it.
            return file

    def open(
        self, base: str, reference: str, span: Span, size_max: int = LIMITS.bytes_max
    ) -> Opened:
        path, text = open_beside(
            base, reference, root=self.root, size_max=size_max, span=span, closed=self.closed
        )
        top = resolve_beside(f"{self.root}/-", ".", root=self.root, span=span).as_posix()
        name = path.replace("\\", "/").removeprefix(top).lstrip("/")
        return Opened(path, name or path, text)

    def find(self, base: str, names: Sequence[str]) -> str | None:
        return find_beside(base, names, root=self.root, folders=self.folders)

    def list(self, base: str, endings: tuple[str, ...]) -> Iterable[SearchFolder]:
        return list_beside(base, endings, root=self.root, folders=self.folders)


@dataclass(frozen=True, slots=True)
class NoFiles:
    """The files of a workflow that came without other files."""

    def real_path(self, file: str) -> str:
        return file

    def open(self, base: str, reference: str, span: Span) -> Opened:
        message = (
            f"file {reference[:60]!r} cannot be opened: only the text of this workflow was given"
        )
        advice = "run it from its folder, where the file is"
        raise InvalidWorkflow([Diagnostic("W016", message, span, "this file", advice)])

    def find(self, base: str, names: Sequence[str]) -> str | None:
        return None

    def list(self, base: str, endings: tuple[str, ...]) -> Iterable[SearchFolder]:
        return ()


@dataclass(frozen=True, slots=True)
class UnsavedFiles:
    """Files with unsaved texts, by their names as seen from `base`."""

    files: SourceFiles
    base: str
    texts: Mapping[str, str]

    def _text(self, base: str, reference: str) -> tuple[str, str] | None:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(base), reference))
        folder = posixpath.dirname(self.files.real_path(self.base))
        for name, text in self.texts.items():
            if path == posixpath.normpath(posixpath.join(folder, name)):
                return path, text
        return None

    def real_path(self, file: str) -> str:
        return self.files.real_path(file)

    def open(self, base: str, reference: str, span: Span) -> Opened:
        found = self._text(base, reference)
        if found is None:
            return self.files.open(base, reference, span)
        return Opened(found[0], reference, found[1])

    def find(self, base: str, names: Sequence[str]) -> str | None:
        unsaved = (name for name in names if self._text(base, name) is not None)
        return next(unsaved, None) or self.files.find(base, names)

    def list(self, base: str, endings: tuple[str, ...]) -> Iterable[SearchFolder]:
        return self.files.list(base, endings)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that has a name of its own, and how another one would name the file.

    `key` is the name of the file without the folder that was searched. `path` is the same for the
    same file. A file that is not `near` matches only if the whole key is written.
    """

    reference: str
    path: str
    name: str
    key: str
    near: bool


class Names:
    """The names of the files of one reading; `is_cut` if some files were not searched."""

    def __init__(self, files: SourceFiles) -> None:
        self.is_cut = False
        self._files = files
        self._known: dict[str, tuple[str, str]] = {}
        self._characters = 0

    def around(
        self, base: str, name_of: Callable[[str, str], str], span: Span
    ) -> Iterator[list[NamedFile]]:
        """Returns the named files around a file, a list for each place, the nearest first.

        `name_of` finds the name in the text of a file, or nothing.
        """
        for place in self._files.list(base, ENDINGS):
            named: list[NamedFile] = []
            for nearby in place.files:
                path, name = self._look(base, nearby.reference, name_of, span)
                if name:
                    key = f"{nearby.folder}/{name}" if nearby.folder else name
                    named.append(NamedFile(nearby.reference, path, name, key, place.below))
            yield named

    def _look(
        self, base: str, reference: str, name_of: Callable[[str, str], str], span: Span
    ) -> tuple[str, str]:
        written = posixpath.normpath(posixpath.join(posixpath.dirname(base), reference))
        if written in self._known:
            return self._known[written]
        if len(self._known) >= FILES_MAX or self._characters >= CHARACTERS_MAX:
            self.is_cut = True
            return "", ""
        self._known[written] = ("", "")
        try:
            opened = self._files.open(base, reference, span)
            self._characters += len(opened.text)
            self._known[written] = (opened.path, name_of(opened.text, opened.name))
        except InvalidWorkflow:
            # Only those who call a file need to hear that it cannot be read.
            pass
        return self._known[written]


# Projects of other systems: what is read of their configurations and databases.

# Finds the files that a name may mean, seen from the project's folder.
FindNamed: TypeAlias = "Callable[[str, SourceFiles, str], Iterable[str]]"
# Makes sections of whorl.toml of a configuration that is written otherwise.
ReadSections: TypeAlias = "Callable[[ConfigurationFiles], Sections]"


class ConfigurationFiles(Protocol):
    """The files of a configuration, by paths relative to its own folder."""

    name: str

    def text(self, path: str) -> str | None:
        """Returns the text of a file, or None if there is no such file."""

    def matching(self, glob: str) -> list[str]:
        """Returns the files that fit a pattern, by name; `**` means any folders."""


@dataclass(frozen=True, slots=True)
class Sections:
    """A configuration as sections of whorl.toml. Its texts may name variables: `${NAME}`.

    `variables` are its own variables, which win over those of the environment. `notes` list the
    parts of it that have no effect.
    """

    table: dict[str, object]
    variables: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """What was adopted from another program: workflow files by name, and notes about them."""

    files: Mapping[str, str]
    notes: tuple[str, ...] = ()


# Makes files of the rows of a database, which are given by table.
TakeOver: TypeAlias = "Callable[[Mapping[str, list[Row]], bool], Taken]"
Row: TypeAlias = "dict[str, str | int | float | None]"
