"""Calls of other workflow files, each read with its own dialect and checked against `with`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.native.scalars import text_of
from whorl.dialects.native.values import read_fields
from whorl.dialects.reading.arguments import Arguments, check_arguments
from whorl.errors import InvalidWorkflow
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects.native.draft import Draft, Step
    from whorl.dialects.native.fields import Common
    from whorl.dialects.reader import Reading


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
    _check_inputs(draft, step, called.reading)
    if workflow.limits != ir.RunLimits():
        draft.warn(
            "W023",
            f"the budget of workflow {workflow.name!r} does not count where it is called",
            target.span,
            label="its budget is for runs of its own",
            help="give this file a `budget`, or put the call in a `repeat` with `at_most`",
        )
    return ir.Call(workflow=called.key, inputs=inputs, **common)


def _check_inputs(draft: Draft, step: Step, reading: Reading) -> None:
    given = step.get("with")
    entries = given.entries if isinstance(given, Mapping) else ()
    names = {entry.name: entry.key.span for entry in entries}
    # The main input of a file of another format may be left empty.
    others = frozenset({reading.workflow.main_input} if reading.workflow.open_inputs else ())
    check_arguments(draft, Arguments(f"step {step.name!r}", step.key.span, names, others), reading)
