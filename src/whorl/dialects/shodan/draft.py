"""One file while it is being read: what was found wrong, and what its parts share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl import ir
    from whorl.dialects.reader import Files
    from whorl.errors import Severity, Span
    from whorl.source import Document, Mapping

REPORTED_MAX = 100


@dataclass(slots=True)
class Draft:
    """Everything that the readers of the parts of one file share.

    `components` are the inline ones; `opened` are the files and components that are being read.
    """

    document: Document
    files: Files
    places: Places = field(default_factory=Places)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    workflows: dict[str, ir.Workflow] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    components: dict[str, Mapping] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)

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
        """Keeps a finding and reads on."""
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
        """Keeps something that is allowed and probably not meant."""
        self.report(code, message, span, label=label, help=help, severity="warning")

    def adopt(self, found: Iterable[Diagnostic]) -> None:
        """Keeps what others found, up to a number that a person would still read."""
        for one in found:
            kept = self.warnings if one.severity == "warning" else self.diagnostics
            if len(kept) < REPORTED_MAX and one not in kept:
                kept.append(one)

    @property
    def is_full(self) -> bool:
        """Whether another warning would not be kept."""
        return len(self.warnings) >= REPORTED_MAX

    def reference(self, written: str) -> str:
        """How a file is opened: from the project's folder, as files name each other, or beside."""
        return self.files.find([written]) or written
