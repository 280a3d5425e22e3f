"""A canvas as a workflow that other formats can say: its inputs and outputs are no nodes there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.studio.writing.outward.expressions import (
    Canvas,
    Place,
    carried_name,
    shape_of,
)
from whorl.dialects.studio.writing.trees import called, text_of, tree_of
from whorl.dialects.writing import Spot

if TYPE_CHECKING:
    from whorl.dialects.writing import Loss


def plain_workflow(workflow: ir.Workflow) -> tuple[ir.Workflow, tuple[Loss, ...]]:
    """The workflow of a canvas without functions of the dialect, and what that loses."""
    canvas = Canvas(workflow)
    body = _block(canvas, workflow.body, "", ())
    top = Place(canvas, Spot())
    outputs = tuple((name, _output(canvas, top, value)) for name, value in workflow.outputs)
    body = _without_outputs(canvas, body, workflow)
    ports = tuple(port for port in workflow.inputs if port.name in canvas.read)
    if workflow.workflows:
        top.lose("calls of other canvases")
    plain = replace(
        workflow,
        body=body,
        inputs=ports,
        main_input=workflow.main_input if any(p.name == workflow.main_input for p in ports) else "",
        outputs=outputs,
        vocabulary=None,
    )
    return plain, tuple(canvas.ledger.losses)


def _output(canvas: Canvas, top: Place, value: ir.Value) -> ir.Value:
    """What comes to an output node, in the place of that node."""
    name, arguments = called(tree_of(value)) if isinstance(value, ir.Expression) else ("", [])
    node = canvas.nodes.get(text_of(arguments[0]) or "") if name == "known" else None
    inner = node.value if isinstance(node, ir.Compute) and node.when is None else value
    found: ir.Value = top.value(inner)
    return found


def _without_outputs(canvas: Canvas, body: ir.Block, workflow: ir.Workflow) -> ir.Block:
    """The nodes without those that only pass on what the workflow gives."""
    ends = set()
    for _, value in workflow.outputs:
        name, arguments = called(tree_of(value)) if isinstance(value, ir.Expression) else ("", [])
        ends.add(text_of(arguments[0]) if name == "known" else None)
    awaited = {one.node for node in body.nodes for one in node.after}
    kept = [node for node in body.nodes if node.name not in ends or node.name in awaited]
    return replace(body, nodes=tuple(kept))


def _block(canvas: Canvas, block: ir.Block, path: str, around: tuple[str, ...]) -> ir.Block:
    nodes: list[ir.Node] = []
    for node in block.nodes:
        if node.name in canvas.inputs:
            continue
        here = f"{path}/{node.name}" if path else node.name
        place = Place(canvas, Spot(here, node.place), around)
        after = tuple(one for one in node.after if one.node not in canvas.inputs)
        nodes.append(replace(_node(place, node, here), after=after))
    return replace(block, nodes=tuple(nodes))


def _node(place: Place, node: ir.Node, path: str) -> ir.Node:
    if node.when is not None:
        place.lose("a node that is reached by a branch")
    common: dict[str, Any] = {"shape": None, "when": None}
    match node:
        case ir.Task():
            if node.shape is not None and shape_of(node) != "answered":
                place.lose(f"what {shape_of(node)!r} makes of a result")
            return replace(node, inputs=_given(place, node.inputs), **common)
        case ir.Compute():
            return replace(node, value=place.value(node.value), **common)
        case ir.Gate():
            if node.shape not in (None, node.show) and node.show != ir.Constant(None):
                place.lose("what passes a person")
            message, show = place.value(node.message), place.value(node.show)
            return replace(node, message=message, show=show, **common)
        case ir.Loop():
            return _loop(place, node, path, common)
        case _:
            place.lose(f"a {type(node).__name__.lower()} of a canvas")
            return replace(node, **common)


def _given(place: Place, inputs: ir.Fields) -> ir.Fields:
    """The inputs of a task; those that say nothing are left out."""
    said = ((key, value) for key, value in inputs.entries if value != ir.Constant(None))
    return ir.Fields(
        tuple((key, place.value(value)) for key, value in said if value != ir.Fields())
    )


def _loop(place: Place, node: ir.Loop, path: str, common: dict[str, Any]) -> ir.Node:
    inner = replace(place, around=(*place.around, node.name))
    until = node.until
    if isinstance(until, ir.Stable):
        until = replace(until, subject=inner.value(until.subject))
    elif until is not None:
        place.lose("a router that ends a loop")
        until = None
    if len(node.carry) > 1:
        place.lose("a conversation that goes on from turn to turn")
    carry = [
        ir.Carry(carried_name(node.name), place.value(one.first), inner.value(one.later))
        for one in node.carry[:1]
    ]
    facts = (("iteration", "number"), ("previous", "previous"))
    return replace(
        node,
        body=_block(place.canvas, node.body, path, inner.around),
        until=until,
        carry=tuple(carry),
        collect=(),
        tells=(),
        facts=facts,  # type: ignore[arg-type]
        **common,
    )
