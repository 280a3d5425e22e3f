"""Agents as they stand in a file: their types and fields, and which others they call."""

from __future__ import annotations

from dataclasses import field
from heapq import heappop, heappush
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from whorl.dialects.reading.context import ReadContext
from whorl.dialects.reading.fields import scalar_of, text_of, unknown_fields, words
from whorl.errors import Severity, Span, did_you_mean
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
        words("k_beam max_depth commit_margin scoring_mode score_weights cost_budget_tokens"),
        words("latency_budget_ms safety_profile safety_threshold llm_evaluation_enabled"),
        words("evaluation_model_name validation_model_name evaluation_model validation_model"),
        words("max_preview_tokens fallback_to_heuristics strict_mode require_critical"),
        words("important_threshold include_nice_to_have min_success_rate min_domain_overlap"),
        words("max_acceptable_cost max_acceptable_latency brain_assisted brain_boost_weight"),
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
    # Where routes disagree, the one that is written first begins.
    return [targets[name] for name in sort_behind(list(targets), before, breaks_circles=True)]


def sort_behind(
    names: list[str], before: dict[str, set[str]], *, breaks_circles: bool = False
) -> list[str]:
    """The names, each behind those before it; a circle is left out, or begins with its first."""
    places = {name: place for place, name in enumerate(names)}
    waits = {name: before[name] & places.keys() for name in names}
    behind: dict[str, list[str]] = {name: [] for name in names}
    for name, others in waits.items():
        for other in others:
            behind[other].append(name)
    ready = [places[name] for name in names if not waits[name]]
    placed: dict[str, None] = {}
    rest = iter(names)
    while ready or breaks_circles:
        first = names[heappop(ready)] if ready else next((n for n in rest if n not in placed), None)
        if first is None:
            break
        placed[first] = None
        for other in behind[first]:
            waits[other].discard(first)
            if not waits[other] and other not in placed:
                heappush(ready, places[other])
    return list(placed)


def items_of(value: Value | None) -> list[Value]:
    return list(value) if isinstance(value, Sequence) else []


def scalars_of(value: Value | None) -> list[Scalar]:
    """The single values of a field that holds one or a list of them."""
    values = value if isinstance(value, Sequence) else (value,)
    return [scalar for item in values if (scalar := scalar_of(item)) is not None]


def mapping_of(value: Value | None) -> Mapping | None:
    return value if isinstance(value, Mapping) else None
