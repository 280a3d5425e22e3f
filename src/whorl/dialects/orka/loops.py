"""Loops: repeat an inner workflow until its score is high enough, and learn from each iteration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.orka.agents import SILENT, mapping_of, read_section, scalars_of
from whorl.dialects.orka.outputs import FLOW, INSIGHTS, PREVIOUS, THRESHOLD
from whorl.dialects.orka.scoring import check_pattern, read_scoring
from whorl.dialects.orka.tasks import computed, literal, read_fields, read_timeout, template
from whorl.dialects.reading.scalars import is_true, number_of, whole_of
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.dialects.orka.agents import Agent, Section
    from whorl.dialects.orka.scoring import Scoring
    from whorl.dialects.orka.tasks import Shared
    from whorl.ir.nodes import Fact
    from whorl.language import Json
    from whorl.source import Value

USUAL_LOOPS = 5
USUAL_THRESHOLD = 0.8
USUAL_TIMEOUT_S = 300.0
USUAL_LENGTH = 300
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
    (PREVIOUS, "previous"),
)
_READS_PAST = re.compile(r"past_loop|get_past|get_my_past|get_debate_evolution|past_insights")
_SCORE = re.compile(r"\s*+\{\{-?\s*+score\s*+-?\}\}\s*+")
# What these give was said by others or in other runs: it is no source of scores and lessons.
_NO_SOURCES = SILENT | {"duckduckgo"}


def read_loop(agent: Agent, shared: Shared, section: Section) -> ir.Node:
    """Reads a loop with all that is inside of it."""
    context = agent.context
    inner = _read_inner(agent, section)
    names = [] if inner is None else inner.names()
    speaking = [name for name in names if inner and not inner.is_of(name, _NO_SOURCES)]
    scoring = read_scoring(agent, inner, speaking)
    threshold = _read_threshold(agent)
    loops = _read_loops(agent)
    if inner is None:
        return ir.Compute(value=ir.Constant(None), **shared)
    if not scoring.is_known:
        message = f"loop {agent.id!r} does not say where its score comes from"
        advice = r"""add score_extraction_pattern: "SCORE:\\s*([0-9.]+)", or a loop_validator"""
        context.report("W006", message, agent.span, label="no score", help=advice)
    inner.enter(section.flow)
    inner.path, inner.criteria, inner.is_loop = section.path_of(agent.id), scoring.context, True
    assert context.read_block is not None
    body = context.read_block(inner)
    if loops > 1:
        _warn_if_nothing_learns(agent, inner)
    settings = scoring.settings(speaking) | {"results": names}
    if scoring.target:
        settings["target"] = scoring.target
    return ir.Loop(
        body=body,
        until=_until(agent, scoring, speaking, threshold),
        limits=ir.LoopLimits(iterations=loops, time_s=read_timeout(agent) or USUAL_TIMEOUT_S),
        memory=_read_memory(agent, speaking, inner.path),
        words=_WORDS,
        facts=_FACTS,
        bind=((FLOW, flow_constant(inner)), (THRESHOLD, ir.Constant(threshold))),
        shape=computed("orka_loop", "it", "past", literal(settings)),
        # What agents left behind in an iteration in which one of them failed is no result.
        on_iteration_failure=ir.IterationFailure("continue"),
        **shared,
    )


def flow_constant(section: Section) -> ir.Constant:
    """What the functions of the library are told about the agents."""
    return ir.Constant({name: [*section.flow[name]] for name in section.flow})


def _read_inner(agent: Agent, section: Section) -> Section | None:
    written = agent.mapping("internal_workflow")
    if written is None:
        message = f"loop {agent.id!r} has no 'internal_workflow', so there is nothing to repeat"
        advice = "add internal_workflow: {orchestrator: {agents: [...]}, agents: [...]}"
        agent.context.report("W006", message, agent.span, help=advice)
        return None
    return read_section(agent.context, written, {**section.around, **section.agents})


def _read_loops(agent: Agent) -> int:
    value = agent.get("max_loops")
    if value is None:
        return int(_usual(agent, "max_loops", USUAL_LOOPS))
    number = whole_of(value)
    if number is None or not 1 <= number <= LOOPS_MAX:
        message = "'max_loops' must be a whole number of at least 1"
        advice = f"write max_loops: {USUAL_LOOPS}"
        agent.context.report("W015", message, value.span, help=advice)
        return USUAL_LOOPS
    return number


def _read_threshold(agent: Agent) -> float:
    value = agent.get("score_threshold")
    if value is None:
        return _usual(agent, "score_threshold", USUAL_THRESHOLD)
    number = number_of(value)
    if number is None or not 0 <= number <= 1:
        message = "'score_threshold' must be a number from 0 to 1"
        advice = "write score_threshold: 0.85; a percentage is divided by 100"
        agent.context.report("W007", message, value.span, help=advice)
        return USUAL_THRESHOLD
    return float(number)


def _usual(agent: Agent, name: str, usual: float) -> float:
    """The value of a field that is missing."""
    message = f"loop {agent.id!r} has no {name!r}: it is {usual}"
    label, advice = f"{name!r} is missing", f"add {name}: {usual}"
    agent.context.warn("W006", message, agent.span, label=label, help=advice)
    return usual


def _until(agent: Agent, scoring: Scoring, speaking: list[str], threshold: float) -> ir.Condition:
    source = computed("orka_score", literal(scoring.settings(speaking)))
    score = ir.Score(source, at_least=threshold, low=0.0, high=1.0, described=scoring.described)
    span = agent.span_of("score_extraction_pattern")
    agent.context.places.remember_part(score, span)
    agent.context.places.remember_part(source, span)
    least = _read_least(agent)
    if least <= 1:
        return score
    return ir.AllOf((ir.When(ir.Expression("jinja", f"loop_number >= {least}")), score))


def _read_least(agent: Agent) -> int:
    """How many iterations are made at least: no more than there may be."""
    value = agent.get("min_loops")
    if value is None:
        return 1
    most = number_of(agent.get("max_loops"))
    number = whole_of(value)
    if number is None or not 1 <= number <= (USUAL_LOOPS if most is None else most):
        message = "'min_loops' must be a whole number from 1 to 'max_loops'"
        advice = "write min_loops: 1, or take it out"
        agent.context.report("W007", message, value.span, help=advice)
        return 1
    return number


def _warn_if_nothing_learns(agent: Agent, inner: Section) -> None:
    """The seed's own advice: without it, no iteration knows what the ones before it found."""
    texts = (text for part in inner.agents.values() for text in texts_within(part.fields))
    if not any(_READS_PAST.search(text) for text in texts):
        message = f"no prompt of loop {agent.id!r} reads the past loops, so no iteration learns "
        message += "from another"
        advice = "use has_past_loops() and get_past_loops() in a prompt"
        agent.context.warn("W023", message, agent.span, label="does not learn", help=advice)


