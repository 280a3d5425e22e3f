"""Agents that give an answer of their own, and failovers, which try one of them after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import text_of
from whorl.formats.orka import agents, tasks
from whorl.formats.orka.agents import Agent, items_of
from whorl.formats.orka.scoring import validators
from whorl.formats.orka.tasks import computed, literal, read_timeout
from whorl.source import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.formats.orka.sections import Section


# The types that give an answer of their own, which a failover can try.
ANSWERING: dict[str, Callable[[Agent, Section], ir.Node]] = {
    **dict.fromkeys(("openai-answer", "local_llm"), tasks.read_answer),
    **dict.fromkeys(("openai-binary", "binary", "validate_and_structure"), tasks.read_fixed),
    **dict.fromkeys(("openai-classification", "classification"), tasks.read_fixed),
    **dict.fromkeys(("plan_validator", "loop_validator"), validators.read_validator),
    "memory": tasks.read_memory,
    "rag": tasks.read_rag,
    "duckduckgo": tasks.read_search,
    "brain": tasks.read_brain,
    "failing": tasks.read_failing,
    "invariant_validator": tasks.read_invariants,
}


def placed(
    node: ir.Node, agent: Agent, after: Iterable[str], when: ir.Expression | None, *, halts: bool
) -> ir.Node:
    placed = replace(
        node,
        name=agent.id,
        after=tuple(map(ir.After, after)),
        when=when,
        on_failure="halt" if halts else "continue",
        # A loop has a limit of its own, and the others only compute.
        timeout_s=None if agent.type in ("loop", "join", "router") else read_timeout(agent),
        place=agent.place,
    )
    return ir.timed_as_a_whole(placed)


def read_failover(agent: Agent, section: Section, path: str) -> ir.Node:
    """Reads a failover, which stands at a path: its first child that gives something of use."""
    nodes: list[ir.Node] = []
    names: list[str] = []
    children = _children(agent, section)
    for child in children:
        agent.context.places.remember_node(f"{path}/{child.id}", child.span)
        when = computed("orka_unusable", literal(names)) if names else None
        node = ANSWERING[child.type](child, section)
        # Where nobody is left to try, the failure is one of the failover.
        nodes.append(placed(node, child, names[-1:], when, halts=child is children[-1]))
        names.append(child.id)
    if agent.get("children") is None:
        message = f"failover {agent.id!r} has no 'children'"
        agent.context.report("W006", message, agent.span, help="add children")
    shape = computed("orka_failover", "it", literal(names))
    return ir.Group(name=agent.id, body=ir.Block(tuple(nodes)), shape=shape)


def _children(agent: Agent, section: Section) -> list[Agent]:
    """The agents that a failover tries; what cannot be one of them is reported."""
    children: list[Agent] = []
    for item in items_of(agent.get("children")):
        child = section.visible.get(text_of(item))
        if child is None and isinstance(item, Scalar):
            section.check_name(item)
        elif child is None:
            child = agents.read_agent(agent.context, item, section.around)
        if child is None or child.type not in agents.FIELDS:
            continue
        if child.type in ANSWERING:
            children.append(child)
            continue
        tried = f"{child.id[:60]!r}, which is a {child.type!r}"
        message = f"failover {agent.id[:60]!r} cannot try {tried}"
        advice = f"types: {', '.join(sorted(ANSWERING))}"
        agent.context.report("W009", message, child.span, label="not supported", help=advice)
    return children
