"""The IR as native files: all that the format can say, and a list of what it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.native.writing.files import Companions
from whorl.dialects.native.writing.header import write_header
from whorl.dialects.native.writing.preparing import with_declared_inputs
from whorl.dialects.writing import Ledger, Written, emit_yaml

if TYPE_CHECKING:
    from whorl import ir

__all__ = ["NativeWriter"]


class NativeWriter:
    """Writes native files."""

    name = "native"
    ending = ".yaml"

    def write(self, workflow: ir.Workflow, file: str) -> Written:
        """Writes a workflow, and those that it calls beside it."""
        ledger = Ledger()
        workflow = with_declared_inputs(workflow)
        companions = Companions(dict(workflow.workflows), taken={file})
        texts = {file: emit_yaml(write_header(workflow, ledger, companions))}
        for key, name in companions.names.items():
            called = companions.workflows[key]
            texts[name] = emit_yaml(write_header(called, ledger, companions, key=key))
        return Written(texts, tuple(ledger.losses))
