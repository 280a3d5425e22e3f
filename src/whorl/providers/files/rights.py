"""Which files of a project a run may read and write, and what permits more."""

from __future__ import annotations

from glob import escape
from typing import TYPE_CHECKING

from whorl.ir.values import workspace_of
from whorl.lazily import dataclass
from whorl.providers.settings.lines import permit_file
from whorl.source.paths import fits_glob

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.providers.settings import Allow


@dataclass(frozen=True, slots=True)
class FileRights:
    """What a run may do with the files of a project; paths are those after all links."""

    root: Path
    allow: Allow
    run: str = ""

    def may_read(self, path: Path) -> bool:
        """Whether a file may be read, or a folder looked through."""
        parts = self.parts(path)
        if self._is_own(parts) or self.is_kept(parts):
            return self._is_own(parts)
        if self.allow.read is None:
            return not any(part.startswith(".") for part in parts)
        return any(fits_glob(parts, glob) for glob in self.allow.read)

    def may_write(self, path: Path) -> bool:
        parts = self.parts(path)
        if self._is_own(parts) or self.is_kept(parts):
            return self._is_own(parts)
        return any(fits_glob(parts, glob) for glob in self.allow.write)

    def may_look_into(self, folder: Path) -> bool:
        """Whether a folder may be looked through; what is found in it is checked one by one."""
        parts = self.parts(folder)
        is_plain = not any(part.startswith(".") for part in parts)
        named = (glob.split("/")[: len(parts)] for glob in self.allow.read or ())
        is_named = any(list(parts) == names for names in named)
        return self._is_own(parts) or (not self.is_kept(parts) and (is_plain or is_named))

    def parts(self, path: Path) -> tuple[str, ...]:
        return path.relative_to(self.root).parts

    def is_kept(self, parts: tuple[str, ...]) -> bool:
        return is_kept(parts) or "/".join(parts).casefold() in self.allow.closed

    def _is_own(self, parts: tuple[str, ...]) -> bool:
        """Whether it is the workspace of the run, or something in it."""
        own = tuple(workspace_of(self.run).split("/"))
        return bool(self.run) and parts[: len(own)] == own


def is_kept(parts: tuple[str, ...]) -> bool:
    """Whether a path is the engine's own, which no permission opens: runs, and configuration."""
    return any(part.casefold() in ("whorl.toml", ".whorl") for part in parts)


def refused_read(written: str, path: Path, rights: FileRights) -> str:
    """Why a file may not be read, by the name that was written and the path after all links."""
    named = _named(written, path, rights)
    return f"{named} may not be read; {_permission('read', path, rights)}"


def refused_write(written: str, path: Path, rights: FileRights) -> str:
    may = "a workflow may write only below {{ workspace }} and where it has permission"
    permission = _permission("write", path, rights)
    return f"{_named(written, path, rights)} may not be written: {may}; {permission}"


def _named(written: str, path: Path, rights: FileRights) -> str:
    real = "/".join(rights.parts(path))
    other = f", which is {real[:200]!r}," if real not in ("", written) else ""
    return f"file {written[:200]!r}{other}"


def _permission(verb: str, path: Path, rights: FileRights) -> str:
    """The line that permits it; the folder is named rather than one file in it, where that helps.

    Patterns are those of the path after all links, and none of a folder stands for hidden names.
    """
    parts = rights.parts(path)
    if rights.is_kept(parts):
        return "workflows can never open the store and the configuration"
    if not parts:
        return "name a file in the project"
    exact = "/".join(map(escape, parts))
    wider = [f"{escape(parts[0])}/**", f"{'/'.join(map(escape, parts[:-1]))}/**"]
    globs = (glob for glob in wider if len(parts) > 1 and fits_glob(parts, glob))
    return f"to permit it, write {permit_file(rights.allow, verb, next(globs, exact))}"
