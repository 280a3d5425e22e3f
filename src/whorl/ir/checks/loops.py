"""What loops need: a score where one is asked for, patterns that work, limits that can be kept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic, Span
from whorl.ir.expressions import conditions_in
from whorl.ir.nodes import ITERATIONS_MAX, ForEach, LoopLimits, RunLimits, Task
from whorl.ir.values import Plateau, Score
from whorl.ir.worst_case import worst_case
from whorl.language import LanguageError, pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.scopes import Subject

TIME_MIN_S = 0.001
CALLS_MAX = 1_000
_ADD_A_SCORE = (
    'add a score to `until`: score: {from: "{{ review.score }}"}; without `at_least` it only '
    "measures"
)


def check_best(subject: Subject) -> Iterator[Diagnostic]:
    """Whatever asks for the best iteration has a score to tell it by (W013)."""
    for path, loop in subject.loops():
        conditions = list(conditions_in(loop.until))
        if any(isinstance(condition, Score) for condition in conditions):
            continue
        missing: list[tuple[Span | None, str, str]] = []
        if loop.returns == "best":
            words = f"loop {loop.name!r} returns the best iteration, but nothing in it has a score"
            missing.append((subject.places.field(path, "return"), words, "best by what?"))
        for name in [collect.name for collect in loop.collect if collect.take == "best"]:
            words = f"{name!r} collects the best iteration, but nothing has a score"
            missing.append((subject.places.field(path, "collect"), words, "best by what?"))
        for plateau in [condition for condition in conditions if isinstance(condition, Plateau)]:
            words = f"'plateau' of loop {loop.name!r} watches the score, but there is none"
            span = subject.places.part(plateau) or subject.places.node(path)
            missing.append((span, words, "of which score?"))
        for span, words, label in missing:
            yield Diagnostic("W013", words, span, label, _ADD_A_SCORE)


def check_patterns(subject: Subject) -> Iterator[Diagnostic]:
    """Patterns compile in RE2 and capture something (W014)."""
    for path, _, score, _ in subject.conditions():
        if not isinstance(score, Score) or score.pattern is None:
            continue
        node = subject.places.node(path)
        try:
            groups = pattern(score.pattern).groups
        except LanguageError as fault:
            span = subject.places.span(score, fault.offset) or node
            yield Diagnostic("W014", fault.message, span, "here", fault.help)
            continue
        if groups == 0:
            message = f"pattern {score.pattern[:60]!r} captures nothing"
            advice = "put the number into parentheses: 'SCORE: ([0-9.]+)'"
            span = subject.places.span(score) or node
            yield Diagnostic("W014", message, span, "no group", advice)


def check_limits(subject: Subject) -> Iterator[Diagnostic]:
    """Limits are positive and bounded: of the run, of its loops and of its other nodes (W015)."""
    for message in _wrong(subject.workflow.limits):
        yield Diagnostic("W015", f"the run's {message}", None, "", "raise it or leave it out")
    for path, loop in subject.loops():
        span = subject.places.field(path, "at_most")
        iterations = loop.limits.iterations
        if isinstance(iterations, int) and not 1 <= iterations <= ITERATIONS_MAX:
            message = f"loop {loop.name!r} may take from 1 to {ITERATIONS_MAX:,} iterations"
            advice = f"it says {iterations:,}; nest loops if more are needed"
            yield Diagnostic("W015", message, span, "out of range", advice)
        each = ("iteration time limit", TIME_MIN_S, loop.limits.iteration_time_s)
        for message in (*_wrong(loop.limits), *_out_of_range(each)):
            text = f"loop {loop.name!r}: {message}"
            yield Diagnostic("W015", text, span, "out of range", "raise it or leave it out")
    for path, node in subject.nodes():
        total_s = node.total_timeout_s if isinstance(node, Task) else None
        item_s = node.item_timeout_s if isinstance(node, ForEach) else None
        times = [("timeout", TIME_MIN_S, time_s) for time_s in (node.timeout_s, total_s)]
        for message in _out_of_range(*times, ("item timeout", TIME_MIN_S, item_s)):
            span = subject.places.field(path, "timeout")
            text = f"{node.name!r}: {message}"
            yield Diagnostic("W015", text, span, "out of range", "raise it or leave it out")


def _wrong(limits: LoopLimits | RunLimits) -> Iterator[str]:
    return _out_of_range(
        ("time limit", TIME_MIN_S, limits.time_s),
        ("cost limit", 0.0, limits.cost_usd),
        ("token limit", 1, limits.tokens),
        ("call limit", 1, limits.calls),
    )


def _out_of_range(*limits: tuple[str, float, object]) -> Iterator[str]:
    for name, least, limit in limits:
        if isinstance(limit, int | float) and not (least <= limit and math.isfinite(limit)):
            yield f"{name} of {limit:g} can never be kept"


def check_worst_case(subject: Subject) -> Iterator[Diagnostic]:
    """A workflow that could make very many priced calls has a budget (W019).

    That it has none is an error where the format needs one.
    """
    worst, limits = worst_case(subject.workflow), subject.workflow.limits
    has_budget = (limits.cost_usd, limits.tokens, limits.calls) != (None, None, None)
    if has_budget or worst.unbudgeted is None or worst.unbudgeted <= CALLS_MAX:
        return
    heaviest = max(worst.loops, key=lambda loop: loop.paid or 0, default=None)
    path = heaviest.path if heaviest else ""
    yield Diagnostic(
        "W019",
        f"this workflow could make {worst.unbudgeted:,} priced calls, and no budget holds them",
        subject.places.field(path, "at_most") if path else None,
        "most of them here" if path else "",
        "add `budget: 5.00` (dollars) at the top, `cost` to `at_most`, or lower the limits",
        severity="error" if subject.is_budget_needed else "warning",
    )
