"""Loops: repeat an inner workflow until its score is high enough, and learn from each iteration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.orka.agents import read_section
from whorl.dialects.orka.functions.outputs import FLOW, PREVIOUS, THRESHOLD
from whorl.dialects.orka.known import SILENT
from whorl.dialects.orka.lessons import read_memory
from whorl.dialects.orka.order import texts_in
from whorl.dialects.orka.scene import Scene, names_in
from whorl.dialects.orka.scoring import read_scoring
from whorl.dialects.orka.values import computed, literal, mapping_of, number_of, read_seconds

if TYPE_CHECKING:
    from whorl.dialects.orka.agents import Agent, Section
    from whorl.dialects.orka.draft import Draft
    from whorl.dialects.orka.scene import Common
    from whorl.dialects.orka.scoring import Scoring
    from whorl.ir.loop import Fact

USUAL_LOOPS = 5
USUAL_THRESHOLD = 0.8
USUAL_TIMEOUT_S = 300.0
LOOPS_MAX = 1_000_000
_LIMIT_FIELDS = (
    ("max_iterations", "max_loops"),
    ("timeout", "timeout"),
    ("budget", "--budget"),
)
_FACTS: tuple[tuple[str, Fact], ...] = (
    ("loop_number", "number"),
    ("score", "score"),
    ("past_loops", "past"),
    (PREVIOUS, "previous"),
)
_READS_PAST = re.compile(r"past_loop|get_past|get_my_past|get_debate_evolution|past_insights")
# What these give was said by others or in other runs: it is no source of scores and lessons.
_SILENT = SILENT | {"duckduckgo"}


def read_loop(draft: Draft, agent: Agent, common: Common, scene: Scene) -> ir.Node:
    """Reads a loop with all that is inside of it."""
    inner = _read_inner(draft, agent, scene)
    speaking = [] if inner is None else _speaking(inner)
    scoring = read_scoring(draft, agent, inner, speaking)
    threshold = _read_threshold(draft, agent)
    loops = _read_loops(draft, agent)
    if inner is None:
        return ir.Compute(value=ir.Constant(None), **common)
    if not scoring.is_known:
        _report_no_score(draft, agent)
    flow = scene.flow.inside(inner)
    path = scene.path_of(agent.id)
    body = scene.read_block(
        draft, Scene(inner, flow, scene.read_block, path, scoring.context, is_loop=True)
    )
    if loops > 1:
        _warn_if_nothing_learns(draft, agent, inner)
    return ir.Loop(
        body=body,
        until=_until(draft, agent, scoring, (speaking, threshold)),
        limits=ir.LoopLimits(
            iterations=loops, time_s=read_seconds(draft, agent.get("timeout")) or USUAL_TIMEOUT_S
        ),
        memory=read_memory(draft, agent, speaking, path),
        limit_fields=_LIMIT_FIELDS,
        facts=_FACTS,
        bind=((FLOW, ir.Constant(flow.told())), (THRESHOLD, ir.Constant(threshold))),
        shape=_shape(inner, speaking, scoring),
        # What agents left behind in an iteration in which one of them failed is no result.
        on_iteration_failure=ir.IterationFailure("continue"),
        **common,
    )


def _read_inner(draft: Draft, agent: Agent, scene: Scene) -> Section | None:
    written = mapping_of(agent.get("internal_workflow"))
    if written is None:
        message = f"loop {agent.id!r} has no 'internal_workflow', so there is nothing to repeat"
        advice = "add internal_workflow: {orchestrator: {agents: [...]}, agents: [...]}"
        draft.report("W006", message, agent.span, help=advice)
        return None
    return read_section(draft, written, {**scene.section.around, **scene.section.agents})


def _read_loops(draft: Draft, agent: Agent) -> int:
    value = agent.get("max_loops")
    if value is None:
        _warn_missing(draft, agent, "max_loops", USUAL_LOOPS)
        return USUAL_LOOPS
    number = number_of(value)
    if number is None or number != int(number) or not 1 <= number <= LOOPS_MAX:
        message = "'max_loops' must be a whole number of at least 1"
        draft.report("W015", message, value.span, help=f"write max_loops: {USUAL_LOOPS}")
        return USUAL_LOOPS
    return int(number)


def _read_threshold(draft: Draft, agent: Agent) -> float:
    value = agent.get("score_threshold")
    if value is None:
        _warn_missing(draft, agent, "score_threshold", USUAL_THRESHOLD)
        return USUAL_THRESHOLD
    number = number_of(value)
    if number is None or not 0 <= number <= 1:
        message = "'score_threshold' must be a number from 0 to 1"
        advice = "write score_threshold: 0.85; a percentage is divided by 100"
        draft.report("W007", message, value.span, help=advice)
        return USUAL_THRESHOLD
    return float(number)


def _warn_missing(draft: Draft, agent: Agent, name: str, usual: float) -> None:
    message = f"loop {agent.id!r} has no {name!r}: it is {usual}"
    advice = f"add {name}: {usual}"
    draft.warn("W006", message, agent.span, label=f"{name!r} is missing", help=advice)


def _report_no_score(draft: Draft, agent: Agent) -> None:
    message = f"loop {agent.id!r} does not say where its score comes from"
    advice = r"""add score_extraction_pattern: "SCORE:\\s*([0-9.]+)", or a loop_validator"""
    draft.report("W006", message, agent.span, label="no score", help=advice)


def _until(
    draft: Draft, agent: Agent, scoring: Scoring, measured: tuple[list[str], float]
) -> ir.Condition:
    names, threshold = measured
    source = computed("orka_score", literal(scoring.settings(names)))
    score = ir.Score(source, at_least=threshold, low=0.0, high=1.0, described=scoring.described)
    span = agent.span_of("score_extraction_pattern")
    draft.places.remember_part(score, span)
    draft.places.remember_part(source, span)
    least = _read_least(draft, agent)
    if least <= 1:
        return score
    return ir.AllOf((ir.When(ir.Expression("jinja", f"loop_number >= {least}")), score))


def _read_least(draft: Draft, agent: Agent) -> int:
    """How many iterations are made at least: no more than there may be."""
    value = agent.get("min_loops")
    most = number_of(agent.get("max_loops"))
    number = number_of(value)
    if value is None:
        return 1
    beyond = USUAL_LOOPS if most is None else most
    if number is None or number != int(number) or not 1 <= number <= beyond:
        message = "'min_loops' must be a whole number from 1 to 'max_loops'"
        draft.report("W007", message, value.span, help="write min_loops: 1, or take it out")
        return 1
    return int(number)


def _speaking(inner: Section) -> list[str]:
    """The agents whose own words make the score and the lessons."""
    found = ((name, inner.find(name)) for name in names_in(inner))
    return [name for name, agent in found if agent is not None and agent.type not in _SILENT]


def _shape(inner: Section, speaking: list[str], scoring: Scoring) -> ir.Expression:
    settings = scoring.settings(speaking) | {"results": list(names_in(inner))}
    if scoring.target:
        settings["target"] = scoring.target
    return computed("orka_loop", "it", "past", literal(settings))


def _warn_if_nothing_learns(draft: Draft, agent: Agent, inner: Section) -> None:
    """The seed's own advice: without it, no iteration knows what the ones before it found."""
    texts = (text for one in inner.agents.values() for text in texts_in(one.fields))
    if any(_READS_PAST.search(text) for text in texts):
        return
    draft.warn(
        "W023",
        f"no prompt of loop {agent.id!r} reads the past loops, so no iteration learns from another",
        agent.span,
        label="does not learn",
        help="use has_past_loops() and get_past_loops() in a prompt",
    )
