"""Editing workflow files: operations on texts, and the one function that writes such a file.

This module runs and fetches nothing. It writes a file only if it is a workflow of the project,
not a symlink, and unchanged since the writer last read it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import threading
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl.dialects.files import ENDINGS, UnsavedFiles
from whorl.dialects.reader import dialects, parse, reader_of
from whorl.errors import EditRefused, InvalidWorkflow, UsageError
from whorl.services.files import Editor
from whorl.source.editing.text import BYTES_MAX, in_utf16
from whorl.source.report import read_text
from whorl.wings.editor.kit import changes as kit
from whorl.wings.editor.kit.operations import read_operations
from whorl.wings.editor.kit.sketch import NAMES_MAX, as_json, path_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whorl.dialects.files import SourceFiles
    from whorl.errors import Diagnostic
    from whorl.services.project import Project

# The unsaved texts of files beside the edited one, by their names.
Others: TypeAlias = "Mapping[str, str] | None"
CHANGED, UNWRITABLE = "C110", "C111"
_KEPT_BITS = 0o777
# Within one process, saves read and write one after the other.
_lock = threading.Lock()


class Changed(UsageError):
    """The file changed since its writer read it; `text` and `etag` are the current ones."""

    def __init__(self, file: str, text: str, etag: str | None) -> None:
        message = f"{file!r} has changed since it was read"
        super().__init__(message, code=CHANGED, help="look at both versions, then save again")
        self.text = text
        self.etag = etag


def etag_of(data: bytes) -> str:
    """Returns the etag of a version of a file."""
    return f'"sha256:{hashlib.sha256(data).hexdigest()}"'


def files_of(project: Project, file: str, others: Others = None) -> SourceFiles:
    """Returns the files that a project file may name; `others` are unsaved files beside it."""
    files = project.files(file)
    return UnsavedFiles(files, file, others) if others else files


def diagnose(project: Project, text: str, file: str, others: Others = None) -> list[Diagnostic]:
    """Returns the reader's findings on a text as if it were in the file, each with its step."""
    found = kit.findings(lambda: project.read_text(text, file, others=others))
    if not found:
        return []
    try:
        _, changes = kit.open_text(text, file, files_of(project, file, others))
    except EditRefused:
        return found
    now = changes.editor.now
    return [
        replace(each, node=path_at(changes.sketch, now, each.span))
        if each.span is not None and each.span.file == now.document.file
        else each
        for each in found
    ]


