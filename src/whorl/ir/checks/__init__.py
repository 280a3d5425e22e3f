"""Rules that every workflow keeps, whichever dialect it was written in: one rule per file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.ir.checks.best import check_best
from whorl.ir.checks.branches import check_branches
from whorl.ir.checks.calls import check_calls
from whorl.ir.checks.commands import check_commands
from whorl.ir.checks.cycles import check_cycles
from whorl.ir.checks.jumps import check_jumps
from whorl.ir.checks.limits import check_limits
from whorl.ir.checks.names import check_names
from whorl.ir.checks.order import check_order
from whorl.ir.checks.patterns import check_patterns
from whorl.ir.checks.subject import Subject
from whorl.ir.checks.syntax import check_syntax
from whorl.ir.checks.truths import check_truths
from whorl.ir.checks.unique import check_unique
from whorl.ir.checks.worst import check_worst_case
from whorl.ir.expressions import Names

if TYPE_CHECKING:
    from whorl.errors import Diagnostic
    from whorl.ir.nodes import Workflow
    from whorl.ir.places import Places

_RULES = (
    check_unique,
    check_order,
    check_cycles,
    check_jumps,
    check_branches,
    check_calls,
    check_syntax,
    check_names,
    check_truths,
    check_patterns,
    check_commands,
    check_best,
    check_limits,
    check_worst_case,
)


REPORTED_MAX = 100


def check(
    workflow: Workflow,
    places: Places,
    names: Names | None = None,
    *,
    is_budget_needed: bool = False,
    facts: tuple[str, ...] = (),
    is_text_suspicious: bool = False,
) -> list[Diagnostic]:
    """What breaks a rule in a workflow, once each, up to a number that a person would read.

    A reader that has looked at the names of expressions already hands in what it knows. It also
    says whether its format needs a budget where very many calls are possible, or only advises it,
    which names for `facts` each of its loops has where they are used, and whether a model's text as
    a condition is suspicious in it.
    """
    subject = Subject(
        workflow, places, names or Names(), is_budget_needed, facts, is_text_suspicious
    )
    diagnostics: dict[Diagnostic, None] = {}
    for rule in _RULES:
        for diagnostic in rule(subject):
            diagnostics[diagnostic] = None
            if len(diagnostics) >= REPORTED_MAX:
                return list(diagnostics)
    return list(diagnostics)
