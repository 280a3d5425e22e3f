"""Files of the project as workflows read and write them: rights, tasks, contents.

The tasks are `file_glob`, `file_read` and `file_write`; contents are text, JSON, CSV, or bytes in
base64. Without permission a workflow reads what is not hidden, and writes its run's workspace only.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import csv
import io
import json
import os
import stat
from contextlib import suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from whorl.errors import InvalidWorkflow, ProviderError
from whorl.ir.values import workspace_of
from whorl.lazily import dataclass
from whorl.providers.json_values import NotJson, as_text, clean, parse_json
from whorl.providers.settings import line_below, permit_file
from whorl.providers.task import Effect, Emit, Inputs, OwnTask, Reply, Request
from whorl.source.paths import fits_glob, is_kept, is_open, read_named, reason_of, resolve_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.language import Json
    from whorl.providers.settings import Allow, Settings


# Which files of a project a run may read and write, and what permits more.


@dataclass(frozen=True, slots=True)
class FileRights:
    """The rights of a run to files of a project; paths are those after all links."""

    root: Path
    allow: Allow
    run: str = ""

    @classmethod
    def of(cls, settings: Settings, run: str = "") -> FileRights:
        return cls(Path(settings.project_root).resolve(), settings.allow, run)

    def resolve(self, written: str, verb: str = "") -> Path:
        """Returns the real path of a named file. Raises P113, or P125 if `verb` is not allowed."""
        try:
            path = resolve_beside(f"{self.root}/-", written, root=str(self.root))
        except InvalidWorkflow as fault:
            raise ProviderError(fault.diagnostics[0].message, code="P113") from None
        may = {"read": self.may_read, "write": self.may_write}.get(verb)
        if may is not None and not may(path):
            real, permission = "/".join(self.parts(path)), _permission(verb, path, self)
            named = f"file {written[:200]!r}"
            named += f", which is {real[:200]!r}," if real not in ("", written) else ""
            words = f"{named} may not be read; {permission}"
            if verb == "write":
                rule = "a workflow may write only below {{ workspace }} and where it has permission"
                words = f"{named} may not be written: {rule}; {permission}"
            raise ProviderError(words, code="P125")
        return path

    def check(self, written: str, *, is_final: bool = True) -> None:
        """Refuses a file that may not be read, and with `is_final` also a missing one."""
        if not self.resolve(written, "read").exists() and is_final:
            raise ProviderError(f"file {written[:200]!r} does not exist", code="P113")

    def read(self, path: Path, written: str, *, size_max: int) -> bytes:
        """Reads a file by its real path. Raises ProviderError P113."""
        try:
            return read_named(path, self.may_read, size_max)
        except (OSError, ValueError) as fault:
            raise ProviderError(f"file {written[:200]!r} {reason_of(fault)}", code="P113") from None

    def may_read(self, path: Path) -> bool:
        """Whether a file may be read, or a folder searched."""
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
        """Whether a folder may be searched; each file in it is checked separately."""
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
        """Whether a path is the workspace of the run, or in it."""
        own = tuple(workspace_of(self.run).split("/"))
        return bool(self.run) and parts[: len(own)] == own


def _permission(verb: str, path: Path, rights: FileRights) -> str:
    """Returns the line that permits a file, by its path after all links."""
    parts = rights.parts(path)
    if rights.is_kept(parts):
        return "workflows can never open the store and the configuration"
    if not parts:
        return "name a file in the project"
    glob = "/".join(map(escape, parts))
    return f"to permit it, write {permit_file(rights.allow, verb, glob)}"


# The tasks `file_glob`, `file_read` and `file_write`.

SIZE_MAX = 10_000_000
TOTAL_MAX = 25_000_000
FILES = 100
FILES_MAX = 1_000
LOOKED_AT_MAX = 100_000
_IMPORTED = frozenset({".py", ".pyc", ".pyd", ".so", ".pth", ".zip"})


class _FileTask(OwnTask):
    effect: Effect = "none"
    calls = 0

    async def perform(self, request: Request, emit: Emit) -> Reply:
        return Reply(await asyncio.to_thread(self.work, request))

    def work(self, request: Request) -> Json:
        """Returns the task's value; runs in the calling thread. Raises ProviderError."""
        inputs = Inputs(request.kind, request.inputs)
        return self._work(inputs, FileRights.of(self._settings, request.run))

    def _work(self, inputs: Inputs, rights: FileRights) -> Json:
        raise NotImplementedError


