"""What loads but reads nothing: a template that asks for the result of an agent that is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.ir.checks.scopes import uses_in
from whorl.ir.walk import walk
from whorl.language import LanguageError
from whorl.language.functions.orka.outputs import PAST

if TYPE_CHECKING:
    from whorl import ir
    from whorl.dialects.orka.draft import Draft

OUTPUTS = "previous_outputs"
_METHODS = frozenset({"get", "items", "keys", "values"})


def give_hints(draft: Draft, workflow: ir.Workflow) -> None:
    """Warns of `previous_outputs.NAME` where no agent has that name."""
    known = {PAST, *(node.name for _, node in walk(workflow.body))}
    warned: set[str] = set()
    for use in uses_in(workflow):
        try:
            found = draft.names.uses(use.expression)
        except LanguageError:
            continue
        for name in found:
            asked = name.path[0] if name.name == OUTPUTS and name.path else None
            if not isinstance(asked, str) or asked in known | _METHODS | warned or name.guarded:
                continue
            warned.add(asked)
            offset = name.offset + len(OUTPUTS) + 1
            draft.warn(
                "W005",
                f"there is no agent {asked[:60]!r}, so this is empty",
                draft.places.span(use.expression, offset, len(asked)),
                label="unknown agent",
                help=did_you_mean(asked, known),
            )
