"""A whole definition: parameters, trigger, actions and outputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.loom.writing import foreign
from whorl.dialects.loom.writing.block import write_block
from whorl.dialects.loom.writing.crossing import Crossing
from whorl.dialects.loom.writing.here import TARGET, Here, Page
from whorl.dialects.loom.writing.variables import declared_types, first_settings
from whorl.dialects.writing import Spot
from whorl.dialects.writing.unsaid import lose_unsaid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.dialects.writing import Ledger

SCHEMA = (
    "https://schema.management.azure.com/providers/Microsoft.Logic/schemas/2016-06-01/"
    "workflowdefinition.json#"
)
_SAID = ("name", "body", "inputs", "main_input", "outputs", "variables", "workflows", "description",
         "hidden_outputs")  # fmt: skip
_RESPONSE = re.compile(r"response_of\(\[(.*)\]\)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_COMPUTED = ("response_of(", "final_of(")


def write_definition(
    workflow: ir.Workflow,
    ledger: Ledger,
    files: Mapping[str, str],
    *,
    lenient: bool,
    key: str = "",
) -> dict[str, Any]:
    """A definition, with what surrounds it in a file."""
    page = Page(
        workflow,
        ledger,
        files,
        lenient,
        key,
        declared=declared_types(workflow),
        first_settings=first_settings(workflow),
        responses=_responses(workflow),
    )
    here = Here(page, Crossing())
    lose_unsaid(ledger, Spot(key=key), workflow, _SAID, target=TARGET)
    definition: dict[str, Any] = {"$schema": SCHEMA, "contentVersion": "1.0.0.0"}
    if workflow.description:
        definition["description"] = workflow.description
    tables = dict(workflow.variables)
    if page.is_own:
        parameters = _parameters(here, tables.get("$parameters"))
    else:
        parameters = foreign.parameters(here)
        here = here.where(foreign.scope(here)).with_block(workflow.body)
    if parameters:
        definition["parameters"] = parameters
    triggers = _triggers(tables.get("$trigger"), workflow)
    if triggers:
        definition["triggers"] = triggers
    actions = write_block(here, workflow.body)
    definition["actions"] = actions if page.is_own else foreign.with_variables(here, actions)
    outputs = _outputs(here, workflow)
    if outputs:
        definition["outputs"] = outputs
    return {"name": workflow.name, "definition": definition}


def _responses(workflow: ir.Workflow) -> tuple[str, ...]:
    """The actions that answer whoever started the run."""
    for _, value in workflow.outputs:
        found = _RESPONSE.fullmatch(value.source) if isinstance(value, ir.Expression) else None
        if found is not None:
            return tuple(_QUOTED.findall(found[1]))
    return ()


def _parameters(here: Here, table: ir.Value | None) -> dict[str, Any]:
    ports = {port.name: port for port in here.page.workflow.inputs}
    found: dict[str, Any] = {}
    for name, value in table.entries if isinstance(table, ir.Fields) else ():
        assert isinstance(name, str)
        port = ports.get(name)
        default = here.value(value) if port is None else port.default
        found[name] = _typed(default)
    return found


def _typed(default: Any) -> dict[str, Any]:
    kinds = {str: "String", bool: "Bool", int: "Int", float: "Float", list: "Array", dict: "Object"}
    kind = kinds.get(type(default))
    return {} if kind is None else {"type": kind, "defaultValue": default}


def _triggers(trigger: ir.Value | None, workflow: ir.Workflow) -> dict[str, Any]:
    entries = dict(trigger.entries) if isinstance(trigger, ir.Fields) else {}
    name, outputs = entries.get("name"), entries.get("outputs")
    if not isinstance(name, ir.Constant) or not isinstance(outputs, ir.Fields):
        return {}
    body = dict(outputs.entries).get("body")
    listed = body.source.partition("{")[2] if isinstance(body, ir.Expression) else ""
    known = {port.name for port in workflow.inputs}
    fields = [one for one in dict.fromkeys(_QUOTED.findall(listed)) if one in known]
    if name.value == "manual" and not fields:
        return {}
    trigger_: dict[str, Any] = {"type": "Request", "kind": "Http"}
    if fields:
        properties: dict[str, Any] = {one: {} for one in fields}
        trigger_["inputs"] = {"schema": {"type": "object", "properties": properties}}
    return {str(name.value): trigger_}


def _outputs(here: Here, workflow: ir.Workflow) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in workflow.outputs:
        is_usual = isinstance(value, ir.Expression) and value.source.startswith(_COMPUTED)
        if not is_usual:
            found[name] = {"value": here.value(value)}
    return found
