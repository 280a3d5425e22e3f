"""How workflows are written down: from the IR into the file of a dialect, and what that loses."""

from __future__ import annotations

from whorl.dialects.writing.again import read_again, reads_as
from whorl.dialects.writing.emitting import Inline, emit_json, emit_yaml
from whorl.dialects.writing.losses import Ledger, Loss, Spot
from whorl.dialects.writing.times import duration_text
from whorl.dialects.writing.unsaid import Unsaid, unsaid_fields
from whorl.dialects.writing.writer import Writer, Written, write_workflow, writers

__all__ = [
    "Inline",
    "Ledger",
    "Loss",
    "Spot",
    "Unsaid",
    "Writer",
    "Written",
    "duration_text",
    "emit_json",
    "emit_yaml",
    "read_again",
    "reads_as",
    "unsaid_fields",
    "write_workflow",
    "writers",
]
