"""What the reader knows of agents: their types, their fields, the names that they cannot have."""

from __future__ import annotations

# Names that templates use for something else.
RESERVED = frozenset({"input", "loop_number", "score", "past_loops", "previous_outputs", "it"})

_EVERY = frozenset({"id", "type", "prompt", "params", "config", "depends_on", "timeout"})
_MODEL = _EVERY | {
    "model",
    "provider",
    "model_url",
    "url",
    "temperature",
    "max_tokens",
    "system_prompt",
    "structured_output",
}
_VALIDATOR = (_MODEL - {"structured_output"}) | {
    "llm_model",
    "scoring_preset",
    "scoring_context",
    "evaluation_target",
    "custom_prompt",
    "custom_weights",
    "mode",
}
_MEMORY = _EVERY | {
    "operation",
    "namespace",
    "limit",
    "top_k",
    "metadata",
    "key_template",
    "memory_preset",
    "similarity_threshold",
    "decay",
    "vector",
}
_LOOP = _EVERY | {
    "max_loops",
    "min_loops",
    "score_threshold",
    "score_extraction_pattern",
    "score_extraction_key",
    "score_extraction_config",
    "high_priority_agents",
    "scoring",
    "internal_workflow",
    "past_loops_metadata",
    "cognitive_extraction",
    "persist_across_runs",
    "fallback_score",
    "timeout_score",
}

FIELDS: dict[str, frozenset[str]] = {
    "openai-answer": _MODEL,
    "openai-binary": _MODEL,
    "openai-classification": _MODEL | {"options", "categories"},
    "local_llm": _MODEL,
    "binary": _MODEL,
    "classification": _MODEL | {"options", "categories"},
    "validate_and_structure": _MODEL | {"store_structure"},
    "plan_validator": _VALIDATOR,
    "loop_validator": _VALIDATOR,
    "memory": _MEMORY,
    "rag": _MODEL | {"namespace", "top_k", "limit", "score_threshold"},
    "duckduckgo": _EVERY | {"max_results"},
    "router": _EVERY | {"decision_key", "routing_map"},
    "failover": _EVERY | {"children", "input"},
    "fork": _EVERY | {"targets", "mode", "group"},
    "join": _EVERY | {"group", "max_retries"},
    "loop": _LOOP,
}
SUPPORTED = frozenset(FIELDS)

# What an orchestrator, the inside of a loop and `structured_output` can hold.
ORCHESTRATOR = frozenset(
    {
        "id",
        "strategy",
        "agents",
        "queue",
        "name",
        "description",
        "memory",
        "memory_preset",
        "memory_config",
        "structured_output_defaults",
        "debug",
        "mode",
        "executor",
        "satellites",
        "executor_invariants",
        "prompt_budgets",
        "refresh",
    }
)
INSIDE = frozenset({"orchestrator", "agents", "id", "name", "description"})
STRUCTURED = frozenset(
    {"enabled", "mode", "schema", "require_code_block", "coerce_types", "strict"}
)
SCHEMA = frozenset({"required", "optional", "types"})

# All but `parallel` run the agents one after the other.
STRATEGIES = ("sequential", "parallel", "decision-tree", "dynamic", "simple")

# Agents that say nothing of their own.
SILENT = frozenset({"fork", "join", "router", "memory"})

# Members that results have in the public system: here they are empty, but nobody misspelt them.
ELSEWHERE = frozenset(
    {
        "input",
        "status",
        "confidence",
        "internal_reasoning",
        "formatted_prompt",
        "_metrics",
        "insights",
        "improvements",
        "mistakes",
    }
)

# Fields that the public system takes anywhere and that change nothing in what a workflow does.
IGNORED = frozenset(
    {
        "queue",
        "capabilities",
        "is_terminal",
        "memory_preset",
        "memory_config",
        "metadata",
        "description",
        "parse_json",
        "cost_estimate",
        "tags",
    }
)

# How the public system searches its memory; ours finds texts by their words.
SEARCHING = frozenset(
    {
        "type",
        "category",
        "memory_type",
        "memory_category_filter",
        "memory_type_filter",
        "vector_field",
        "vector_field_name",
        "vector_params",
        "vector_weight",
        "text_weight",
        "temporal_weight",
        "query_key",
        "ef_runtime",
        "enable_context_search",
        "enable_hybrid_search",
        "enable_temporal_ranking",
        "enable_vector_search",
        "fallback_to_text",
        "force_recreate_index",
    }
)

# Types of the public system that are left out, and what to write instead.
UNSUPPORTED = {
    "anthropic": "did you mean 'openai-answer'? It asks any provider: model: anthropic/NAME",
    "openai-gpt-4": "did you mean 'openai-answer'? It takes model: gpt-4",
    "memory-writer": "did you mean 'memory'? It takes config: {operation: write}",
    "memory-reader": "did you mean 'memory'? It takes config: {operation: read}",
    "brain": "the nearest type is 'memory': it keeps texts by namespace and finds them again",
    "graph-scout": "the nearest type is 'router': it chooses among agents that you name",
    "path_executor": "the nearest type is 'router': it runs agents that you name",
    "invariant_validator": "the nearest type is 'plan_validator'",
    "kg-writer": "the nearest type is 'memory', with config: {operation: write}",
    "kg-reader": "the nearest type is 'memory', with config: {operation: read}",
    "failing": "the nearest type is 'failover'",
}
