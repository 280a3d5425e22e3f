"""Scoring by criteria that hold or do not: the tables of weights, and reading a model's answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.orka.functions.outputs import object_in

if TYPE_CHECKING:
    from whorl.language.values import Value

Criteria = tuple[tuple[str, tuple[str, ...]], ...]

PRESETS = ("strict", "moderate", "lenient")
APPROVED_FROM = 0.7

CONTEXTS: dict[str, Criteria] = {
    "loop_convergence": (
        ("improvement", ("better_than_previous", "significant_delta", "approaching_target")),
        ("stability", ("not_degrading", "consistent_direction")),
        ("convergence", ("delta_decreasing", "within_tolerance")),
    ),
    "quality": (
        ("accuracy", ("factually_correct", "addresses_question", "no_hallucinations")),
        ("completeness", ("comprehensive_answer", "includes_examples")),
        ("clarity", ("well_structured", "easy_to_understand")),
        ("relevance", ("stays_on_topic",)),
    ),
    "graphscout": (
        (
            "completeness",
            (
                "has_all_required_steps",
                "addresses_all_query_aspects",
                "handles_edge_cases",
                "includes_fallback_path",
            ),
        ),
        (
            "efficiency",
            (
                "minimizes_redundant_calls",
                "uses_appropriate_agents",
                "optimizes_cost",
                "optimizes_latency",
            ),
        ),
        (
            "safety",
            (
                "validates_inputs",
                "handles_errors_gracefully",
                "has_timeout_protection",
                "avoids_risky_combinations",
            ),
        ),
        (
            "coherence",
            ("logical_agent_sequence", "proper_data_flow", "no_conflicting_actions"),
        ),
    ),
    "validation": (
        ("completeness", ("matches_schema", "all_required_fields", "correct_types")),
        ("accuracy", ("within_bounds", "valid_relationships")),
        ("format", ("well_formed",)),
    ),
}

# In the order of the criteria above: strict, moderate, lenient.
_WEIGHTS: dict[str, tuple[tuple[float, ...], ...]] = {
    "loop_convergence": (
        (0.30, 0.15, 0.10, 0.15, 0.10, 0.10, 0.10),
        (0.25, 0.15, 0.10, 0.18, 0.12, 0.12, 0.08),
        (0.25, 0.12, 0.08, 0.20, 0.15, 0.10, 0.10),
    ),
    "quality": (
        (0.25, 0.20, 0.15, 0.15, 0.05, 0.08, 0.07, 0.05),
        (0.22, 0.18, 0.12, 0.18, 0.08, 0.10, 0.07, 0.05),
        (0.20, 0.15, 0.10, 0.20, 0.10, 0.12, 0.08, 0.05),
    ),
    "graphscout": (
        (0.20, 0.15, 0.10, 0.10, 0.08, 0.08, 0.04, 0.04, 0.06, 0.05, 0.03, 0.02, 0.03, 0.01, 0.01),
        (0.18, 0.12, 0.08, 0.07, 0.10, 0.10, 0.05, 0.05, 0.08, 0.07, 0.03, 0.02, 0.03, 0.01, 0.01),
        (0.15, 0.10, 0.05, 0.05, 0.12, 0.12, 0.06, 0.06, 0.10, 0.08, 0.04, 0.02, 0.03, 0.01, 0.01),
    ),
    "validation": (
        (0.30, 0.20, 0.15, 0.15, 0.10, 0.10),
        (0.25, 0.20, 0.15, 0.18, 0.12, 0.10),
        (0.20, 0.18, 0.15, 0.20, 0.15, 0.12),
    ),
}
_TRUE = frozenset(("true", "yes", "pass", "passed", "met", "1"))
_FALSE = frozenset(("false", "no", "fail", "failed", "unmet", "0"))
_WORD = r"\b(true|yes|pass|passed|met|false|no|fail|failed|unmet)\b"
_NEAR_CHARACTERS = 100
_SEARCHED_MAX = 100_000


def paths_of(context: str) -> list[str]:
    """The criteria of a context as `dimension.criterion`, in their order."""
    return [f"{name}.{one}" for name, criteria in CONTEXTS[context] for one in criteria]


def weights_of(context: str, preset: str, changed: dict[str, float]) -> dict[str, float]:
    """The weight of each criterion; after a change all are scaled so that they sum to 1."""
    table = _WEIGHTS[context][PRESETS.index(preset)]
    weights = dict(zip(paths_of(context), table, strict=True)) | changed
    total = sum(weights.values())
    return {path: weight / total for path, weight in weights.items()} if total > 0 else weights


def weighted(evaluations: dict[str, bool], weights: dict[str, float]) -> float:
    """The score: what holds, by its weight; what was not answered does not hold."""
    return round(min(1.0, sum(w for path, w in weights.items() if evaluations.get(path))), 4)


def answered(value: Value, paths: list[str]) -> dict[str, bool]:
    """The criteria that a result answers, by `dimension.criterion`."""
    if isinstance(value, dict):
        given = value.get("boolean_evaluations")
        if isinstance(given, dict):
            return in_object(given, paths)
        inner = value.get("response")
        return in_object(value, paths) or (answered(inner, paths) if inner else {})
    if not isinstance(value, str):
        return {}
    held = object_in(value) or object_inside(value)
    return answered(held, paths) if held is not None else {}


def in_object(given: dict[str, Value], paths: list[str]) -> dict[str, bool]:
    """The criteria in an object: by dimension, or flat; case does not matter."""
    folded = {name.lower(): part for name, part in given.items()}
    found: dict[str, bool] = {}
    for path in paths:
        dimension, _, criterion = path.partition(".")
        group = folded.get(dimension)
        inner = {k.lower(): v for k, v in group.items()} if isinstance(group, dict) else folded
        told = truth_of(inner.get(criterion))
        if told is not None:
            found[path] = told
    return found


def in_text(text: str, paths: list[str]) -> dict[str, bool]:
    """The criteria in prose: `name: true`, or such a word soon after the name."""
    searched = text[:_SEARCHED_MAX].lower()
    found: dict[str, bool] = {}
    for path in paths:
        criterion = path.partition(".")[2]
        at = searched.find(criterion)
        if at < 0:
            at = searched.find(criterion.replace("_", " "))
        if at < 0:
            continue
        near = searched[at + len(criterion) :][:_NEAR_CHARACTERS]
        word = re.search(_WORD, near)
        if word is not None:
            found[path] = word[1] in _TRUE
    return found


def truth_of(value: Value) -> bool | None:
    """Whether an answer says yes or no."""
    if isinstance(value, bool):
        return value
    word = value.strip().strip("\"'").lower() if isinstance(value, str) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def object_inside(text: str) -> dict[str, Value] | None:
    """The JSON object between the first and the last brace of a text."""
    start, end = text.find("{"), text.rfind("}")
    return object_in(text[start : end + 1]) if 0 <= start < end else None


def validation(answer: Value, context: str) -> dict[str, Value]:
    """What a validator's model said, as the result of the validator."""
    paths = paths_of(context)
    text = answer if isinstance(answer, str) else ""
    found = answered(answer, paths) or in_text(text, paths)
    evaluations: dict[str, Value] = {
        name: {one: found.get(f"{name}.{one}", False) for one in criteria}
        for name, criteria in CONTEXTS[context]
    }
    passed: list[Value] = [path for path in paths if found.get(path)]
    failed: list[Value] = [path for path in paths if not found.get(path)]
    score = round(len(passed) / len(paths), 4)
    verdict = "APPROVED" if score >= APPROVED_FROM else "REJECTED"
    result: dict[str, Value] = {
        "boolean_evaluations": evaluations,
        "validation_score": score,
        "passed_criteria": passed,
        "failed_criteria": failed,
        "overall_assessment": verdict if found else "ERROR",
        "response": text if text else verdict,
    }
    if not found:
        result["error"] = "the answer names none of the criteria"
    return result


def is_failed_validation(value: Value) -> bool:
    """Whether a validator's model answered none of the criteria: its score means nothing."""
    return isinstance(value, dict) and "boolean_evaluations" in value and "error" in value
