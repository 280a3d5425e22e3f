"""A workflow that could make very many priced calls has a budget (W019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.worst_case import worst_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject

CALLS_MAX = 1_000


def check_worst_case(subject: Subject) -> Iterator[Diagnostic]:
    """Reports a worst case above the limit: an error where the format needs a budget."""
    workflow = subject.workflow
    worst = worst_case(workflow)
    limits = workflow.limits
    if (limits.cost_usd, limits.tokens, limits.calls) != (None, None, None):
        return
    if worst.unbudgeted is None or worst.unbudgeted <= CALLS_MAX:
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
