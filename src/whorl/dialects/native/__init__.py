"""The native format: all that the engine can do, in one small file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.context import Context
from whorl.dialects.native.steps import KINDS
from whorl.dialects.native.workflow import native_schema, read_file
from whorl.ir.walk import walk
from whorl.source import Document, Mapping

if TYPE_CHECKING:
    from whorl.dialects.reader import Files, Reading

__all__ = ["NativeReader", "native_schema"]


class NativeReader:
    name = "native"
    joined: frozenset[str] | None = None
    reaches_all_steps = True
    editing = "whorl.wings.editor.native.changes:NativeChanges"

    def claims(self, document: Document) -> bool:
        """Checks whether the file has `whorl` at its top."""
        return isinstance(document.root, Mapping) and "whorl" in document.root

    def read(self, document: Document, files: Files) -> Reading:
        """Reads a file into the IR; raises InvalidWorkflow with all errors of the file."""
        context = Context(document, files, kinds=KINDS)
        workflow = read_file(context)
        if workflow is not None and not context.diagnostics and _has_environment(workflow):
            from whorl.dialects.native.shell import check_environment

            check_environment(context, workflow)
        return context.finish(workflow)


def _has_environment(workflow: ir.Workflow) -> bool:
    """Checks whether a command has variables; most files have none."""
    tasks = (node for _, node in walk(workflow.body) if isinstance(node, ir.Task))
    return any("env" in dict(node.inputs.entries) for node in tasks if node.kind == "run")
