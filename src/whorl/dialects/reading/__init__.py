"""The reader kit, which all readers share: one file while it is read, with what is wrong in it.

`fields` reads values and objects, and checks them against tables; `texts` those with placeholders.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reader import Called, Files, Reading
from whorl.errors import Diagnostic, InvalidWorkflow, Severity, Span
from whorl.ir.checks import check
from whorl.ir.walk import Places
from whorl.lazily import dataclass
from whorl.source import Document, Mapping

if TYPE_CHECKING:
    from collections.abc import Iterable

REPORTED_MAX = 100
# People write some hundreds at most; more than this takes longer to read than one waits.
STEPS_MAX = 2_000


@dataclass(slots=True)
class ReadContext:
    """The state that readers of the parts of one file share; a dialect adds fields in a subclass.

    Diagnostics are kept, so that all of them are reported at once, with the warnings of the
    document. `workflows` are the called ones by key, `sources` the texts of all files by name.
    `super()` does not work in a dataclass with slots: a subclass that has a `__post_init__` calls
    `ReadContext.__post_init__(self)`.
    """

    document: Document
    files: Files
    places: Places = field(default_factory=Places)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    step_count: int = 0
    workflows: dict[str, ir.Workflow] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources[self.document.file] = self.document.text
        self.adopt(self.document.warnings)

    @property
    def is_full(self) -> bool:
        """Checks whether there are so many errors that reading stops."""
        return len(self.diagnostics) >= REPORTED_MAX

    def count_step(self, span: Span) -> None:
        """Counts one step of the file; raises InvalidWorkflow if there are too many."""
        self.step_count += 1
        if self.step_count > STEPS_MAX:
            message = f"the file has more than {STEPS_MAX:,} steps"
            advice = "loop over items, or call other workflows"
            fault = Diagnostic("W002", message, span, "here", advice)
            raise InvalidWorkflow([*self.diagnostics, fault])

    def report(
        self,
        code: str,
        message: str,
        span: Span | None,
        *,
        label: str = "",
        help: str = "",
        severity: Severity = "error",
        is_secret: bool = False,
    ) -> None:
        """Keeps a diagnostic; reading continues."""
        self.adopt([Diagnostic(code, message, span, label, help, severity, is_secret=is_secret)])

    def report_missing(self, owner: str, name: str, span: Span | None, advice: str) -> None:
        """Reports a missing field."""
        message, label = f"{owner} lacks the field {name!r}", f"{name!r} is missing"
        self.report("W006", message, span, label=label, help=advice)

    def warn(
        self, code: str, message: str, span: Span | None, *, label: str = "", help: str = ""
    ) -> None:
        """Keeps a diagnostic about something that is allowed but probably a mistake."""
        self.report(code, message, span, label=label, help=help, severity="warning")

    def adopt(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keeps diagnostics, once each, up to a number that a person would still read."""
        for diagnostic in diagnostics:
            kept = self.warnings if diagnostic.severity == "warning" else self.diagnostics
            if len(kept) < REPORTED_MAX and diagnostic not in kept:
                kept.append(diagnostic)

    @property
    def file(self) -> str:
        return self.document.file

    @property
    def stem(self) -> str:
        """Returns the name of the file without folders and its last ending."""
        return self.file.replace("\\", "/").rpartition("/")[2].rpartition(".")[0] or self.file

    @property
    def root(self) -> Mapping:
        """Returns the top object of a file."""
        assert isinstance(self.document.root, Mapping)
        return self.document.root

    def call(self, reference: str, span: Span) -> Called | None:
        """Reads another workflow file and keeps what belongs to it; None if it cannot be read.

        `span` is where the file is named; errors in the file are reported.
        """
        try:
            called = self.files.workflow(reference, span)
        except InvalidWorkflow as fault:
            self.adopt(fault.diagnostics)
            return None
        workflow = called.reading.workflow
        self.sources.update(called.reading.sources)
        self.adopt(called.reading.warnings)
        self.workflows.update(workflow.workflows)
        self.workflows[called.key] = replace(workflow, workflows=())
        return called

    def check(self, workflow: ir.Workflow) -> None:
        """Applies the rules for all workflows, unless there are errors already."""
        if not self.diagnostics:
            self.adopt(check(workflow, self.places))

    def finish(
        self, workflow: ir.Workflow | None, mentions: dict[str, Span] | None = None
    ) -> Reading:
        """Ends reading; raises InvalidWorkflow with all errors of the file."""
        if workflow is None or self.diagnostics:
            raise InvalidWorkflow(self.diagnostics)
        return Reading(workflow, tuple(self.warnings), self.sources, mentions)


def in_a_row(nodes: Iterable[ir.Node], before: Iterable[str] = ()) -> list[ir.Node]:
    """Orders nodes: the first one waits for those of `before`, each other one for its neighbour."""
    row: list[ir.Node] = []
    for node in nodes:
        row.append(replace(node, after=tuple(map(ir.After, before))))
        before = [node.name]
    return row
