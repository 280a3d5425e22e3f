"""Finds files around another one: beside it, in the folders below it, or in named folders."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# A project may be a home folder by mistake; loading a file must not walk through all of it.
FOLDERS_MAX = 500
DEPTH_MAX = 6
# More than anybody opens, so that whoever stops earlier knows that there are others.
FILES_MAX = 2_000
ENTRIES_MAX = 20_000
_SKIPPED = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class Nearby:
    """A file around another one, which would name it by `reference`.

    `folder` is where it stands below the place that was looked through; empty: right there.
    """

    reference: str
    folder: str


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that was looked through, nearest files first.

    What stands further `below` it is found without its folder being named.
    """

    files: tuple[Nearby, ...]
    below: bool = True


def find_beside(
    base_file: str, names: Sequence[str], *, root: str, folders: Iterable[str] = ()
) -> str | None:
    """Returns how the file `base_file` would name the first of these files that there is.

    The nearest one counts: beside the file, then below its folder level by level, then in the
    `folders` of the project and below them, then in `root`. Nothing outside of `root` is found.
    """
    try:
        top = Path(root).resolve()
        start = Path(base_file).resolve().parent
        named = [(top / folder).resolve() for folder in folders]
        below = (folder for place in (start, *named) for folder in _folders_below(place, top))
        for folder in chain(below, (top,)):
            found = _first_in(folder, names, top)
            if found is not None:
                return Path(os.path.relpath(found, start)).as_posix()
    except (OSError, RuntimeError, ValueError):
        return None
    return None


def list_beside(
    base_file: str, endings: tuple[str, ...], *, root: str, folders: Iterable[str] = ()
) -> Iterator[Place]:
    """The files with one of these endings in each of the places where `find_beside` looks.

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
        yield Place(_listed(place, top, endings, start))
    if top not in places:
        yield Place(_listed(top, top, endings, start), below=False)


def _listed(place: Path, top: Path, endings: tuple[str, ...], start: Path) -> tuple[Nearby, ...]:
    paths = (
        folder / entry.name
        for folder in _folders_below(place, top)
        for entry in _entries(folder)
        if entry.name.endswith(endings) and entry.is_file()
    )
    return tuple(
        Nearby(
            Path(os.path.relpath(path, start)).as_posix(),
            path.parent.relative_to(place).as_posix().removeprefix("."),
        )
        for path in islice(paths, FILES_MAX)
    )


def _first_in(folder: Path, names: Sequence[str], top: Path) -> Path | None:
    for name in names:
        if os.path.isabs(name) or "\\" in name or "\0" in name:
            continue
        path = (folder / name).resolve()
        if path.is_relative_to(top) and path.is_file():
            return path
    return None


def _folders_below(start: Path, top: Path) -> Iterator[Path]:
    """A folder and those below it, nearest first; symbolic links and hidden ones are left out."""
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
            following.extend(_inside(folder))
        level = following


def _inside(folder: Path) -> list[Path]:
    return [
        folder / entry.name
        for entry in _entries(folder)
        if entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED
    ]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What a folder holds, hidden things aside, in the order of the names."""
    try:
        with os.scandir(folder) as entries:
            held = islice(entries, ENTRIES_MAX)
            shown = [entry for entry in held if not entry.name.startswith(".")]
    except OSError:
        return []
    return sorted(shown, key=lambda entry: entry.name)
