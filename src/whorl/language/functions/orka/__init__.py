"""The function library of the dialect with orchestrators and agents."""

from __future__ import annotations

from whorl.language.functions.orka.flow import FLOW_FUNCTIONS
from whorl.language.functions.orka.templates import TEMPLATE_FUNCTIONS

ORKA = TEMPLATE_FUNCTIONS + FLOW_FUNCTIONS
