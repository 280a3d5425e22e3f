"""The order of agents: one after the other or side by side, forks, joins, routers and failovers.

An agent that fails is passed over, as in the public system; but where the last one that answers
fails, so does the section, because then there is no answer. In a loop any failure is one of the
iteration, and nothing follows a loop that has failed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.orka import tasks
from whorl.dialects.orka.agents import (
    FIELDS,
    SILENT,
    called_by,
    check_names,
    forked_by,
    items_of,
    read_agent,
    scalars_of,
    sort_behind,
    targets_of,
)
from whorl.dialects.orka.loops import read_loop, texts_within
from whorl.dialects.orka.scoring import read_validator
from whorl.dialects.orka.tasks import computed, literal, read_timeout
from whorl.dialects.reading.scalars import text_of, texts_of
from whorl.errors import did_you_mean
from whorl.source import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whorl.dialects.orka.agents import Agent, Section
    from whorl.dialects.orka.tasks import Shared

# Six hundred agents that all read what all before them said.
WAITS_MAX = 200_000
# The types that give an answer of their own, which a failover can try.
_ANSWERING: dict[str, Callable[[Agent, Shared, Section], ir.Node]] = {
    "openai-answer": tasks.read_answer,
    "local_llm": tasks.read_answer,
    "openai-binary": tasks.read_binary,
    "binary": tasks.read_binary,
    "openai-classification": tasks.read_classification,
    "classification": tasks.read_classification,
    "validate_and_structure": tasks.read_structure,
    "plan_validator": read_validator,
    "loop_validator": read_validator,
    "memory": tasks.read_memory,
    "rag": tasks.read_rag,
    "duckduckgo": tasks.read_search,
}
# A loop has a limit of its own, and the others only compute.
_UNTIMED = frozenset({"loop", "join", "router"})
# Templates that read the results of all agents before them.
_ALL = re.compile(
    r"previous_outputs(?![\w.\[])|joined_results|get_execution_artifacts|get_fork_responses"
    r"|get_collaborative_responses|previous_outputs\.(?:items|values|keys)\("
)
_MEMBER = re.compile(r"previous_outputs\.([\w-]++)")
_QUOTE = re.compile(r"['\"]")
_PLAIN = re.compile(r"[\w-]++")


def read_block(section: Section) -> ir.Block:
    """Reads the agents of a section into a block, in the order that they have."""
    return _BlockReader(section).read()


class _BlockReader:
    """Puts every agent of a section into its place, once."""

    def __init__(self, section: Section) -> None:
        self._section = section
        self._context = section.context
        self._placed: set[str] = set()
        self._routers: dict[str, list[str]] = {}
        self._fork = ""
        self._readers = _ANSWERING | {
            "loop": read_loop,
            "join": self._read_join,
            "router": self._read_router,
        }

    def read(self) -> ir.Block:
        """The block of the whole section."""
        section = self._section
        agents = (section.find(name) for name in section.flow["here"])
        forks = [agent for agent in agents if agent is not None and agent.type == "fork"]
        # What runs in a fork runs there, wherever else it is listed.
        forked = {name for fork in forks for name in forked_by(fork)}
        order = [name for name in section.order if name not in forked]
        if section.strategy == "parallel":
            return ir.Block(tuple(self._side_by_side(self._expand(order))))
        order = _sorted_by_dependencies(section, order)
        return ir.Block(tuple(self._in_order(self._expand(order), section.path)))

    def _expand(self, names: list[str]) -> list[str]:
        """The names with those that routers may send the run to behind their router."""
        queue = frozenset(names)
        steps: list[str] = []
        for name in names:
            self._place(name, steps, queue)
        return steps

    def _place(self, name: str, steps: list[str], queue: frozenset[str]) -> None:
        agent = self._section.find(name)
        if agent is None or name in self._placed:
            return
        self._placed.add(name)
        steps.append(name)
        for target in targets_of(agent) if agent.type == "router" else ():
            is_placed = target.text in self._placed and target.text not in self._routers
            # What stands in the order itself runs in any case.
            if self._section.check_name(target) and target.text not in queue and not is_placed:
                self._routers.setdefault(target.text, []).append(name)
                self._place(target.text, steps, queue)

    def _in_order(self, steps: list[str], path: str) -> list[ir.Node]:
        # The last ones decide that answer: an agent, or a router with its choices.
        speaking = [index for index, name in enumerate(steps) if self._speaks(name)]
        first = speaking[-1] if speaking else len(steps) - 1
        while first > 0 and steps[first] in self._routers:
            first -= 1
        deciding = self._with_asked(set(steps[first:]))
        nodes: list[ir.Node] = []
        for name in steps:
            after = (nodes[-1].name,) if nodes else ()
            nodes.append(self._node(name, after, path, decides=name in deciding))
        return nodes

    def _speaks(self, name: str) -> bool:
        """Whether an agent answers, or one that it holds."""
        agent = self._section.find(name)
        return agent is not None and any(part.type not in SILENT for part in self._held(agent))

    def _side_by_side(self, steps: list[str]) -> list[ir.Node]:
        mentions: dict[str, _Mentions] = {}
        waits: dict[str, tuple[str, ...]] = {}
        count = 0
        for index, name in enumerate(steps):
            waits[name] = _dependencies(self._section, name, (steps[:index], steps), mentions)
            count += len(waits[name])
            if count > WAITS_MAX:
                agent = self._section.find(name)
                message = f"agents wait for each other in more than {WAITS_MAX:,} places"
                advice = "read the results of some agents by name, or run them one after the other"
                span = None if agent is None else agent.span
                self._context.report("W002", message, span, label="here", help=advice)
                return []
        for name, routers in self._routers.items():
            if name in waits:
                waits[name] = tuple(dict.fromkeys((*waits[name], *routers)))
        deciding = self._deciding(steps, waits)
        path = self._section.path
        return [self._node(name, waits[name], path, decides=name in deciding) for name in steps]

    def _deciding(self, steps: list[str], waits: dict[str, tuple[str, ...]]) -> set[str]:
        """Those that no other answer comes after, and the routers that choose among them."""
        first = [other for name in steps if self._speaks(name) for other in waits[name]]
        last = set(steps) - _reached(first, lambda name: waits.get(name, ()))
        return self._with_asked(_reached(last, lambda name: self._routers.get(name, ())))

    def _with_asked(self, deciding: set[str]) -> set[str]:
        """These, and the agents whose answer a router among them cannot do without."""
        names = set(deciding)
        for agent in filter(None, map(self._section.find, deciding)):
            routes = agent.mapping("routing_map") if agent.type == "router" else None
            if routes is not None and not {"", "default"} & {
                route.name.lower() for route in routes
            }:
                names.add(agent.text("decision_key"))
        return names

    def _node(self, name: str, after: tuple[str, ...], path: str, *, decides: bool) -> ir.Node:
        agent = self._section.find(name)
        assert agent is not None
        path = f"{path}/{name}" if path else name
        self._context.places.remember_node(path, agent.span)
        routers = self._routers.get(name)
        # Nothing can follow where an agent fails in a loop, or where it holds one.
        is_needed = self._section.is_loop or any(p.type == "loop" for p in self._held(agent))
        shared: Shared = {
            "name": name,
            "after": tuple(ir.After(other) for other in after),
            "when": computed("orka_routed", literal(routers), literal(name)) if routers else None,
            "on_failure": "halt" if decides or is_needed else "continue",
            "timeout_s": None if agent.type in _UNTIMED else read_timeout(agent),
            "place": agent.place,
        }
        if agent.type == "fork":
            return self._read_fork(agent, shared, path)
        if agent.type == "failover":
            return _read_failover(agent, shared, self._section, path)
        if agent.type not in self._readers:
            # Its type is reported already; others may still refer to its name.
            return ir.Compute(value=ir.Constant(None), **shared)
        return ir.timed_as_a_whole(self._readers[agent.type](agent, shared, self._section))

    def _held(self, agent: Agent) -> list[Agent]:
        """An agent with those that it runs where it is a fork."""

        def parts(name: str) -> list[str]:
            fork = self._section.find(name)
            return forked_by(fork) if fork is not None and fork.type == "fork" else []

        names = _reached(parts(agent.id), parts)
        return [agent, *filter(None, map(self._section.find, names))]

    def _read_fork(self, agent: Agent, shared: Shared, path: str) -> ir.Node:
        self._fork = agent.id
        one_by_one = agent.text("mode") == "sequential"
        branches = items_of(agent.get("targets"))
        nodes: list[ir.Node] = []
        for branch in branches:
            check_names(self._context, branch)
            scalars = filter(self._section.check_name, scalars_of(branch))
            chain = self._in_order(self._expand([scalar.text for scalar in scalars]), path)
            if one_by_one and nodes and chain:
                after = (*chain[0].after, ir.After(nodes[-1].name))
                chain = [replace(chain[0], after=after), *chain[1:]]
            nodes.extend(chain)
        self._fork = agent.id
        if not branches:
            advice = "add targets: [[first_agent], [second_agent]]"
            message = f"fork {agent.id!r} has no 'targets'"
            self._context.report("W006", message, agent.span, help=advice)
        return ir.Group(body=ir.Block(tuple(nodes), open=True), **shared)

    def _read_join(self, agent: Agent, shared: Shared, section: Section) -> ir.Node:
        name = agent.text("group") or self._fork
        fork = section.find(name)
        if fork is None or fork.type != "fork":
            forks = [other.id for other in section.agents.values() if other.type == "fork"]
            problem = f"there is no fork {name!r}" if name else "there is no fork before this"
            message = f"join {agent.id!r} waits for a fork, but {problem}"
            advice = did_you_mean(name, forks) or f"forks: {', '.join(forks) or 'none'}"
            self._context.report("W010", message, agent.span_of("group"), help=advice)
            return ir.Compute(value=ir.Constant(None), **shared)
        value = computed("orka_join", literal(name), literal(forked_by(fork)))
        return ir.Compute(value=value, **shared)

    def _read_router(self, agent: Agent, shared: Shared, section: Section) -> ir.Node:
        name, span = agent.text("decision_key"), agent.span_of("decision_key")
        names = section.flow["agents"]
        if name not in names:
            code, message = "W006", f"router {agent.id!r} does not say which agent decides"
            if agent.get("decision_key") is not None:
                code = "W010"
                message = f"'decision_key' names {name[:60]!r}, but there is no such agent"
            advice = did_you_mean(name, names) or "add decision_key: AGENT"
            self._context.report(code, message, span, help=advice)
            return ir.Compute(value=ir.Constant(None), **shared)
        routes = agent.mapping("routing_map")
        if routes is None:
            message, at = f"router {agent.id!r} has no 'routing_map'", agent.span_of("routing_map")
            advice = "add routing_map: {'yes': [AGENT], 'no': [AGENT]}"
            self._context.report("W006", message, at, help=advice)
        table = {entry.name: [s.text for s in scalars_of(entry.value)] for entry in routes or ()}
        arguments = (f"previous_outputs[{literal(name)}]", literal(table), literal(agent.id))
        # In a loop, an iteration in which no way was taken must not count as a good one.
        chosen = computed("orka_route", *arguments, literal(section.is_loop))
        self._context.places.remember_part(chosen, span)
        return ir.Compute(value=chosen, warns=computed("orka_misread", *arguments), **shared)


def _read_failover(agent: Agent, shared: Shared, section: Section, path: str) -> ir.Node:
    """Reads a failover, which stands at a path: its first child that gives something of use."""
    nodes: list[ir.Node] = []
    names: list[str] = []
    children = _children(agent, section)
    for child in children:
        inner: Shared = {
            "name": child.id,
            "after": (ir.After(names[-1]),) if names else (),
            "when": computed("orka_unusable", literal(names)) if names else None,
            # Where nobody is left to try, the failure is one of the failover.
            "on_failure": "halt" if child is children[-1] else "continue",
            "timeout_s": read_timeout(child),
            "place": child.place,
        }
        agent.context.places.remember_node(f"{path}/{child.id}", child.span)
        nodes.append(ir.timed_as_a_whole(_ANSWERING[child.type](child, inner, section)))
        names.append(child.id)
    if agent.get("children") is None:
        message = f"failover {agent.id!r} has no 'children'"
        agent.context.report("W006", message, agent.span, help="add children")
    shape = computed("orka_failover", "it", literal(names))
    return ir.Group(body=ir.Block(tuple(nodes)), shape=shape, **shared)


def _children(agent: Agent, section: Section) -> list[Agent]:
    """The agents that a failover tries; what cannot be one of them is reported."""
    children: list[Agent] = []
    for item in items_of(agent.get("children")):
        child = section.find(text_of(item))
        if child is None and isinstance(item, Scalar):
            section.check_name(item)
        elif child is None:
            child = read_agent(agent.context, item, section.around)
        if child is None or child.type not in FIELDS:
            continue
        if child.type in _ANSWERING:
            children.append(child)
            continue
        message = f"failover {agent.id[:60]!r} cannot try {child.id[:60]!r}, which is a "
        message += repr(child.type)
        advice = f"types: {', '.join(sorted(_ANSWERING))}"
        agent.context.report("W009", message, child.span, label="not supported", help=advice)
    return children


def _reached(starts: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    """Some names, and all that can be reached from them."""
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        new = set(following(waiting.pop())) - reached
        reached |= new
        waiting.extend(new)
    return reached


def _sorted_by_dependencies(section: Section, names: list[str]) -> list[str]:
    """The names in their order, each behind those that it depends on."""
    waits = {name: _depends_on(section, name) - {name} for name in names}
    placed = sort_behind(names, waits)
    done = set(placed)
    left = [name for name in names if name not in done]
    agent = section.find(left[0]) if left else None
    if agent is not None:
        message = f"agents wait for each other: {', '.join(map(repr, left[:10]))}"
        label, advice = "waits for one of the others", "take one of the names out of 'depends_on'"
        span = agent.span_of("depends_on")
        section.context.report("W011", message, span, label=label, help=advice)
    return [*placed, *left]


def _depends_on(section: Section, name: str) -> set[str]:
    agent = section.find(name)
    return set() if agent is None else set(texts_of(agent.get("depends_on")))


def _dependencies(
    section: Section,
    name: str,
    steps: tuple[list[str], list[str]],
    mentions: dict[str, _Mentions],
) -> tuple[str, ...]:
    """What an agent waits for, of the steps before it and of all, where agents run side by side.

    `mentions` keeps what the texts of agents read.
    """
    before, all_steps = steps
    agent = section.find(name)
    assert agent is not None
    waits = _depends_on(section, name) - {name}
    for part in filter(None, (agent, *map(section.find, called_by(agent)))):
        if part.id not in mentions:
            mentions[part.id] = _Mentions.of("\n".join(texts_within(part.fields)))
        waits.update(mentions[part.id].among(before))
    if agent.type == "join":
        forks = [other for other in before if section.is_of(other, ("fork",))]
        waits.update(texts_of(agent.get("group")) or forks[-1:])
    if agent.type == "router":
        waits |= set(texts_of(agent.get("decision_key"))) & set(before)
    for branched in called_by(agent):
        waits |= _depends_on(section, branched) & set(before)
    return tuple(other for other in all_steps if other in waits)


@dataclass(frozen=True, slots=True)
class _Mentions:
    """What a template may read: the names after `previous_outputs.`, and those in quotes."""

    text: str
    names: frozenset[str]
    reads_all: bool

    @classmethod
    def of(cls, text: str) -> _Mentions:
        """Looks at a text once for all names."""
        names = frozenset((*_MEMBER.findall(text), *_QUOTE.split(text)[1:-1]))
        return cls(text, names, _ALL.search(text) is not None)

    def among(self, names: list[str]) -> Iterator[str]:
        """Those of the names that it reads."""
        for name in names:
            is_plain = _PLAIN.fullmatch(name) is not None
            if self.reads_all or name in self.names or (not is_plain and self._reads(name)):
                yield name

    def _reads(self, name: str) -> bool:
        word = re.escape(name)
        pattern = rf"previous_outputs\.{word}(?![\w-])|['\"]{word}['\"]"
        return re.search(pattern, self.text) is not None
