"""The order of agents: one after the other or side by side, forks, joins, routers and failovers.

If an agent fails, the others continue, as in the public system. If the last agent that answers
fails, the section fails. In a loop every failure fails the iteration, and no agent runs after a
failed loop.
"""

from __future__ import annotations

from dataclasses import field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading import in_a_row
from whorl.dialects.reading.fields import is_true, number_of, reached, text_of, texts_of
from whorl.errors import did_you_mean
from whorl.formats.orka import agents, loops, scouts, tasks
from whorl.formats.orka.agents import Agent, forked_by, items_of, reads_of
from whorl.formats.orka.loops import read_loop
from whorl.formats.orka.outputs import FAILED, RAN
from whorl.formats.orka.scouts import PATH_MAX
from whorl.formats.orka.tasks import computed, literal, read_timeout
from whorl.lazily import dataclass
from whorl.source import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whorl.formats.orka.agents import Section

# Six hundred agents that all read what all before them said.
WAITS_MAX = 200_000
# If one of these fails, the agents after it cannot work.
_HALTING = ("loop", "failing")


def read_block(section: Section) -> ir.Block:
    # An agent of a fork runs there, even if it is listed elsewhere.
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
        """Returns the names; those that routers may choose come after their router."""
        steps: list[str] = []
        section, queue = self._section, frozenset(names)
        waiting = [(name, "") for name in reversed(names)]
        while waiting:
            name, router = waiting.pop()
            if router:
                # An agent that is in the order itself always runs.
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
        waits = {name: (before,) if before else () for before, name in pairwise(["", *steps])}
        return self._nodes(waits, set(steps[first:]), path)

    def _speaks(self, name: str) -> bool:
        """Returns whether an agent, or one that it holds, answers."""
        return any(part.type not in agents.SILENT for part in self._held(name))

    def side_by_side(self, names: list[str]) -> list[ir.Node]:
        """Returns the nodes of agents each of which waits only for those that it needs."""
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
        # An agent decides if no other answer comes after it; so do the routers that choose it.
        before = [other for name in steps if self._speaks(name) for other in waits[name]]
        last = set(steps) - reached(before, lambda name: waits.get(name, ()))
        deciding = reached(last, lambda name: self._routers.get(name, ()))
        return self._nodes(waits, deciding, self._section.path)

    def _dependencies(self, name: str, before: list[str]) -> set[str]:
        """Returns the dependencies of an agent of a parallel row; `before` are its predecessors."""
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

    def _nodes(
        self, waits: Mapping[str, tuple[str, ...]], deciding: set[str], path: str
    ) -> list[ir.Node]:
        """Returns the nodes of agents; the section fails if an agent that decides fails."""
        for agent in [self._section.visible[name] for name in deciding]:
            routes = agent.mapping("routing_map") if agent.type == "router" else None
            words = {route.name.lower() for route in routes or ()}
            # A router without a usual way cannot do without the answer that it asks for.
            if routes is not None and not words & {"", "default"}:
                deciding.add(agent.text("decision_key"))
        return [self._node(name, waits[name], path, decides=name in deciding) for name in waits]

    def _node(self, name: str, after: Iterable[str], path: str, *, decides: bool) -> ir.Node:
        section, agent = self._section, self._section.visible[name]
        path = f"{path}/{name}" if path else name
        node = self._read(agent, path)
        routers = self._routers.get(name)
        when = computed("orka_routed", literal(routers), literal(name)) if routers else None
        # No agent can follow a failed agent in a loop, or a failed one that holds a loop.
        is_needed = section.is_loop or any(part.type in _HALTING for part in self._held(name))
        return placed(node, agent, after, when, halts=decides or is_needed)

    def _read(self, agent: Agent, path: str) -> ir.Node:
        section = self._section
        section.context.places.remember_node(path, agent.span)
        agents.check_required(agent)

        def read_chosen(name: str) -> ir.Node:
            """Reads an agent that a scout or an executor may run."""
            chosen = section.visible[name]
            at = f"{path}/path_run/path_agent@case.{name}/{name}"
            return placed(self._read(chosen, at), chosen, (), None, halts=False)

        readers: dict[str, Callable[[], ir.Node]] = {
            "fork": lambda: self._read_fork(agent, path),
            "join": lambda: ir.Compute(name=agent.id, value=self._read_join(agent)),
            "router": lambda: self._read_router(agent),
            "loop": lambda: read_loop(agent, section, read_block),
            "graph-scout": lambda: read_scout(agent, section, read_chosen),
            "path_executor": lambda: read_executor(agent, section, read_chosen),
            "failover": lambda: read_failover(agent, section, path),
        }
        if agent.type in readers:
            return readers[agent.type]()
        if agent.type in ANSWERING:
            return ANSWERING[agent.type](agent, section)
        # Its type is reported already; others may still refer to its name.
        return ir.Compute(name=agent.id, value=ir.Constant(None))

    def _held(self, name: str) -> Iterable[Agent]:
        """Returns an agent, with the agents that it runs if it is a fork."""
        find = self._section.visible.get
        names = reached([name], lambda other: forked_by(part) if (part := find(other)) else ())
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
        agent.report("W005", message, "group", advice=advice)
        return ir.Constant(None)

    def _read_router(self, agent: Agent) -> ir.Node:
        name, routes = agent.text("decision_key"), agent.mapping("routing_map")
        if not name or not self._section.check_named(agent, "decision_key", name):
            return ir.Compute(name=agent.id, value=ir.Constant(None))
        table = {entry.name: [*texts_of(entry.value)] for entry in routes or ()}
        arguments = (f"previous_outputs[{literal(name)}]", literal(table), literal(agent.id))
        # In a loop, an iteration in which no way was taken must not count as a good one.
        chosen = computed("orka_route", *arguments, literal(self._section.is_loop))
        self._section.context.places.remember_part(chosen, agent.span_of("decision_key"))
        return ir.Compute(name=agent.id, value=chosen, warns=computed("orka_misread", *arguments))


