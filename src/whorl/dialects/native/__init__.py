"""The native format: all that the engine can do, in one small file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.native.draft import Draft
from whorl.dialects.native.format.header import HEADER
from whorl.dialects.native.header import read_header
from whorl.dialects.native.schema import native_schema
from whorl.dialects.native.steps import read_steps
from whorl.dialects.native.structure import check_structure
from whorl.dialects.reader import Reading
from whorl.errors import InvalidWorkflow
from whorl.ir.checks import check
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects.reader import Files
    from whorl.source import Document

__all__ = ["NativeReader", "native_schema"]


class NativeReader:
    """Reads native files."""

    name = "native"
    looks_for = "the field `whorl: 1` at the top"
    joined: frozenset[str] | None = None

    def claims(self, document: Document) -> bool:
        """Whether the file has `whorl` at its top."""
        return isinstance(document.root, Mapping) and "whorl" in document.root

    def read(self, document: Document, files: Files) -> Reading:
        """Reads a file into the IR; raises InvalidWorkflow with everything that is wrong in it."""
        draft = Draft(document.file, files, read_steps)
        draft.sources[document.file] = document.text
        draft.warnings.extend(document.warnings)
        root = document.root
        assert isinstance(root, Mapping)
        check_structure(draft, root, HEADER)
        workflow = read_header(draft, root)
        if not draft.is_full:
            draft.adopt(check(workflow, draft.places, draft.names, is_budget_needed=True))
        if draft.diagnostics:
            raise InvalidWorkflow(draft.diagnostics)
        return Reading(workflow, tuple(draft.warnings), draft.sources)
