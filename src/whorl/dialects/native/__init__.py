"""The native format: all that the engine can do, in one small file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.native.context import Context
from whorl.dialects.native.steps import KINDS
from whorl.dialects.native.workflow import native_schema, read_file
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
        return context.finish(read_file(context))
