"""The order of agents: one after the other or side by side, forks, joins, routers and failovers.

An agent that fails is passed over, as in the public system; but where the last one that answers
fails, so does the section, because then there is no answer. In a loop any failure is one of the
iteration, and nothing follows a loop that has failed.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import texts_of
from whorl.errors import did_you_mean
from whorl.formats.orka import agents
from whorl.formats.orka.agents import Agent, forked_by, items_of, scalars_of
from whorl.formats.orka.answering import ANSWERING, placed, read_failover
from whorl.formats.orka.loops import read_loop
from whorl.formats.orka.scouts.choosing import read_executor, read_scout
from whorl.formats.orka.sections import reads_of
from whorl.formats.orka.tasks import computed, literal
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.formats.orka.sections import Section

# Six hundred agents that all read what all before them said.
WAITS_MAX = 200_000
# Where one of these fails, nothing that comes behind it makes sense.
_HALTING = ("loop", "failing")


def read_block(section: Section) -> ir.Block:
    # What runs in a fork runs there, wherever else it is listed.
    forked = {name for agent in section.flow["here"] for name in forked_by(section.visible[agent])}
    names = [name for name in section.order if name not in forked]
    reader = _BlockReader(section)
    if section.strategy == "parallel":
        return ir.Block(tuple(reader.side_by_side(names)))
    waits = {name: {*texts_of(section.visible[name].get("depends_on"))} - {name} for name in names}
    placed = dict.fromkeys(agents.sort_behind(names, waits))
    left = [name for name in names if name not in placed]
    if left:
        message = f"agents wait for each other: {', '.join(map(repr, left[:10]))}"
        label, advice = "waits for one of the others", "remove one of the names from 'depends_on'"
        span = section.visible[left[0]].span_of("depends_on")
        section.context.report("W011", message, span, label=label, help=advice)
    return ir.Block(tuple(reader.in_order([*placed, *left], section.path)))


@dataclass(slots=True)
class _BlockReader:
    """Puts every agent of a section into its place, once."""

    _section: Section
    _placed: set[str] = field(default_factory=set)
    _routers: dict[str, list[str]] = field(default_factory=dict)
    # By agent: whether its texts may read the result of another one.
    _reads: dict[str, Callable[[str], bool]] = field(default_factory=dict)
    _fork: str = ""

    def _expand(self, names: list[str]) -> list[str]:
        """The names with those that routers may send the run to behind their router."""
        steps: list[str] = []
        section, queue = self._section, frozenset(names)
        waiting = [(name, "") for name in reversed(names)]
        while waiting:
            name, router = waiting.pop()
            if router:
                # What stands in the order itself runs in any case.
                if name in queue or (name in self._placed and name not in self._routers):
                    continue
                self._routers.setdefault(name, []).append(router)
            if name not in self._placed:
                self._placed.add(name)
                steps.append(name)
                targets = filter(section.check_name, agents.targets_of(section.visible[name]))
                waiting += [(target.text, name) for target in reversed([*targets])]
        return steps

    def in_order(self, names: list[str], path: str) -> list[ir.Node]:
        steps = self._expand(names)
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
        return any(part.type not in agents.SILENT for part in self._held(name))

    def side_by_side(self, names: list[str]) -> list[ir.Node]:
        """The nodes of agents each of which waits only for those that it needs."""
        steps = self._expand(names)
        waits: dict[str, tuple[str, ...]] = {}
        count = 0
        for index, name in enumerate(steps):
            needed = self._dependencies(name, steps[:index])
            ordered = (other for other in steps if other in needed)
            waits[name] = tuple(dict.fromkeys((*ordered, *self._routers.get(name, ()))))
            count += len(waits[name])
            if count > WAITS_MAX:
                message = f"agents wait for each other in more than {WAITS_MAX:,} places"
                advice = "read the results of some agents by name, or run them one after the other"
                span = self._section.visible[name].span
                self._section.context.report("W002", message, span, label="here", help=advice)
                return []
        # Those decide that no other answer comes after, and the routers that choose among them.
        before = [other for name in steps if self._speaks(name) for other in waits[name]]
        last = set(steps) - _reached(before, lambda name: waits.get(name, ()))
        deciding = self._with_asked(_reached(last, lambda name: self._routers.get(name, ())))
        path = self._section.path
        return [self._node(name, waits[name], path, decides=name in deciding) for name in steps]

    def _dependencies(self, name: str, before: list[str]) -> set[str]:
        """What an agent waits for, where agents run side by side; `before` stand before it."""
        section, earlier = self._section, set(before)
        agent = section.visible[name]
        waits = {*texts_of(agent.get("depends_on"))} - {name}
        for part in filter(None, (agent, *map(section.visible.get, agents.called_by(agent)))):
            if part.id not in self._reads:
                self._reads[part.id] = reads_of(part)
            waits.update(filter(self._reads[part.id], before))
            waits.update(earlier.intersection(texts_of(part.get("depends_on"))))
        if agent.type == "join":
            forks = [other for other in before if section.is_of(other, ("fork",))]
            waits.update(texts_of(agent.get("group")) or forks[-1:])
        if agent.type == "path_executor":
            waits.update(earlier.intersection(agent.text("path_source").split(".")[:1]))
        if any(map(self._reads[agent.id], section.flow["chosen"])):
            waits.update(other for other in before if section.is_of(other, agents.CHOOSING))
        if agent.type == "router":
            waits.update(earlier.intersection(texts_of(agent.get("decision_key"))))
        return waits

    def _with_asked(self, deciding: set[str]) -> set[str]:
        """These, and the agents whose answer a router among them cannot do without."""
        names = set(deciding)
        for agent in [self._section.visible[name] for name in deciding]:
            routes = agent.mapping("routing_map") if agent.type == "router" else None
            words = {route.name.lower() for route in routes or ()}
            if routes is not None and not words & {"", "default"}:
                names.add(agent.text("decision_key"))
        return names

    def _node(self, name: str, after: Iterable[str], path: str, *, decides: bool) -> ir.Node:
        section, agent = self._section, self._section.visible[name]
        path = f"{path}/{name}" if path else name
        self._section.context.places.remember_node(path, agent.span)
        # Its type is reported already; others may still refer to its name.
        node: ir.Node = ir.Compute(name=name, value=ir.Constant(None))
        match agent.type:
            case "fork":
                node = self._read_fork(agent, path)
            case "join":
                node = ir.Compute(name=name, value=self._read_join(agent))
            case "router":
                node = self._read_router(agent)
            case "loop":
                node = read_loop(agent, section, read_block)
            case "graph-scout":
                node = read_scout(agent, section, self._in_path(path))
            case "path_executor":
                node = read_executor(agent, section, self._in_path(path))
            case "failover":
                node = read_failover(agent, section, path)
            case kind if kind in ANSWERING:
                node = ANSWERING[kind](agent, section)
        routers = self._routers.get(name)
        when = computed("orka_routed", literal(routers), literal(name)) if routers else None
        # Nothing can follow where an agent fails in a loop, or where it holds one.
        is_needed = section.is_loop or any(part.type in _HALTING for part in self._held(name))
        return placed(node, agent, after, when, halts=decides or is_needed)

    def _in_path(self, path: str) -> Callable[[str], ir.Node]:
        """Reads the agents that a scout or an executor at a path may run."""

        def read(name: str) -> ir.Node:
            agent = self._section.visible[name]
            at = f"{path}/path_run/path_agent@case.{name}/{name}"
            self._section.context.places.remember_node(at, agent.span)
            if agent.type == "failover":
                node = read_failover(agent, self._section, at)
            else:
                node = ANSWERING[agent.type](agent, self._section)
            return placed(node, agent, (), None, halts=False)

        return read

    def _held(self, name: str) -> Iterable[Agent]:
        """An agent with those that it runs where it is a fork."""
        find = self._section.visible.get
        names = _reached([name], lambda other: forked_by(part) if (part := find(other)) else ())
        return filter(None, map(find, names))

    def _read_fork(self, agent: Agent, path: str) -> ir.Node:
        self._fork = agent.id
        branches = items_of(agent.get("targets"))
        nodes: list[ir.Node] = []
        for branch in branches:
            chain = self.in_order(self._section.named_in(branch), path)
            if agent.text("mode") == "sequential" and nodes and chain:
                after = (*chain[0].after, ir.After(nodes[-1].name))
                chain = [replace(chain[0], after=after), *chain[1:]]
            nodes.extend(chain)
        self._fork = agent.id
        if not branches:
            message = f"fork {agent.id!r} has no 'targets'"
            advice = "add targets: [[first_agent], [second_agent]]"
            self._section.context.report("W006", message, agent.span, help=advice)
        return ir.Group(name=agent.id, body=ir.Block(tuple(nodes), open=True))

    def _read_join(self, agent: Agent) -> ir.Value:
        section, name = self._section, agent.text("group") or self._fork
        fork = section.visible.get(name)
        if fork is not None and fork.type == "fork":
            return computed("orka_join", literal(name), literal(forked_by(fork)))
        forks = [other.id for other in section.agents.values() if other.type == "fork"]
        problem = f"there is no fork {name!r}" if name else "there is no fork before this"
        message = f"join {agent.id!r} waits for a fork, but {problem}"
        advice = did_you_mean(name, forks) or f"forks: {', '.join(forks) or 'none'}"
        self._section.context.report("W010", message, agent.span_of("group"), help=advice)
        return ir.Constant(None)

    def _read_router(self, agent: Agent) -> ir.Node:
        name, span = agent.text("decision_key"), agent.span_of("decision_key")
        names = self._section.flow["agents"]
        if name not in names:
            code, message = "W006", f"router {agent.id!r} does not say which agent decides"
            if agent.get("decision_key") is not None:
                code = "W010"
                message = f"'decision_key' names {name[:60]!r}, but there is no such agent"
            advice = did_you_mean(name, names) or "add decision_key: AGENT"
            self._section.context.report(code, message, span, help=advice)
            return ir.Compute(name=agent.id, value=ir.Constant(None))
        routes = agent.mapping("routing_map")
        if routes is None:
            message, at = f"router {agent.id!r} has no 'routing_map'", agent.span_of("routing_map")
            advice = "add routing_map: {'yes': [AGENT], 'no': [AGENT]}"
            self._section.context.report("W006", message, at, help=advice)
        table = {entry.name: [s.text for s in scalars_of(entry.value)] for entry in routes or ()}
        arguments = (f"previous_outputs[{literal(name)}]", literal(table), literal(agent.id))
        # In a loop, an iteration in which no way was taken must not count as a good one.
        chosen = computed("orka_route", *arguments, literal(self._section.is_loop))
        self._section.context.places.remember_part(chosen, span)
        return ir.Compute(name=agent.id, value=chosen, warns=computed("orka_misread", *arguments))


def _reached(starts: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        new = set(following(waiting.pop())) - reached
        reached |= new
        waiting.extend(new)
    return reached
