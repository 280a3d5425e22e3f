"""Agents of a file, and sections: an orchestrator with its agents, in their order."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import field
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from whorl.dialects.reading import ReadContext
from whorl.dialects.reading.fields import (
    scalar_of,
    scalars,
    text_of,
    texts_of,
    unknown_fields,
    words,
)
from whorl.errors import Severity, Span, did_you_mean
from whorl.formats.orka import scouts
from whorl.ir.expressions import Names
from whorl.lazily import dataclass
from whorl.source import Entry, Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from whorl.language import Json


# Names that templates use for something else.
RESERVED = words("input loop_number score past_loops previous_outputs it")

_EVERY = frozenset(words("id type prompt params config depends_on timeout"))
_ASKED = _EVERY.union(words("model provider model_url url temperature max_tokens system_prompt"))
_MODEL = _ASKED | {"structured_output"}
_CLASSIFIER = _MODEL | {"options", "categories"}
_VALIDATOR = _ASKED | {"llm_model", "mode", "custom_prompt", "custom_weights", "evaluation_target"}
# The fields of agents, by their type.
FIELDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(words("openai-answer openai-binary local_llm binary"), _MODEL),
    **dict.fromkeys(words("openai-classification classification"), _CLASSIFIER),
    "validate_and_structure": _MODEL | {"store_structure"},
    **dict.fromkeys(
        words("plan_validator loop_validator"), _VALIDATOR | {"scoring_preset", "scoring_context"}
    ),
    "memory": _EVERY.union(
        words("operation namespace limit top_k metadata key_template similarity_threshold"),
        words("decay vector"),
    ),
    "rag": _MODEL.union(words("namespace top_k limit score_threshold")),
    "brain": _EVERY | {"operation"},
    "graph-scout": _ASKED.union(
        scouts.USUAL,
        words("scoring_mode score_weights llm_evaluation_enabled brain_assisted"),
        words("evaluation_model_name validation_model_name evaluation_model validation_model"),
        words("max_preview_tokens require_terminal use_priors ttl_days tool_policy"),
        words("log_previews log_components"),
    ),
    "path_executor": _EVERY.union(words("path_source on_agent_failure input_source")),
    "invariant_validator": _EVERY.union(
        words("max_depth allow_reentrant_nodes strict_tool_errors execution_data")
    ),
    "failing": _EVERY,
    "duckduckgo": _EVERY | {"max_results"},
    "router": _EVERY | {"decision_key", "routing_map"},
    "failover": _EVERY | {"children", "input"},
    "fork": _EVERY.union(words("targets mode group")),
    "join": _EVERY | {"group", "max_retries"},
    "loop": _EVERY.union(
        words("max_loops min_loops score_threshold score_extraction_pattern scoring"),
        words("score_extraction_key score_extraction_config high_priority_agents"),
        words("internal_workflow past_loops_metadata cognitive_extraction persist_across_runs"),
        words("fallback_score timeout_score"),
    ),
}
# The fields that agents of a type must have: the kind of value, and an example.
_REQUIRED: dict[str, dict[str, tuple[type[Value], str]]] = {
    "loop": {"internal_workflow": (Mapping, "{orchestrator: {agents: [...]}, agents: [...]}")},
    "fork": {"targets": (Sequence, "[[first_agent], [second_agent]]")},
    "router": {
        "decision_key": (Scalar, "AGENT"),
        "routing_map": (Mapping, "{'yes': [AGENT], 'no': [AGENT]}"),
    },
    "failover": {"children": (Sequence, "[{id: ..., type: ...}, {id: ..., type: ...}]")},
}
# Agents that say nothing of their own.
SILENT = frozenset({"fork", "join", "router", "memory", "invariant_validator"})
# Other ways in which files write a type.
_SPELLINGS = dict.fromkeys(("graph_scout", "graphscout"), "graph-scout")
# Agents that choose others, or run those that were chosen.
CHOOSING = ("graph-scout", "path_executor")
# The types that a scout chooses from, and those that an executor also runs.
SCOUTED = frozenset(
    words("openai-answer openai-binary local_llm binary validate_and_structure rag duckduckgo")
) | {"brain"}
RUNNABLE = SCOUTED | {"memory", "failover", "failing"}
# Fields that the public system takes anywhere and that change nothing in what a workflow does.
_IGNORED = words(
    "queue capabilities is_terminal memory_preset memory_config metadata description parse_json "
    "cost_estimate tags"
)
# How the public system searches its memory; ours finds texts by their words.
_SEARCHING = words(
    "type category memory_type memory_category_filter memory_type_filter vector_field "
    "vector_field_name vector_params vector_weight text_weight temporal_weight query_key "
    "ef_runtime enable_context_search enable_hybrid_search enable_temporal_ranking "
    "enable_vector_search fallback_to_text force_recreate_index"
)
# Types of the public system that are left out, and what to write instead.
UNSUPPORTED = {
    "anthropic": "did you mean 'openai-answer'? It asks any provider: model: anthropic/NAME",
    "openai-gpt-4": "did you mean 'openai-answer'? It takes model: gpt-4",
    "memory-writer": "did you mean 'memory'? It takes config: {operation: write}",
    "memory-reader": "did you mean 'memory'? It takes config: {operation: read}",
    "kg-writer": "the nearest type is 'memory', with config: {operation: write}",
    "kg-reader": "the nearest type is 'memory', with config: {operation: read}",
}


@dataclass(slots=True)
class FileContext(ReadContext):
    """A file of the dialect while it is read: the ids of all agents, the names in templates.

    `chosen` are the agents that may run because a scout or a path names them. A file is `recorded`
    if its templates read the history of the run.
    """

    name: str = ""
    agents: set[str] = field(default_factory=set)
    chosen: set[str] = field(default_factory=set)
    recorded: bool = False
    names: Names = field(default_factory=Names)

    def check_fields(
        self, written: Iterable[Entry], names: Collection[str], owner: str, *, warns: bool = False
    ) -> None:
        """Reports unknown fields; it only warns (`warns`) if the public system allows any."""
        severity: Severity = "warning" if warns else "error"
        for entry, advice in unknown_fields(written, names):
            message = f"{owner} has no field {entry.name[:60]!r}"
            if warns:
                message = f"{owner} has an unknown field {entry.name[:60]!r}, which has no effect"
            elif not advice:
                advice = f"fields: {', '.join(sorted(names))}"
            span, label = entry.key.span, "unknown field"
            self.report("W004", message, span, label=label, help=advice, severity=severity)

    def choice(
        self,
        value: Value | None,
        choices: Collection[str],
        problem: str,
        usual: str = "",
        *,
        severity: Severity = "error",
    ) -> str:
        """Returns one of some words; the default if it is missing or another, which is reported."""
        word = text_of(value)
        if value is None or word in choices:
            return word or usual
        advice = did_you_mean(word, choices) or f"choices: {', '.join(choices)}"
        message = f"{problem} {word[:60]!r}"
        self.report("W007", message, value.span, label="not known", help=advice, severity=severity)
        return usual


@dataclass(frozen=True, slots=True, eq=False)
class Agent:
    """An agent: this dialect's word for any node."""

    context: FileContext
    id: str
    type: str
    fields: Mapping
    span: Span
    # The objects in which further fields stand.
    holders: tuple[Mapping, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.span.line}:{self.span.column}"

    def get(self, *names: str) -> Value | None:
        """Returns the first of these fields that exists, also in `params` and `config`."""
        for name in names:
            for holder in (self.fields, *self.holders):
                value = holder.get(name)
                if value is not None and not (isinstance(value, Scalar) and value.value is None):
                    return value
        return None

    def text(self, name: str) -> str:
        return text_of(self.get(name))

    def mapping(self, name: str) -> Mapping | None:
        return mapping_of(self.get(name))

    def scalars(self, *names: str) -> list[Scalar]:
        return scalars_of(self.get(*names))

    def span_of(self, name: str) -> Span:
        """Returns the place of a field, or else of the agent."""
        value = self.get(name)
        return self.span if value is None else value.span

    def report(
        self, code: str, message: str, field: str = "", *, advice: str, label: str = ""
    ) -> None:
        """Reports a problem of a field, or of the agent."""
        self.context.report(code, message, self.span_of(field), label=label, help=advice)


