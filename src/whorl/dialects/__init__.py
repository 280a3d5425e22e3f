"""How workflows are written: one module or folder per dialect, all read into one IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
_FILES = ("NoFiles", "Opened", "ProjectFiles", "SourceFiles")


def __getattr__(name: str) -> object:
    """Imports a name when it is first used: looking for a project needs no reader."""
    if name not in __all__:
        raise AttributeError(name)
    from importlib import import_module

    module = import_module("whorl.dialects.files" if name in _FILES else "whorl.dialects.reader")
    return vars(module)[name]
