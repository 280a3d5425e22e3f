"""Agents as they stand in a file: one by one, and the section that orders them."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING

from whorl.dialects.orka.fields import check_fields, warn_of_fields
from whorl.dialects.orka.known import (
    FIELDS,
    IGNORED,
    INSIDE,
    ORCHESTRATOR,
    RESERVED,
    SEARCHING,
    STRATEGIES,
    SUPPORTED,
    UNSUPPORTED,
)
from whorl.dialects.orka.values import mapping_of, scalars_of, text_of, texts_of
from whorl.errors import did_you_mean
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.orka.draft import Draft
    from whorl.errors import Span
    from whorl.source import Value


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: what the dialect calls every node."""

    id: str
    type: str
    fields: Mapping
    span: Span

    def get(self, *names: str) -> Value | None:
        """The value of the first of these fields that is there, in `params` and `config` too."""
        for name in names:
            for holder in (self.fields, *self.holders()):
                found = holder.get(name)
                if found is not None and not (isinstance(found, Scalar) and found.value is None):
                    return found
        return None

    def span_of(self, name: str) -> Span:
        """Where a field stands, or else the agent."""
        found = self.get(name)
        return self.span if found is None else found.span

    def holders(self) -> Iterator[Mapping]:
        """The objects in which further fields of the agent stand."""
        for name in ("params", "config"):
            holder = mapping_of(self.fields.get(name))
            if holder is not None:
                yield holder


@dataclass(slots=True)
class Section:
    """An orchestrator with its agents: a whole file, or the inside of a loop."""

    name: str
    order: list[str]
    agents: dict[str, Agent]
    strategy: str = "sequential"
    around: dict[str, Agent] = field(default_factory=dict)

    def find(self, name: str) -> Agent | None:
        """The agent of a name: of this section, or of one around it."""
        return self.agents.get(name) or self.around.get(name)


def read_section(
    draft: Draft, root: Value, around: dict[str, Agent] | None = None
) -> Section | None:
    """Reads the agents and their order; None where there is nothing to run."""
    outer = around or {}
    if isinstance(root, Mapping):
        _check_root(draft, root, is_file=around is None)
    orchestrator = mapping_of(root.get("orchestrator")) if isinstance(root, Mapping) else None
    written = root.get("agents") if isinstance(root, Mapping) else root
    if not isinstance(written, Sequence):
        span = root.span if written is None else written.span
        message = "there are no agents" if written is None else "'agents' must be a list of agents"
        advice = "add agents: [{id: ..., type: ..., prompt: ...}]"
        draft.report("W006" if written is None else "W007", message, span, help=advice)
        return None
    agents, named = _read_agents(draft, written, outer)
    ordered = orchestrator.get("agents") if orchestrator is not None else None
    section = Section(
        text_of(orchestrator.get("id")) if orchestrator is not None else "",
        [],
        agents,
        text_of(orchestrator.get("strategy")) if orchestrator is not None else "sequential",
        outer,
    )
    section.order = _read_order(draft, section, ordered, named)
    _check_dependencies(draft, section)
    _check_strategy(draft, orchestrator)
    return section


def _check_root(draft: Draft, root: Mapping, *, is_file: bool) -> None:
    """A file may hold more than agents, but nothing that is almost called like a part of it."""
    if is_file:
        others = [entry for entry in root if entry.name not in INSIDE]
        misspelt = [entry for entry in others if did_you_mean(entry.name, INSIDE)]
        check_fields(draft, misspelt, INSIDE, "a workflow")
    else:
        check_fields(draft, root, INSIDE, "'internal_workflow'")
    orchestrator = root.get("orchestrator")
    if isinstance(orchestrator, Mapping):
        check_fields(draft, orchestrator, ORCHESTRATOR, "'orchestrator'")
    elif orchestrator is not None:
        advice = "write orchestrator: {id: NAME, agents: [...]}"
        draft.report("W007", "'orchestrator' must be an object", orchestrator.span, help=advice)


