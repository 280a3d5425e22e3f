"""Configurations of other systems, read as they are: their files, and the variables they name."""

from __future__ import annotations

import hashlib
import os
from dataclasses import field
from typing import TYPE_CHECKING, cast

from whorl.dialects.projects import MARKS, ReadSections, Sections
from whorl.errors import InvalidWorkflow, UsageError
from whorl.lazily import dataclass, regex
from whorl.plugins import load_reference
from whorl.source.paths import fits_glob, resolve_beside

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_FILES_MAX = 500
_BYTES_MAX = 1_000_000
_DEPTH_MAX = 6
_LOOKED_AT = 100_000
# A dollar sign counts before braces, and before a name that stands alone.
_VARIABLE = regex(r"\$\{(\w+)(?::-([^}]*))?\}|(?<!\S)\$(\w+)")
# The texts in which variables are named, by section; keys and headers name theirs by `env:`.
_EXPANDED = {"providers": ("base_url",), "mcp": ("command", "env")}


@dataclass(frozen=True, slots=True)
class Foreign:
    """A configuration of another system: its sections, and all that they were read from."""

    path: Path
    sections: Sections
    content: bytes
    files: frozenset[str]

    def expanded(self, environment: Mapping[str, str]) -> dict[str, object]:
        """Its sections with the values of the variables that they name."""
        known = {**environment, **self.sections.variables}
        table = dict(self.sections.table)
        for section, fields in _EXPANDED.items():
            entries = table.get(section)
            if isinstance(entries, dict):
                table[section] = {
                    name: _expanded_entry(entry, fields, known) for name, entry in entries.items()
                }
        return table


def find_foreign(folder: Path) -> Path | None:
    """The configuration of another system in a folder."""
    for mark in MARKS:
        path = folder / mark.name
        if mark.sections and is_marked(path, mark.pattern):
            return path
    return None


def is_marked(path: Path, pattern: re.Pattern[bytes] | None) -> bool:
    """Whether a file or folder is there, and begins as one that is meant."""
    if pattern is None:
        return path.exists()
    try:
        with path.open("rb") as file:
            return pattern.search(file.read(_LOOKED_AT)) is not None
    except OSError:
        return False


def read_foreign(path: Path) -> Foreign:
    """Raises UsageError W901."""
    mark = next(mark for mark in MARKS if mark.sections)
    files = _Files(path.parent, path.name)
    sections = cast("ReadSections", load_reference(mark.sections))(files)
    digest = hashlib.sha256()
    for name in sorted(files.read):
        digest.update(f"{name}\0{len(files.read[name])}\0".encode())
        digest.update(files.read[name])
    return Foreign(path, sections, digest.digest(), frozenset(map(str.casefold, files.read)))


@dataclass(slots=True)
class _Files:
    """Implements `ConfigurationFiles` in a folder; what lies outside of it is not there."""

    root: Path
    name: str
    read: dict[str, bytes] = field(default_factory=dict)

    def text(self, path: str) -> str | None:
        try:
            real = resolve_beside(f"{self.root}/-", path, root=str(self.root))
            with real.open("rb") as file:
                content = file.read(_BYTES_MAX + 1)
        except (InvalidWorkflow, OSError):
            self.read[path] = b""
            return None
        if len(content) > _BYTES_MAX or len(self.read) >= _FILES_MAX:
            words = f"{path}: is too large, or one of more than {_FILES_MAX} files"
            raise UsageError(words, code="W901")
        self.read[path] = content
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: is not UTF-8", code="W901") from error

    def matching(self, glob: str) -> list[str]:
        glob = glob.removeprefix("./")
        start = glob.partition("*")[0].rpartition("/")[0]
        return sorted(path for path in self._below(start, 0) if fits_glob(path.split("/"), glob))

    def _below(self, folder: str, depth: int) -> Iterator[str]:
        try:
            entries = sorted(os.scandir(self.root / folder), key=lambda entry: entry.name)
        except OSError:
            return
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEPTH_MAX:
                    yield from self._below(path, depth + 1)
            else:
                yield path


def _expanded_entry(entry: object, fields: tuple[str, ...], known: Mapping[str, str]) -> object:
    if not isinstance(entry, dict):
        return entry
    made = {
        name: _expanded(value, known) if name in fields else value for name, value in entry.items()
    }
    missing = _missing(str(entry.get("base_url", "")), known)
    if missing:
        # Whoever asks it is told which variable is not set.
        made |= {"base_url": "https://address.invalid", "api_key": f"env:{missing}"}
    return made


def _missing(text: str, known: Mapping[str, str]) -> str:
    """The first variable in a text that has neither a value nor a default."""
    for found in _VARIABLE.finditer(text):
        name = found[1] or found[3]
        if name and name not in known and found[2] is None:
            return name
    return ""


def _expanded(value: object, known: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_expanded(item, known) for item in value]
    if isinstance(value, dict):
        return {name: _expanded(item, known) for name, item in value.items()}
    if not isinstance(value, str) or value.startswith("env:"):
        return value
    text = _VARIABLE.sub(lambda at: known.get(at[1] or at[3], "") or at[2] or "", value)
    return os.path.expanduser(text)
