"""The tasks `file_glob`, `file_read` and `file_write`: files of the project, and no others."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from whorl.errors import InvalidWorkflow, ProviderError
from whorl.providers.contents import from_bytes, to_bytes
from whorl.providers.inputs import Inputs
from whorl.providers.task import Estimate, Reply
from whorl.source import resolve_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language import Json
    from whorl.providers.context import Context
    from whorl.providers.task import Effect, Emit, Request

SIZE_MAX = 10_000_000
TOTAL_MAX = 25_000_000
FILES = 100
FILES_MAX = 1_000
LOOKED_AT_MAX = 100_000
_MEGABYTE = 1_000_000
_IMPORTED = frozenset({".py", ".pyc", ".pyd", ".so", ".pth", ".zip"})


class FileRead:
    """Inputs: path, mode (text, json, csv, binary), size_max_mb, delimiter, header.

    The value is `{path, content, size}`; binary content is written in base64.
    """

    effect: Effect = "none"

    def __init__(self, context: Context) -> None:
        self._root = context.settings.project_root

    def estimate(self, request: Request) -> Estimate:
        """Nothing."""
        return Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Reads the file. Raises ProviderError."""
        inputs = Inputs("file_read", request.inputs)
        return Reply(await asyncio.to_thread(self._read, inputs))

    def _read(self, inputs: Inputs) -> Json:
        written = inputs.needed("path")
        path = path_in(self._root, written)
        if is_guarded(path, Path(self._root).resolve()):
            inputs.refuse("path", f"names {written[:200]!r}, which workflows may not read")
        content = read_bytes(path, written, size_max=_size_max(inputs))
        return {
            "path": written,
            "content": from_bytes(content, inputs, written),
            "size": len(content),
        }


class FileGlob:
    """Inputs: folder, pattern, recursive, mode (as of `file_read`, or paths), files_max,
    size_max_mb, sort (name, modified, size), descending.

    The value is `{files, count}`; each file is `{path, name, size, modified}` with its content.
    """

    effect: Effect = "none"

    def __init__(self, context: Context) -> None:
        self._root = context.settings.project_root

    def estimate(self, request: Request) -> Estimate:
        """Nothing."""
        return Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Looks for the files. Raises ProviderError."""
        inputs = Inputs("file_glob", request.inputs)
        return Reply(await asyncio.to_thread(self._find, inputs))

    def _find(self, inputs: Inputs) -> Json:
        folder = inputs.text("folder") or "."
        top = path_in(self._root, folder)
        root = Path(self._root).resolve()
        if not top.is_dir() or is_guarded(top, root):
            inputs.refuse("folder", f"names {folder!r}, which is no folder for workflows")
        by = inputs.text("sort", "name")
        down = inputs.flag("descending", default=False)
        found = [one for one in _matching(top, inputs) if not is_guarded(one.path, root)]
        found.sort(key=lambda one: _rank(one, by), reverse=down)
        kept = found[: min(inputs.count("files_max") or FILES, FILES_MAX)]
        files = self._told(inputs, kept, root)
        return {"files": files, "count": len(files)}

    def _told(self, inputs: Inputs, kept: list[_Found], root: Path) -> list[Json]:
        files: list[Json] = []
        total = 0
        for one in kept:
            name = one.path.relative_to(root).as_posix()
            told: dict[str, Json] = {
                "path": name,
                "name": one.path.name,
                "size": one.size,
                "modified": datetime.fromtimestamp(one.modified, UTC).isoformat(timespec="seconds"),
            }
            if inputs.text("mode", "text") != "paths":
                content = read_bytes(one.path, name, size_max=_size_max(inputs))
                total += len(content)
                if total > TOTAL_MAX:
                    inputs.refuse("files_max", f"allows for more than {TOTAL_MAX:,} bytes in all")
                told["content"] = from_bytes(content, inputs, name)
            files.append(told)
        return files


class FileWrite:
    """Inputs: path, content, mode (text, json, csv, binary), write (overwrite, append, create),
    folders (whether missing ones are made).

    The value is `{path, size}`. Hidden files and the operator's configuration are never written,
    nor is code that the engine itself would run.
    """

    effect: Effect = "outside"

    def __init__(self, context: Context) -> None:
        settings = context.settings
        self._root = settings.project_root
        has_functions = any(place.startswith("python:") for place in settings.tasks.values())
        self._guards_code = has_functions and settings.allow.commands is not True

    def estimate(self, request: Request) -> Estimate:
        """Nothing."""
        return Estimate()

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Writes the file. Raises ProviderError."""
        inputs = Inputs("file_write", request.inputs)
        return Reply(await asyncio.to_thread(self._write, inputs))

    def _write(self, inputs: Inputs) -> Json:
        written = inputs.needed("path")
        path = path_in(self._root, written)
        root = Path(self._root).resolve()
        if path == root or is_guarded(path, root):
            inputs.refuse("path", f"names {written[:200]!r}, which workflows may not write")
        if self._guards_code and path.suffix.lower() in _IMPORTED:
            inputs.refuse(
                "path",
                f"names {written[:200]!r}, and functions of [tasks] may be imported from such"
                " files; only `[allow] commands = true` lets workflows write them",
            )
        content = to_bytes(inputs)
        if len(content) > SIZE_MAX:
            inputs.refuse("content", f"has more than {SIZE_MAX:,} bytes")
        how = inputs.text("write", "overwrite")
        if how not in ("overwrite", "append", "create"):
            inputs.refuse("write", f"must be overwrite, append or create, not {how!r}")
        try:
            if inputs.flag("folders", default=True):
                path.parent.mkdir(parents=True, exist_ok=True)
            _put(path, content, how)  # type: ignore[arg-type]
        except OSError as fault:
            raise _fault(written, "written", fault) from None
        return {"path": written, "size": len(content)}


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    size: int
    modified: float


