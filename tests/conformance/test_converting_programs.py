"""Random programs, written as native files and read again, come to the same end."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from simulation.programs import Programs
from simulation.runs import result, straight
from whorl import ir
from whorl.dialects.writing import read_again, write_workflow
from whorl.interpreter.plan import Plan
from whorl.ir.checks import check
from whorl.ir.places import Places
from whorl.ir.walk import workflows_of

if TYPE_CHECKING:
    from whorl.dialects.writing import Written

SEEDS = 600


def _program(seed: int) -> ir.Workflow:
    """A program without what native files cannot say (`test_native_writing.py` has that)."""
    made = Programs(Random(seed), budgets=seed % 2 == 0, deliveries=True).workflow()
    called = tuple((f"{key}.yaml", _said(one)) for key, one in made.workflows)
    return replace(_said(made), workflows=called)


def _said(workflow: ir.Workflow) -> ir.Workflow:
    outputs = workflow.outputs
    if not outputs and workflow.body.nodes:
        outputs = (("made", ir.Expression("template", "{{ total }}")),)
    return replace(workflow, body=_block(workflow.body), outputs=outputs)


def _block(block: ir.Block) -> ir.Block:
    return replace(block, nodes=tuple(map(_node, block.nodes)), concurrency=None)


def _node(node: ir.Node) -> ir.Node:
    shared: dict[str, Any] = {}
    if node.retry is not None:
        shared["retry"] = replace(node.retry, jitter=0.0)
    match node:
        case ir.Task():
            inputs = node.inputs
            prompt = inputs.entries[0][1]
            if node.kind == "use":
                inputs = ir.Fields((("task", ir.Constant("work")), ("with", node.inputs)))
            elif isinstance(prompt, ir.Constant):
                inputs = ir.Fields((("prompt", ir.Constant(str(prompt.value))),))
            session = node.session if node.kind == "ask" else ""
            return replace(node, inputs=inputs, session=session, **shared)
        case ir.Loop():
            failure = replace(node.on_iteration_failure, wait_s=0.0)
            return replace(node, body=_block(node.body), on_iteration_failure=failure, **shared)
        case ir.ForEach():
            return replace(
                node,
                body=_block(node.body),
                item_timeout_s=None,
                min_success_rate=1.0,
                on_item_failure="continue",
                **shared,
            )
        case ir.Group():
            return replace(node, body=_block(node.body), **shared)
        case ir.Branch():
            default = node.default
            if default is not None:
                default = ir.Case("default", replace(_block(default.body), open=True))
            cases = tuple(
                replace(case, body=replace(_block(case.body), open=True)) for case in node.cases
            )
            return replace(node, cases=cases, default=default, **shared)
        case ir.Call():
            return replace(node, workflow=f"{node.workflow}.yaml", unnamed=False, **shared)
        case _:
            return replace(node, **shared)


def _is_allowed(seed: int) -> bool:
    """Whether a reader would take the program: some read results that they do not wait for."""
    program = _program(seed)
    return not any(check(one, Places()) for _, one in workflows_of(program))


ALLOWED = [seed for seed in range(SEEDS) if _is_allowed(seed)]


def _written(seed: int) -> tuple[ir.Workflow, Written]:
    workflow = _program(seed)
    return workflow, write_workflow(workflow, "native", "program.yaml")


@pytest.mark.parametrize("seed", ALLOWED)
def test_a_program_ends_alike_as_a_native_file(seed: int) -> None:
    workflow, written = _written(seed)

    again = read_again(written, "native").workflow
    before, after = straight(Plan(workflow), seed), straight(Plan(again), seed)

    assert written.losses == ()
    assert result(before) == result(after), f"seed {seed}\n{written.text}"
    assert before.performed == after.performed, f"seed {seed}\n{written.text}"


def test_there_are_enough_programs_that_a_reader_would_take() -> None:
    assert len(ALLOWED) > 150
