"""Forks, joins, routers and failovers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.orka.writing.calls import called
from whorl.language import tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.dialects.orka.writing.page import Here

    WriteAgent = Callable[[Here, ir.Node], "dict[str, Any] | None"]


def routed_by(node: ir.Node) -> list[str]:
    """The routers that may send the run to a node."""
    found = called(node.when)
    return list(found.arguments[0]) if found.function == "orka_routed" else []


def write_compute(here: Here, node: ir.Compute) -> dict[str, Any] | None:
    """A join or a router; None for any other value."""
    found = called(node.value)
    if found.function == "orka_join":
        return {"type": "join", "group": found.arguments[0]}
    if found.function == "orka_route":
        decision, table = found.arguments
        return {"type": "router", "params": _routes(decision, table)}
    here.lose("a value that is computed", "only agents give results there; it is left out")
    return None


def _routes(decision: object, table: Any) -> dict[str, Any]:
    key = decision.key if isinstance(decision, tree.Item) else None
    name = key.value if isinstance(key, tree.Literal) else ""
    return {"decision_key": name, "routing_map": table}


def branches_of(body: ir.Block) -> list[list[ir.Node]]:
    """The nodes of a fork by branch: each begins where nobody is waited for, or an end is."""
    found: list[list[ir.Node]] = []
    for node in body.nodes:
        before = found[-1][-1] if found else None
        follows = before is not None and node.after == (ir.After(before.name),)
        if before is None or not follows or before.on_failure == "halt":
            found.append([node])
        else:
            found[-1].append(node)
    return found


def write_fork(here: Here, node: ir.Group) -> dict[str, Any]:
    """A fork; its branches are agents beside it."""
    branches = branches_of(node.body)
    fields: dict[str, Any] = {"type": "fork"}
    fields["targets"] = [[one.name for one in branch if not routed_by(one)] for branch in branches]
    if any(branch[0].after for branch in branches):
        fields["mode"] = "sequential"
    return fields


def write_failover(here: Here, node: ir.Group, write_agent: WriteAgent) -> dict[str, Any]:
    """Agents of which the first one that succeeds is enough."""
    children = (write_agent(here, child) for child in node.body.nodes)
    return {"type": "failover", "children": [child for child in children if child is not None]}
