"""Sections: an orchestrator with its agents, their order, and the names that they may read."""

from __future__ import annotations

import re
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of, unknown_fields, words
from whorl.errors import did_you_mean
from whorl.formats.orka.agents import (
    CHOOSING,
    RUNNABLE,
    Agent,
    FileContext,
    called_by,
    forked_by,
    items_of,
    read_agent,
    required_by,
    scalars_of,
)
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from whorl.language import Json


# What a file, the inside of a loop and an orchestrator can hold.
_INSIDE = words("orchestrator agents id name description")
_ORCHESTRATOR = words(
    "id strategy agents queue name description memory mode memory_preset memory_config "
    "structured_output_defaults debug executor satellites executor_invariants prompt_budgets "
    "refresh"
)
# All but `parallel` run the agents one after the other.
_STRATEGIES = words("sequential parallel decision-tree dynamic simple")
# Templates that read the results of all agents before them.
_ALL = re.compile(
    r"previous_outputs(?![\w.\[])|joined_results|get_execution_artifacts|get_fork_responses"
    r"|get_collaborative_responses|previous_outputs\.(?:items|values|keys)\("
)
_MEMBER = re.compile(r"previous_outputs\.([\w-]++)")
_PLAIN = re.compile(r"[\w-]++")


@dataclass(slots=True)
class Section:
    """An orchestrator with its agents: a whole file, or the inside of a loop.

    `around` are the agents of the sections around it, `visible` all together. `flow` holds the
    names that templates may ask for, `criteria` those by which the loop around it scores.
    """

    context: FileContext
    agents: dict[str, Agent]
    around: dict[str, Agent]
    visible: dict[str, Agent] = field(default_factory=dict)
    name: str = ""
    strategy: str = ""
    order: list[str] = field(default_factory=list)
    flow: dict[str, list[str]] = field(default_factory=dict)
    path: str = ""
    criteria: str = ""
    is_loop: bool = False

    def is_of(self, name: str, kinds: Collection[str]) -> bool:
        return name in self.visible and self.visible[name].type in kinds

    def check_name(self, scalar: Scalar) -> bool:
        """Whether the name of an agent is one; if not, it is reported."""
        is_agent = scalar.text in self.visible
        # Looking for the nearest name costs time.
        if not is_agent and not self.context.is_full:
            _report_unknown(self.context, scalar, [*self.agents, *self.around])
        return is_agent

    def check_named(self, agent: Agent, field: str, name: str) -> bool:
        """Whether the name that a field of an agent holds is one of those that run."""
        names = self.flow["agents"]
        if name not in names:
            message = f"{field!r} names {name[:60]!r}, but there is no such agent"
            advice = did_you_mean(name, names) or f"write {field}: AGENT"
            agent.report("W010", message, field, advice=advice, label="unknown agent")
        return name in names

    def named_in(self, value: Value) -> list[str]:
        """The agents that a value names; what stands there and is no name of one is reported."""
        for item in items_of(value) or [value]:
            if not isinstance(item, Scalar | Sequence):
                message = "the name of an agent is needed here"
                advice = "write its id here, and the agent itself under 'agents'"
                self.context.report("W007", message, item.span, help=advice)
        return self.named(scalars_of(value))

    def named(self, scalars: list[Scalar]) -> list[str]:
        """The agents that texts name; what is no name of one is reported."""
        return [scalar.text for scalar in scalars if self.check_name(scalar)]

    def names(self) -> list[str]:
        """All agents that the section can run, each after the one that calls it."""
        names: dict[str, None] = {}
        waiting = list(reversed(self.order))
        while waiting:
            name = waiting.pop()
            agent = self.visible.get(name)
            if agent is None or name in names:
                continue
            names[name] = None
            # What a router may send the run to and stands in the order has its own place there.
            apart = self.order if agent.type == "router" else ()
            waiting.extend(name for name in reversed(called_by(agent)) if name not in apart)
        return list(names)

    def enter(self, outer: dict[str, list[str]]) -> None:
        """Computes the flow: the agents in the order in which they run, behind those around."""
        names = self.names()
        around = [name for name in outer.get("agents", ()) if name not in names]
        chosen = self._chosen([*outer.get("row", ()), *names])
        self.flow["row"] = [*outer.get("row", ()), *names]
        self.flow["chosen"] = chosen
        self.flow["agents"] = [*dict.fromkeys((*around, *names, *chosen))]
        for key, kind in (("forks", "fork"), ("joins", "join"), ("loops", "loop")):
            own = (name for name in names if self.is_of(name, (kind,)))
            self.flow[key] = [*outer.get(key, ()), *own]
        self.flow["here"] = names

    def graph(self) -> dict[str, Json]:
        """Which agents there are, and which ways lead from one to the other."""
        names = (*self.flow["here"], *self.flow["chosen"])
        found = {name: self.visible[name] for name in names}
        forks = {name: forked_by(agent) for name, agent in found.items() if agent.type == "fork"}
        has_join = any(agent.type == "join" for agent in found.values())
        ways = [*pairwise(self.order)]
        ways += [(name, to) for name, agent in found.items() for to in called_by(agent)]
        structured = {name: required_by(agent) for name, agent in found.items()}
        return {
            "nodes": {name: {"type": agent.type} for name, agent in found.items()},
            "edges": [{"src": src, "dst": dst} for src, dst in dict.fromkeys(ways)],
            "forks": {n: {"branches": [*f], "has_join": has_join} for n, f in forks.items()},
            "routers": [name for name, agent in found.items() if agent.type == "router"],
            "structured": {name: [*fields] for name, fields in structured.items() if fields},
        }

    def _chosen(self, row: list[str]) -> list[str]:
        """The agents that scouts may choose, or paths may name: none of them runs anyway."""
        if not any(self.is_of(name, CHOOSING) for name in self.names()):
            return []
        able = (agent.id for agent in self.visible.values() if agent.type in RUNNABLE)
        chosen = [name for name in able if name not in row]
        self.context.chosen.update(chosen)
        return chosen


