"""Workflows of mcp-cli: steps with needs, and loops whose condition a model judges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.dialects.mcp_cli.draft import Draft
from whorl.dialects.mcp_cli.structure import check_structure
from whorl.dialects.mcp_cli.workflow import read_workflow
from whorl.dialects.reader import Reading
from whorl.errors import InvalidWorkflow
from whorl.ir.checks import check
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.reader import Files
    from whorl.source import Document

__all__ = ["McpCliReader"]


class McpCliReader:
    """Reads workflow files of mcp-cli."""

    name = "mcp-cli"
    looks_for = 'the field `$schema: "workflow/v2.0"` at the top'
    joined: frozenset[str] | None = frozenset({"steps", "loops"})

    def claims(self, document: Document) -> bool:
        """Whether the file has that schema, or lacks it and looks like such a file all the same."""
        root = document.root
        if not isinstance(root, Mapping):
            return False
        schema = root.get("$schema")
        if isinstance(schema, Scalar):
            return schema.text.startswith("workflow/")
        listed = any(isinstance(root.get(name), Sequence) for name in ("steps", "loops"))
        return schema is None and listed and isinstance(root.get("execution"), Mapping)

    def read(self, document: Document, files: Files) -> Reading:
        """Reads a file into the IR; raises InvalidWorkflow with everything that is wrong in it."""
        draft = Draft(document, files)
        draft.sources[document.file] = document.text
        # JSON readers let a repeated key pass with a warning; here it is a mistake.
        draft.adopt(replace(found, severity="error") for found in document.warnings)
        check_structure(draft)
        workflow = read_workflow(draft)
        if not draft.diagnostics:
            draft.adopt(check(workflow, draft.places))
        if draft.diagnostics:
            raise InvalidWorkflow(draft.diagnostics)
        return Reading(workflow, tuple(draft.warnings), draft.sources, draft.mentions)
