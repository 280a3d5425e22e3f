"""Steps whose names stand elsewhere, too: a canvas knows each node by an id of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.writing import Spot

if TYPE_CHECKING:
    from whorl.dialects.writing import Ledger


def with_unique_names(workflow: ir.Workflow, ledger: Ledger, key: str) -> ir.Workflow:
    """The workflow with another name for each step whose own is taken; that is a loss."""
    seen = {port.name for port in workflow.inputs}
    body = _block(workflow.body, seen, ledger, Spot(key=key))
    return workflow if body is workflow.body else replace(workflow, body=body)


def _block(block: ir.Block, seen: set[str], ledger: Ledger, spot: Spot) -> ir.Block:
    names: dict[str, str] = {}
    for node in block.nodes:
        here = f"{spot.path}/{node.name}" if spot.path else node.name
        name = node.name
        while name in seen:
            name += "_"
        if name != node.name:
            place = replace(spot, path=here, place=node.place)
            ledger.lose(place, f"the name {node.name!r}", "ids on a canvas are used once")
        seen.add(name)
        names[node.name] = name
    nodes = tuple(_node(node, names, seen, ledger, spot) for node in block.nodes)
    is_same = all(a is b for a, b in zip(nodes, block.nodes, strict=True))
    return block if is_same else replace(block, nodes=nodes)


def _node(
    node: ir.Node, names: dict[str, str], seen: set[str], ledger: Ledger, spot: Spot
) -> ir.Node:
    inside = replace(spot, path=f"{spot.path}/{node.name}" if spot.path else node.name)
    after = tuple(replace(one, node=names.get(one.node, one.node)) for one in node.after)
    found = node
    if names[node.name] != node.name or after != node.after:
        found = replace(node, name=names[node.name], after=after)
    if isinstance(found, ir.Loop | ir.ForEach | ir.Group):
        body = _block(found.body, seen, ledger, inside)
        return found if body is found.body else replace(found, body=body)
    if isinstance(found, ir.Branch):
        cases = tuple(
            replace(case, body=_block(case.body, seen, ledger, inside)) for case in found.cases
        )
        default = found.default
        if default is not None:
            default = replace(default, body=_block(default.body, seen, ledger, inside))
        return replace(found, cases=cases, default=default)
    return found
