"""Configurations of other systems, read as they are: their files, and the variables they name."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import field
from typing import TYPE_CHECKING, cast

from whorl.errors import InvalidWorkflow, UsageError
from whorl.lazily import dataclass
from whorl.plugins import formats, load_reference
from whorl.source.paths import fits_glob, read_start, reason_of, resolve_beside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whorl.dialects.files import ReadSections, Sections
    from whorl.plugins import Mark

_FILES_MAX = 500
_BYTES_MAX = 1_000_000
_DEPTH_MAX = 6
_LOOKED_AT = 100_000
_COPY = "copy it into the folder of the configuration"
# Of what a yes is valid for: one that was given when less was shown is asked for again.
_SHOWN = b"variables are shown by their values\0"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A configuration of another system: its sections, and all that they were read from."""

    path: Path
    sections: Sections
    content: bytes
    files: frozenset[str]
    paths: tuple[Path, ...]


def find_foreign(folder: Path) -> Path | None:
    """The configuration of another system in a folder."""
    for mark in marks():
        if mark.sections and is_marked(folder, mark):
            return folder / mark.name
    return None


def marks() -> Iterator[Mark]:
    """What projects of other systems are known by."""
    return (mark for each in formats() for mark in each.marks)


def is_marked(folder: Path, mark: Mark) -> bool:
    """Whether a file or folder is there, and begins as one that is meant."""
    path = folder / mark.name
    if not mark.pattern:
        return path.exists()
    try:
        return re.search(mark.pattern, read_start(path, _LOOKED_AT), re.MULTILINE) is not None
    except OSError:
        return False


def read_foreign(path: Path) -> Foreign:
    """Raises UsageError W901."""
    mark = next(mark for mark in marks() if mark.sections)
    files = _Files(path.parent, path.name)
    sections = cast("ReadSections", load_reference(mark.sections))(files)
    digest = hashlib.sha256(_SHOWN)
    for name in sorted(files.read):
        digest.update(f"{name}\0{len(files.read[name])}\0".encode())
        digest.update(files.read[name])
    names = frozenset(map(str.casefold, files.read))
    return Foreign(path, sections, digest.digest(), names, tuple(files.places()))


@dataclass(slots=True)
class _Files:
    """Implements `ConfigurationFiles` in a folder; what lies outside of it is refused."""

    root: Path
    name: str
    read: dict[str, bytes] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)

    def text(self, path: str) -> str | None:
        self.read[path] = b""
        try:
            real = resolve_beside(f"{self.root}/-", path, root=str(self.root))
            content = read_start(real, _BYTES_MAX + 1)
        except InvalidWorkflow as fault:
            raise UsageError(fault.diagnostics[0].message, help=_COPY, code="W901") from fault
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as fault:
            raise UsageError(f"{path}: {reason_of(fault)}", code="W901") from fault
        if len(content) > _BYTES_MAX or len(self.read) >= _FILES_MAX:
            words = f"{path}: is too large, or one of more than {_FILES_MAX} files"
            raise UsageError(words, code="W901")
        self.read[path] = content
        self.found.append(path)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: is not UTF-8", code="W901") from error

    def places(self) -> Iterator[Path]:
        """The files that there are, and the folders of this one that lead to them."""
        names = {"/".join(parts[:end]) for parts in map(_parts, self.found) for end in _ends(parts)}
        return (self.root / name for name in sorted(names))

    def matching(self, glob: str) -> list[str]:
        glob = glob.removeprefix("./")
        if glob.startswith(("/", "~")) or ".." in glob.split("/"):
            words = f"{self.name}: {glob!r} is outside of the folder of the configuration"
            raise UsageError(words, help=_COPY.replace("it", "the files", 1), code="W901")
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


def _parts(name: str) -> list[str]:
    return [part for part in name.split("/") if part not in ("", ".")]


def _ends(parts: list[str]) -> range:
    return range(1, len(parts) + 1)
