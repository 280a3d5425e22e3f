"""Every name in an expression is known where it is used (W005)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.checks.scopes import uses_in
from whorl.ir.checks.suggest import suggest
from whorl.language import LanguageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Span
    from whorl.ir.checks.scopes import Use
    from whorl.ir.checks.subject import Subject
    from whorl.language import NameUse

# results['first-draft'] reads a node whose name no expression can spell.
RESULTS = "results"
_SHOWN_MAX = 60


def check_names(subject: Subject) -> Iterator[Diagnostic]:
    """Reports unknown names, and unknown members of results whose members are known."""
    if subject.workflow.open_inputs:
        return
    for use in uses_in(subject.workflow):
        try:
            names = subject.names.uses(use.expression)
        except LanguageError:
            continue
        for name in names:
            found = _check(subject, use, name)
            if found is not None:
                yield found


def _check(subject: Subject, use: Use, name: NameUse) -> Diagnostic | None:
    if name.name.startswith("$"):
        return None
    wanted, path = name.name, name.path
    if wanted == RESULTS and not use.view.find(RESULTS)[0]:
        if not path or not isinstance(path[0], str):
            return None
        wanted, path = path[0], path[1:]
    known, members = use.view.find(wanted)
    if not known:
        return _unknown(subject, use, name, wanted)
    member = path[0] if path else None
    if members is None or not isinstance(member, str) or member in members:
        return None
    offset = use.expression.source.find(member, name.offset + len(wanted))
    return Diagnostic(
        "W005",
        f"{wanted!r} has no {member[:_SHOWN_MAX]!r}",
        _span(subject, use, max(offset, name.offset), len(member)),
        "unknown name",
        suggest(member, sorted(members)),
    )


def _unknown(subject: Subject, use: Use, name: NameUse, wanted: str) -> Diagnostic:
    shown = wanted[:_SHOWN_MAX]
    if use.view.later(wanted):
        message = f"the result of {shown!r} is not known yet at this place"
        advice = f"put it behind {shown!r}, or add after: {shown}"
    else:
        message = f"unknown name {shown!r}"
        advice = _dashed(use, name) or suggest(wanted, use.view.names())
    offset = name.offset if wanted == name.name else use.expression.source.find(wanted, name.offset)
    span = _span(subject, use, max(offset, name.offset), len(wanted))
    return Diagnostic("W005", message, span, "unknown name", advice or _nothing_known(wanted))


def _nothing_known(wanted: str) -> str:
    return f"declare it: inputs: {{{wanted[:_SHOWN_MAX]}: string}}"


def _dashed(use: Use, name: NameUse) -> str:
    """A name with a dash looks like a subtraction to an expression."""
    found = re.compile(r"[\w-]+").match(use.expression.source, name.offset)
    if found is None or "-" not in found[0] or not use.view.find(found[0])[0]:
        return ""
    return f"write {RESULTS}[{found[0]!r}]: a '-' subtracts here"


def _span(subject: Subject, use: Use, offset: int, length: int) -> Span | None:
    found = subject.places.span(use.expression, offset, length)
    return found or subject.places.node(use.path)
