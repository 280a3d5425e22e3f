"""A file of the dialect while it is being read: what was found wrong, and where things stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.expressions import Names
from whorl.ir.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.errors import Severity, Span

REPORTED_MAX = 100


@dataclass(slots=True)
class Draft:
    """Everything that the readers of the parts of one file share."""

    file: str
    name: str = ""
    places: Places = field(default_factory=Places)
    names: Names = field(default_factory=Names)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)

    def report(
        self,
        code: str,
        message: str,
        span: Span | None,
        *,
        label: str = "",
        help: str = "",  # noqa: A002
        severity: Severity = "error",
    ) -> None:
        """Keeps a finding and reads on, up to a number that a person would still read."""
        self.adopt([Diagnostic(code, message, span, label, help, severity)])

    def warn(
        self,
        code: str,
        message: str,
        span: Span | None,
        *,
        label: str = "",
        help: str = "",  # noqa: A002
    ) -> None:
        """Keeps what is odd but allowed."""
        self.report(code, message, span, label=label, help=help, severity="warning")

    def adopt(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keeps what others found, once each."""
        for found in diagnostics:
            kept = self.warnings if found.severity == "warning" else self.diagnostics
            if len(kept) < REPORTED_MAX and found not in kept:
                kept.append(found)
