"""Calls of other workflow files, each read with its own dialect and checked against `with`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.scalars import text_of
from whorl.dialects.native.values import read_fields
from whorl.errors import InvalidWorkflow
from whorl.ir.checks.suggest import suggest
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft, Step
    from whorl.dialects.native.fields import Common


def read_call(draft: Draft, step: Step, common: Common) -> ir.Call:
    """Reads a call, and the file that it names."""
    inputs = read_fields(draft, step.get("with"))
    reference = text_of(step.get("call"))
    target = step.get("call")
    if not reference or target is None:
        return ir.Call(workflow="", inputs=inputs, **common)
    try:
        called = draft.files.workflow(reference, target.span)
    except InvalidWorkflow as fault:
        draft.adopt(fault.diagnostics)
        return ir.Call(workflow="", inputs=inputs, **common)
    workflow = called.reading.workflow
    draft.sources.update(called.reading.sources)
    draft.warnings.extend(called.reading.warnings)
    draft.workflows.update(workflow.workflows)
    draft.workflows[called.key] = replace(workflow, workflows=())
    _check_inputs(draft, step, workflow)
    if workflow.limits != ir.RunLimits():
        draft.warn(
            "W023",
            f"the budget of workflow {workflow.name!r} does not count where it is called",
            target.span,
            label="its budget is for runs of its own",
            help="give this file a `budget`, or put the call in a `repeat` with `at_most`",
        )
    return ir.Call(workflow=called.key, inputs=inputs, **common)


def _check_inputs(draft: Draft, step: Step, workflow: ir.Workflow) -> None:
    given = step.get("with")
    entries = given.entries if isinstance(given, Mapping) else ()
    known = [port.name for port in workflow.inputs]
    for entry in entries:
        if entry.name not in known and not workflow.open_inputs:
            draft.report(
                "W004",
                f"workflow {workflow.name!r} has no input {entry.name!r}",
                entry.key.span,
                label="unknown input",
                help=suggest(entry.name, known) or "it takes no inputs",
            )
    names = {entry.name for entry in entries}
    for port in workflow.inputs:
        if port.required and port.name not in names:
            draft.report(
                "W006",
                f"step {step.name!r} does not give {port.name!r} to workflow {workflow.name!r}",
                step.key.span,
                label="an input is missing",
                help=f"add it: with: {{{port.name}: ...}}",
            )
