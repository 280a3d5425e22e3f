"""The one path rule: a file may name files of its own project, and nothing else.

`read_named` reads every file that a workflow, an experiment or a test names. Files are also found
by name: beside a file, in the folders below it, or in named folders. Files that a command writes by
itself follow no symbolic link out of their place.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from whorl.errors import Diagnostic, InvalidWorkflow, Span, UsageError, nearest
from whorl.lazily import dataclass, regex
from whorl.source import LIMITS, Limits
from whorl.source.report import read_text, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

PATH, OUTSIDE = "W016", "W027"
# A project may be a home folder by mistake; loading a file must not walk through all of it.
FOLDERS_MAX = 500
DEPTH_MAX = 6
# More than anybody opens, so that a caller who stops earlier knows that there are others.
FILES_MAX = 2_000
ENTRIES_MAX = 20_000

_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.\-]*:|//")
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_ONLY_FILES = "only files of the project can be named"
_NO_FILE = "is not a regular file"
_LENGTH_MAX = 1024
_NEIGHBOURS_MAX = 1_000
_SKIPPED = frozenset({"node_modules", "__pycache__"})
_KEPT = frozenset({"whorl.toml", ".whorl"})
# Hidden, and read all the same: where another system keeps workflows, which name each other.
_SHOWN = (
    "**/.robomesh/*.yaml",
    "**/.robomesh/*.yml",
    "**/.robomesh/workflows/**",
    # Where one is looked for that another one names from the project's folder, and is missing.
    "**/.robomesh/workflows/.robomesh/workflows/**",
)


def resolve_beside(base_file: str, reference: str, *, root: str, span: Span | None = None) -> Path:
    """Return the real path of what `reference` names, seen from the folder of `base_file`.

    The path is inside of `root` after all symbolic links; the file need not exist.
    """
    seen_from = "the project's folder" if base_file == f"{root}/-" else "the file that names it"
    for is_refused, reason in (
        (not reference.strip(), "has no name"),
        (len(reference) > _LENGTH_MAX, f"is longer than {_LENGTH_MAX:,} characters"),
        (not reference.isprintable() and _CONTROL.search(reference), "holds a control character"),
    ):
        if is_refused:
            _refuse(reference, reason, span)
    for is_refused, reason in (
        (_SCHEME.match(reference), f"is a URL or names a drive; {_ONLY_FILES}"),
        (reference.startswith("/"), f"is absolute; write it relative to {seen_from}"),
        (reference.startswith("~"), f"begins with '~'; write it relative to {seen_from}"),
        ("\\" in reference, "holds a backslash; write '/' between folders"),
        ("%" in reference, "holds '%'; write the characters themselves"),
    ):
        if is_refused:
            _refuse(reference, reason, span, code=OUTSIDE)
    real = partial(_real, name=reference, span=span)
    top, path = real(root), real(Path(base_file).parent / reference)
    if not path.is_relative_to(top):
        reason = "is outside of the project; copy it into the project"
        _refuse(reference, reason, span, code=OUTSIDE)
    return path


def open_beside(
    base_file: str,
    reference: str,
    *,
    root: str,
    size_max: int = LIMITS.bytes_max,
    span: Span | None = None,
    closed: frozenset[str] = frozenset(),
) -> tuple[str, str]:
    """Return the path and the text of a file that `base_file` names by `reference`."""
    path = resolve_beside(base_file, reference, root=root, span=span)
    opens = partial(is_open, top=Path(root).resolve(), closed=closed)
    return str(path), _read(path, reference, opens, size_max=size_max, span=span)


def open_file(path: str, *, size_max: int = LIMITS.bytes_max) -> str:
    """Return the text of a file that the operator named; it may be anywhere."""
    return _read(_real(path, path, None), path, lambda _: True, size_max=size_max, span=None)


def read_named(path: Path, opens: Callable[[Path], bool], size_max: int) -> bytes:
    """Returns the content of a file that another one names, if its real path fits the rule `opens`.

    Raises OSError, ValueError.
    """
    if not opens(path):
        raise ValueError("hidden files, the configuration and the store are not open to workflows")
    # Not following, since the path is resolved already, and a link that appears by now is
    # someone's trick.
    content = read_start(path, size_max + 1, follows=False)
    if len(content) > size_max:
        raise ValueError(f"it has more than {size_max:,} bytes")
    return content


def is_open(path: Path, top: Path, closed: frozenset[str] = frozenset()) -> bool:
    """Checks whether a file in `top` needs no permission; `closed` are other configurations."""
    parts = path.relative_to(top).parts
    is_hidden = any(part.startswith(".") for part in parts)
    is_shown = not is_hidden or any(fits_glob(parts, glob) for glob in _SHOWN)
    return is_shown and not is_kept(parts, closed)


def is_kept(parts: tuple[str, ...], closed: frozenset[str]) -> bool:
    """Checks whether a path is the engine's own, or one of `closed`: no permission opens it."""
    return any(part.casefold() in _KEPT for part in parts) or "/".join(parts).casefold() in closed


