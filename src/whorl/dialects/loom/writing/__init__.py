"""The IR as definitions of Logic Apps: all that they can say, and a list of what they cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.dialects.loom.writing.header import write_definition
from whorl.dialects.writing import Ledger, Written, emit_json
from whorl.dialects.writing.checking import companion_files, lose_misread
from whorl.ir.codec import to_json

if TYPE_CHECKING:
    from whorl import ir
    from whorl.language import Json

__all__ = ["LoomWriter"]


class LoomWriter:
    """Writes definitions of Logic Apps, or the seed's, whose rules are others."""

    name = "loom"
    ending = ".json"

    def write(self, workflow: ir.Workflow, file: str) -> Written:
        """Writes a workflow, and those that it calls beside it."""
        ways = [_written(workflow, file, lenient=way) for way in _ways(workflow)]
        return min(ways, key=lambda written: len(written.losses))


def _ways(workflow: ir.Workflow) -> tuple[bool, ...]:
    """Whose rules a definition may follow: those that its expressions do."""
    syntaxes = set(_syntaxes(to_json(workflow)))
    if workflow.dialect != "loom":
        return (True,)
    return (syntaxes == {"logic-lenient"},) if len(syntaxes) == 1 else (True, False)


def _syntaxes(part: Json) -> list[str]:
    if isinstance(part, list):
        return [found for item in part for found in _syntaxes(item)]
    if not isinstance(part, dict):
        return []
    if part.get("is") == "Expression" and str(part.get("syntax")).startswith("logic"):
        return [str(part["syntax"])]
    return [found for item in part.values() for found in _syntaxes(item)]


def _written(workflow: ir.Workflow, file: str, *, lenient: bool) -> Written:
    ledger = Ledger()
    called = dict(workflow.workflows)
    names = companion_files(called, file, ".json")
    page = write_definition(workflow, ledger, names, lenient=lenient)
    texts = {file: emit_json(page)}
    for key, name in names.items():
        inner = write_definition(called[key], ledger, names, lenient=lenient, key=key)
        texts[name] = emit_json(inner)
    written = Written(texts)
    if workflow.dialect == "loom":
        lose_misread(ledger, written, workflow)
    return replace(written, losses=tuple(ledger.losses))
