"""Whatever asks for the best iteration has a score to tell it by (W013)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.expressions import conditions_in
from whorl.ir.values import Plateau, Score

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject

_HELP = (
    'add a score to `until`: score: {from: "{{ review.score }}"}; without `at_least` it only '
    "measures"
)


def check_best(subject: Subject) -> Iterator[Diagnostic]:
    """Reports loops that need a score and have none."""
    for path, loop in subject.loops():
        conditions = list(conditions_in(loop.until))
        if any(isinstance(condition, Score) for condition in conditions):
            continue
        if loop.returns == "best":
            span = subject.places.field(path, "return")
            message = (
                f"loop {loop.name!r} returns the best iteration, but nothing in it has a score"
            )
            yield Diagnostic("W013", message, span, "best by what?", _HELP)
        for collect in loop.collect:
            if collect.take == "best":
                span = subject.places.field(path, "collect")
                message = f"{collect.name!r} collects the best iteration, but nothing has a score"
                yield Diagnostic("W013", message, span, "best by what?", _HELP)
        for condition in conditions:
            if isinstance(condition, Plateau):
                span = subject.places.part(condition) or subject.places.node(path)
                message = f"'plateau' of loop {loop.name!r} watches the score, but there is none"
                yield Diagnostic("W013", message, span, "of which score?", _HELP)
