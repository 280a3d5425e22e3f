"""The function library of the dialect with orchestrators and agents, and how it reads values."""

from __future__ import annotations

from whorl.language.evaluator.semantics import Semantics
from whorl.language.functions.orka.flow import FLOW_FUNCTIONS
from whorl.language.functions.orka.outputs import item, member, previous_outputs, printed
from whorl.language.functions.orka.templates import TEMPLATE_FUNCTIONS

ORKA = TEMPLATE_FUNCTIONS + FLOW_FUNCTIONS

SPEAKING = Semantics(
    member, item, printed, forgiving_item=item, names={"previous_outputs": previous_outputs}
)
