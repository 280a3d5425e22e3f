"""One file while it is being read: what was found wrong, and what its parts share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.findings import Findings
from whorl.ir.places import Places

if TYPE_CHECKING:
    from whorl import ir
    from whorl.dialects.reader import Files
    from whorl.errors import Diagnostic, Span
    from whorl.source import Document


@dataclass(slots=True)
class Draft(Findings):
    """Everything that the readers of the parts of one file share."""

    document: Document
    files: Files
    places: Places = field(default_factory=Places)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    steps_read: list[Span] = field(default_factory=list)
    workflows: dict[str, ir.Workflow] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