def texts_within(value: Value) -> Iterator[str]:
    """All texts in a part of a file."""
    match value:
        case Scalar():
            if isinstance(value.value, str):
                yield value.value
        case Sequence():
            for item in value:
                yield from texts_within(item)
        case Mapping():
            for entry in value:
                if entry.name not in ("id", "depends_on"):
                    yield from texts_within(entry.value)


def _read_memory(agent: Agent, speaking: list[str], path: str) -> ir.Memory:
    """Reads what is recorded after each iteration, and whether later runs see it."""
    patterns = _read_patterns(agent)
    across_runs = is_true(agent.get("persist_across_runs"))
    return ir.Memory(
        record=_record(agent, is_learning=patterns is not None),
        keep=RECORDS_MAX,
        across_runs=across_runs,
        key=f"{agent.context.name}/{path}" if across_runs else "",
        bind=_bindings(agent, speaking, patterns or {}),
    )


def _record(agent: Agent, *, is_learning: bool) -> ir.Fields:
    """The author's fields; number, score and time are added where they are absent."""
    written = agent.mapping("past_loops_metadata")
    fields = read_fields(agent.context, written).entries
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
    agent: Agent, speaking: list[str], patterns: dict[str, list[str]]
) -> tuple[tuple[str, ir.Value], ...]:
    """The names that the templates of a record may use, beside those of the iteration."""
    config = agent.mapping("cognitive_extraction")
    length = number_of(config.get("max_length_per_category")) if config is not None else None
    length_max = int(length) if length is not None and length > 0 else USUAL_LENGTH
    lessons: list[tuple[str, ir.Value]] = []
    for category in CATEGORIES:
        sources = patterns.get(category)
        settings = {"agents": speaking, "patterns": sources, "length_max": length_max}
        value = computed("orka_lessons", literal(settings)) if sources else ir.Constant("")
        lessons.append((category, value))
    fallback = number_of(agent.get("fallback_score"))
    source = f"score if score is not none else {literal(fallback or 0.0)}"
    return (
        *lessons,
        (MEASURED, ir.Expression("jinja", "score")),
        ("score", ir.Expression("jinja", source)),
        ("timestamp", computed("orka_timestamp", "at")),
        ("result", computed("orka_results", literal(speaking))),
        ("reasoning_quality", ir.Constant("")),
        ("convergence_trend", ir.Constant("STABLE")),
    )


def _read_patterns(agent: Agent) -> dict[str, list[str]] | None:
    """The patterns by category; None where nothing is extracted."""
    context, config = agent.context, agent.mapping("cognitive_extraction")
    if config is not None:
        context.check_fields(config, _EXTRACTION_FIELDS, "'cognitive_extraction'")
    if config is None or not is_true(config.get("enabled")):
        return None
    patterns: dict[str, list[str]] = {}
    for entry in mapping_of(config.get("extract_patterns")) or ():
        if entry.name not in CATEGORIES:
            message = f"nothing is extracted for {entry.name[:60]!r}"
            label, advice = "unknown category", f"categories: {', '.join(CATEGORIES)}"
            context.warn("W004", message, entry.key.span, label=label, help=advice)
            continue
        scalars = scalars_of(entry.value)
        for scalar in scalars:
            check_pattern(context, scalar, is_score=False)
        patterns[entry.name] = [scalar.text for scalar in scalars]
    return patterns
