"""The order of agents: one after the other or side by side, forks, joins, routers and failovers.

An agent that fails is passed over, as in the public system; but where the last one that answers
fails, so does the section, because then there is no answer. In a loop any failure is one of the
iteration, and nothing follows a loop that has failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.orka.agents import (
    branches_of,
    called_by,
    check_names,
    report_unknown,
    targets_of,
)
from whorl.dialects.orka.answering import ANSWERING, read_failover, timeout_of
from whorl.dialects.orka.known import SILENT
from whorl.dialects.orka.loop import read_loop
from whorl.dialects.orka.order import Words, dependencies, sorted_by_dependencies
from whorl.dialects.orka.values import (
    computed,
    literal,
    mapping_of,
    scalars_of,
    text_of,
)
from whorl.errors import did_you_mean

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Agent
    from whorl.dialects.orka.draft import Draft
    from whorl.dialects.orka.scene import Common, ReadNode, Scene
    from whorl.language import Json
    from whorl.source import Value

# Six hundred agents that all read what all before them said.
WAITS_MAX = 200_000

_READERS: dict[str, ReadNode] = {**ANSWERING, "loop": read_loop}


def read_block(draft: Draft, scene: Scene) -> ir.Block:
    """Reads the agents of a section into a block, in the order that they have."""
    return _Weaver(draft, scene).block()


class _Weaver:
    """Puts every agent of a section into its place, once."""

    def __init__(self, draft: Draft, scene: Scene) -> None:
        self._draft = draft
        self._scene = scene
        self._section = scene.section
        self._placed: set[str] = set()
        self._routers: dict[str, list[str]] = {}
        self._fork = ""

    def block(self) -> ir.Block:
        """The block of the whole section."""
        section = self._section
        forked = self._forked()
        order = [name for name in section.order if name not in forked]
        if section.strategy != "parallel":
            order = sorted_by_dependencies(self._draft, section, order)
        steps = self._expand(order)
        if section.strategy == "parallel":
            return ir.Block(tuple(self._side_by_side(steps)))
        return ir.Block(tuple(self._in_order(steps, self._scene.path)))

    def _forked(self) -> set[str]:
        """The agents that run in a fork, wherever else they are listed."""
        forks = [
            agent
            for name in self._scene.flow.here
            if (agent := self._section.find(name)) is not None and agent.type == "fork"
        ]
        return {
            s.text for fork in forks for branch in branches_of(fork) for s in scalars_of(branch)
        }

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
        if agent.type != "router":
            return
        for target in targets_of(agent):
            known = target.text in self._placed and target.text not in self._routers
            if self._section.find(target.text) is None:
                report_unknown(self._draft, target, self._section)
            elif target.text not in queue and not known:
                # What stands in the order itself runs in any case.
                self._routers.setdefault(target.text, []).append(name)
                self._place(target.text, steps, queue)

    def _in_order(self, steps: list[str], path: str) -> list[ir.Node]:
        first = self._first_deciding(steps)
        deciding = self._with_asked(set(steps[first:]))
        nodes: list[ir.Node] = []
        for name in steps:
            after = (nodes[-1].name,) if nodes else ()
            nodes.append(self._node(name, after, path, decides=name in deciding))
        return nodes

    def _first_deciding(self, steps: list[str]) -> int:
        """Where the last ones begin that answer: an agent, or a router with its choices."""
        speaking = [index for index, name in enumerate(steps) if self._speaks(name)]
        first = speaking[-1] if speaking else len(steps) - 1
        while first > 0 and steps[first] in self._routers:
            first -= 1
        return first

    def _speaks(self, name: str) -> bool:
        """Whether an agent answers, or one that it holds."""
        agent = self._section.find(name)
        return agent is not None and any(one.type not in SILENT for one in self._held(agent))

    def _side_by_side(self, steps: list[str]) -> list[ir.Node]:
        read: dict[str, Words] = {}
        waits: dict[str, tuple[str, ...]] = {}
        count = 0
        for index, name in enumerate(steps):
            waits[name] = dependencies(self._section, name, (steps[:index], steps), read)
            count += len(waits[name])
            if count > WAITS_MAX:
                self._report_waits(name)
                return []
        for name, routers in self._routers.items():
            if name in waits:
                waits[name] = tuple(dict.fromkeys((*waits[name], *routers)))
        deciding = self._deciding(steps, waits)
        return [
            self._node(name, waits[name], self._scene.path, decides=name in deciding)
            for name in steps
        ]

    def _deciding(self, steps: list[str], waits: dict[str, tuple[str, ...]]) -> set[str]:
        """Those that no other answer comes after, and the routers that choose among them."""
        before: set[str] = set()
        waiting = [other for name in steps if self._speaks(name) for other in waits[name]]
        while waiting:
            name = waiting.pop()
            if name not in before:
                before.add(name)
                waiting.extend(waits.get(name, ()))
        found = set(steps) - before
        waiting = list(found)
        while waiting:
            routers = set(self._routers.get(waiting.pop(), ())) - found
            found |= routers
            waiting.extend(routers)
        return self._with_asked(found)

    def _with_asked(self, deciding: set[str]) -> set[str]:
        """These, and the agents whose answer a router among them cannot do without."""
        found = set(deciding)
        for agent in filter(None, map(self._section.find, deciding)):
            routes = mapping_of(agent.get("routing_map")) if agent.type == "router" else None
            if routes is not None and not {"", "default"} & {one.name.lower() for one in routes}:
                found.add(text_of(agent.get("decision_key")))
        return found

    def _report_waits(self, name: str) -> None:
        agent = self._section.find(name)
        message = f"agents wait for each other in more than {WAITS_MAX:,} places"
        span = None if agent is None else agent.span
        advice = "read the results of some agents by name, or run them one after the other"
        self._draft.report("W002", message, span, label="here", help=advice)

    def _node(self, name: str, after: tuple[str, ...], path: str, *, decides: bool) -> ir.Node:
        agent = self._section.find(name)
        assert agent is not None
        here = f"{path}/{name}" if path else name
        self._draft.places.remember_node(here, agent.span)
        routers: list[Json] = list(self._routers.get(name, ()))
        common: Common = {
            "name": name,
            "after": tuple(ir.After(other) for other in after),
            "when": computed("orka_routed", literal(routers), literal(name)) if routers else None,
            "on_failure": "halt" if decides or self._is_needed(agent) else "continue",
            "timeout_s": timeout_of(self._draft, agent),
            "place": f"{agent.span.line}:{agent.span.column}",
        }
        match agent.type:
            case "fork":
                return self._read_fork(agent, common, here)
            case "join":
                return self._read_join(agent, common)
            case "router":
                return self._read_router(agent, common)
            case "failover":
                return read_failover(self._draft, agent, common, self._scene, path=here)
        read = _READERS.get(agent.type)
        if read is None:
            # Its type is reported already; others may still refer to its name.
            return ir.Compute(value=ir.Constant(None), **common)
        return ir.timed_as_a_whole(read(self._draft, agent, common, self._scene))

    def _is_needed(self, agent: Agent) -> bool:
        """Whether nothing can follow where an agent fails: in a loop, and where it holds one."""
        if self._scene.is_loop:
            return True
        return any(one.type == "loop" for one in self._held(agent))

    def _held(self, agent: Agent) -> list[Agent]:
        """An agent with those that it runs where it is a fork."""
        held = {agent.id: agent}
        waiting = [agent]
        while waiting:
            one = waiting.pop()
            for name in called_by(one) if one.type == "fork" else ():
                part = self._section.find(name)
                if part is not None and name not in held:
                    held[name] = part
                    waiting.append(part)
        return list(held.values())

    def _read_fork(self, agent: Agent, common: Common, path: str) -> ir.Node:
        self._fork = agent.id
        one_by_one = text_of(agent.get("mode")) == "sequential"
        nodes: list[ir.Node] = []
        for branch in branches_of(agent):
            names = self._known(branch)
            chain = self._in_order(self._expand(names), path)
            if one_by_one and nodes and chain:
                chain = [_behind(chain[0], nodes[-1].name), *chain[1:]]
            nodes.extend(chain)
        self._fork = agent.id
        if not branches_of(agent):
            message = f"fork {agent.id!r} has no 'targets'"
            advice = "add targets: [[first_agent], [second_agent]]"
            self._draft.report("W006", message, agent.span, help=advice)
        return ir.Group(body=ir.Block(tuple(nodes), open=True), **common)

    def _known(self, branch: Value) -> list[str]:
        names: list[str] = []
        check_names(self._draft, branch)
        for scalar in scalars_of(branch):
            if self._section.find(scalar.text) is None:
                report_unknown(self._draft, scalar, self._section)
            else:
                names.append(scalar.text)
        return names

    def _read_join(self, agent: Agent, common: Common) -> ir.Node:
        group = agent.get("group")
        name = text_of(group) or self._fork
        fork = self._section.find(name)
        if fork is None or fork.type != "fork":
            forks = [one.id for one in self._section.agents.values() if one.type == "fork"]
            message = f"there is no fork {name!r}" if name else "there is no fork before this"
            self._draft.report(
                "W010",
                f"join {agent.id!r} waits for a fork, but {message}",
                agent.span if group is None else group.span,
                help=did_you_mean(name, forks) or f"forks: {', '.join(forks) or 'none'}",
            )
            return ir.Compute(value=ir.Constant(None), **common)
        listed: list[Json] = [s.text for branch in branches_of(fork) for s in scalars_of(branch)]
        value = computed("orka_join", literal(name), literal(listed))
        return ir.Compute(value=value, **common)

    def _read_router(self, agent: Agent, common: Common) -> ir.Node:
        key = agent.get("decision_key")
        name = text_of(key)
        if name not in self._scene.flow.agents:
            self._draft.report(
                "W006" if key is None else "W010",
                f"router {agent.id!r} does not say which agent decides"
                if key is None
                else f"'decision_key' names {name[:60]!r}, but there is no such agent",
                agent.span if key is None else key.span,
                help=did_you_mean(name, self._scene.flow.agents) or "add decision_key: AGENT",
            )
            return ir.Compute(value=ir.Constant(None), **common)
        routes = mapping_of(agent.get("routing_map"))
        if routes is None:
            message = f"router {agent.id!r} has no 'routing_map'"
            advice = "add routing_map: {'yes': [AGENT], 'no': [AGENT]}"
            self._draft.report("W006", message, agent.span_of("routing_map"), help=advice)
        table: dict[str, Json] = {
            entry.name: [s.text for s in scalars_of(entry.value)] for entry in routes or ()
        }
        said = f"previous_outputs[{literal(name)}]"
        told = (said, literal(table), literal(agent.id))
        # In a loop, an iteration in which no way was taken must not count as a good one.
        chosen = computed("orka_route", *told, literal(self._scene.is_loop))
        self._draft.places.remember_part(chosen, agent.span_of("decision_key"))
        return ir.Compute(value=chosen, warns=computed("orka_misread", *told), **common)


def _behind(node: ir.Node, name: str) -> ir.Node:
    from dataclasses import replace

    return replace(node, after=(*node.after, ir.After(name)))
