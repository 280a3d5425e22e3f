"""Which stores this user has made: a list outside of every project, which no folder brings along.

Each entry is a file of its own, so that many processes may add some at once. It has the random id
of a store as its name, and holds the path that the store was made at: an id that others have read
in a copy counts nowhere else. A backup is known by the hash of its content.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from whorl.errors import StoreError
from whorl.lazily import dataclass, regex
from whorl.runtimes.journal.keys import Seals, mark_of, seals_from
from whorl.source.paths import user_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

HOME: Final = "WHORL_HOME"
_NAME: Final = regex(r"[0-9a-f]{32,64}")


@dataclass(frozen=True, slots=True)
class Registry:
    """Whether a store is one that this user has made, at its path.

    `is_named`: the operator has named its folder in the environment, which is enough.
    """

    folder: Path
    path: str
    seals: Seals
    is_named: bool = False

    def admits(self, id_: str) -> bool:
        return self.is_named or self._holds(id_) == os.fsencode(self.path)

    def knows_backup(self, digest: str) -> bool:
        return self._holds(digest) == b""

    def _holds(self, name: str) -> bytes | None:
        with suppress(OSError):
            if _NAME.fullmatch(name) and not _is_of_others(self.folder / name):
                return (self.folder / name).read_bytes()
        return None

    def add(self, name: str, *, is_backup: bool = False) -> None:
        """Adds the id of a store that is about to be made, or the hash of a backup."""
        content = b"" if is_backup else os.fsencode(self.path)
        try:
            for folder in (self.folder.parent, self.folder):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                with os.fdopen(os.open(self.folder / name, flags, 0o600), "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as fault:
            words = f"no store can be registered in {str(self.folder)!r}: {fault.strerror}"
            advice = f"let that folder be written, or name the folder of the store by {HOME}"
            raise StoreError(words, help=advice) from fault

    def made_before(self, marks: Collection[str]) -> bool:
        """Whether a store without an id is one that this user made before stores had ids.

        It has a mark then: its path, signed with the user's key.
        """
        if not marks or any(map(_is_of_others, (Path(self.path), Path(self.path).parent))):
            return False
        own = [self.seals, Seals(self.seals.file)] if self.seals.given else [self.seals]
        for seals in own:
            # A key that is missing has marked nothing.
            with suppress(StoreError):
                if mark_of(seals, self.path) in marks:
                    known = self.folder.iterdir() if self.folder.is_dir() else ()
                    return all(self._holds(each.name) != os.fsencode(self.path) for each in known)
        return False


def registry_from(environment: Mapping[str, str], path: Path, *, is_named: bool) -> Registry:
    folder = user_folder(environment) / "stores"
    return Registry(folder, os.path.realpath(path), seals_from(environment), is_named)


def _is_of_others(path: Path) -> bool:
    own = getattr(os, "geteuid", lambda: None)()
    return own is not None and path.stat().st_uid != own
