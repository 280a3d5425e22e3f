"""What a loop remembers of its iterations: `past_loops_metadata` and `cognitive_extraction`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.orka.fields import check_fields
from whorl.dialects.orka.functions.outputs import INSIGHTS
from whorl.dialects.orka.strategies import check_pattern
from whorl.dialects.orka.values import (
    computed,
    literal,
    mapping_of,
    number_of,
    read_fields,
    scalars_of,
    template,
    truth_of,
)

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Agent
    from whorl.dialects.orka.draft import Draft
    from whorl.language import Json

MEASURED = "measured_score"
CATEGORIES = ("insights", "improvements", "mistakes")
USUAL_LENGTH = 300
_EXTRACTION_FIELDS = (
    "enabled",
    "extract_patterns",
    "max_length_per_category",
    "agent_priorities",
)
KEPT = 20
_SCORE = re.compile(r"\s*+\{\{-?\s*+score\s*+-?\}\}\s*+")


def read_memory(draft: Draft, agent: Agent, names: list[str], path: str) -> ir.Memory:
    """Reads what is recorded after each iteration, and whether later runs see it."""
    patterns = _read_patterns(draft, agent)
    across_runs = truth_of(agent.get("persist_across_runs"))
    return ir.Memory(
        record=_record(draft, agent, is_learning=patterns is not None),
        keep=KEPT,
        across_runs=across_runs,
        key=f"{draft.name}/{path}" if across_runs else "",
        bind=_bindings(agent, names, patterns or {}),
    )


def _record(draft: Draft, agent: Agent, *, is_learning: bool) -> ir.Fields:
    """The author's fields; number, score and time are added where they are absent."""
    written = mapping_of(agent.get("past_loops_metadata"))
    entries: dict[str, ir.Value] = {}
    if written is not None:
        fields = read_fields(draft, written).entries
        entries = {str(name): _measured(value) for name, value in fields}
    usual = ["loop_number", "score", "timestamp"]
    if written is None and is_learning:
        usual.extend(CATEGORIES)
    for name in usual:
        entries.setdefault(name, _measured(template("{{ " + name + " }}")))
    if is_learning:
        entries[INSIGHTS] = template("{{ insights }}")
    return ir.Fields(tuple(entries.items()))


def _measured(value: ir.Value) -> ir.Value:
    """A field that is the score alone is null where there is none; others compute with a 0."""
    if isinstance(value, ir.Expression) and _SCORE.fullmatch(value.source):
        return ir.Expression("jinja", MEASURED)
    return value


def _bindings(
    agent: Agent, names: list[str], patterns: dict[str, list[str]]
) -> tuple[tuple[str, ir.Value], ...]:
    """The names that the templates of a record may use, beside those of the iteration."""
    config = mapping_of(agent.get("cognitive_extraction"))
    length = number_of(config.get("max_length_per_category")) if config is not None else None
    bound: list[tuple[str, ir.Value]] = []
    for category in CATEGORIES:
        settings: Json = {
            "agents": list(names),
            "patterns": list(patterns.get(category, ())),
            "length_max": int(length) if length is not None and length > 0 else USUAL_LENGTH,
        }
        found = bool(patterns.get(category))
        value = computed("orka_lessons", literal(settings)) if found else ir.Constant("")
        bound.append((category, value))
    listed: list[Json] = list(names)
    fallback = number_of(agent.get("fallback_score"))
    source = f"score if score is not none else {literal(fallback or 0.0)}"
    return (
        *bound,
        (MEASURED, ir.Expression("jinja", "score")),
        ("score", ir.Expression("jinja", source)),
        ("timestamp", computed("orka_timestamp", "at")),
        ("result", computed("orka_results", literal(listed))),
        ("reasoning_quality", ir.Constant("")),
        ("convergence_trend", ir.Constant("STABLE")),
    )


def _read_patterns(draft: Draft, agent: Agent) -> dict[str, list[str]] | None:
    """The patterns by category; None where nothing is extracted."""
    config = mapping_of(agent.get("cognitive_extraction"))
    if config is not None:
        check_fields(draft, config, _EXTRACTION_FIELDS, "'cognitive_extraction'")
    if config is None or not truth_of(config.get("enabled")):
        return None
    written = mapping_of(config.get("extract_patterns"))
    found: dict[str, list[str]] = {}
    for entry in written or ():
        if entry.name not in CATEGORIES:
            message = f"nothing is extracted for {entry.name[:60]!r}"
            advice = f"categories: {', '.join(CATEGORIES)}"
            draft.warn("W004", message, entry.key.span, label="unknown category", help=advice)
            continue
        scalars = scalars_of(entry.value)
        for scalar in scalars:
            check_pattern(draft, scalar, is_score=False)
        found[entry.name] = [scalar.text for scalar in scalars]
    return found
