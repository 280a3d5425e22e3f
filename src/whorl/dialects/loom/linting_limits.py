"""What Azure Logic Apps bounds, or forbids by place: names, sizes, depth, what stands in a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.dialects.loom.action import find, find_deep, text_at
from whorl.dialects.loom.texts import names_read, scalars_in
from whorl.dialects.loom.variables import SETTING, name_of
from whorl.errors import Diagnostic
from whorl.source import Mapping, Scalar

# The label of what Azure would not take.
REFUSED = "would not deploy"

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Span
    from whorl.source import Entry

NAME_MAX = 80
DEPTH_MAX = 8
CASES_MAX = 25
EXPRESSION_MAX = 8_192
COUNT_MAX = 5_000
RETRIES_MAX = 90
_LOOPS = frozenset({"until", "while", "dountil", "foreach"})
_INNER = ("actions", "then", "else", "cases", "default", "action")


@dataclass(frozen=True, slots=True)
class Place:
    """How deep an action stands, and whether in a loop."""

    depth: int = 0
    is_in_loop: bool = False

    def inside(self, kind: str) -> Place:
        """The place of what is inside of an action of a type."""
        return Place(self.depth + 1, self.is_in_loop or kind in _LOOPS)


def limits_of_azure(entry: Entry, action: Mapping, place: Place) -> Iterator[Diagnostic]:
    """Everything about one action that is out of bounds there."""
    kind, span = text_at(action, "type").lower(), entry.key.span
    if len(entry.name) > NAME_MAX:
        yield refused(f"a name has at most {NAME_MAX} characters", span, "take a shorter one")
    if place.depth == DEPTH_MAX:
        advice = "call another workflow from here"
        yield refused(f"actions stand at most {DEPTH_MAX} deep", span, advice)
    if kind == "initializevariable" and place.depth > 0:
        advice = "declare it there, and set it here"
        yield refused("variables are declared at the top only", span, advice)
    if kind in ("terminate", "response") and place.is_in_loop:
        yield refused(f"no {kind!r} may stand in a loop", span, "set a variable, and end after it")
    yield from _self_references(action, kind)
    yield from _counts(action)
    for inner in action:
        for scalar in scalars_in(inner.value) if inner.name not in _INNER else ():
            if scalar.text[:1] == "@" and len(scalar.text) > EXPRESSION_MAX:
                message = f"an expression has at most {EXPRESSION_MAX:,} characters"
                yield refused(message, scalar.span, "compute parts of it in Compose actions")


def _self_references(action: Mapping, kind: str) -> Iterator[Diagnostic]:
    if kind not in SETTING:
        return
    value = find_deep(action, "inputs", "value") or find(action, "value")
    name = name_of(action).lower()
    for scalar in scalars_in(value):
        if name in (read.lower() for read in names_read(scalar.text)):
            message = "a variable may not be read where it is set"
            yield refused(message, scalar.span, "compute the value in a Compose action before")


def _counts(action: Mapping) -> Iterator[Diagnostic]:
    cases = find(action, "cases")
    if isinstance(cases, Mapping) and len(cases) > CASES_MAX:
        yield refused(f"a switch has at most {CASES_MAX} cases", cases.span, "nest two of them")
    count = find_deep(action, "limit", "count")
    if isinstance(count, Scalar) and isinstance(count.value, int) and count.value > COUNT_MAX:
        yield refused(f"a loop turns at most {COUNT_MAX:,} times", count.span, "nest two of them")
    tries = find_deep(action, "inputs", "retryPolicy", "count")
    if isinstance(tries, Scalar) and isinstance(tries.value, int) and tries.value > RETRIES_MAX:
        yield refused(f"there are at most {RETRIES_MAX} retries", tries.span, "wait longer")
    repetitions = find_deep(action, "runtimeConfiguration", "concurrency", "repetitions")
    if repetitions is not None and "sequential" in text_at(action, "operationOptions").lower():
        message = "concurrency and Sequential exclude each other"
        yield refused(message, repetitions.span, "keep one of them")


def refused(message: str, span: Span, advice: str) -> Diagnostic:
    """What Azure would not take."""
    return Diagnostic("W023", message, span, REFUSED, advice, "warning")
