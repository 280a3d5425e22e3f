"""The workflow files of a project, found by looking: read once, and again when they change."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import InvalidWorkflow, safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir import Workflow
    from whorl.services.project import Project

FILES_MAX = 500
FOLDERS_MAX = 2_000
BYTES_MAX = 200_000
DEPTH_MAX = 4
# A folder that is no project may hold anything; what is not read in this time is read next time.
READING_S = 5.0
_SUFFIXES = (".yaml", ".yml", ".json")
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages", "dist", "build"})
Stamp: TypeAlias = tuple[int, int]
_NO_DIALECT = "W018"
# A text that is not even YAML or JSON may be anything; it is listed where people keep workflows.
_SYNTAX = frozenset({"W001", "W002", "W003"})


@dataclass(frozen=True, slots=True)
class Listed:
    """A workflow file; of one with mistakes only their number and the first of them."""

    file: str
    workflow: Workflow | None = None
    errors: int = 0
    trouble: str = ""


class Catalogue:
    """The workflow files below a project's folder."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[str, tuple[Stamp, Listed | None]] = {}
        self._lock = threading.Lock()

    def listed(self) -> list[Listed]:
        """All workflow files, by name."""
        files: dict[str, tuple[Stamp, Listed | None]] = {}
        deadline = time.monotonic() + READING_S
        with self._lock:
            for path, stamp in sorted(_candidates(str(self._project.root))):
                before = self._known.get(path)
                if before is not None and before[0] == stamp:
                    files[path] = before
                elif time.monotonic() < deadline:
                    files[path] = (stamp, self._read(path))
            self._known = files
        return [listed for _, listed in files.values() if listed is not None]

    def _read(self, path: str) -> Listed | None:
        name = os.path.relpath(path, self._project.root).replace(os.sep, "/")
        try:
            return Listed(name, self._project.read(path).workflow)
        except InvalidWorkflow as fault:
            codes = {diagnostic.code for diagnostic in fault.diagnostics}
            if _NO_DIALECT in codes or (codes <= _SYNTAX and name.count("/") > 1):
                return None
            first = safe(fault.diagnostics[0].message) if fault.diagnostics else ""
            return Listed(name, None, max(1, len(fault.diagnostics)), first)


def _candidates(root: str) -> Iterator[tuple[str, Stamp]]:
    """Files that may be workflows, with what tells whether they have changed."""
    files = folders = 0
    waiting = deque([(root, 0)])
    while waiting and files < FILES_MAX and folders < FOLDERS_MAX:
        folder, depth = waiting.popleft()
        folders += 1
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                if depth < DEPTH_MAX and entry.name not in _LEFT_OUT:
                    waiting.append((entry.path, depth + 1))
            elif entry.name.endswith(_SUFFIXES) and files < FILES_MAX:
                stamp = _stamp(entry)
                if stamp is not None:
                    files += 1
                    yield entry.path, stamp


def _stamp(entry: os.DirEntry[str]) -> Stamp | None:
    """When a file was changed and how large it is; None for what is no file to be read."""
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(about.st_mode) or about.st_size > BYTES_MAX:
        return None
    return about.st_mtime_ns, about.st_size


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scanned:
            entries = [entry for entry in scanned if not entry.name.startswith(".")]
    except OSError:
        return []
    return sorted(entries, key=lambda entry: entry.name)
