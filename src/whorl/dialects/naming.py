"""The names that workflow files give themselves: each file is looked at once, and not too many."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.dialects.files import SourceFiles
    from whorl.errors import Span
    from whorl.source import Place

# A project may be a home folder by mistake; loading a file must not read through all of it.
FILES_MAX = 1_000
CHARACTERS_MAX = 8_000_000
ENDINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that has a name of its own, and how another one would name the file.

    `key` is the name behind the folder, seen from the place that was looked through. `path` is the
    same for the same file. A file that is not `near` is meant only where the whole key is written.
    """

    reference: str
    path: str
    name: str
    key: str
    near: bool


class Names:
    """The names of the files of one reading; `is_cut` where some were not looked at any more."""

    def __init__(self, files: SourceFiles) -> None:
        self.is_cut = False
        self._files = files
        self._known: dict[str, tuple[str, str]] = {}
        self._characters = 0

    def around(
        self, base: str, name_of: Callable[[str, str], str], span: Span
    ) -> Iterator[list[NamedFile]]:
        """The files around a file that have names, a list for each place, the nearest first.

        `name_of` finds the name in the text of a file, or nothing.
        """
        for place in self._files.list(base, ENDINGS):
            yield list(self._named(base, place, name_of, span))

    def _named(
        self, base: str, place: Place, name_of: Callable[[str, str], str], span: Span
    ) -> Iterator[NamedFile]:
        for nearby in place.files:
            path, name = self._look(base, nearby.reference, name_of, span)
            if name:
                key = f"{nearby.folder}/{name}" if nearby.folder else name
                yield NamedFile(nearby.reference, path, name, key, place.below)

    def _look(
        self, base: str, reference: str, name_of: Callable[[str, str], str], span: Span
    ) -> tuple[str, str]:
        written = posixpath.normpath(posixpath.join(posixpath.dirname(base), reference))
        if written in self._known:
            return self._known[written]
        if len(self._known) >= FILES_MAX or self._characters >= CHARACTERS_MAX:
            self.is_cut = True
            return "", ""
        found = ("", "")
        try:
            opened = self._files.open(base, reference, span)
            self._characters += len(opened.text)
            found = (opened.path, name_of(opened.text, opened.name))
        except InvalidWorkflow:
            # Only those who call a file need to hear that it cannot be read.
            pass
        self._known[written] = found
        return found
