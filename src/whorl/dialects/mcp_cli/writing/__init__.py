"""The IR as files of mcp-cli: prompts one after the other, and loops that a judge ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.mcp_cli.writing.document import write_document
from whorl.dialects.mcp_cli.writing.page import Page
from whorl.dialects.mcp_cli.writing.restoring import restore_documents
from whorl.dialects.writing import Ledger, Written, emit_yaml, reads_as
from whorl.language.printing import CannotSay

if TYPE_CHECKING:
    from whorl import ir

__all__ = ["McpCliWriter"]


class McpCliWriter:
    """Writes workflow files of mcp-cli."""

    name = "mcp-cli"
    ending = ".yaml"

    def write(self, workflow: ir.Workflow, file: str) -> Written:
        """Writes a workflow; the body of each loop is a file of its own beside it."""
        return _restored(workflow, file) or _composed(workflow, file)


def _restored(workflow: ir.Workflow, file: str) -> Written | None:
    """The files that a workflow of this dialect comes from, if they are read as the same one."""
    if workflow.dialect != McpCliWriter.name:
        return None
    try:
        documents = restore_documents(workflow, file)
    except CannotSay:
        return None
    written = Written({name: emit_yaml(document) for name, document in documents.items()})
    return written if reads_as(written, workflow) else None


def _composed(workflow: ir.Workflow, file: str) -> Written:
    page = Page(Ledger(), file)
    page.files[file] = {}
    page.files[file] = write_document(page, workflow)
    texts = {name: emit_yaml(document) for name, document in page.files.items()}
    return Written(texts, tuple(page.ledger.losses))
