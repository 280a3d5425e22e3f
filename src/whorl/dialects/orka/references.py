"""What templates read: agents that are none or have not run yet, members that no result has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.dialects.orka.functions.outputs import OUTPUTS, PAST, WORDS
from whorl.dialects.orka.known import ELSEWHERE
from whorl.dialects.orka.results import records_of, shape_of
from whorl.errors import did_you_mean
from whorl.ir import Loop
from whorl.ir.checks.names import joined_path, member_advice
from whorl.ir.checks.scopes import uses_in
from whorl.ir.checks.shapes import lacks, part_of
from whorl.ir.walk import walk
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl import ir
    from whorl.dialects.orka.draft import Draft
    from whorl.errors import Span
    from whorl.ir.checks.scopes import Use
    from whorl.ir.checks.shapes import Shape
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
            else:
                _check_members(draft, use, name, asked)


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
    # The functions take 'agent.member', too.
    return asked.partition(".")[0] if _is_function(use, name) and asked not in run else asked


def _is_function(use: Use, name: NameUse) -> bool:
    """Whether a result is read by a function that is given the agent's name."""
    return name.name == OUTPUTS and not use.expression.source.startswith(OUTPUTS, name.offset)


def _check_members(draft: Draft, use: Use, name: NameUse, asked: str) -> None:
    """Follows a path into a result as far as its members are known."""
    keys = list(name.path[1:] if name.name == OUTPUTS else name.path)
    holder = asked or (PAST if name.path[:1] == (PAST,) else name.name)
    is_function = _is_function(use, name)
    if is_function:
        keys = [*str(name.path[0]).split(".")[1:]] if asked else []
    node = use.view.origin(holder)
    shape = records_of(node) if holder == PAST else shape_of(node)
    offset = use.expression.source.find(holder, name.offset) + len(holder)
    for key in keys:
        if shape is None or key in _METHODS:
            return
        shape = _flat(shape) if is_function else shape
        offset = max(use.expression.source.find(str(key), offset), name.offset)
        if lacks(shape, key):
            if key in WORDS:
                # What has no such member stands for itself.
                continue
            _tell_of_member(draft, (use, name, offset), (shape, holder, str(key)))
            return
        shape, holder = part_of(shape, key), joined_path(holder, key)


def _flat(shape: Shape) -> Shape:
    """A loop as functions read 'loop.agent': its agents stand beside its other members."""
    inner = part_of(shape, "result")
    return shape if inner is None else replace(shape, fields={**shape.fields, **inner.fields})


def _tell_of_member(
    draft: Draft, where: tuple[Use, NameUse, int], what: tuple[Shape, str, str]
) -> None:
    use, name, offset = where
    shape, holder, key = what
    provided = key in ELSEWHERE or _is_provided(use, name)
    draft.report(
        "W005",
        f"{holder[:60]!r} has no {key[:60]!r}, so this is empty",
        draft.places.span(use.expression, offset, len(key)) or draft.places.node(use.path),
        label="empty",
        help=member_advice(shape, holder, key),
        severity="warning" if provided else "error",
    )


def _is_provided(use: Use, name: NameUse) -> bool:
    """Whether a template has something for the case that there is no result."""
    return name.guarded or use.expression.source.startswith(_WITH_FALLBACK, name.offset)


def _tell(draft: Draft, use: Use, name: NameUse, asked_of: tuple[str, set[str]]) -> None:
    asked, run = asked_of
    shown = asked[:60]
    provided = _is_provided(use, name)
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