def _check_strategy(draft: Draft, orchestrator: Mapping | None) -> None:
    written = orchestrator.get("strategy") if orchestrator is not None else None
    word = text_of(written)
    if written is not None and word not in STRATEGIES:
        message = f"there is no strategy {word[:60]!r}: the agents run one after the other"
        advice = did_you_mean(word, STRATEGIES) or f"strategies: {', '.join(STRATEGIES)}"
        draft.warn("W007", message, written.span, label="unknown strategy", help=advice)


def _read_agents(
    draft: Draft, written: Sequence, around: dict[str, Agent]
) -> tuple[dict[str, Agent], list[str]]:
    """The agents by name, and the names in the order in which they are written."""
    agents: dict[str, Agent] = {}
    named: list[str] = []
    for item in written:
        if isinstance(item, Scalar):
            if item.text not in around:
                _report_unknown(draft, item, [*agents, *around])
            else:
                named.append(item.text)
            continue
        draft.count_step(item.span)
        agent = read_agent(draft, item, around)
        if agent is None:
            continue
        if agent.id in agents:
            first = agents[agent.id].span
            message = f"two agents are called {agent.id[:60]!r}"
            advice = "choose another id for one of them"
            label = f"the first one is on line {first.line}"
            draft.report("W012", message, agent.span, label=label, help=advice)
        agents.setdefault(agent.id, agent)
        named.append(agent.id)
    return agents, named


def read_agent(draft: Draft, value: Value, around: dict[str, Agent]) -> Agent | None:
    """Reads one agent; what is wrong with its name or type is reported here."""
    if not isinstance(value, Mapping):
        draft.report("W007", "an agent must be an object", value.span, help="write {id, type, ...}")
        return None
    name = value.entry("id")
    if name is None or not text_of(name.value):
        draft.report("W006", "an agent has no 'id'", value.span, help="add id: NAME")
        return None
    agent_id = text_of(name.value)
    written = value.get("type")
    if written is None and agent_id in around:
        return around[agent_id]
    agent = Agent(agent_id, text_of(written), value, name.value.span)
    draft.agents.add(agent_id)
    _check_type(draft, agent, written)
    if agent_id in RESERVED:
        message = f"no agent can be called {agent_id!r}: templates have another meaning for it"
        advice = f"choose another id, such as {agent_id + '_agent'!r}"
        draft.report("W012", message, name.value.span, help=advice)
    return agent


def _check_type(draft: Draft, agent: Agent, written: Value | None) -> None:
    if written is None:
        known = ", ".join(sorted(SUPPORTED))
        draft.report(
            "W006", f"agent {agent.id[:60]!r} has no 'type'", agent.span, help=f"types: {known}"
        )
        return
    if agent.type not in SUPPORTED:
        near = UNSUPPORTED.get(agent.type) or did_you_mean(agent.type, SUPPORTED)
        draft.report(
            "W009",
            f"agent {agent.id[:60]!r} is of the type {agent.type[:60]!r}, which is not supported",
            written.span,
            label="not supported",
            help=near or f"types: {', '.join(sorted(SUPPORTED))}",
        )
        return
    _check_fields(draft, agent)


def _check_fields(draft: Draft, agent: Agent) -> None:
    """A field that a loop does not have is an error; agents of other types are given any field."""
    known = FIELDS[agent.type]
    owner = f"agent {agent.id[:60]!r}"
    if agent.type == "loop":
        check_fields(draft, agent.fields, known | IGNORED, f"loop {agent.id[:60]!r}")
    else:
        warn_of_fields(draft, agent.fields, known | IGNORED, owner)
    inner = known | IGNORED | (SEARCHING if agent.type == "memory" else frozenset())
    for holder in agent.holders():
        warn_of_fields(draft, holder, inner, owner)