def read_agent(context: FileContext, value: Value, around: dict[str, Agent]) -> Agent | None:
    """Reads one agent; reports problems of its name, type or fields."""
    if not isinstance(value, Mapping):
        context.report("W007", "an agent must be an object", value.span, help="write {id, type}")
        return None
    name, kind = value.get("id"), value.get("type")
    agent_id = text_of(name)
    if name is None or not agent_id:
        context.report("W006", "an agent has no 'id'", value.span, help="add id: NAME")
        return None
    if kind is None and agent_id in around:
        return around[agent_id]
    inner = (value.get(field) for field in ("params", "config"))
    holders = tuple(holder for holder in inner if isinstance(holder, Mapping))
    word = text_of(kind)
    agent = Agent(context, agent_id, _SPELLINGS.get(word, word), value, name.span, holders)
    context.agents.add(agent_id)
    owner, types = f"agent {agent.id[:60]!r}", f"types: {', '.join(sorted(FIELDS))}"
    if kind is None:
        context.report("W006", f"{owner} has no 'type'", agent.span, help=types)
    elif agent.type not in FIELDS:
        message = f"{owner} is of the type {agent.type[:60]!r}, which is not supported"
        advice = UNSUPPORTED.get(agent.type) or did_you_mean(agent.type, FIELDS) or types
        context.report("W009", message, kind.span, label="not supported", help=advice)
    else:
        # An unknown field of a loop is an error, of another agent a warning.
        names = FIELDS[agent.type].union(_IGNORED)
        is_loop = agent.type == "loop"
        named = f"loop {agent.id[:60]!r}" if is_loop else owner
        context.check_fields(agent.fields, names, named, warns=not is_loop)
        names |= {*_SEARCHING} if agent.type == "memory" else set()
        for holder in holders:
            context.check_fields(holder, names, owner, warns=True)
    if agent_id in RESERVED:
        message = f"no agent can be called {agent_id!r}: the name is reserved in templates"
        advice = f"choose another id, such as {agent_id + '_agent'!r}"
        context.report("W012", message, name.span, help=advice)
    return agent