def new_fields(before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Returns the findings on unknown fields that an operation has just written."""
    known = {each.message for each in before}
    unknown = (each for each in after if each.code == "W004" and each.severity == "error")
    return [each for each in unknown if each.message not in known]


def sketch_text(project: Project, text: str, file: str) -> tuple[str, dict[str, Any] | None]:
    """Returns the dialect of a text and its picture, or None as picture if it cannot be read."""
    try:
        dialect, changes = kit.open_text(text, file, files_of(project, file))
    except EditRefused:
        return _dialect(text, file) or "", None
    return dialect, as_json(changes.sketch, changes.editor.now)


def names_at(project: Project, text: str, file: str, path: str) -> list[dict[str, Any]]:
    """Returns the names that the texts of a step may read; raises EditRefused if it is unknown."""
    _, changes = kit.open_text(text, file, files_of(project, file))
    if path:
        changes.node(path)
    return [asdict(name) for name in changes.names_at(path)[:NAMES_MAX]]


def _dialect(text: str, file: str) -> str | None:
    """Returns the dialect of a text, "" if it is of no known one, or None if it cannot be read."""
    with suppress(InvalidWorkflow):
        document = parse(text, file, lenient=True)
        with suppress(InvalidWorkflow):
            return reader_of(document).name
        return ""
    return None


def edit_text(
    project: Project,
    text: str,
    file: str,
    operations: Sequence[Mapping[str, Any]],
    *,
    rewires: bool = True,
    others: Others = None,
) -> kit.Edited:
    """Returns the text after operations; raises EditRefused or UsageError without any change."""
    read = read_operations(operations)
    return kit.edit(text, file, read, files_of(project, file, others), rewires=rewires)


def edit(
    text: str,
    name: str,
    operations: Sequence[Mapping[str, object]],
    *,
    readers: Literal["rewire", "leave"] = "rewire",
) -> kit.Edited:
    """Applies operations to the text of a workflow file, all or none; writes nothing.

    Raises EditRefused, with the line, where one cannot be carried out exactly. `readers` says
    whether the readers of a step are changed with it.
    """
    from whorl.interfaces.python.loading import project_of

    return edit_text(project_of(None), text, name, operations, rewires=readers == "rewire")


def answer(before: str, edited: kit.Edited) -> dict[str, Any]:
    """Returns the result of operations as JSON; offsets count UTF-16 units."""
    return {
        "text": edited.text,
        "patches": [patch._asdict() for patch in in_utf16(before, edited.patches)],
        "sketch": as_json(edited.sketch, edited.now),
        "rewired": [asdict(one) for one in edited.rewired],
        "select": edited.select,
        "others": {name: {"text": text, "etag": None} for name, text in edited.others.items()},
    }


def edited_dialects() -> list[str]:
    """Returns the dialects that have an empty file."""
    return [name for name in dialects().names() if _empty(name)]


def empty_text(dialect: str) -> tuple[str, str]:
    """Returns the smallest valid file of a dialect, and its file extension."""
    text = _empty(dialect)
    if not text:
        words = f"there is no empty file of the format {dialect[:60]!r}"
        raise UsageError(words, help=f"known: {', '.join(edited_dialects())}")
    return text, ".json" if text.startswith("{") else ".yaml"


def _empty(dialect: str) -> str:
    with suppress(UsageError):
        return kit.changes_of(dialect).empty
    return ""


def read_file(project: Project, file: str, *, broken: bool = True) -> tuple[str, str]:
    """Returns the text and the etag of a workflow file of the project, or of a `broken` one.

    Other files, such as settings, may hold secrets. A broken file may be any of these.
    """
    with _folder_of(project, file) as (folder, name):
        data = _read(folder, name, file)
    if data is None:
        raise UsageError(f"there is no file {file!r}", code="W903")
    text = _decoded(data, file)
    dialect = _dialect(text, file)
    if not dialect and (dialect is not None or not broken):
        raise _unwritable(file, "is not a workflow")
    return text, etag_of(data)


def save(project: Project, file: str, text: str, etag: str | None) -> tuple[str | None, str]:
    """Writes a workflow file of the project as a whole; returns the old and the new etag.

    `etag` is that of the version which the text was made from, or None if the file must not exist.
    """
    data = text.encode()
    if len(data) > BYTES_MAX:
        raise _unwritable(file, f"has more than {BYTES_MAX:,} bytes")
    with _lock, _folder_of(project, file) as (folder, name):
        current = _read(folder, name, file)
        found = None if current is None else etag_of(current)
        before = "" if current is None else _decoded(current, file)
        if found != etag:
            raise Changed(file, before, found)
        # A readable file that is not a workflow may hold secrets: it is not replaced.
        if current is None and not _dialect(text, file):
            raise _unwritable(file, "would be a new file that is not a workflow")
        if current is not None and _dialect(before, file) == "":
            raise _unwritable(file, "is not a workflow")
        replace_file(folder, name, data, file)
    return found, etag_of(data)


def _unwritable(file: str, why: str) -> UsageError:
    advice = "save workflow files of the project: .yaml, .yml or .json, in its own folders"
    return UsageError(f"{file[:200]!r} {why}", code=UNWRITABLE, help=advice)


def _decoded(data: bytes, file: str) -> str:
    mark = "\ufeff" if data.startswith(b"\xef\xbb\xbf") else ""
    try:
        return mark + read_text(data, file)
    except InvalidWorkflow as fault:
        raise _unwritable(file, f"cannot be edited: {fault.diagnostics[0].message}") from None


@contextmanager
def _folder_of(project: Project, file: str) -> Iterator[tuple[int, str]]:
    """Opens the folder of a file, and gives the name of the file in it. Follows no symlinks."""
    parts = file.split("/")
    if file.startswith("/") or "\\" in file or not file.isprintable():
        raise _unwritable(file, "is not a path inside the project")
    if any(not part or part.startswith(".") for part in parts):
        raise _unwritable(file, "is hidden, or leads out of its folder")
    if not file.endswith(ENDINGS):
        raise _unwritable(file, "is not a .yaml, .yml or .json file")
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(project.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            try:
                inner = os.open(part, flags, dir_fd=folder)
            except OSError:
                raise _unwritable(file, "is not in a folder of the project") from None
            os.close(folder)
            folder = inner
        yield folder, parts[-1]
    finally:
        os.close(folder)


def _read(folder: int, name: str, file: str) -> bytes | None:
    """Returns the bytes of a file, which must be a regular file without symlinks or hard links."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        opened = os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError:
        raise _unwritable(file, "is a link, or cannot be read") from None
    with os.fdopen(opened, "rb") as stream:
        about = os.fstat(stream.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
            raise _unwritable(file, "is not a regular file, or has a second name")
        data = stream.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise _unwritable(file, f"has more than {BYTES_MAX:,} bytes")
    return data


def replace_file(folder: int, name: str, data: bytes, file: str) -> None:
    """Replaces a file with a new one, which gets the mode of the old one."""
    new = f".{name[:100]}.{secrets.token_hex(6)}"
    mode = None
    with suppress(FileNotFoundError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & _KEPT_BITS
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        opened = os.open(new, flags, 0o666 if mode is None else mode, dir_fd=folder)
        with os.fdopen(opened, "wb") as stream:
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is None:
            # A hard link cannot replace a file that another process has created meanwhile.
            os.link(new, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        else:
            os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except FileExistsError:
        raise Changed(file, "", None) from None
    except OSError as fault:
        raise _unwritable(file, f"cannot be written: {fault.strerror or fault}") from None
    finally:
        with suppress(OSError):
            os.unlink(new, dir_fd=folder)


EDITOR = Editor(read_file, empty_text, edited_dialects)
