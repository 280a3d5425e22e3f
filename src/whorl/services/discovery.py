"""The workflows of a project: the files below its folder that are some, and programs."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import InvalidWorkflow, ProviderError, SeveralWorkflows, UsageError, safe
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
# A text that is not even YAML or JSON may be anything; it is listed where people keep workflows.
_SYNTAX = frozenset({"W001", "W002", "W003"})


@dataclass(frozen=True, slots=True)
class Listed:
    """A workflow file, with those that it `included`; of mistakes their number and the first."""

    file: str
    workflow: Workflow | None = None
    errors: int = 0
    trouble: str = ""
    # Which one, of a file that has several.
    named: str = ""
    included: tuple[str, ...] = ()


@dataclass(eq=False)
class Catalogue:
    """The workflow files below a project's folder, and its `programs`: workflows in Python."""

    project: Project
    programs: Sequence[str] = ()
    _files: dict[str, tuple[Stamp, tuple[Listed, ...]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def listed(self) -> list[Listed]:
        files: dict[str, tuple[Stamp, tuple[Listed, ...]]] = {}
        # Of the processor: on a busy machine the same files are listed as on a free one.
        deadline = time.thread_time() + READING_S
        with self._lock:
            for path, stamp in sorted(candidates(str(self.project.root))):
                before = self._files.get(path)
                if before is not None and before[0] == stamp:
                    files[path] = before
                elif time.thread_time() < deadline:
                    files[path] = (stamp, self._read(path))
            for path in (str(self.project.root / place) for place in self.programs):
                # Python imports a module once.
                files[path] = self._files.get(path) or ((0, 0), self._read(path))
            self._files = files
        return [listed for _, each in files.values() for listed in each]

    def named(self, name: str) -> Listed:
        """The workflow of that name; raises UsageError W902 for none, W903 for several."""
        lowered = name.lower()
        listed = [each for each in self.listed() if each.workflow is not None]
        found = [each for each in listed if each.workflow and each.workflow.name.lower() == lowered]
        if len(found) == 1:
            return found[0]
        if found:
            files = " and ".join(safe(each.file) for each in found[:5])
            raise UsageError(f"several workflows are called {name[:80]!r}: {files}", code="W903")
        raise UsageError(f"there is no workflow {name[:80]!r}", code="W902")

    def reads(self) -> list[str]:
        """The files that the workflows name, or words where a value decides."""
        from whorl.services.files.forecasting import effects_of

        settings, listed = self.project.settings(), self.listed()
        each = (effects_of(e.workflow, settings, (), e.included) for e in listed if e.workflow)
        return sorted({name for effects in each for name in effects.reads})

    def _read(self, path: str, named: str = "") -> tuple[Listed, ...]:
        name = os.path.relpath(path, self.project.root).replace(os.sep, "/")
        try:
            reading = self.project.read(path, named)
            return (Listed(name, reading.workflow, named=named, included=reading.included),)
        except SeveralWorkflows as fault:
            each = (self._read(path, other) for other in fault.names)
            return () if named else tuple(listed for part in each for listed in part)
        except InvalidWorkflow as fault:
            if is_other(fault, name):
                return ()
            first = safe(fault.diagnostics[0].message) if fault.diagnostics else ""
            return (Listed(name, None, max(1, len(fault.diagnostics)), first, named),)
        except (ProviderError, UsageError) as fault:
            return (Listed(name, None, 1, safe(str(fault)), named),)


def is_other(fault: InvalidWorkflow, name: str) -> bool:
    """Whether a file below a folder is probably no workflow; W018: it is of no dialect."""
    codes = {diagnostic.code for diagnostic in fault.diagnostics}
    return "W018" in codes or (codes <= _SYNTAX and name.count("/") > 1)


def candidates(root: str) -> Iterator[tuple[str, Stamp]]:
    """Files that may be workflows, with what tells whether they have changed."""
    files = folders = 0
    waiting = deque([(root, 0)])
    while waiting and files < FILES_MAX and folders < FOLDERS_MAX:
        folder, depth = waiting.popleft()
        folders += 1
        try:
            with os.scandir(folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < DEPTH_MAX and entry.name not in _LEFT_OUT:
                    waiting.append((entry.path, depth + 1))
            elif entry.name.endswith(_SUFFIXES) and files < FILES_MAX:
                with suppress(OSError):
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(about.st_mode) and about.st_size <= BYTES_MAX:
                        files += 1
                        yield entry.path, (about.st_mtime_ns, about.st_size)