def _read_order(
    draft: Draft, section: Section, ordered: Value | None, named: list[str]
) -> list[str]:
    """The order of `orchestrator.agents`, or that of the agents without those called by others."""
    if ordered is None:
        called = {name for agent in section.agents.values() for name in called_by(agent)}
        return [name for name in named if name not in called]
    found: dict[str, None] = {}
    check_names(draft, ordered)
    for scalar in scalars_of(ordered):
        if section.find(scalar.text) is None:
            if not draft.is_full:
                _report_unknown(draft, scalar, [*section.agents, *section.around])
        else:
            found[scalar.text] = None
    return list(found)


def check_names(draft: Draft, written: Value) -> None:
    """Reports what stands among names of agents and is no name."""
    for item in _items(written) or [written]:
        if not isinstance(item, Scalar | Sequence):
            advice = "write its id here, and the agent itself under 'agents'"
            draft.report("W007", "the name of an agent is needed here", item.span, help=advice)


def _check_dependencies(draft: Draft, section: Section) -> None:
    """Reports agents that others depend on and that are none; a failover's own agents are some."""
    children = {
        text_of(child.get("id"))
        for agent in section.agents.values()
        for child in _items(agent.get("children"))
        if isinstance(child, Mapping)
    }
    for agent in section.agents.values():
        for scalar in scalars_of(agent.get("depends_on")):
            is_known = section.find(scalar.text) is not None or scalar.text in children
            if not is_known and not draft.is_full:
                report_unknown(draft, scalar, section)


def _items(value: Value | None) -> list[Value]:
    return list(value) if isinstance(value, Sequence) else []


def called_by(agent: Agent) -> list[str]:
    """The agents that a fork or a router runs."""
    if agent.type == "fork":
        return [name for branch in branches_of(agent) for name in texts_of(branch)]
    return [target.text for target in targets_of(agent)] if agent.type == "router" else []


def targets_of(agent: Agent) -> list[Scalar]:
    """The targets of all routes, each once, in an order that holds on every route."""
    routes = [scalars_of(entry.value) for entry in mapping_of(agent.get("routing_map")) or ()]
    named = {scalar.text: scalar for route in reversed(routes) for scalar in reversed(route)}
    before: dict[str, set[str]] = {name: set() for name in named}
    for route in routes:
        for one, other in pairwise(route):
            before[other.text].add(one.text)
    left = list(dict.fromkeys(scalar.text for route in routes for scalar in route))
    # Where routes disagree, the one that is written first begins.
    return [named[name] for name in behind_each_other(left, before, breaks_circles=True)]


def behind_each_other(
    names: list[str], before: dict[str, set[str]], *, breaks_circles: bool = False
) -> list[str]:
    """The names in their order, each behind those before it.

    What waits in a circle is left out, or begins with the first of the names.
    """
    places = {name: place for place, name in enumerate(names)}
    waits = {name: len(before[name] & places.keys()) for name in names}
    behind: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        for other in before[name] & places.keys():
            behind[other].append(name)
    ready = [places[name] for name in names if not waits[name]]
    found: dict[str, None] = {}
    rest = iter(names)
    while ready or breaks_circles:
        chosen = names[heappop(ready)] if ready else next((n for n in rest if n not in found), None)
        if chosen is None:
            break
        found[chosen] = None
        for other in behind[chosen]:
            waits[other] -= 1
            if not waits[other] and other not in found:
                heappush(ready, places[other])
    return list(found)


def branches_of(agent: Agent) -> list[Value]:
    """The branches of a fork, each one agent or a list of them."""
    return _items(agent.get("targets"))


def _report_unknown(draft: Draft, scalar: Scalar, names: list[str]) -> None:
    message = f"there is no agent {scalar.text[:60]!r}"
    advice = did_you_mean(scalar.text, names) or f"agents: {', '.join(names[:20]) or 'none'}"
    draft.report("W010", message, scalar.span, label="unknown agent", help=advice)


def report_unknown(draft: Draft, scalar: Scalar, section: Section) -> None:
    """Reports the name of an agent that is none."""
    _report_unknown(draft, scalar, [*section.agents, *section.around])
