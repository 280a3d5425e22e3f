"""Agents and their order: a whole file, or the inside of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.orka.known import RESERVED
from whorl.dialects.orka.writing import flow, lookups
from whorl.dialects.orka.writing.asking import write_ask
from whorl.dialects.orka.writing.calls import called
from whorl.dialects.orka.writing.loops import SAID, write_loop
from whorl.dialects.orka.writing.page import results_of
from whorl.dialects.writing import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.dialects.orka.writing.page import Here

_SHARED = ("name", "after", "when", "on_failure", "timeout_s", "shape")
_FAILURE = "an agent that fails is passed over, unless it is the last"
_ORDER = "agents run one after the other, or side by side as far as they do not wait for others"


def write_section(
    here: Here, block: ir.Block, listed: Sequence[str] = (), scored: str | None = None
) -> dict[str, Any]:
    """The agents of a block, and their order; `listed` is the order that a file had them in."""
    nodes = list(_agents(block))
    here = here.knowing({} if here.is_own else results_of(node.name for node in nodes))
    order = [node.name for node in block.nodes if not flow.routed_by(node)]
    written = _as_listed(order, listed)
    is_chain = _is_chain(block)
    is_usual = is_chain and written == order
    orchestrator: dict[str, Any] = {} if is_chain else {"strategy": "parallel"}
    orchestrator["agents"] = written
    agents: list[dict[str, Any]] = []
    for node in nodes:
        agent = _write_agent(here.at(node), node, scored)
        if agent is None:
            _leave_out(written, agents, node.name)
            continue
        if not is_usual and node.after and node in block.nodes:
            agent["depends_on"] = _awaited(node)
        agents.append(agent)
    if not here.is_own:
        _check_order(here, block)
    return {"orchestrator": orchestrator, "agents": agents}


def _agents(block: ir.Block) -> Iterator[ir.Node]:
    """The nodes of a block, and those of the forks in it."""
    for node in block.nodes:
        yield node
        if isinstance(node, ir.Group) and _is_fork(node):
            yield from _agents(node.body)


def _is_fork(node: ir.Group) -> bool:
    return called(node.shape).function != "orka_failover" and not lookups.is_rag(node)


def _awaited(node: ir.Node) -> list[str]:
    """Whom a node waits for; a router is waited for last by all that it may send the run to."""
    names = [one.node for one in node.after]
    routers = flow.routed_by(node)
    while names and names[-1] in routers:
        names.pop()
    return names


def _as_listed(order: list[str], listed: Sequence[str]) -> list[str]:
    if not set(order) <= set(listed):
        return list(order)
    return sorted(order, key=list(listed).index)


def _leave_out(order: list[str], agents: list[dict[str, Any]], name: str) -> None:
    """Takes a name out of the order and out of the forks before it."""
    if name in order:
        order.remove(name)
    for agent in agents:
        if agent["type"] == "fork":
            left = ([one for one in branch if one != name] for branch in agent["targets"])
            agent["targets"] = [branch for branch in left if branch]


def _is_chain(block: ir.Block) -> bool:
    before: tuple[ir.After, ...] = ()
    for node in block.nodes:
        if node.after != before:
            return False
        before = (ir.After(node.name),)
    return True


def _check_order(here: Here, block: ir.Block) -> None:
    """What another dialect says of the order, and a section cannot."""
    here.lose_unsaid(block, ("nodes", "open"))
    awaited = {one.node for node in block.nodes for one in node.after}
    for node in block.nodes:
        at = here.at(node)
        if any(one.statuses != ("passed",) for one in node.after):
            at.lose("a step that runs after a failure", _ORDER)
        if node.when is not None:
            at.lose(f"the condition {node.when.source[:60]!r}", "only a router leaves agents out")
        is_last = node.name not in awaited
        if (node.on_failure == "halt") != is_last:
            at.lose(f"'on_failure' ({node.on_failure})", _FAILURE)


def _write_agent(here: Here, node: ir.Node, scored: str | None = None) -> dict[str, Any] | None:
    if node.name in RESERVED:
        here.lose(f"the name {node.name!r}", "templates have another meaning for it there")
    fields = _write_kind(here, node, scored)
    if fields is None:
        return None
    if node.timeout_s is not None and "timeout" not in fields:
        fields["timeout"] = duration_text(node.timeout_s)
    return {"id": node.name} | fields


def _write_kind(here: Here, node: ir.Node, scored: str | None) -> dict[str, Any] | None:
    match node:
        case ir.Task() if node.kind == "ask":
            here.lose_unsaid(node, (*_SHARED, "kind", "inputs", "returns"))
            return write_ask(here, node, scored)
        case ir.Task() if lookups.is_memory(node):
            here.lose_unsaid(node, (*_SHARED, "kind", "inputs"))
            return lookups.write_memory(here, node)
        case ir.Task() if lookups.is_search(node):
            here.lose_unsaid(node, (*_SHARED, "kind", "inputs"))
            return lookups.write_search(here, node)
        case ir.Loop():
            here.lose_unsaid(node, (*_SHARED, *SAID))
            return write_loop(here, node, write_section)
        case ir.Compute():
            here.lose_unsaid(node, (*_SHARED, "value"))
            return flow.write_compute(here, node)
        case ir.Group():
            here.lose_unsaid(node, (*_SHARED, "body"))
            return _write_group(here, node)
    kind = node.kind if isinstance(node, ir.Task) else type(node).__name__.lower()
    here.lose(f"a step of kind {kind!r}", "there is no agent of that kind; it is left out")
    return None


def _write_group(here: Here, node: ir.Group) -> dict[str, Any]:
    if called(node.shape).function == "orka_failover":
        return flow.write_failover(here, node, lambda at, one: _write_agent(at.at(one), one))
    if lookups.is_rag(node):
        return lookups.write_rag(here, node)
    if not here.is_own:
        here.lose("the result of a group", "a fork has none; a join gives those of its agents")
    return flow.write_fork(here, node)