def check_required(agent: Agent) -> None:
    """Reports missing fields of an agent that runs; other agents may lack any."""
    for name, (kind, example) in _REQUIRED.get(agent.type, {}).items():
        value = agent.get(name)
        if not isinstance(value, kind) or not (isinstance(value, Scalar) or value):
            message = f"{agent.type} {agent.id[:60]!r} has no {name!r}"
            agent.report("W006", message, name, advice=f"add {name}: {example}")


def called_by(agent: Agent) -> list[str]:
    return forked_by(agent) or [target.text for target in targets_of(agent)]


def forked_by(agent: Agent) -> list[str]:
    """Returns the agents in the branches of a fork; a branch is one agent or a list of them."""
    branches = items_of(agent.get("targets")) if agent.type == "fork" else ()
    return [name for branch in branches for name in texts_of(branch)]


def targets_of(agent: Agent) -> list[Scalar]:
    """Returns the targets of a router's routes, each once, in an order that suits all routes."""
    entries = agent.mapping("routing_map") if agent.type == "router" else None
    routes = [scalars_of(entry.value) for entry in entries or ()]
    targets: dict[str, Scalar] = {}
    for scalar in chain.from_iterable(routes):
        targets.setdefault(scalar.text, scalar)
    before: dict[str, set[str]] = {name: set() for name in targets}
    for scalar, following in chain.from_iterable(map(pairwise, routes)):
        before[following.text].add(scalar.text)
    # If routes disagree, the order of the file decides.
    ordered = dict.fromkeys((*sort_behind(list(targets), before), *targets))
    return [targets[name] for name in ordered]


def sort_behind(names: list[str], before: dict[str, set[str]]) -> list[str]:
    """Returns the names, each after its predecessors; names that wait for a circle are left out."""
    places = {name: place for place, name in enumerate(names)}
    sorter = TopologicalSorter({name: before[name] & places.keys() for name in names})
    with suppress(CycleError):
        sorter.prepare()
    ready = [places[name] for name in sorter.get_ready()]
    heapify(ready)
    placed: list[str] = []
    while ready:
        placed.append(names[heappop(ready)])
        sorter.done(placed[-1])
        for name in sorter.get_ready():
            heappush(ready, places[name])
    return placed


def items_of(value: Value | None) -> list[Value]:
    return list(value) if isinstance(value, Sequence) else []


def scalars_of(value: Value | None) -> list[Scalar]:
    """Returns the single values of a field that holds one or a list of them."""
    values = value if isinstance(value, Sequence) else (value,)
    return [scalar for item in values if (scalar := scalar_of(item)) is not None]


def mapping_of(value: Value | None) -> Mapping | None:
    return value if isinstance(value, Mapping) else None


# Sections: an orchestrator with its agents, their order, and the names that they may read.