def path_in(root: str, written: str) -> Path:
    """The real path of a file of the project; raises ProviderError P113 for any other."""
    try:
        return resolve_beside(f"{root}/-", written, root=root)
    except InvalidWorkflow as fault:
        raise ProviderError(fault.diagnostics[0].message, code="P113") from None


def read_bytes(path: Path, written: str, *, size_max: int) -> bytes:
    """The content of a regular file that is not too large."""
    # Not blocking, since a named pipe would wait for ever; not following, since it is resolved.
    flags = os.O_RDONLY | vars(os).get("O_NONBLOCK", 0) | vars(os).get("O_NOFOLLOW", 0)
    try:
        with open(os.open(path, flags | vars(os).get("O_CLOEXEC", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ProviderError(f"file {written[:200]!r} is no regular file", code="P113")
            content = file.read(size_max + 1)
    except OSError as fault:
        raise _fault(written, "read", fault) from None
    if len(content) > size_max:
        raise ProviderError(f"file {written[:200]!r} has more than {size_max:,} bytes", code="P113")
    return content


def _size_max(inputs: Inputs) -> int:
    asked = inputs.number("size_max_mb")
    return SIZE_MAX if asked is None else max(1, min(int(asked * _MEGABYTE), SIZE_MAX))


def _matching(top: Path, inputs: Inputs) -> Iterator[_Found]:
    pattern = inputs.text("pattern") or "*"
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        inputs.refuse("pattern", f"must stay below its folder, and {pattern!r} does not")
    deep = inputs.flag("recursive", default=False) or "/" in pattern
    looked_at = 0
    for folder, folders, names in os.walk(top):
        # Links are not followed: what they lead to may lie outside of the project.
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if deep else []
        for name in sorted(names):
            looked_at += 1
            if looked_at > LOOKED_AT_MAX:
                inputs.refuse("folder", f"holds more than {LOOKED_AT_MAX:,} files")
            path = Path(folder) / name
            if _fits(path.relative_to(top).as_posix(), pattern):
                found = _regular(path)
                if found is not None:
                    yield found


def _fits(name: str, pattern: str) -> bool:
    if "/" not in pattern:
        return fnmatchcase(name.rpartition("/")[2], pattern)
    return fnmatchcase(name, pattern) or (
        pattern.startswith("**/") and fnmatchcase(name.rpartition("/")[2], pattern[3:])
    )


def _regular(path: Path) -> _Found | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return _Found(path, status.st_size, status.st_mtime)


def _rank(found: _Found, word: str) -> tuple[float, str]:
    measured = {"modified": found.modified, "size": float(found.size)}
    return measured.get(word, 0.0), found.path.as_posix()


def is_guarded(path: Path, root: Path) -> bool:
    """Whether a file is not for workflows: it steers programs, or holds what is nobody's business.

    Hidden files hold keys, the history of a repository, and the runs of everybody.
    """
    parts = path.relative_to(root).parts
    return any(part.startswith(".") or part.casefold() == "whorl.toml" for part in parts)


def _put(path: Path, content: bytes, how: Literal["overwrite", "append", "create"]) -> None:
    if how == "append":
        _write_new(path, content, os.O_APPEND)
        return
    if how == "create":
        _write_new(path, content, os.O_EXCL)
        return
    # Another name first, so that a crash leaves the old file or the new one; a name that nobody
    # can have prepared, since a link there would lead the content out of the project.
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        _write_new(part, content, os.O_EXCL)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _write_new(path: Path, content: bytes, flag: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | flag | vars(os).get("O_NOFOLLOW", 0)
    with open(os.open(path, flags | vars(os).get("O_CLOEXEC", 0), 0o666), "wb") as file:
        file.write(content)


_REASONS = {
    errno.ENOENT: "does not exist",
    errno.EACCES: "permission denied",
    errno.EISDIR: "it is a folder",
    errno.EEXIST: "it is there already",
    errno.ELOOP: "it is a symbolic link",
    errno.ENOSPC: "the disk is full",
}


def _fault(written: str, verb: str, fault: OSError) -> ProviderError:
    reason = _REASONS.get(fault.errno or 0) or fault.strerror or "no reason is known"
    return ProviderError(f"file {written[:200]!r} cannot be {verb}: {reason}", code="P113")
