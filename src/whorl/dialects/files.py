"""The files of a project, as workflows may name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from whorl.errors import Diagnostic, InvalidWorkflow
from whorl.source import find_beside, list_beside, open_beside, resolve_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whorl.errors import Span
    from whorl.source import Place


@dataclass(frozen=True, slots=True)
class Opened:
    """A file that was opened: its real path, its name in the project, and its text."""

    path: str
    name: str
    text: str


class SourceFiles(Protocol):
    """Whoever can open files for a reader: a project, or an upload that has none."""

    def real_path(self, file: str) -> str:
        """Returns the path by which a file is recognised when another one names it."""

    def open(self, base: str, reference: str, span: Span) -> Opened:
        """Opens the file that the file `base` names by `reference`; raises InvalidWorkflow."""

    def find(self, base: str, names: Sequence[str]) -> str | None:
        """Returns how `base` would name the nearest file with one of these names."""

    def list(self, base: str, endings: tuple[str, ...]) -> Iterable[Place]:
        """Returns the files with one of these endings around `base`, the nearest place first."""


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files below a folder; `folders` of it are searched for workflows that are named."""

    root: str
    folders: tuple[str, ...] = ()

    def real_path(self, file: str) -> str:
        """Returns the path by which a file is recognised when another one names it."""
        try:
            return str(resolve_beside(file, file.rpartition("/")[2], root=self.root))
        except InvalidWorkflow:
            # It is outside of the project, where no file of the project can name it.
            return file

    def open(self, base: str, reference: str, span: Span) -> Opened:
        """Opens the file that the file `base` names by `reference`; raises InvalidWorkflow."""
        path, text = open_beside(base, reference, root=self.root, span=span)
        top = resolve_beside(f"{self.root}/-", ".", root=self.root, span=span).as_posix()
        name = path.replace("\\", "/").removeprefix(top).lstrip("/")
        return Opened(path, name or path, text)

    def find(self, base: str, names: Sequence[str]) -> str | None:
        """Returns how `base` would name the nearest file with one of these names."""
        return find_beside(base, names, root=self.root, folders=self.folders)

    def list(self, base: str, endings: tuple[str, ...]) -> Iterable[Place]:
        """Returns the files with one of these endings around `base`, the nearest place first."""
        return list_beside(base, endings, root=self.root, folders=self.folders)


@dataclass(frozen=True, slots=True)
class NoFiles:
    """For a workflow that came without any files beside it."""

    def real_path(self, file: str) -> str:
        """Returns the name as it is."""
        return file

    def open(self, base: str, reference: str, span: Span) -> Opened:
        """Refuses every file."""
        del base
        message = f"file {reference[:60]!r} cannot be opened: this workflow came without files"
        advice = "run it from its folder, where the file is"
        raise InvalidWorkflow([Diagnostic("W016", message, span, "this file", advice)])

    def find(self, base: str, names: Sequence[str]) -> str | None:
        """Finds nothing."""
        del base, names
        return None

    def list(self, base: str, endings: tuple[str, ...]) -> Iterable[Place]:
        """There are none."""
        del base, endings
        return ()
