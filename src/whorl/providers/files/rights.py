"""Which files of a project a run may read and write, and what permits more."""

from __future__ import annotations

from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from whorl.errors import InvalidWorkflow, ProviderError
from whorl.ir.values import workspace_of
from whorl.lazily import dataclass
from whorl.providers.settings import permit_file
from whorl.source.paths import fits_glob, is_kept, is_open, read_named, reason_of, resolve_beside

if TYPE_CHECKING:
    from whorl.providers.settings import Allow, Settings


@dataclass(frozen=True, slots=True)
class FileRights:
    """What a run may do with the files of a project; paths are those after all links."""

    root: Path
    allow: Allow
    run: str = ""

    @classmethod
    def of(cls, settings: Settings, run: str = "") -> FileRights:
        return cls(Path(settings.project_root).resolve(), settings.allow, run)

    def resolve(self, written: str, verb: str = "") -> Path:
        """The real path of a named file; ProviderError P113, or P125 where the verb may not."""
        try:
            path = resolve_beside(f"{self.root}/-", written, root=str(self.root))
        except InvalidWorkflow as fault:
            raise ProviderError(fault.diagnostics[0].message, code="P113") from None
        may = {"read": self.may_read, "write": self.may_write}.get(verb)
        if may is not None and not may(path):
            raise ProviderError(_refused(verb, written, path, self), code="P125")
        return path

    def check(self, written: str, *, is_final: bool = True) -> None:
        """Refuses a file that may not be read, and with `is_final` one that is not there."""
        if not self.resolve(written, "read").exists() and is_final:
            raise ProviderError(f"file {written[:200]!r} does not exist", code="P113")

    def read(self, path: Path, written: str, *, size_max: int) -> bytes:
        """What a file holds, by its real path. Raises ProviderError P113."""
        try:
            return read_named(path, self.may_read, size_max)
        except (OSError, ValueError) as fault:
            raise ProviderError(f"file {written[:200]!r} {reason_of(fault)}", code="P113") from None

    def may_read(self, path: Path) -> bool:
        """Whether a file may be read, or a folder looked through."""
        parts = self.parts(path)
        if self._is_own(parts) or self.allow.read is None:
            return self._is_own(parts) or is_open(path, self.root, self.allow.closed)
        return not self.is_kept(parts) and any(fits_glob(parts, glob) for glob in self.allow.read)

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
        return is_kept(parts, self.allow.closed)

    def _is_own(self, parts: tuple[str, ...]) -> bool:
        """Whether it is the workspace of the run, or something in it."""
        own = tuple(workspace_of(self.run).split("/"))
        return bool(self.run) and parts[: len(own)] == own


def _refused(verb: str, written: str, path: Path, rights: FileRights) -> str:
    """Why a file may not be used, by the name that was written and the path after all links."""
    real, permission = "/".join(rights.parts(path)), _permission(verb, path, rights)
    named = f"file {written[:200]!r}" + f", which is {real[:200]!r}," * (real not in ("", written))
    if verb == "read":
        return f"{named} may not be read; {permission}"
    may = "a workflow may write only below {{ workspace }} and where it has permission"
    return f"{named} may not be written: {may}; {permission}"


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
