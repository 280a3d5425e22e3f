"""The IR as canvas files: all that a canvas can say, and a list of what it cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from whorl import ir
from whorl.dialects.studio.writing import foreign
from whorl.dialects.studio.writing.block import draw_block
from whorl.dialects.studio.writing.fields import number
from whorl.dialects.studio.writing.joining import join_blocks
from whorl.dialects.studio.writing.sketch import TARGET, Sketch
from whorl.dialects.studio.writing.unique import with_unique_names
from whorl.dialects.writing import Ledger, Spot, Written, emit_json
from whorl.dialects.writing.checking import companion_files, lose_misread
from whorl.dialects.writing.unsaid import lose_unsaid
from whorl.ir.walk import walk

__all__ = ["StudioWriter"]

_SAID = ("name", "body", "inputs", "main_input", "outputs", "variables", "limits", "workflows")


class StudioWriter:
    """Writes canvas files."""

    name = "studio"
    ending = ".json"

    def write(self, workflow: ir.Workflow, file: str) -> Written:
        """Writes a workflow, and those that it calls beside it."""
        ledger = Ledger()
        called = dict(workflow.workflows)
        names = companion_files(called, file, self.ending)
        texts = {file: emit_json(_page(workflow, ledger, names))}
        for key, name in names.items():
            texts[name] = emit_json(_page(called[key], ledger, names, key))
        written = Written(texts, tuple(ledger.losses))
        if workflow.dialect == self.name:
            lose_misread(ledger, written, _with_files(workflow, names))
        return replace(written, losses=tuple(ledger.losses))


def _with_files(workflow: ir.Workflow, names: dict[str, str]) -> ir.Workflow:
    """The workflow with its calls under the names of the new files."""
    if all(key == name for key, name in names.items()):
        return workflow
    called = tuple((names[key], _with_files(one, names)) for key, one in workflow.workflows)
    return replace(workflow, body=_renamed(workflow.body, names), workflows=called)


def _renamed(block: ir.Block, names: dict[str, str]) -> ir.Block:
    nodes: list[ir.Node] = []
    for node in block.nodes:
        if isinstance(node, ir.Call):
            node = replace(node, workflow=names.get(node.workflow, node.workflow))
        elif isinstance(node, ir.Loop | ir.ForEach):
            node = replace(node, body=_renamed(node.body, names))
        nodes.append(node)
    return replace(block, nodes=tuple(nodes))


def _page(
    workflow: ir.Workflow, ledger: Ledger, names: dict[str, str], key: str = ""
) -> dict[str, Any]:
    if workflow.dialect != "studio":
        workflow = with_unique_names(workflow, ledger, key)
    sketch = Sketch(workflow, ledger, names, key)
    spot = Spot(key=key)
    lose_unsaid(ledger, spot, workflow, (*_SAID, "description"), target=TARGET)
    lose_unsaid(ledger, spot, workflow.limits, ("cost_usd", "time_s"), target=TARGET)
    page: dict[str, Any] = {"name": workflow.name}
    if workflow.description:
        page["description"] = workflow.description
    if workflow.variables:
        page["variables"] = _variables(sketch, spot)
    timeout = _timeout(sketch, spot)
    if timeout is not None:
        page["timeout"] = number(timeout)
    if workflow.limits.cost_usd is not None:
        page["budget"] = number(workflow.limits.cost_usd)
    if not sketch.is_own:
        foreign.draw_inputs(sketch)
    draw_block(sketch, workflow.body)
    join_blocks(sketch, workflow.body)
    if not sketch.is_own:
        foreign.close_stretches(sketch)
        foreign.draw_outputs(sketch)
        foreign.draw_start(sketch)
    return page | sketch.drawing.page()


def _variables(sketch: Sketch, spot: Spot) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in sketch.workflow.variables:
        if isinstance(value, ir.Constant):
            found[name] = value.value
        else:
            what = f"the variable {name!r}, which is computed"
            sketch.ledger.lose(spot, what, "variables of a canvas are constants")
    return found


def _timeout(sketch: Sketch, spot: Spot) -> float | None:
    """The workflow's timeout, which bounds each iteration where there are loops."""
    loops = [node for _, node in walk(sketch.workflow.body) if isinstance(node, ir.Loop)]
    limits = {loop.limits.iteration_time_s for loop in loops} or {sketch.workflow.limits.time_s}
    if len(limits) > 1:
        what = "loops with different limits for one iteration"
        sketch.ledger.lose(spot, what, "the timeout of a canvas holds for all its loops")
    return next(iter(limits))
