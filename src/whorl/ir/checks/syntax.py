"""Every expression can be parsed (W008) and uses functions that there are (W020)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.checks.scopes import uses_in
from whorl.language import LanguageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject

_UNKNOWN = ("unknown function", "unknown filter", "unknown test", "unknown method")
_NAMED = re.compile(r"unknown \w+ '([^']+)'")


def check_syntax(subject: Subject) -> Iterator[Diagnostic]:
    """Reports expressions that cannot be parsed."""
    for use in uses_in(subject.workflow):
        try:
            subject.names.uses(use.expression)
        except LanguageError as fault:
            span = subject.places.span(use.expression, fault.offset, _length(fault.message))
            span = span or subject.places.node(use.path)
            yield Diagnostic(_code(fault.message), fault.message, span, "here", fault.help)


def _length(message: str) -> int:
    """How much is marked: the whole name, where the message is about one."""
    match = _NAMED.match(message) if message.startswith(_UNKNOWN) else None
    return len(match[1]) if match else 1


def _code(message: str) -> str:
    if message.startswith(_UNKNOWN) or " is not available" in message:
        return "W020"
    return "W008"