# The fields of a file, of the inside of a loop and of an orchestrator.
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
    names that templates may read, `criteria` those by which the loop around it scores.
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
        """Returns whether the name of an agent is valid, and reports an invalid one."""
        is_agent = scalar.text in self.visible
        # Looking for the nearest name costs time.
        if not is_agent and not self.context.is_full:
            names = [*self.agents, *self.around]
            message = f"there is no agent {scalar.text[:60]!r}"
            advice = did_you_mean(scalar.text, names)
            advice = advice or f"agents: {', '.join(names[:20]) or 'none'}"
            self.context.report("W005", message, scalar.span, label="unknown agent", help=advice)
        return is_agent

    def check_named(self, agent: Agent, field: str, name: str) -> bool:
        """Returns whether the agent that a field names is one that runs."""
        names = self.flow["agents"]
        if name not in names:
            message = f"{field!r} names {name[:60]!r}, but there is no such agent"
            advice = did_you_mean(name, names) or f"write {field}: AGENT"
            agent.report("W005", message, field, advice=advice, label="unknown agent")
        return name in names

    def named_in(self, value: Value) -> list[str]:
        """Returns the agents that a value names; reports anything else in the value."""
        for item in items_of(value) or [value]:
            if not isinstance(item, Scalar | Sequence):
                message = "the name of an agent is needed here"
                advice = "write its id here, and the agent itself under 'agents'"
                self.context.report("W007", message, item.span, help=advice)
        return self.named(scalars_of(value))

    def named(self, scalars: list[Scalar]) -> list[str]:
        """Returns the agents that texts name; reports unknown names."""
        return [scalar.text for scalar in scalars if self.check_name(scalar)]

    def names(self) -> list[str]:
        """Returns all agents that the section can run, each after the one that calls it."""
        names: dict[str, None] = {}
        waiting = list(reversed(self.order))
        while waiting:
            name = waiting.pop()
            agent = self.visible.get(name)
            if agent is None or name in names:
                continue
            names[name] = None
            # An agent that a router may choose and that is in the order has its own place there.
            apart = self.order if agent.type == "router" else ()
            waiting.extend(name for name in reversed(called_by(agent)) if name not in apart)
        return list(names)

    def enter(self, outer: dict[str, list[str]]) -> None:
        """Computes the flow: the agents in the order in which they run, after those around."""
        names = self.names()
        around = [name for name in outer.get("agents", ()) if name not in names]
        row = [*outer.get("row", ()), *names]
        # The agents that scouts or paths may choose and that do not run otherwise.
        has_choice = any(self.is_of(name, CHOOSING) for name in names)
        able = (agent.id for agent in self.visible.values() if agent.type in RUNNABLE)
        chosen = [name for name in able if has_choice and name not in row]
        self.context.chosen.update(chosen)
        self.flow |= {"row": row, "chosen": chosen}
        self.flow["agents"] = [*dict.fromkeys((*around, *names, *chosen))]
        for key, kind in (("forks", "fork"), ("joins", "join"), ("loops", "loop")):
            own = (name for name in names if self.is_of(name, (kind,)))
            self.flow[key] = [*outer.get(key, ()), *own]
        self.flow["here"] = names

    def graph(self) -> dict[str, Json]:
        """Returns the agents and the edges between them."""
        names = (*self.flow["here"], *self.flow["chosen"])
        found = {name: self.visible[name] for name in names}
        forks = {name: forked_by(agent) for name, agent in found.items() if agent.type == "fork"}
        has_join = any(agent.type == "join" for agent in found.values())
        ways = [*pairwise(self.order)]
        ways += [(name, to) for name, agent in found.items() for to in called_by(agent)]
        outputs = {name: agent.mapping("structured_output") for name, agent in found.items()}
        schemas = {n: mapping_of(output.get("schema")) for n, output in outputs.items() if output}
        structured = {n: texts_of(s.get("required")) for n, s in schemas.items() if s is not None}
        return {
            "nodes": {name: {"type": agent.type} for name, agent in found.items()},
            "edges": [{"src": src, "dst": dst} for src, dst in dict.fromkeys(ways)],
            "forks": {n: {"branches": [*f], "has_join": has_join} for n, f in forks.items()},
            "routers": [name for name, agent in found.items() if agent.type == "router"],
            "structured": {name: [*fields] for name, fields in structured.items() if fields},
        }


def read_section(
    context: FileContext, root: Value, around: dict[str, Agent] | None = None
) -> Section | None:
    """Reads the agents and their order; None if there are no agents to run."""
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
    section = Section(context, {}, around or {}, around or {})
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
    """Reads an orchestrator; reports fields of the file that nearly have a known name."""
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
            names += section.named([item])
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


def texts_within(value: Value) -> Iterator[str]:
    for where, scalar in scalars(value):
        if isinstance(scalar.value, str) and not {"id", "depends_on"} & {*where}:
            yield scalar.value


def reads_of(agent: Agent) -> Callable[[str], bool]:
    """Returns a test: may the agent read a name, after `previous_outputs.` or in quotes?"""
    text = "\n".join(texts_within(agent.fields))
    names = frozenset((*_MEMBER.findall(text), *re.split(r"['\"]", text)[1:-1]))
    reads_all = _ALL.search(text) is not None

    def reads(name: str) -> bool:
        return reads_all or name in names or (_PLAIN.fullmatch(name) is None and name in text)

    return reads
