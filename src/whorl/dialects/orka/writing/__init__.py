"""The IR as files of orchestrators and agents, and a list of what they cannot say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from whorl import ir
from whorl.dialects.orka.writing.loops import listed_in
from whorl.dialects.orka.writing.page import Here
from whorl.dialects.orka.writing.section import write_section
from whorl.dialects.writing import Ledger, Written, emit_yaml
from whorl.dialects.writing.checking import lose_misread

__all__ = ["OrkaWriter"]

_INPUT = ir.Port("input", "any", required=False, default="")
_SAID = (
    "name",
    "body",
    "inputs",
    "main_input",
    "outputs",
    "variables",
    "open_inputs",
    "limits",
    "defaults",
)
_KINDS = ("ask", "judge")


class OrkaWriter:
    """Writes files with an orchestrator and agents."""

    name = "orka"
    ending = ".yml"

    def write(self, workflow: ir.Workflow, file: str) -> Written:
        """Writes a workflow into one file."""
        here = Here(Ledger(), workflow.dialect == self.name, defaults=_defaults(workflow))
        section = write_section(here, workflow.body, listed_in(workflow.variables))
        orchestrator: dict[str, Any] = {"id": workflow.name} | section["orchestrator"]
        document = {"orchestrator": orchestrator, "agents": section["agents"]}
        here.lose_unsaid(workflow, _SAID)
        if not here.is_own:
            _check_top(here, workflow)
        written = Written({file: emit_yaml(document)})
        if here.is_own:
            lose_misread(here.ledger, written, workflow)
        return replace(written, losses=tuple(here.ledger.losses))


def _defaults(workflow: ir.Workflow) -> dict[str, ir.Value]:
    """What a file says for all questions, which each agent says for itself here."""
    asked = dict(workflow.defaults).get("ask", ir.Fields())
    return {str(key): value for key, value in asked.entries}


def _check_top(here: Here, workflow: ir.Workflow) -> None:
    """What the top of another dialect's file says, and this one's cannot."""
    here.lose_unsaid(workflow.limits, ())
    for port in workflow.inputs:
        if port.name != "input":
            here.lose(f"the input {port.name!r}", "only 'input' is declared; others may be given")
        elif port != _INPUT:
            here.lose("the type or the default of 'input'", "it is any value, empty if not given")
    if workflow.main_input not in ("", "input"):
        here.lose(f"the main input {workflow.main_input!r}", "it is called 'input' there")
    for name, _ in workflow.variables:
        here.lose(f"the variable {name!r}", "there are results of agents only")
    for kind, _ in workflow.defaults:
        if kind not in _KINDS:
            here.lose(f"what holds for all tasks of kind {kind!r}", "each agent says it for itself")
    shown = ", ".join(repr(name) for name, _ in workflow.outputs) or "none"
    here.lose(f"the outputs ({shown})", "there they are 'response' and the result of each agent")