class FileRead(_FileTask):
    """Inputs: path, mode (text, json, csv, binary: in base64), size_max_mb, delimiter, header."""

    def _work(self, inputs: Inputs, rights: FileRights) -> Json:
        written = inputs.needed("path")
        content = rights.read(rights.resolve(written, "read"), written, size_max=_size_max(inputs))
        value = from_bytes(content, inputs, written)
        return {"path": written, "content": value, "size": len(content)}


class FileGlob(_FileTask):
    """Inputs: folder, pattern, recursive, mode (as of `file_read`, or paths), files_max,
    size_max_mb, sort (name, modified, size), descending.

    The value is `{files, count}`; each file is `{path, name, size, modified}` with its content.
    """

    def _work(self, inputs: Inputs, rights: FileRights) -> Json:
        folder = inputs.text("folder") or "."
        top, root = rights.resolve(folder), rights.root
        if not top.is_dir() or not rights.may_look_into(top):
            inputs.refuse("folder", f"names {folder!r}, which workflows may not use as a folder")
        order, is_descending = inputs.text("sort", "name"), inputs.flag("descending")
        matches = [match for match in _matching(top, inputs) if rights.may_read(match[0])]
        field = {"modified": "st_mtime", "size": "st_size"}.get(order)
        matches.sort(key=lambda match: match[0].as_posix(), reverse=is_descending)
        if field:
            matches.sort(key=lambda match: getattr(match[1], field), reverse=is_descending)
        files: list[Json] = []
        total = 0
        for path, status in matches[: min(inputs.count("files_max") or FILES, FILES_MAX)]:
            modified = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
            name = path.relative_to(root).as_posix()
            file: dict[str, Json] = {"path": name, "name": path.name, "size": status.st_size}
            file["modified"] = modified
            if inputs.text("mode", "text") != "paths":
                content = rights.read(path, name, size_max=_size_max(inputs))
                file["content"] = from_bytes(content, inputs, name)
                total += len(content)
            if total > TOTAL_MAX:
                inputs.refuse("files_max", f"allows for more than {TOTAL_MAX:,} bytes in all")
            files.append(file)
        return {"files": files, "count": len(files)}


class FileWrite(_FileTask):
    """Inputs: path, content, mode (text, json, csv, binary), write (overwrite, append, create),
    folders (whether missing ones are made).

    The value is `{path, size}`. Files without permission are not written, nor is code that the
    engine itself would run.
    """

    effect: Effect = "outside"

    def _work(self, inputs: Inputs, rights: FileRights) -> Json:
        written = inputs.needed("path")
        path = rights.resolve(written, "write")
        has_functions = any(task.startswith("python:") for task in self._settings.tasks.values())
        guards_code = has_functions and self._settings.allow.commands is not True
        if guards_code and path.suffix.lower() in _IMPORTED:
            why = f"only {line_below('allow', 'commands = true')} lets workflows write them"
            may = "functions of [tasks] may be imported from such files"
            inputs.refuse("path", f"names {written[:200]!r}, and {may}; {why}")
        content = to_bytes(inputs)
        if len(content) > SIZE_MAX:
            inputs.refuse("content", f"has more than {SIZE_MAX:,} bytes")
        way = inputs.text("write", "overwrite")
        if way not in ("overwrite", "append", "create"):
            inputs.refuse("write", f"must be overwrite, append or create, not {way!r}")
        try:
            if inputs.flag("folders", default=True):
                path.parent.mkdir(parents=True, exist_ok=True)
            _put(path, content, way)
        except OSError as fault:
            why = "it exists already" if isinstance(fault, FileExistsError) else str(fault.strerror)
            words = f"file {written[:200]!r} cannot be written: {why}"
            raise ProviderError(words, code="P113") from None
        return {"path": written, "size": len(content)}


