"""Agents as they stand in a file: their types and fields, and which others they call."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from whorl.dialects.reading.context import ReadContext
from whorl.dialects.reading.fields import scalar_of, text_of, unknown_fields, words
from whorl.errors import Severity, Span, did_you_mean
from whorl.formats.orka import scouts
from whorl.ir.expressions import Names
from whorl.lazily import dataclass
from whorl.source import Entry, Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


# Names that templates use for something else.
RESERVED = words("input loop_number score past_loops previous_outputs it")

_EVERY = frozenset(words("id type prompt params config depends_on timeout"))
_ASKED = _EVERY.union(words("model provider model_url url temperature max_tokens system_prompt"))
_MODEL = _ASKED | {"structured_output"}
_CLASSIFIER = _MODEL | {"options", "categories"}
_VALIDATOR = _ASKED.union(
    words("llm_model mode custom_prompt custom_weights scoring_preset scoring_context"),
    words("evaluation_target"),
)
# The fields of agents, by their type.
FIELDS: dict[str, frozenset[str]] = {
    **dict.fromkeys(words("openai-answer openai-binary local_llm binary"), _MODEL),
    **dict.fromkeys(words("openai-classification classification"), _CLASSIFIER),
    "validate_and_structure": _MODEL | {"store_structure"},
    **dict.fromkeys(words("plan_validator loop_validator"), _VALIDATOR),
    "memory": _EVERY.union(
        words("operation namespace limit top_k metadata key_template memory_preset"),
        words("similarity_threshold decay vector"),
    ),
    "rag": _MODEL.union(words("namespace top_k limit score_threshold")),
    "brain": _EVERY | {"operation"},
    "graph-scout": _ASKED.union(
        scouts.USUAL,
        words("score_weights llm_evaluation_enabled brain_assisted max_preview_tokens"),
        words("evaluation_model_name validation_model_name evaluation_model validation_model"),
        words("require_terminal use_priors ttl_days tool_policy log_previews log_components"),
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
# What agents of a type must have: its kind, and what to write.
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
# What a scout chooses from by itself, and what an executor runs as well.
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
    where its templates ask what has happened in the run.
    """

    name: str = ""
    agents: set[str] = field(default_factory=set)
    chosen: set[str] = field(default_factory=set)
    recorded: bool = False
    names: Names = field(default_factory=Names)

    def check_fields(
        self, written: Iterable[Entry], names: Collection[str], owner: str, *, warns: bool = False
    ) -> None:
        """Reports unknown fields; where the public system takes any, it only `warns` of them."""
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
        """One of some words; the usual one where there is none, or another, which is reported."""
        word = text_of(value)
        if value is None or word in choices:
            return word or usual
        advice = did_you_mean(word, choices) or f"choices: {', '.join(choices)}"
        message = f"{problem} {word[:60]!r}"
        self.report("W007", message, value.span, label="not known", help=advice, severity=severity)
        return usual


@dataclass(frozen=True, slots=True, eq=False)
class Agent:
    """An agent: what the dialect calls every node."""

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
        """The value of the first of these fields that is there, in `params` and `config` too."""
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
        """Where a field stands, or else the agent."""
        value = self.get(name)
        return self.span if value is None else value.span

    def report(
        self, code: str, message: str, field: str = "", *, advice: str, label: str = ""
    ) -> None:
        """Reports what is wrong with a field, or with the agent."""
        self.context.report(code, message, self.span_of(field), label=label, help=advice)


def read_agent(context: FileContext, value: Value, around: dict[str, Agent]) -> Agent | None:
    """Reads one agent; what is wrong with its name, type or fields is reported here."""
    if not isinstance(value, Mapping):
        advice = "write {id, type, ...}"
        context.report("W007", "an agent must be an object", value.span, help=advice)
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
        _check_fields(agent, owner)
    if agent_id in RESERVED:
        message = f"no agent can be called {agent_id!r}: templates have another meaning for it"
        advice = f"choose another id, such as {agent_id + '_agent'!r}"
        context.report("W012", message, name.span, help=advice)
    return agent


def _check_fields(agent: Agent, owner: str) -> None:
    """A field that a loop does not have is an error; agents of other types are given any field."""
    for name, (kind, example) in _REQUIRED.get(agent.type, {}).items():
        value = agent.get(name)
        if not isinstance(value, kind) or not (isinstance(value, Scalar) or value):
            message = f"{agent.type} {agent.id[:60]!r} has no {name!r}"
            agent.report("W006", message, name, advice=f"add {name}: {example}")
    names = FIELDS[agent.type].union(_IGNORED)
    is_loop = agent.type == "loop"
    named = f"loop {agent.id[:60]!r}" if is_loop else owner
    agent.context.check_fields(agent.fields, names, named, warns=not is_loop)
    inner = names.union(_SEARCHING) if agent.type == "memory" else names
    for holder in agent.holders:
        agent.context.check_fields(holder, inner, owner, warns=True)


def required_by(agent: Agent) -> list[str]:
    """The fields that a structured answer of an agent must have."""
    output = agent.mapping("structured_output")
    schema = mapping_of(output.get("schema")) if output is not None else None
    return [scalar.text for scalar in scalars_of(schema.get("required"))] if schema else []


def called_by(agent: Agent) -> list[str]:
    return forked_by(agent) or [target.text for target in targets_of(agent)]


def forked_by(agent: Agent) -> list[str]:
    """The agents in the branches of a fork, each of which is one agent or a list of them."""
    branches = items_of(agent.get("targets")) if agent.type == "fork" else ()
    return [scalar.text for branch in branches for scalar in scalars_of(branch)]


def targets_of(agent: Agent) -> list[Scalar]:
    """The targets of all routes of a router, each once, in an order that holds on every route."""
    entries = agent.mapping("routing_map") if agent.type == "router" else None
    routes = [scalars_of(entry.value) for entry in entries or ()]
    targets: dict[str, Scalar] = {}
    for scalar in chain.from_iterable(routes):
        targets.setdefault(scalar.text, scalar)
    before: dict[str, set[str]] = {name: set() for name in targets}
    for scalar, following in chain.from_iterable(map(pairwise, routes)):
        before[following.text].add(scalar.text)
    # Where routes disagree, what is written first comes first.
    ordered = dict.fromkeys((*sort_behind(list(targets), before), *targets))
    return [targets[name] for name in ordered]


def sort_behind(names: list[str], before: dict[str, set[str]]) -> list[str]:
    """The names, each behind those before it; what waits for a circle is left out."""
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
    """The single values of a field that holds one or a list of them."""
    values = value if isinstance(value, Sequence) else (value,)
    return [scalar for item in values if (scalar := scalar_of(item)) is not None]


def mapping_of(value: Value | None) -> Mapping | None:
    return value if isinstance(value, Mapping) else None
