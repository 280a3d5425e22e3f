"""A whole file: its name, its settings, its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.mcp_cli.writing.models import model_fields
from whorl.dialects.mcp_cli.writing.page import Here
from whorl.dialects.mcp_cli.writing.steps import readable, result_path, write_block
from whorl.dialects.mcp_cli.writing.texts import path_of

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.writing.page import Page

_INPUT = ir.Port("input", "string", required=False, default="")
_SAID = ("name", "description", "body", "inputs", "main_input", "outputs", "defaults", "workflows")


def write_document(page: Page, workflow: ir.Workflow) -> dict[str, Any]:
    """A workflow as an object."""
    names = {(port.name,): port.name for port in workflow.inputs}
    here = Here(page, names=names | dict(readable(workflow.body)))
    here.lose_unsaid(workflow, (*_SAID, "open_inputs"))
    _check_inputs(here, workflow)
    found: dict[str, Any] = {"$schema": "workflow/v2.0", "name": workflow.name}
    if workflow.description:
        found["description"] = workflow.description
    page.execution = _execution(here, workflow)
    if page.execution:
        found["execution"] = page.execution
    found["steps"] = write_block(here, workflow.body)
    _check_output(here, workflow)
    return found


def _check_inputs(here: Here, workflow: ir.Workflow) -> None:
    for port in workflow.inputs:
        if port.name != "input":
            here.lose(f"the input {port.name!r}", "only 'input' is declared; other names are not")
        elif (port.type, port.required, port.default) != (_INPUT.type, False, ""):
            here.lose(
                "the type or the default of 'input'", "it is an optional text, empty if not given"
            )
    if workflow.main_input not in ("", "input"):
        here.lose(f"the main input {workflow.main_input!r}", "it is called 'input' there")


def _check_output(here: Here, workflow: ir.Workflow) -> None:
    names = [name for name, _ in workflow.outputs]
    if names != ["output"]:
        shown = ", ".join(map(repr, names)) or "none"
        here.lose(f"the outputs {shown}", "there is one output, called 'output'")
        return
    value = workflow.outputs[0][1]
    last = workflow.body.nodes[-1] if workflow.body.nodes else None
    read = path_of(value) if isinstance(value, ir.Expression) else None
    if last is None or read != result_path(last):
        here.lose("an output that is computed", "the output is the text of the last step")


def _execution(here: Here, workflow: ir.Workflow) -> dict[str, Any]:
    """The model of the file, which holds for prompts and judges."""
    defaults = {kind: dict(fields.entries) for kind, fields in workflow.defaults}
    ask, judge = defaults.pop("ask", {}), defaults.pop("judge", {})
    found: dict[str, Any] = {}
    if ask.get("model") == judge.get("model"):
        found = model_fields(here, None, ask.pop("model", None))
        judge.pop("model", None)
    for kind, left in ({"ask": ask, "judge": judge} | defaults).items():
        for name in left:
            here.lose(f"the default {name!r} of {kind!r} tasks", "a file has none there")
    return found
