"""Patterns compile in RE2 and capture something (W014)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.expressions import conditions_in
from whorl.ir.values import Score
from whorl.language import LanguageError, pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject


def check_patterns(subject: Subject) -> Iterator[Diagnostic]:
    """Reports patterns that cannot be used."""
    for path, loop in subject.loops():
        for condition in conditions_in(loop.until):
            if isinstance(condition, Score) and condition.pattern is not None:
                yield from _check(subject, condition, condition.pattern, path)


def _check(subject: Subject, score: Score, source: str, path: str) -> Iterator[Diagnostic]:
    try:
        groups = pattern(source).groups
    except LanguageError as fault:
        span = subject.places.span(score, fault.offset) or subject.places.node(path)
        yield Diagnostic("W014", fault.message, span, "here", fault.help)
        return
    if groups == 0:
        span = subject.places.span(score) or subject.places.node(path)
        message = f"pattern {source[:60]!r} captures nothing"
        advice = "put the number into parentheses: 'SCORE: ([0-9.]+)'"
        yield Diagnostic("W014", message, span, "no group", advice)
