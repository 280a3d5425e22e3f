"""The IR as definitions of Logic Apps: all that they can say, and a list of what they cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.dialects.loom.writing.header import write_definition
from whorl.dialects.writing import Ledger, Spot, Written, emit_json, read_again
from whorl.dialects.writing.comparing import lose_differences
from whorl.errors import InvalidWorkflow
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
    names = _files(called, file)
    page = write_definition(workflow, ledger, names, lenient=lenient)
    texts = {file: emit_json(page)}
    for key, name in names.items():
        inner = write_definition(called[key], ledger, names, lenient=lenient, key=key)
        texts[name] = emit_json(inner)
    written = Written(texts)
    if workflow.dialect == "loom":
        _check(written, workflow, ledger)
    return replace(written, losses=tuple(ledger.losses))


def _files(called: dict[str, ir.Workflow], file: str) -> dict[str, str]:
    names: dict[str, str] = {}
    taken = {file}
    for key in called:
        stem = key.rpartition("/")[2].rpartition(".")[0] or key
        name, count = f"{stem}.json", 2
        while name in taken:
            name, count = f"{stem}-{count}.json", count + 1
        names[key] = name
        taken.add(name)
    return names


def _check(written: Written, workflow: ir.Workflow, ledger: Ledger) -> None:
    """Reads what was written: it must say the same."""
    try:
        again = read_again(written, "loom").workflow
    except InvalidWorkflow as fault:
        for one in fault.diagnostics:
            ledger.lose(Spot(), one.message, "what is written down cannot be read")
        return
    lose_differences(ledger, workflow, again)
    theirs = dict(again.workflows)
    for key, called in workflow.workflows:
        if key in theirs:
            lose_differences(ledger, called, theirs[key], key=key)