def read_section(
    context: FileContext, root: Value, around: dict[str, Agent] | None = None
) -> Section | None:
    """Reads the agents and their order; None where there is nothing to run."""
    orchestrator = Mapping((), root.span)
    written: Value | None = root
    if isinstance(root, Mapping):
        orchestrator = _read_orchestrator(context, root, around is None)
        written = root.get("agents")
    if not isinstance(written, Sequence):
        code, message, span = "W006", "there are no agents", root.span
        if written is not None:
            code, message, span = "W007", "'agents' must be a list of agents", written.span
        context.report(code, message, span, help="add agents: [{id: ..., type: ..., prompt: ...}]")
        return None
    section = Section(context, {}, around or {})
    section.name = text_of(orchestrator.get("id"))
    section.strategy = text_of(orchestrator.get("strategy"))
    names = _read_agents(section, written)
    section.visible = {**section.around, **section.agents}
    ordered = orchestrator.get("agents")
    if ordered is None:
        called = {name for agent in section.agents.values() for name in called_by(agent)}
        section.order = [name for name in names if name not in called]
    else:
        section.order = list(dict.fromkeys(section.named_in(ordered)))
    # Agents may depend on those that a failover holds, too.
    agents = section.agents.values()
    held = [child for agent in agents for child in items_of(agent.get("children"))]
    children = {text_of(child.get("id")) for child in held if isinstance(child, Mapping)}
    for scalar in [scalar for agent in agents for scalar in agent.scalars("depends_on")]:
        if scalar.text not in children:
            section.check_name(scalar)
    return section


def _read_orchestrator(context: FileContext, root: Mapping, is_file: bool) -> Mapping:
    """A file may hold more than agents, but nothing that is almost called like a part of it."""
    misspelt = [entry for entry, question in unknown_fields(root, _INSIDE) if question]
    owner = "a workflow" if is_file else "'internal_workflow'"
    context.check_fields(misspelt if is_file else root, _INSIDE, owner)
    orchestrator = root.get("orchestrator")
    if not isinstance(orchestrator, Mapping):
        if orchestrator is not None:
            message = "'orchestrator' must be an object"
            advice = "write orchestrator: {id: NAME, agents: [...]}"
            context.report("W007", message, orchestrator.span, help=advice)
        return Mapping((), root.span)
    context.check_fields(orchestrator, _ORCHESTRATOR, "'orchestrator'")
    problem = "the agents run one after the other, since there is no strategy"
    context.choice(orchestrator.get("strategy"), _STRATEGIES, problem, severity="warning")
    return orchestrator


def _read_agents(section: Section, written: Sequence) -> list[str]:
    context, agents, names = section.context, section.agents, []
    for item in written:
        if isinstance(item, Scalar):
            if item.text in section.around:
                names.append(item.text)
            else:
                _report_unknown(context, item, [*agents, *section.around])
            continue
        context.count_step(item.span)
        agent = read_agent(context, item, section.around)
        if agent is None:
            continue
        if agent.id in agents:
            message = f"two agents are called {agent.id[:60]!r}"
            label = f"the first one is on line {agents[agent.id].span.line}"
            advice = "choose another id for one of them"
            context.report("W012", message, agent.span, label=label, help=advice)
        agents.setdefault(agent.id, agent)
        names.append(agent.id)
    return names


def _report_unknown(context: FileContext, scalar: Scalar, names: list[str]) -> None:
    message = f"there is no agent {scalar.text[:60]!r}"
    advice = did_you_mean(scalar.text, names) or f"agents: {', '.join(names[:20]) or 'none'}"
    context.report("W010", message, scalar.span, label="unknown agent", help=advice)


def texts_within(value: Value) -> Iterator[str]:
    if isinstance(value, Scalar):
        if isinstance(value.value, str):
            yield value.value
    elif isinstance(value, Sequence):
        for item in value:
            yield from texts_within(item)
    else:
        for entry in value:
            if entry.name not in ("id", "depends_on"):
                yield from texts_within(entry.value)


def reads_of(agent: Agent) -> Callable[[str], bool]:
    """Whether an agent may read another: behind `previous_outputs.`, or with quotes around."""
    text = "\n".join(texts_within(agent.fields))
    names = frozenset((*_MEMBER.findall(text), *re.split(r"['\"]", text)[1:-1]))
    reads_all = _ALL.search(text) is not None

    def reads(name: str) -> bool:
        if reads_all or name in names or _PLAIN.fullmatch(name):
            return reads_all or name in names
        word = re.escape(name)
        return re.search(rf"previous_outputs\.{word}(?![\w-])|['\"]{word}['\"]", text) is not None

    return reads