def _real(path: str | Path, name: str, span: Span | None) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        _refuse(name, f"cannot be resolved: {reason_of(error)}", span)


def _read(
    path: Path, name: str, opens: Callable[[Path], bool], *, size_max: int, span: Span | None
) -> str:
    try:
        content = read_named(path, opens, size_max)
    except (OSError, ValueError) as error:
        near = _near(path, name) if isinstance(error, FileNotFoundError) else ""
        _refuse(name, reason_of(error), span, near, code=PATH if opens(path) else OUTSIDE)
    return read_text(content, name, limits=Limits(bytes_max=size_max))


def read_start(path: Path, size: int, *, follows: bool = True) -> bytes:
    """Returns at most this many bytes of a regular file; raises OSError, also for other files.

    It never waits: opening a named pipe could block forever.
    """
    # A flag that the platform lacks is left out.
    names = ["O_RDONLY", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"] + ["O_NOFOLLOW"] * (not follows)
    descriptor = os.open(path, sum(vars(os).get(name, 0) for name in names))
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, _NO_FILE)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(size)
    finally:
        os.close(descriptor)


def fits_glob(parts: Sequence[str], glob: str) -> bool:
    """Checks whether a path, by the names in it, fits a pattern of files in the project.

    `**` matches any folders and `folder/` all below it; only a name that is written with a dot in
    front matches hidden ones.
    """
    whole = f"{glob}**" if glob.endswith("/") else glob
    return _fits(tuple(parts), tuple(whole.split("/")))


def _fits(parts: tuple[str, ...], globs: tuple[str, ...]) -> bool:
    if not globs:
        return not parts
    if globs == ("**",):
        return bool(parts) and not any(part.startswith(".") for part in parts)
    if globs[0] == "**":
        inner = parts[1:] if parts and not parts[0].startswith(".") else None
        return _fits(parts, globs[1:]) or (inner is not None and _fits(inner, globs))
    if not parts or parts[0].startswith(".") > globs[0].startswith("."):
        return False
    return fnmatchcase(parts[0], globs[0]) and _fits(parts[1:], globs[1:])


_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist",
    errno.EACCES: "cannot be read: permission denied",
    errno.EISDIR: "is a folder, not a file",
    errno.ELOOP: "is a symbolic link that leads nowhere",
    errno.ENAMETOOLONG: "is too long",
}


def reason_of(error: OSError | RuntimeError | ValueError) -> str:
    """Returns the error of a file, to be said after its name."""
    if isinstance(error, OSError) and error.errno in _REASONS:
        return _REASONS[error.errno]
    if isinstance(error, RuntimeError):
        return _REASONS[errno.ELOOP]
    detail = error.strerror if isinstance(error, OSError) else str(error)
    return _NO_FILE if detail == _NO_FILE else f"cannot be read: {detail}"


def _near(path: Path, reference: str) -> str:
    """Returns a question with the nearest file name if a file is missing, or names its folder."""
    folder = reference[: -len(path.name)] if reference.endswith(path.name) else ""
    if not path.parent.is_dir():
        return f"there is no folder {str(path.parent)!r}"
    entries = islice(_entries(path.parent), _NEIGHBOURS_MAX)
    found = nearest(path.name, [entry.name for entry in entries if entry.is_file()])
    return f"did you mean {folder + found!r}?" if found else ""


def _refuse(
    reference: str, reason: str, span: Span | None, advice: str = "", *, code: str = PATH
) -> NoReturn:
    message = f"file {shown(reference, length_max=_LENGTH_MAX)} {reason}"
    raise InvalidWorkflow([Diagnostic(code, message, span, "this file", advice)])


@dataclass(frozen=True, slots=True)
class Nearby:
    """A file around another one, which would name it by `reference`.

    `folder` is its folder below the place that was searched, or "" if it is directly in the place.
    """

    reference: str
    folder: str


@dataclass(frozen=True, slots=True)
class SearchFolder:
    """A folder that was searched, nearest files first.

    With `below`, files in its subfolders are found without the name of the folder.
    """

    files: tuple[Nearby, ...]
    below: bool = True


