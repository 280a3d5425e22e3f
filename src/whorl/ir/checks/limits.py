"""Limits are positive and bounded (W015)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.nodes import ITERATIONS_MAX, ForEach, Task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject
    from whorl.ir.nodes import LoopLimits, RunLimits

TIME_MIN_S = 0.001


def check_limits(subject: Subject) -> Iterator[Diagnostic]:
    """Reports limits out of range, of the run, of its loops and of its other nodes."""
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
    yield from _check_timeouts(subject)


def _check_timeouts(subject: Subject) -> Iterator[Diagnostic]:
    for path, node in subject.nodes():
        item_s = node.item_timeout_s if isinstance(node, ForEach) else None
        total_s = node.total_timeout_s if isinstance(node, Task) else None
        times = (
            ("timeout", TIME_MIN_S, node.timeout_s),
            ("timeout", TIME_MIN_S, total_s),
            ("item timeout", TIME_MIN_S, item_s),
        )
        for message in _out_of_range(*times):
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
