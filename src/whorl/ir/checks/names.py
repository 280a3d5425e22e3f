"""Every name in an expression is known where it is used (W005)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic, did_you_mean
from whorl.ir.checks.scopes import uses_in
from whorl.ir.checks.shapes import lacks, part_of
from whorl.ir.checks.suggest import suggest
from whorl.language import LanguageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Span
    from whorl.ir.checks.scopes import Use
    from whorl.ir.checks.shapes import Shape
    from whorl.ir.checks.subject import Subject
    from whorl.language import NameUse

# results['first-draft'] reads a node whose name no expression can spell.
RESULTS = "results"
_LENGTHS = frozenset({"length", "size", "count"})
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
            diagnostic = _check(subject, use, name)
            if diagnostic is not None:
                yield diagnostic


def _check(subject: Subject, use: Use, name: NameUse) -> Diagnostic | None:
    if name.name.startswith("$"):
        return None
    if name.name == RESULTS and not use.view.find(RESULTS)[0]:
        if not name.path or not isinstance(name.path[0], str):
            return None
        offset = use.expression.source.find(name.path[0], name.offset)
        name = replace(name, name=name.path[0], path=name.path[1:], offset=max(offset, name.offset))
    known, shape = use.view.find(name.name)
    return _check_path(subject, use, name, shape) if known else _unknown(subject, use, name)


def _check_path(
    subject: Subject, use: Use, name: NameUse, shape: Shape | None
) -> Diagnostic | None:
    """Follows a path as far as the shapes on it are known."""
    holder, offset = name.name, name.offset + len(name.name)
    for key in name.path:
        if shape is None:
            return None
        offset = max(use.expression.source.find(str(key), offset), name.offset)
        if lacks(shape, key):
            shown = str(key)[:_SHOWN_MAX]
            message = f"{holder[:_SHOWN_MAX]!r} has no {shown!r}"
            span = _span(subject, use, offset, len(str(key)))
            advice = member_advice(shape, holder, shown)
            return Diagnostic("W005", message, span, "unknown name", advice)
        shape, holder = part_of(shape, key), joined_path(holder, key)
    return None


def joined_path(holder: str, key: str | int) -> str:
    """The path to a member or an item as an expression writes it."""
    return f"{holder}.{key}" if isinstance(key, str) else f"{holder}[{key}]"


def member_advice(shape: Shape, holder: str, key: str) -> str:
    """What to write instead of a member that a value of this shape does not have."""
    if shape.kind == "object":
        return suggest(key, sorted(shape.fields))
    if key in _LENGTHS:
        return f"write {holder} | length"
    if shape.kind == "list":
        return f"it is a list: write {holder}[0].{key}, or loop over it"
    return "it is a text or another plain value, without names in it"


def _unknown(subject: Subject, use: Use, name: NameUse) -> Diagnostic:
    shown = name.name[:_SHOWN_MAX]
    if use.view.later(name.name):
        message = f"the result of {shown!r} is not known yet at this place"
        advice = f"put it behind {shown!r}, or add after: {shown}"
    else:
        message = f"unknown name {shown!r}"
        names = [*use.view.names(), *(subject.facts if use.view.is_in_loop() else ())]
        advice = _dashed(use, name) or did_you_mean(name.name, names)
        advice = advice or suggest(name.name, use.view.names())
    span = _span(subject, use, name.offset, len(name.name))
    return Diagnostic("W005", message, span, "unknown name", advice or _nothing_known(name.name))


def _nothing_known(wanted: str) -> str:
    return f"declare it: inputs: {{{wanted[:_SHOWN_MAX]}: string}}"


def _dashed(use: Use, name: NameUse) -> str:
    """A name with a dash looks like a subtraction to an expression."""
    match = re.compile(r"[\w-]+").match(use.expression.source, name.offset)
    if match is None or "-" not in match[0] or not use.view.find(match[0])[0]:
        return ""
    return f"write {RESULTS}[{match[0]!r}]: a '-' subtracts here"


def _span(subject: Subject, use: Use, offset: int, length: int) -> Span | None:
    span = subject.places.span(use.expression, offset, length)
    return span or subject.places.node(use.path)
