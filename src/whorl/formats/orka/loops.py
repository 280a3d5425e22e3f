"""Loops: repeat an inner workflow until its score is high enough, and learn from each iteration.

The score comes from patterns, paths, or criteria that a validator checks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.reading.fields import is_true, number_of, whole_of
from whorl.formats.orka import outputs, tasks
from whorl.formats.orka.agents import SILENT, mapping_of, scalars_of
from whorl.formats.orka.scoring.strategies import (
    Scoring,
    read_document,
    read_patterns,
    read_scoring,
)
from whorl.formats.orka.sections import read_section, texts_within
from whorl.formats.orka.tasks import computed, literal, template
from whorl.source import Mapping

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.formats.orka.agents import Agent, FileContext
    from whorl.formats.orka.sections import Section
    from whorl.ir.loop_rules import Fact
    from whorl.language import Json


USUAL_LOOPS = 5
USUAL_THRESHOLD = 0.8
USUAL_TIMEOUT_S = 300.0
LOOPS_MAX = 1_000_000
RECORDS_MAX = 20
MEASURED = "measured_score"
CATEGORIES = ("insights", "improvements", "mistakes")
_EXTRACTION_FIELDS = ("enabled", "extract_patterns", "max_length_per_category", "agent_priorities")
_WORDS: Json = {
    "fields": {"max_iterations": "max_loops", "timeout": "timeout", "budget": "--budget"}
}
_FACTS: tuple[tuple[str, Fact], ...] = (
    ("loop_number", "number"),
    ("score", "score"),
    ("past_loops", "past"),
    (outputs.PREVIOUS, "previous"),
)
# What these fields must be, and what to write.
_NUMBERS = {
    "max_loops": ("a whole number of at least 1", f"write max_loops: {USUAL_LOOPS}"),
    "min_loops": ("a whole number from 1 to 'max_loops'", "write min_loops: 1, or remove it"),
    "score_threshold": (
        "a number from 0 to 1",
        "write score_threshold: 0.85; a percentage is divided by 100",
    ),
}
_READS_PAST = re.compile(r"past_loop|get_past|get_my_past|get_debate_evolution|past_insights")
_SCORE = re.compile(r"\s*+\{\{-?\s*+score\s*+-?\}\}\s*+")
# What these give was said by others or in other runs: it is no source of scores and lessons.
_NO_SOURCES = SILENT | {"duckduckgo"}


def read_loop(agent: Agent, section: Section, read_block: Callable[[Section], ir.Block]) -> ir.Node:
    """Reads a loop with all that is inside of it; `read_block` reads the agents of a section."""
    inner = _read_inner(agent, section)
    names = [] if inner is None else inner.names()
    speaking = [name for name in names if inner and not inner.is_of(name, _NO_SOURCES)]
    scoring = read_scoring(agent, inner, speaking)
    threshold = float(_read_number(agent, "score_threshold", USUAL_THRESHOLD, 1))
    loops = int(_read_number(agent, "max_loops", USUAL_LOOPS, LOOPS_MAX))
    if inner is None:
        return ir.Compute(name=agent.id, value=ir.Constant(None))
    if not (scoring.weights or scoring.strategies or scoring.agreement):
        message = f"loop {agent.id!r} does not say where its score comes from"
        advice = r"""add score_extraction_pattern: "SCORE:\\s*([0-9.]+)", or a loop_validator"""
        agent.context.report("W006", message, agent.span, label="no score", help=advice)
    inner.enter(section.flow)
    inner.path = f"{section.path}/{agent.id}" if section.path else agent.id
    inner.criteria, inner.is_loop = scoring.context, True
    body = read_block(inner)
    if loops > 1:
        _warn_if_nothing_learns(agent, inner)
    document = read_document(agent, inner, scoring)
    settings = scoring.settings | {"results": names, "target": document}
    return ir.Loop(
        name=agent.id,
        body=body,
        until=_until(agent, scoring, threshold),
        limits=ir.LoopLimits(iterations=loops, time_s=tasks.read_timeout(agent) or USUAL_TIMEOUT_S),
        memory=_read_memory(agent, speaking, inner.path),
        words=_WORDS,
        facts=_FACTS,
        bind=((outputs.FLOW, flow_constant(inner)), (outputs.THRESHOLD, ir.Constant(threshold))),
        shape=computed("orka_loop", "it", "past", literal(settings)),
        # What agents left behind in an iteration in which one of them failed is no result.
        on_iteration_failure=ir.IterationFailure("continue"),
    )


def flow_constant(section: Section) -> ir.Constant:
    """What the functions of the library are told about the agents."""
    listed = (name for name in section.flow if name not in ("row", "chosen"))
    flow: dict[str, Json] = {name: [*section.flow[name]] for name in listed}
    return ir.Constant({**flow, "graph": section.graph()} if section.context.recorded else flow)


def _read_inner(agent: Agent, section: Section) -> Section | None:
    written = agent.mapping("internal_workflow")
    if written is None:
        message = f"loop {agent.id!r} has no 'internal_workflow', so there is nothing to repeat"
        advice = "add internal_workflow: {orchestrator: {agents: [...]}, agents: [...]}"
        agent.context.report("W006", message, agent.span, help=advice)
        return None
    # A loop cannot be a step of itself.
    around = {name: other for name, other in section.visible.items() if name != agent.id}
    return read_section(agent.context, written, around)


def _read_number(agent: Agent, name: str, usual: float, high: float) -> float:
    value, is_score = agent.get(name), name == "score_threshold"
    number = number_of(value) if is_score else whole_of(value)
    if number is not None and (0 if is_score else 1) <= number <= high:
        return number
    if value is not None:
        wanted, advice = _NUMBERS[name]
        code = "W015" if name == "max_loops" else "W007"
        agent.context.report(code, f"{name!r} must be {wanted}", value.span, help=advice)
    elif name != "min_loops":
        message = f"loop {agent.id!r} has no {name!r}: it is {usual}"
        label, advice = f"{name!r} is missing", f"add {name}: {usual}"
        agent.context.warn("W006", message, agent.span, label=label, help=advice)
    return usual


def _until(agent: Agent, scoring: Scoring, threshold: float) -> ir.Condition:
    source = computed("orka_score", literal(scoring.settings))
    score = ir.Score(source, at_least=threshold, low=0.0, high=1.0, described=scoring.described)
    span = agent.span_of("score_extraction_pattern")
    agent.context.places.remember_part(score, span)
    agent.context.places.remember_part(source, span)
    most = number_of(agent.get("max_loops"))
    least = _read_number(agent, "min_loops", 1, USUAL_LOOPS if most is None else most)
    if least == 1:
        return score
    return ir.AllOf((ir.When(ir.Expression("jinja", f"loop_number >= {least}")), score))


def _warn_if_nothing_learns(agent: Agent, inner: Section) -> None:
    """The seed's own advice: without it, no iteration knows what the ones before it found."""
    texts = (text for part in inner.agents.values() for text in texts_within(part.fields))
    if not any(_READS_PAST.search(text) for text in texts):
        message = f"no prompt of loop {agent.id!r} reads the past loops, so no iteration learns "
        message += "from another"
        advice = "use has_past_loops() and get_past_loops() in a prompt"
        agent.context.warn("W023", message, agent.span, label="does not learn", help=advice)


