"""The one path rule: a file may name files of its own project, and nothing else."""

from __future__ import annotations

import errno
import os
import re
import stat
from itertools import islice
from pathlib import Path
from typing import NoReturn

from whorl.errors import Diagnostic, InvalidWorkflow, Span, did_you_mean
from whorl.source.reading import read_text, shown
from whorl.source.tree import LIMITS, Limits

PATH = "W016"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:|//")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LENGTH_MAX = 1024
_NEIGHBOURS_MAX = 1_000


def resolve_beside(base_file: str, reference: str, *, root: str, span: Span | None = None) -> Path:
    """Return the real path of what `reference` names, seen from the folder of `base_file`.

    The path is inside of `root` after all symbolic links; the file need not exist.
    """
    reason = _refusal(reference)
    if reason:
        _refuse(reference, reason, span)
    try:
        top = Path(root).resolve()
        path = (Path(base_file).parent / reference).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        _refuse(reference, f"cannot be resolved: {_reason(error)}", span)
    if not path.is_relative_to(top):
        _refuse(reference, "is outside of the project; copy it into the project", span)
    return path


def open_beside(
    base_file: str,
    reference: str,
    *,
    root: str,
    size_max: int = LIMITS.bytes_max,
    span: Span | None = None,
) -> tuple[str, str]:
    """Return the path and the text of a file that `base_file` names by `reference`."""
    path = resolve_beside(base_file, reference, root=root, span=span)
    content = _read(path, reference, size_max=size_max, span=span)
    return str(path), read_text(content, reference, limits=Limits(bytes_max=size_max))


def open_file(path: str, *, size_max: int = LIMITS.bytes_max) -> str:
    """Return the text of a file that the operator named; it may be anywhere."""
    try:
        real = Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        _refuse(path, f"cannot be resolved: {_reason(error)}", None)
    content = _read(real, path, size_max=size_max, span=None)
    return read_text(content, path, limits=Limits(bytes_max=size_max))


def _refusal(reference: str) -> str:
    """Return why a reference is refused before any file is looked at."""
    if not reference.strip():
        return "has no name"
    if len(reference) > _LENGTH_MAX:
        return f"is longer than {_LENGTH_MAX:,} characters"
    if _CONTROL.search(reference):
        return "holds a control character"
    if _SCHEME.match(reference):
        return "is a URL or names a drive; only files of the project can be named"
    if reference.startswith("/"):
        return "is absolute; write it relative to the file that names it"
    if reference.startswith("~"):
        return "begins with '~'; write it relative to the file that names it"
    if "\\" in reference:
        return "holds a backslash; write '/' between folders"
    if "%" in reference:
        return "holds '%'; write the characters themselves"
    return ""


def _read(path: Path, name: str, *, size_max: int, span: Span | None) -> bytes:
    # Not blocking, since opening a named pipe would wait for ever; not following, since the
    # path is resolved already, and a link that appears by now is someone's trick.
    flags = os.O_RDONLY | _flag("O_NONBLOCK") | _flag("O_NOFOLLOW") | _flag("O_BINARY")
    try:
        descriptor = os.open(path, flags | _flag("O_CLOEXEC"))
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                folder = "is a folder, not a file"
                _refuse(name, folder if stat.S_ISDIR(mode) else "is not a regular file", span)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(size_max + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        _refuse(name, _reason(error), span, _near(path, error))
    if len(content) > size_max:
        _refuse(name, f"has more than {size_max:,} bytes", span)
    return content


def _flag(name: str) -> int:
    """Return a flag of `os.open`, or nothing where the platform lacks it."""
    flag: int = vars(os).get(name, 0)
    return flag


_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist",
    errno.EACCES: "cannot be read: permission denied",
    errno.EISDIR: "is a folder",
    errno.ELOOP: "is a symbolic link that leads nowhere",
    errno.ENAMETOOLONG: "is too long",
}


def _reason(error: OSError | RuntimeError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno in _REASONS:
        return _REASONS[error.errno]
    if isinstance(error, RuntimeError):
        return _REASONS[errno.ELOOP]
    detail = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot be read: {detail}"


def _near(path: Path, error: OSError | ValueError) -> str:
    """The file that was probably meant, where there is none of that name."""
    if not isinstance(error, FileNotFoundError):
        return ""
    try:
        with os.scandir(path.parent) as found:
            names = [entry.name for entry in islice(found, _NEIGHBOURS_MAX) if entry.is_file()]
    except OSError:
        return f"there is no folder {str(path.parent)!r}"
    return did_you_mean(path.name, names)


def _refuse(reference: str, reason: str, span: Span | None, advice: str = "") -> NoReturn:
    message = f"file {shown(reference, length_max=_LENGTH_MAX)} {reason}"
    raise InvalidWorkflow([Diagnostic(PATH, message, span, "this file", advice)])
