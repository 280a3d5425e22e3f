"""Finds a file by its name: beside another one, in the folders below it, or in named folders."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# A project may be a home folder by mistake; loading a file must not walk through all of it.
FOLDERS_MAX = 500
DEPTH_MAX = 6
_SKIPPED = frozenset({"node_modules", "__pycache__"})


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
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
                and not entry.name.startswith(".")
                and entry.name not in _SKIPPED
            ]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]