def find_beside(
    base_file: str, names: Sequence[str], *, root: str, folders: Iterable[str] = ()
) -> str | None:
    """Returns how the file `base_file` would name the first of these files that exists.

    The nearest one counts: beside the file, then below its folder level by level, then in the
    `folders` of the project and below them, then in `root`. Nothing outside of `root` is found.
    """
    try:
        top = Path(root).resolve()
        start = Path(base_file).resolve().parent
        named = [(top / folder).resolve() for folder in folders]
        below = (folder for place in (start, *named) for folder in _folders_below(place, top))
        for folder in chain(below, (top,)):
            for name in names:
                if os.path.isabs(name) or "\\" in name or "\0" in name:
                    continue
                path = (folder / name).resolve()
                if path.is_relative_to(top) and path.is_file():
                    return Path(os.path.relpath(path, start)).as_posix()
    except (OSError, RuntimeError, ValueError):
        return None
    return None


def list_beside(
    base_file: str, endings: tuple[str, ...], *, root: str, folders: Iterable[str] = ()
) -> Iterator[SearchFolder]:
    """Returns the files with one of these endings in each of the places of `find_beside`.

    At most `FILES_MAX` of them in each place; hidden ones are left out.
    """
    try:
        top = Path(root).resolve()
        start = Path(base_file).resolve().parent
        named = [(top / folder).resolve() for folder in folders]
    except (OSError, RuntimeError, ValueError):
        return
    places = dict.fromkeys((start, *named))
    for place in places:
        yield SearchFolder(_listed(place, top, endings, start))
    if top not in places:
        yield SearchFolder(_listed(top, top, endings, start), below=False)


def _listed(place: Path, top: Path, endings: tuple[str, ...], start: Path) -> tuple[Nearby, ...]:
    found = ((folder, entry) for folder in _folders_below(place, top) for entry in _entries(folder))
    paths = (folder / e.name for folder, e in found if e.name.endswith(endings) and e.is_file())
    files: list[Nearby] = []
    for path in islice(paths, FILES_MAX):
        below = path.parent.relative_to(place).as_posix().removeprefix(".")
        files.append(Nearby(Path(os.path.relpath(path, start)).as_posix(), below))
    return tuple(files)


def _folders_below(start: Path, top: Path) -> Iterator[Path]:
    """Returns a folder and those below it, nearest first, without links and hidden folders."""
    if not start.is_relative_to(top):
        return
    level = [start]
    seen = 0
    for _ in range(DEPTH_MAX + 1):
        following: list[Path] = []
        for folder in level:
            seen += 1
            if seen > FOLDERS_MAX:
                return
            yield folder
            inner = (entry for entry in _entries(folder) if entry.is_dir(follow_symlinks=False))
            following += [folder / entry.name for entry in inner if entry.name not in _SKIPPED]
        level = following


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Returns the entries of a folder without hidden ones, sorted by name."""
    try:
        with os.scandir(folder) as entries:
            held = islice(entries, ENTRIES_MAX)
            shown = [entry for entry in held if not entry.name.startswith(".")]
    except OSError:
        return []
    return sorted(shown, key=lambda entry: entry.name)


def user_folder(environment: Mapping[str, str]) -> Path:
    """Returns `$XDG_CONFIG_HOME/whorl`; a relative path there is ignored, as its standard says."""
    base = environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        home = environment.get("HOME", "")
        base = os.path.join(home if os.path.isabs(home) else str(Path.home()), ".config")
    return Path(base) / "whorl"


# Symbolic links that would lead what a command writes to another place.
#
# A folder from elsewhere can hold links to any file of the person. What a command writes by itself
# follows none of them; a file that the person names is not written outside of the project, unless
# it is named by its own path.


def find_link(folder: Path, names: Iterable[str]) -> Path | None:
    """Returns the first symbolic link on the paths in a folder; the folder may be one."""
    for name in names:
        path = folder
        for part in Path(name).parts:
            path /= part
            if path.is_symlink():
                return path
    return None


def check_inside(folder: Path, file: str) -> None:
    """Refuses to write a file in a folder if a symbolic link there leads outside."""
    real = Path(os.path.realpath(file))
    if real.is_relative_to(folder.resolve()) or not _is_in(folder, Path(os.path.abspath(file))):
        return
    words = f"{file!r} leads out of {str(folder)!r} by a symbolic link"
    raise UsageError(words, help=f"if you mean it, name the place itself: {shlex.quote(str(real))}")


def _is_in(folder: Path, path: Path) -> bool:
    """Checks whether a path, as it is written, leads through a folder, under any of its names."""
    for above in path.parents:
        with suppress(OSError):
            if above.samefile(folder):
                return True
    return False
