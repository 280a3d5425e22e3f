"""One file while it is being read: what was found wrong, and what its parts share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.reading.context import REPORTED_MAX, Findings
from whorl.ir.places import Places

if TYPE_CHECKING:
    from whorl import ir
    from whorl.dialects.reader import Files
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.ports import Reference
    from whorl.errors import Diagnostic, Span
    from whorl.source import Document, Mapping


@dataclass(slots=True)
class Draft(Findings):
    """Everything that the readers of the parts of one file share.

    `components` are the inline ones; `opened` are the files and components that are being read;
    `called` are the keys of the workflows that components stand for, by the places of their nodes.
    `folder` is where commands and agents work, below the project's folder; empty: there itself.
    """

    document: Document
    files: Files
    places: Places = field(default_factory=Places)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    steps_read: list[Span] = field(default_factory=list)
    workflows: dict[str, ir.Workflow] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    components: dict[str, Mapping] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    called: dict[Span, str] = field(default_factory=dict)
    levels: list[Level] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    folder: str = ""

    @property
    def has_warned_enough(self) -> bool:
        """Whether another warning would not be kept."""
        return len(self.warnings) >= REPORTED_MAX

    def reference(self, written: str) -> str:
        """How a file is opened: from the project's folder, as files name each other, or beside."""
        return self.files.find([written]) or written
