"""Symbolic links that would lead what a command writes to another place.

A folder from elsewhere can hold links to any file of the person. What a command writes by itself
follows none of them; a file that the person names is not written outside of the project, unless
it is named by its own path.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from whorl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


def find_link(folder: Path, names: Iterable[str]) -> Path | None:
    """The first link among paths in a folder and on the way to them; the folder may be one."""
    for name in names:
        path = folder
        for part in Path(name).parts:
            path /= part
            if path.is_symlink():
                return path
    return None


def check_inside(folder: Path, file: str) -> None:
    """Refuses a file to be written whose path is in a folder, where a link in it leads outside."""
    real = Path(os.path.realpath(file))
    if real.is_relative_to(folder.resolve()) or not _is_in(folder, Path(os.path.abspath(file))):
        return
    words = f"{file!r} leads out of {str(folder)!r} by a symbolic link"
    raise UsageError(words, help=f"if you mean it, name the place itself: {shlex.quote(str(real))}")


def _is_in(folder: Path, path: Path) -> bool:
    """Whether a path, as it is written, leads through a folder, by whichever name of that."""
    for above in path.parents:
        with suppress(OSError):
            if above.samefile(folder):
                return True
    return False