def _read_memory(agent: Agent, speaking: list[str], path: str) -> ir.Memory:
    """Reads what is recorded after each iteration, and whether later runs see it."""
    config = agent.mapping("cognitive_extraction") or Mapping((), agent.span)
    agent.context.check_fields(config, _EXTRACTION_FIELDS, "'cognitive_extraction'")
    is_learning = is_true(config.get("enabled"))
    patterns = _read_lessons(agent.context, config) if is_learning else {}
    length = number_of(config.get("max_length_per_category"))
    length_max = int(length) if length is not None and length > 0 else 300
    # The names that the templates of a record may use, beside those of the iteration.
    bind: dict[str, ir.Value] = {}
    for category in CATEGORIES:
        sources = patterns.get(category)
        settings = {"agents": speaking, "patterns": sources, "length_max": length_max}
        bind[category] = computed("orka_lessons", literal(settings)) if sources else ir.Constant("")
    fallback = literal(number_of(agent.get("fallback_score")) or 0.0)
    bind[MEASURED] = ir.Expression("jinja", "score")
    bind["score"] = ir.Expression("jinja", f"score if score is not none else {fallback}")
    bind["timestamp"] = computed("orka_timestamp", "at")
    bind["result"] = computed("orka_results", literal(speaking))
    bind["reasoning_quality"] = ir.Constant("")
    bind["convergence_trend"] = ir.Constant("STABLE")
    across_runs = is_true(agent.get("persist_across_runs"))
    return ir.Memory(
        record=_record(agent, is_learning=is_learning),
        keep=RECORDS_MAX,
        across_runs=across_runs,
        key=f"{agent.context.name}/{path}" if across_runs else "",
        bind=tuple(bind.items()),
    )


def _record(agent: Agent, *, is_learning: bool) -> ir.Fields:
    """The author's fields; number, score and time are added where they are absent.

    A field that is the score alone is null where there is none; others compute with a 0.
    """
    written = agent.mapping("past_loops_metadata")
    fields = tasks.read_fields(agent.context, written)
    entries = {str(name): value for name, value in fields.entries}
    lessons = CATEGORIES if written is None and is_learning else ()
    for name in ("loop_number", "score", "timestamp", *lessons):
        entries.setdefault(name, template("{{ " + name + " }}"))
    for name, value in entries.items():
        if isinstance(value, ir.Expression) and _SCORE.fullmatch(value.source):
            entries[name] = ir.Expression("jinja", MEASURED)
    if is_learning:
        entries[outputs.INSIGHTS] = template("{{ insights }}")
    return ir.Fields(tuple(entries.items()))


def _read_lessons(context: FileContext, config: Mapping) -> dict[str, list[Json]]:
    patterns: dict[str, list[Json]] = {}
    for entry in mapping_of(config.get("extract_patterns")) or ():
        if entry.name not in CATEGORIES:
            message = f"nothing is extracted for {entry.name[:60]!r}"
            label, advice = "unknown category", f"categories: {', '.join(CATEGORIES)}"
            context.warn("W004", message, entry.key.span, label=label, help=advice)
            continue
        patterns[entry.name] = read_patterns(context, scalars_of(entry.value), is_score=False)
    return patterns
