"""Which files of a project a run may read and write, and what permits more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whorl.ir.values import workspace_of
from whorl.lazily import dataclass
from whorl.providers.settings.lines import permit_file
from whorl.source.paths import fits_glob

if TYPE_CHECKING:
    from whorl.providers.settings import Allow


@dataclass(frozen=True, slots=True)
class FileRights:
    """What a run may do with the files of a project; paths are those after all links."""

    root: Path
    allow: Allow
    run: str = ""

    def may_read(self, path: Path) -> bool:
        """Whether a file may be read, or a folder looked through."""
        parts = self._parts(path)
        if self._is_own(parts) or self._is_kept(parts):
            return self._is_own(parts)
        if self.allow.read is None:
            return not any(part.startswith(".") for part in parts)
        return any(fits_glob(parts, glob) for glob in self.allow.read)

    def may_write(self, path: Path) -> bool:
        parts = self._parts(path)
        if self._is_own(parts) or self._is_kept(parts):
            return self._is_own(parts)
        return any(fits_glob(parts, glob) for glob in self.allow.write)

    def may_look_into(self, folder: Path) -> bool:
        """Whether a folder may be looked through; what is found in it is checked one by one."""
        parts = self._parts(folder)
        is_plain = not any(part.startswith(".") for part in parts)
        named = (glob.split("/")[: len(parts)] for glob in self.allow.read or ())
        is_named = any(list(parts) == names for names in named)
        return self._is_own(parts) or (not self._is_kept(parts) and (is_plain or is_named))

    def _parts(self, path: Path) -> tuple[str, ...]:
        return path.relative_to(self.root).parts

    def _is_kept(self, parts: tuple[str, ...]) -> bool:
        return is_kept(parts) or "/".join(parts).casefold() in self.allow.closed

    def _is_own(self, parts: tuple[str, ...]) -> bool:
        """Whether it is the workspace of the run, or something in it."""
        own = tuple(workspace_of(self.run).split("/"))
        return bool(self.run) and parts[: len(own)] == own


def is_kept(parts: tuple[str, ...]) -> bool:
    """Whether a path is the engine's own, which no permission opens: runs, and configuration."""
    return any(part.casefold() in ("whorl.toml", ".whorl") for part in parts)


def refused_read(written: str, allow: Allow) -> str:
    return f"file {written[:200]!r} may not be read; {_permission('read', written, allow)}"


def refused_write(written: str, allow: Allow) -> str:
    may = "a workflow may write only below {{ workspace }} and where it has permission"
    permission = _permission("write", written, allow)
    return f"file {written[:200]!r} may not be written: {may}; {permission}"


def _permission(verb: str, written: str, allow: Allow) -> str:
    """The line that permits it; the folder is named rather than one file in it."""
    parts = Path(written).parts
    if is_kept(parts):
        return "workflows can never open the store and the configuration"
    glob = f"{parts[0]}/**" if len(parts) > 1 else written
    return f"to permit it, write {permit_file(allow, verb, glob[:200])}"
