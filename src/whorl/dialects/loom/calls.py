"""Calls of other workflows: the file of that name beside this one, or what the operator names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import find, find_deep, text_at
from whorl.dialects.loom.outside import read_connector
from whorl.dialects.loom.texts import LIBRARY, value_of
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from whorl.dialects.loom.action import Action

_SHAPE = ir.Fields(
    (
        ("statusCode", ir.Constant(200)),
        ("body", ir.Expression("jinja", "main_of(it)", LIBRARY)),
    )
)


def read_call(action: Action) -> ir.Node:
    """Calls a workflow whose file is found; any other one is asked for as a connector is."""
    draft = action.draft
    place = find_deep(action.inputs, "host", "workflow")
    identity = text_at(place, "id") or text_at(place, "name")
    name = identity.rstrip("/")[identity.rstrip("/").rfind("/") + 1 :]
    names = [f"{name}.json", f"{name}/workflow.json", f"../{name}/workflow.json"]
    plain_name = bool(name) and not any(mark in name for mark in "@[]'()\\")
    reference = draft.files.find(names) if plain_name else None
    if reference is None or place is None:
        return read_connector(action)
    try:
        called = draft.files.workflow(reference, place.span)
    except InvalidWorkflow as fault:
        draft.adopt(fault.diagnostics)
        return read_connector(action)
    workflow = called.reading.workflow
    draft.sources.update(called.reading.sources)
    draft.adopt(called.reading.warnings)
    draft.workflows.update(workflow.workflows)
    draft.workflows[called.key] = replace(workflow, workflows=())
    known = {port.name for port in workflow.inputs}
    entries = tuple(
        (port, value_of(draft, find(action.inputs, port)))
        for port in ("body", "headers", "queries")
        if port in known and find(action.inputs, port) is not None
    )
    return ir.Call(name=action.name, workflow=called.key, inputs=ir.Fields(entries), shape=_SHAPE)