# Agents that give an answer of their own, and failovers, which try one of them after the other.

# The types that give an answer of their own, which a failover can try.
ANSWERING: dict[str, Callable[[Agent, Section], ir.Node]] = {
    **dict.fromkeys(("openai-answer", "local_llm"), tasks.read_answer),
    **dict.fromkeys(("openai-binary", "binary", "validate_and_structure"), tasks.read_fixed),
    **dict.fromkeys(("openai-classification", "classification"), tasks.read_fixed),
    **dict.fromkeys(("plan_validator", "loop_validator"), loops.read_validator),
    "memory": tasks.read_memory,
    "rag": tasks.read_rag,
    "duckduckgo": tasks.read_search,
    "brain": tasks.read_brain,
    "failing": lambda agent, _: ir.Compute(
        name=agent.id, value=computed("orka_fail", literal(agent.id))
    ),
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
    """Reads a failover at a path: its result is that of its first child with a usable one."""
    nodes: list[ir.Node] = []
    names: list[str] = []
    children: list[Agent] = []
    for item in items_of(agent.get("children")):
        child = section.visible.get(text_of(item))
        if child is None and isinstance(item, Scalar):
            section.check_name(item)
        elif child is None:
            child = agents.read_agent(agent.context, item, section.around)
        if child is not None and child.type in ANSWERING:
            children.append(child)
        elif child is not None and child.type in agents.FIELDS:
            tried = f"{child.id[:60]!r}, which is a {child.type!r}"
            message = f"failover {agent.id[:60]!r} cannot try {tried}"
            advice = f"types: {', '.join(sorted(ANSWERING))}"
            agent.context.report("W009", message, child.span, label="not supported", help=advice)
    for child in children:
        agent.context.places.remember_node(f"{path}/{child.id}", child.span)
        when = computed("orka_unusable", literal(names)) if names else None
        node = ANSWERING[child.type](child, section)
        # If there is no child left to try, the failover itself fails.
        nodes.append(placed(node, child, names[-1:], when, halts=child is children[-1]))
        names.append(child.id)
    shape = computed("orka_failover", "it", literal(names))
    return ir.Group(name=agent.id, body=ir.Block(tuple(nodes)), shape=shape)


# Scouts, which choose the agents that run next, and executors, which run those of a path.
#
# The agents of a path run one after the other in a for-each; what they give is kept in a variable,
# so that those behind them read it as they read what agents of the row gave.

USUAL_SOURCE = "validated_path"
_AGENT = "chosen_agent"
_TERMINAL = ("answer_emit", "response_generation")
_TERMINAL_IDS = ("response_builder", "answer_builder", "final_response", "llm_response")


def read_scout(agent: Agent, section: Section, read_agent: Callable[[str], ir.Node]) -> ir.Node:
    """Reads a scout; in a row it runs the agents that it chooses, unless an executor does."""
    settings = _settings(agent, section)
    listed = literal(settings)
    question = tasks.read_prompt(agent, "prompt") or tasks.template("{{ get_input() }}{{ '' }}")
    nodes: list[ir.Node] = [
        ir.Compute(name="scout_question", value=question),
        ir.Compute(name="scout_options", value=computed("orka_options", "scout_question", listed)),
    ]
    opinion: list[tuple[str, ir.Value]] = []
    has_paths = ir.Expression("jinja", "scout_options.paths")
    if is_true(agent.get("brain_assisted")):
        paths = computed("orka_option_paths", "scout_options")
        asked = (("paths", paths), ("question", ir.Expression("jinja", "scout_question")))
        advice = tasks.amend("scout_advice", "brain/skills", "advise", ir.Fields(asked))
        nodes.append(replace(advice, when=has_paths))
        opinion.append(("advice", computed("orka_value", literal("scout_advice"))))
    if is_true(agent.get("llm_evaluation_enabled")):
        prompt = computed("orka_scout_asks", "scout_question", "scout_options", listed)
        falls_back = settings["fallback_to_heuristics"] is True
        task = replace(tasks.ask(agent, prompt=prompt), name="scout_opinion", place=agent.place)
        task = replace(task, when=has_paths, on_failure="continue" if falls_back else "halt")
        nodes.append(task)
        opinion.append(("said", computed("orka_value", literal("scout_opinion"))))
    nodes.append(ir.Compute(name="scout_opinions", value=ir.Fields(tuple(opinion))))
    arguments = ("scout_question", "scout_options", "scout_opinions", listed)
    # Under the scout's own name, so that the agents of its path can read it.
    nodes.append(ir.Compute(name=agent.id, value=computed("orka_decide", *arguments)))
    names = [other.id for other in _scouted(agent, section)]
    executors = (other for other in section.visible.values() if other.type == "path_executor")
    is_read = any(other.text("path_source").split(".")[0] == agent.id for other in executors)
    if names and not section.is_loop and not is_read:
        followed = computed("orka_followed", f"results[{literal(agent.id)}]")
        nodes.append(_run(followed, {name: read_agent(name) for name in names}, needs_last=True))
    shape = ir.Expression("jinja", f"it[{literal(agent.id)}]")
    return ir.Group(name=agent.id, body=ir.Block(tuple(in_a_row(nodes))), shape=shape)


def _settings(agent: Agent, section: Section) -> dict[str, object]:
    """Returns the settings of a scout: its numbers, and the agents that it may choose."""
    settings: dict[str, object] = {}
    for name, usual in scouts.USUAL.items():
        value = agent.get(name)
        if value is None:
            settings[name] = usual
        elif isinstance(usual, bool):
            settings[name] = is_true(value)
        elif isinstance(usual, str):
            problem = f"there is no {name!r}"
            settings[name] = agent.context.choice(value, scouts.PROFILES, problem, usual)
        else:
            number = number_of(value)
            if number is None or number < 0:
                message = f"{name!r} of scout {agent.id[:60]!r} must be a number of at least 0"
                agent.context.report("W007", message, value.span, help=f"write {name}: {usual}")
            settings[name] = usual if number is None else number
    mode = agent.get("scoring_mode")
    problem = "a scout scores by numbers, since there is no scoring mode"
    agent.context.choice(mode, ("numeric",), problem, severity="warning")
    weights = {entry.name: number_of(entry.value) for entry in agent.mapping("score_weights") or ()}
    settings["score_weights"] = {k: v for k, v in weights.items() if v} or scouts.WEIGHTS
    settings["agents"] = [_described(other) for other in _scouted(agent, section)]
    return settings


def _scouted(agent: Agent, section: Section) -> list[Agent]:
    """Returns the agents that a scout may choose; a memory only if its prompt names it."""
    prompt = agent.text("prompt")
    chosen = [section.visible[name] for name in section.flow["chosen"]]
    named = [other.id for other in chosen if other.type == "memory" and other.id in prompt]
    return [other for other in chosen if other.type in agents.SCOUTED or other.id in named]


def _described(agent: Agent) -> dict[str, object]:
    """Returns the description of an agent that a scout reads."""
    capabilities = [*texts_of(agent.get("capabilities"))]
    is_last = agent.type == "openai-answer" or is_true(agent.get("is_terminal"))
    is_last = is_last or any(word in capabilities for word in _TERMINAL)
    is_last = is_last or any(word in agent.id for word in _TERMINAL_IDS)
    prompt = " ".join((agent.text("description") or agent.text("prompt")).split())
    about = f"{agent.type}{' (' + ', '.join(capabilities) + ')' if capabilities else ''}"
    return {
        "id": agent.id,
        "tokens": round(max(100, len(agent.text("prompt")) / 4) * 1.2),
        "capabilities": capabilities,
        "terminal": is_last,
        "about": f"{about}: {prompt[:160]}" if prompt else about,
    }


def read_executor(agent: Agent, section: Section, read_agent: Callable[[str], ir.Node]) -> ir.Node:
    """Reads an executor: it finds the list of agents, runs them, and reports their results."""
    source = agent.text("path_source") or USUAL_SOURCE
    problem = "'on_agent_failure' must be continue or abort, not"
    value = agent.get("on_agent_failure")
    stops = agent.context.choice(value, ("continue", "abort"), problem, "continue")
    section.check_named(agent, "path_source", source.split(".")[0])
    names = section.flow["chosen"]
    # What runs in the row runs there, and some types cannot be run by a path.
    dropped = [name for name in section.visible if name not in names]
    found = computed("orka_path", literal(source), literal(dropped))
    # The results of an iteration before do not count in this one.
    fresh = (RAN,) if section.is_loop else ()
    given = agent.text("input_source")
    nodes: list[ir.Node] = [
        ir.Assign(name="path_start", sets=tuple((n, ir.Constant({})) for n in (FAILED, *fresh))),
        ir.Compute(name="path_plan", value=found),
        _run(
            ir.Expression("jinja", "path_plan.path"),
            {name: read_agent(name) for name in names},
            bound=(ir.Compute(name="input", value=computed("orka_source", literal(given))),)
            if given
            else (),
            when=computed("orka_unhindered") if stops == "abort" else None,
        ),
    ]
    shape = computed("orka_executed", "it", literal(stops == "abort"))
    return ir.Group(name=agent.id, body=ir.Block(tuple(in_a_row(nodes))), shape=shape)


def _run(
    path: ir.Expression,
    nodes: dict[str, ir.Node],
    *,
    bound: tuple[ir.Node, ...] = (),
    when: ir.Expression | None = None,
    needs_last: bool = False,
) -> ir.Node:
    """Runs the agents of a path one after the other, and keeps their results."""
    blocks = ((name, ir.Block((node,), open=True)) for name, node in nodes.items())
    cases = tuple(ir.Case(name, block, equals=ir.Constant(name)) for name, block in blocks)
    listed = literal([*nodes])
    last = f"path_index + 1 == ({path.source}) | length" if needs_last else "false"
    came = ir.Expression("jinja", f"orka_came_of({_AGENT}, {listed}, {last})", tasks.LIBRARY)
    kept = ((name, computed("orka_kept", literal(name), "path_result")) for name in (RAN, FAILED))
    subject = ir.Expression("jinja", _AGENT)
    body: list[ir.Node] = [
        *bound,
        ir.Branch(name="path_agent", cases=cases, subject=subject, when=when),
        ir.Compute(name="path_result", value=came),
        ir.Assign(name="path_kept", sets=tuple(kept)),
    ]
    return ir.ForEach(
        name="path_run",
        items=path,
        body=ir.Block(tuple(in_a_row(body))),
        item_name=_AGENT,
        index_name="path_index",
        items_max=PATH_MAX,
        on_item_failure="halt",
    )
