"""The criteria of validators: which there are, how they weigh, and which an answer meets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeGuard

from whorl.formats.orka import outputs
from whorl.language.calls import WHOLE

if TYPE_CHECKING:
    from whorl.language.calls import Run
    from whorl.language.values import Value


PRESETS = ("strict", "moderate", "lenient")
APPROVED_FROM = 0.7
# The criteria of each context, by dimension.
CONTEXTS: dict[str, dict[str, tuple[str, ...]]] = {
    "loop_convergence": {
        "improvement": ("better_than_previous", "significant_delta", "approaching_target"),
        "stability": ("not_degrading", "consistent_direction"),
        "convergence": ("delta_decreasing", "within_tolerance"),
    },
    "quality": {
        "accuracy": ("factually_correct", "addresses_question", "no_hallucinations"),
        "completeness": ("comprehensive_answer", "includes_examples"),
        "clarity": ("well_structured", "easy_to_understand"),
        "relevance": ("stays_on_topic",),
    },
    "graphscout": {
        "completeness": (
            *("has_all_required_steps", "addresses_all_query_aspects", "handles_edge_cases"),
            "includes_fallback_path",
        ),
        "efficiency": (
            *("minimizes_redundant_calls", "uses_appropriate_agents", "optimizes_cost"),
            "optimizes_latency",
        ),
        "safety": (
            *("validates_inputs", "handles_errors_gracefully", "has_timeout_protection"),
            "avoids_risky_combinations",
        ),
        "coherence": ("logical_agent_sequence", "proper_data_flow", "no_conflicting_actions"),
    },
    "validation": {
        "completeness": ("matches_schema", "all_required_fields", "correct_types"),
        "accuracy": ("within_bounds", "valid_relationships"),
        "format": ("well_formed",),
    },
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
_TRUE = ("true", "yes", "pass", "passed", "met", "1")
_FALSE = ("false", "no", "fail", "failed", "unmet", "0")
_WORD = re.compile(r"\b(true|yes|pass|passed|met|false|no|fail|failed|unmet)\b")
_NEAR_CHARACTERS = 100
# How much of an answer runs of earlier versions read.
_SEARCHED_MAX = 100_000


def paths_of(context: str) -> list[str]:
    """The criteria of a context as `dimension.criterion`, in their order."""
    return [f"{name}.{part}" for name, criteria in CONTEXTS[context].items() for part in criteria]


def weights_of(context: str, preset: str, changed: dict[str, float]) -> dict[str, float]:
    """The weight of each criterion; after a change all are scaled so that they sum to 1."""
    table = _WEIGHTS[context][PRESETS.index(preset)]
    weights = dict(zip(paths_of(context), table, strict=True)) | changed
    total = sum(weights.values())
    return {path: weight / total for path, weight in weights.items()} if total > 0 else weights


def answered(value: Value, paths: list[str]) -> dict[str, bool]:
    """The criteria that a result answers, by `dimension.criterion`."""
    if isinstance(value, dict):
        evaluations = value.get("boolean_evaluations")
        if isinstance(evaluations, dict):
            return _in_object(evaluations, paths)
        inner = value.get("response")
        return _in_object(value, paths) or (answered(inner, paths) if inner else {})
    if not isinstance(value, str):
        return {}
    # Else the JSON object between the first and the last brace.
    braced = value[value.find("{") : value.rfind("}") + 1]
    fields = outputs.object_in(value) or outputs.object_in(braced)
    return answered(fields, paths) if fields is not None else {}


def _in_object(fields: dict[str, Value], paths: list[str]) -> dict[str, bool]:
    """The criteria in an object: by dimension, or flat; case does not matter."""
    folded = {name.lower(): part for name, part in fields.items()}
    answers: dict[str, bool] = {}
    for path in paths:
        dimension, _, criterion = path.partition(".")
        group = folded.get(dimension)
        inner = {k.lower(): v for k, v in group.items()} if isinstance(group, dict) else folded
        answer = inner.get(criterion)
        word = answer.strip().strip("\"'").lower() if isinstance(answer, str) else answer
        if isinstance(word, bool) or word in _TRUE + _FALSE:
            answers[path] = word is True or word in _TRUE
    return answers


def _in_prose(text: str, paths: list[str]) -> dict[str, bool]:
    """The criteria in prose: `name: true`, or such a word soon after the name."""
    searched = text.lower()
    answers: dict[str, bool] = {}
    for path in paths:
        criterion = path.partition(".")[2]
        at = searched.find(criterion)
        if at < 0:
            at = searched.find(criterion.replace("_", " "))
        near = searched[at + len(criterion) :][:_NEAR_CHARACTERS] if at >= 0 else ""
        word = _WORD.search(near)
        if word is not None:
            answers[path] = word[1] in _TRUE
    return answers


def validation(run: Run, answer: Value, context: Value) -> dict[str, Value]:
    criteria, paths = CONTEXTS[run.text(context)], paths_of(run.text(context))
    text = answer if isinstance(answer, str) else ""
    run.spend_since(WHOLE, len(text) >> 6)
    searched = text if run.reads_whole else text[:_SEARCHED_MAX]
    answers = answered(answer, paths) or _in_prose(searched, paths)
    passed: list[Value] = [path for path in paths if answers.get(path)]
    score = round(len(passed) / len(paths), 4)
    verdict = "APPROVED" if score >= APPROVED_FROM else "REJECTED"
    result: dict[str, Value] = {
        "boolean_evaluations": {
            name: {part: answers.get(f"{name}.{part}", False) for part in parts}
            for name, parts in criteria.items()
        },
        "validation_score": score,
        "passed_criteria": passed,
        "failed_criteria": [path for path in paths if not answers.get(path)],
        "overall_assessment": verdict if answers else "ERROR",
        "response": text if text else verdict,
    }
    if not answers:
        result["error"] = "the answer names none of the criteria"
    return result


def is_validation(value: Value) -> TypeGuard[dict[str, Value]]:
    return isinstance(value, dict) and "boolean_evaluations" in value
