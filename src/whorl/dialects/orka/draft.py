"""A file of the dialect while it is being read: what was found wrong, and where things stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.reading.context import Findings
from whorl.ir.expressions import Names
from whorl.ir.places import Places

if TYPE_CHECKING:
    from whorl.errors import Diagnostic, Span


@dataclass(slots=True)
class Draft(Findings):
    """Everything that the readers of the parts of one file share."""

    file: str
    name: str = ""
    agents: set[str] = field(default_factory=set)
    places: Places = field(default_factory=Places)
    names: Names = field(default_factory=Names)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    steps_read: list[Span] = field(default_factory=list)
