"""A disk that remembers every operation, and what it may hold after the power went at any of them.

A disk promises nothing about a write until the file is synced: it may be there, not there, or there
in part, in units of 512 bytes, and in any order among its like.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import apsw

SECTOR = 512
Fate: TypeAlias = Literal["dropped", "kept", "random", "torn"]
FATES: tuple[Fate, ...] = ("dropped", "kept", "random", "torn")


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that was asked of the disk; a truncation has no content, only a size."""

    kind: Literal["create", "write", "truncate", "sync", "delete"]
    file: str
    offset: int = 0
    content: bytes = b""


class RecordingFile(apsw.VFSFile):
    """A real file whose changes are noted."""

    def __init__(self, disk: RecordingDisk, name: str | apsw.URIFilename, flags: list[int]) -> None:
        self._disk = disk
        self._file = Path(name.filename() if isinstance(name, apsw.URIFilename) else name).name
        if not (disk.folder / self._file).exists():
            disk.note(Operation("create", self._file))
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self._disk.note(Operation("write", self._file, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._disk.note(Operation("truncate", self._file, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._disk.note(Operation("sync", self._file))


class RecordingDisk(apsw.VFS):
    """The usual VFS over one folder, with a list of all that was asked of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.operations: list[Operation] = []
        self.name = f"recording-{id(self)}"
        super().__init__(self.name, "")

    def note(self, operation: Operation) -> None:
        self.operations.append(operation)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        if name is None:
            return apsw.VFSFile("", name, flags)
        return RecordingFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self.note(Operation("delete", Path(filename).name))


@dataclass(slots=True)
class Pending:
    """A file: what is surely on the disk, and what was asked for since."""

    surely: bytearray = field(default_factory=bytearray)
    since: list[Operation] = field(default_factory=list)


class Platter:
    """Follows the operations and tells what the disk may hold after each of them."""

    def __init__(self, seed: int) -> None:
        self._files: defaultdict[str, Pending] = defaultdict(Pending)
        self._random = random.Random(seed)

    def take(self, operation: Operation) -> None:
        """One more operation has been carried out."""
        match operation.kind:
            case "create":
                self._files[operation.file] = Pending()
            case "delete":
                self._files.pop(operation.file, None)
            case "sync":
                file = self._files[operation.file]
                for earlier in file.since:
                    _apply(file.surely, earlier)
                file.since.clear()
            case _:
                self._files[operation.file].since.append(operation)

    def image(self, fate: Fate) -> dict[str, bytes]:
        """The files as they may be found when the power comes back."""
        return {name: bytes(self._found(file, fate)) for name, file in self._files.items()}

    def _found(self, file: Pending, fate: Fate) -> bytearray:
        found = bytearray(file.surely)
        for position, operation in enumerate(file.since):
            is_last = position == len(file.since) - 1
            if fate == "kept" or (fate == "torn" and not is_last):
                _apply(found, operation)
            elif fate == "torn" or (fate == "random" and self._random.random() < 0.5):
                self._tear(found, operation)
        return found

    def _tear(self, found: bytearray, operation: Operation) -> None:
        """Applies some of the sectors of a write."""
        if operation.kind != "write":
            _apply(found, operation)
            return
        start = operation.offset
        end = start + len(operation.content)
        while start < end:
            stop = min(end, (start // SECTOR + 1) * SECTOR)
            if self._random.random() < 0.5:
                part = operation.content[start - operation.offset : stop - operation.offset]
                _apply(found, Operation("write", operation.file, start, part))
            start = stop


def _apply(content: bytearray, operation: Operation) -> None:
    if operation.kind == "truncate":
        del content[operation.offset :]
        return
    end = operation.offset + len(operation.content)
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    content[operation.offset : end] = operation.content
