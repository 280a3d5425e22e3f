"""What readers find wrong or odd in a file: kept, so that all of it is told at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic, InvalidWorkflow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.errors import Severity, Span

REPORTED_MAX = 100
# People write some hundreds at most; more than this takes longer to read than one waits.
STEPS_MAX = 2_000


class Findings:
    """The keeping of findings; a draft that has it says where they are kept."""

    __slots__ = ()

    diagnostics: list[Diagnostic]
    warnings: list[Diagnostic]
    steps_read: list[Span]

    @property
    def is_full(self) -> bool:
        """Whether so much was found that nothing more is looked for."""
        return len(self.diagnostics) >= REPORTED_MAX

    def count_step(self, span: Span) -> None:
        """Counts one step of the file; raises InvalidWorkflow where there are too many."""
        self.steps_read.append(span)
        if len(self.steps_read) > STEPS_MAX:
            message = f"the file has more than {STEPS_MAX:,} steps"
            advice = "loop over items, or call other workflows"
            raise InvalidWorkflow(
                [*self.diagnostics, Diagnostic("W002", message, span, "here", advice)]
            )

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
        """Keeps what others found, once each, up to a number that a person would still read."""
        for one in found:
            kept = self.warnings if one.severity == "warning" else self.diagnostics
            if len(kept) < REPORTED_MAX and one not in kept:
                kept.append(one)
