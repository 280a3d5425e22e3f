"""The function library of the dialect with orchestrators and agents."""

from __future__ import annotations

from whorl.dialects.orka.functions.flow import FLOW_FUNCTIONS
from whorl.dialects.orka.functions.outputs import item, member, previous_outputs, printed
from whorl.dialects.orka.functions.templates import TEMPLATE_FUNCTIONS
from whorl.language.libraries import Library, Semantics

LIBRARY = Library(
    functions=TEMPLATE_FUNCTIONS + FLOW_FUNCTIONS,
    semantics=Semantics(
        member,
        item,
        printed,
        forgiving_item=item,
        names={"previous_outputs": previous_outputs},
    ),
)
