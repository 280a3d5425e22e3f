"""What templates read: an agent that is none, or has not run yet, gives nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.orka.functions.outputs import OUTPUTS, PAST
from whorl.errors import did_you_mean
from whorl.ir import Loop
from whorl.ir.checks.scopes import uses_in
from whorl.ir.walk import walk
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl import ir
    from whorl.dialects.orka.draft import Draft
    from whorl.errors import Span
    from whorl.ir.checks.scopes import Use
    from whorl.language import NameUse

_METHODS = frozenset({"get", "items", "keys", "values"})
_WITH_FALLBACK = "safe_get_response"


def check_references(draft: Draft, workflow: ir.Workflow) -> None:
    """Reports results that cannot be there; where a template provides for that, it warns."""
    run = {node.name for _, node in walk(workflow.body)}
    bound = _bound(workflow)
    for use in uses_in(workflow):
        try:
            found = draft.names.uses(use.expression)
        except LanguageError:
            continue
        for name in found:
            asked = _asked(use, name, run)
            if asked and not (asked in run and use.view.find(asked)[0]):
                _tell(draft, use, name, (asked, run))
            elif name.name not in bound and not use.view.find(name.name)[0]:
                _warn_of_name(draft, use, name, bound)


def _bound(workflow: ir.Workflow) -> set[str]:
    """The names that templates have besides agents and inputs, wherever they have them."""
    found = {OUTPUTS, "at"}
    for _, node in walk(workflow.body):
        if isinstance(node, Loop) and node.memory is not None:
            found.update(name for name, _ in (*node.memory.bind, *node.facts))
    return found


def _warn_of_name(draft: Draft, use: Use, name: NameUse, bound: set[str]) -> None:
    """Warns of a name that is almost a known one; others may be inputs that a run is given."""
    advice = did_you_mean(name.name, sorted({*bound, *use.view.names()}))
    if advice and not name.guarded and not name.name.startswith("$"):
        draft.warn(
            "W005",
            f"unknown name {name.name[:60]!r}: it is empty unless a run is given it as an input",
            draft.places.span(use.expression, name.offset, len(name.name))
            or draft.places.node(use.path),
            label="unknown name",
            help=advice,
        )


def _asked(use: Use, name: NameUse, run: set[str]) -> str:
    """The agent whose result is read; nothing where that is not known."""
    asked = name.path[0] if name.name == OUTPUTS and name.path else None
    if not isinstance(asked, str) or asked in _METHODS or asked == PAST:
        return ""
    is_function = not use.expression.source.startswith(OUTPUTS, name.offset)
    # The functions take 'agent.member', too.
    return asked.partition(".")[0] if is_function and asked not in run else asked


def _tell(draft: Draft, use: Use, name: NameUse, asked_of: tuple[str, set[str]]) -> None:
    asked, run = asked_of
    shown = asked[:60]
    provided = name.guarded or use.expression.source.startswith(_WITH_FALLBACK, name.offset)
    if asked in run:
        message = f"agent {shown!r} has not run before this, so its result is empty here"
        advice = f"let {shown!r} run first, or take it out of the template"
    elif asked in draft.agents:
        message = f"agent {shown!r} is never run, so its result is empty"
        advice = f"add {shown!r} to the agents of its orchestrator"
        provided = True
    else:
        message = f"there is no agent {shown!r}, so this is empty"
        seen = sorted(run.intersection(use.view.names()))
        advice = did_you_mean(asked, seen) or f"agents before: {', '.join(seen[:20]) or 'none'}"
    draft.report(
        "W005",
        message,
        _span(draft, use, name, asked),
        label="empty",
        help=advice,
        severity="warning" if provided else "error",
    )


def _span(draft: Draft, use: Use, name: NameUse, asked: str) -> Span | None:
    offset = use.expression.source.find(asked, name.offset)
    found = draft.places.span(use.expression, max(offset, name.offset), len(asked))
    return found or draft.places.node(use.path)
