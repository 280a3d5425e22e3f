"""Agents that give an answer of their own, and the failover, which tries some of them in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.orka import asking, remembering, validators
from whorl.dialects.orka.agents import read_agent, report_unknown
from whorl.dialects.orka.known import SUPPORTED
from whorl.dialects.orka.values import computed, literal, read_seconds, text_of
from whorl.source import Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Agent
    from whorl.dialects.orka.draft import Draft
    from whorl.dialects.orka.scene import Common, ReadNode, Scene
    from whorl.language import Json

ANSWERING: dict[str, ReadNode] = {
    "openai-answer": asking.read_answer,
    "local_llm": asking.read_answer,
    "openai-binary": asking.read_binary,
    "binary": asking.read_binary,
    "openai-classification": asking.read_classification,
    "classification": asking.read_classification,
    "validate_and_structure": asking.read_structure,
    "plan_validator": validators.read_validator,
    "loop_validator": validators.read_validator,
    "memory": remembering.read_memory,
    "rag": remembering.read_rag,
    "duckduckgo": remembering.read_search,
}
# A loop has a limit of its own, and the others only compute.
_UNTIMED = frozenset({"loop", "join", "router"})


def timeout_of(draft: Draft, agent: Agent) -> float | None:
    """The time that an agent has."""
    return None if agent.type in _UNTIMED else read_seconds(draft, agent.get("timeout"))


def read_failover(
    draft: Draft, agent: Agent, common: Common, scene: Scene, *, path: str
) -> ir.Node:
    """Reads a failover, which stands at a path: its first child that gives something of use."""
    nodes: list[ir.Node] = []
    names: list[Json] = []
    children = _children(draft, agent, scene)
    for child in children:
        inner: Common = {
            "name": child.id,
            "after": (ir.After(nodes[-1].name),) if nodes else (),
            "when": computed("orka_unusable", literal(list(names))) if names else None,
            # Where nobody is left to try, the failure is one of the failover.
            "on_failure": "halt" if child is children[-1] else "continue",
            "timeout_s": timeout_of(draft, child),
            "place": f"{child.span.line}:{child.span.column}",
        }
        draft.places.remember_node(f"{path}/{child.id}", child.span)
        found = ANSWERING[child.type](draft, child, inner, scene)
        nodes.append(ir.timed_as_a_whole(found))
        names.append(child.id)
    if agent.get("children") is None:
        message = f"failover {agent.id!r} has no 'children'"
        draft.report("W006", message, agent.span, help="add children")
    shape = computed("orka_failover", "it", literal(names))
    return ir.Group(body=ir.Block(tuple(nodes)), shape=shape, **common)


def _children(draft: Draft, agent: Agent, scene: Scene) -> list[Agent]:
    """The agents that a failover tries; what cannot be one of them is reported."""
    found: list[Agent] = []
    children = agent.get("children")
    for item in children if isinstance(children, Sequence) else ():
        child = scene.section.find(text_of(item))
        if child is None and isinstance(item, Scalar):
            report_unknown(draft, item, scene.section)
        elif child is None:
            child = read_agent(draft, item, scene.section.around)
        if child is None or child.type not in SUPPORTED:
            continue
        if child.type in ANSWERING:
            found.append(child)
        else:
            _report_child(draft, agent, child)
    return found


def _report_child(draft: Draft, agent: Agent, child: Agent) -> None:
    message = f"failover {agent.id[:60]!r} cannot try {child.id[:60]!r}, which is a {child.type!r}"
    advice = f"types: {', '.join(sorted(ANSWERING))}"
    draft.report("W009", message, child.span, label="not supported", help=advice)
