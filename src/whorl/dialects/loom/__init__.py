"""JSON actions with expressions: files of Loom, and definitions of Azure Logic Apps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.loom.block import read_block
from whorl.dialects.loom.draft import Draft
from whorl.dialects.loom.forms import form_of, is_lenient
from whorl.dialects.loom.parameters import values_beside
from whorl.dialects.loom.references import check_references
from whorl.dialects.loom.templates import template_of
from whorl.dialects.loom.workflow import read_definition
from whorl.dialects.reader import Reading
from whorl.errors import InvalidWorkflow
from whorl.ir.checks import check

if TYPE_CHECKING:
    from whorl.dialects.reader import Files
    from whorl.source import Document

__all__ = ["LoomReader"]


class LoomReader:
    """Reads files with `actions`, and templates that hold such a definition."""

    name = "loom"
    looks_for = "`actions`, `definition.actions` or a template with a workflow, in JSON"
    # Azure takes JSON with repeated keys, and the last one counts.
    joined: frozenset[str] | None = frozenset()

    def claims(self, document: Document) -> bool:
        """Whether there is a definition in the file."""
        return form_of(document.root) is not None

    def read(self, document: Document, files: Files) -> Reading:
        """Reads a file into the IR; raises InvalidWorkflow with everything that is wrong in it."""
        draft = Draft(document, files, read_block)
        draft.sources[document.file] = document.text
        draft.adopt(document.warnings)
        form = form_of(document.root)
        assert form is not None
        draft.lenient = is_lenient(form.definition)
        draft.beside = values_beside(draft)
        draft.template = template_of(document.root, draft.beside)
        workflow = read_definition(draft, form)
        if draft.template.kept:
            draft.warn(
                "W023",
                f"{draft.template.kept} values such as [parameters('x')] are known only after the "
                "deployment of this template; they stay as they are written",
                form.definition.span,
                help="write the values into the file, or run the deployed definition",
            )
        if not draft.diagnostics:
            draft.adopt(check(workflow, draft.places))
            check_references(draft, form, workflow)
        if draft.diagnostics:
            raise InvalidWorkflow(draft.diagnostics)
        return Reading(workflow, tuple(draft.warnings), draft.sources)
