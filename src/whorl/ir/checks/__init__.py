"""Rules that every workflow keeps, whichever dialect it was written in: a rule is a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.ir.checks import expressions, structure
from whorl.ir.checks.scopes import Subject
from whorl.ir.expressions import Names

if TYPE_CHECKING:
    from whorl.errors import Diagnostic
    from whorl.ir.nodes import Workflow
    from whorl.ir.walk import Places

_RULES = (
    structure.check_unique,
    structure.check_order,
    structure.check_cycles,
    structure.check_jumps,
    structure.check_branches,
    structure.check_calls,
    expressions.check_expressions,
    expressions.check_truths,
    structure.check_patterns,
    expressions.check_commands,
    structure.check_sessions,
    structure.check_best,
    structure.check_limits,
    structure.check_worst_case,
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
    """Returns the errors in a workflow, once each, up to a number that a person would read.

    A reader that has computed the names of expressions passes them in. It also says whether its
    format needs a budget for very many calls or only advises it. `facts` are the names of the facts
    that each of its loops has. The last flag says whether a model's text as a condition is
    suspicious in the format.
    """
    names = names or Names()
    subject = Subject(workflow, places, names, is_budget_needed, facts, is_text_suspicious)
    diagnostics: dict[Diagnostic, None] = {}
    for diagnostic in (diagnostic for rule in _RULES for diagnostic in rule(subject)):
        diagnostics[diagnostic] = None
        if len(diagnostics) >= REPORTED_MAX:
            break
    return list(diagnostics)