def _size_max(inputs: Inputs) -> int:
    asked_mb = inputs.number("size_max_mb")
    return SIZE_MAX if asked_mb is None else max(1, min(int(asked_mb * 1_000_000), SIZE_MAX))


def _matching(top: Path, inputs: Inputs) -> Iterator[tuple[Path, os.stat_result]]:
    pattern = inputs.text("pattern") or "*"
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        inputs.refuse("pattern", f"must stay below its folder, and {pattern!r} does not")
    deep = inputs.flag("recursive") or "/" in pattern
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
                with suppress(OSError):
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode):
                        yield path, status


def _fits(name: str, pattern: str) -> bool:
    last = name.rpartition("/")[2]
    if "/" not in pattern:
        return fnmatchcase(last, pattern)
    is_anywhere = pattern.startswith("**/") and fnmatchcase(last, pattern[3:])
    return is_anywhere or fnmatchcase(name, pattern)


def _put(path: Path, content: bytes, way: str) -> None:
    if way != "overwrite":
        _write_new(path, content, os.O_APPEND if way == "append" else os.O_EXCL)
        return
    # Another name first, so that a crash leaves the old file or the new one. The name is random,
    # because a prepared link there would lead the content out of the project.
    part = path.with_name(f".{os.urandom(8).hex()}.part")
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


# The contents of files as values: text, JSON, CSV, or bytes in base64.

ROWS_MAX = 100_000
_MODES = ("text", "json", "csv", "binary")


def from_bytes(content: bytes, inputs: Inputs, name: str) -> Json:
    mode = _mode(inputs)
    if mode == "binary":
        return base64.b64encode(content).decode("ascii")
    text = clean(content.decode("utf-8-sig", "replace"))
    if mode == "text":
        return text
    if mode == "csv":
        return _rows(text, inputs, name)
    try:
        return parse_json(text)
    except NotJson as cause:
        raise ProviderError(f"file {name[:200]!r} is not JSON: {cause}", code="P105") from None


def to_bytes(inputs: Inputs) -> bytes:
    mode, content = _mode(inputs), inputs.get("content")
    if mode == "binary":
        try:
            return base64.b64decode(inputs.text("content"), validate=True)
        except binascii.Error:
            inputs.refuse("content", "is not in base64")
    if mode == "json" and not isinstance(content, str):
        text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    elif mode == "csv" and isinstance(content, list):
        text = _table(content)
    else:
        text = inputs.text("content")
    return clean(text).encode()


def _mode(inputs: Inputs) -> str:
    mode = inputs.text("mode", "text")
    if mode not in _MODES:
        inputs.refuse("mode", f"must be one of {', '.join(_MODES)}, not {mode!r}")
    return mode


def _rows(text: str, inputs: Inputs, name: str) -> Json:
    delimiter = inputs.text("delimiter", ",")
    if len(delimiter) != 1:
        inputs.refuse("delimiter", f"must be one character, not {delimiter!r}")
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            rows.append(row)
            if len(rows) > ROWS_MAX:
                inputs.refuse("path", f"has more than {ROWS_MAX:,} rows")
    except csv.Error as fault:
        raise ProviderError(f"file {name[:200]!r} is not CSV: {fault}", code="P105") from None
    if not inputs.flag("header", default=True) or not rows:
        return [[*row] for row in rows]
    return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]


def _table(content: list[Json]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    objects = [row for row in content if isinstance(row, dict)]
    names = list(dict.fromkeys(name for row in objects for name in row))
    if names:
        writer.writerow(names)
    for row in content:
        if isinstance(row, dict):
            cells = [row.get(name) for name in names]
        else:
            cells = row if isinstance(row, list) else [row]
        writer.writerow(["" if cell is None else as_text(cell) for cell in cells])
    return out.getvalue()
