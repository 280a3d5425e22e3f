"""How workflows are written: one module or folder per dialect, all read into one IR."""

from __future__ import annotations

from whorl.dialects.files import NoFiles, Opened, ProjectFiles, SourceFiles
from whorl.dialects.reader import (
    Called,
    Files,
    Reader,
    Reading,
    dialects,
    reaches_all_steps,
    read_workflow,
)

__all__ = [
    "Called",
    "Files",
    "NoFiles",
    "Opened",
    "ProjectFiles",
    "Reader",
    "Reading",
    "SourceFiles",
    "dialects",
    "reaches_all_steps",
    "read_workflow",
]
