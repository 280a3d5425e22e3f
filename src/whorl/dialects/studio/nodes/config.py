"""The fields of a node, read as what they must be; anything else is told with its place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

from whorl.errors import did_you_mean
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.dialects.studio.canvas.parts import CanvasNode
    from whorl.dialects.studio.draft import Draft
    from whorl.errors import Span
    from whorl.source import Value

TIMEOUT_MAX_S = 30 * 86_400.0


class Common(TypedDict):
    """What all nodes take, by the names of the IR."""

    name: str
    timeout_s: float | None
    place: str


class Config:
    """The fields of one node."""

    def __init__(self, draft: Draft, node: CanvasNode) -> None:
        self._draft = draft
        self.node = node

    def get(self, name: str) -> Value | None:
        """A field as it is written; None when it is absent or null."""
        value = self.node.fields.get(name)
        return None if isinstance(value, Scalar) and value.value is None else value

    def span(self, name: str) -> Span:
        """Where a field stands, or else the node."""
        entry = self.node.fields.entry(name)
        return self.node.span if entry is None else entry.value.span

    def scalar(self, name: str) -> Scalar | None:
        """A text, number or truth value."""
        value = self.get(name)
        if value is None or isinstance(value, Scalar):
            return value
        self.wrong(name, "a text", value)
        return None

    def text(self, name: str, default: str = "") -> str:
        """A text; empty ones are as good as absent."""
        found = self.scalar(name)
        return (found.text if found is not None else "") or default

    def number(self, name: str) -> float | None:
        """A number, also one that is written as a text."""
        found = self.scalar(name)
        if found is None or found.text.strip() == "":
            return None
        try:
            number = float(found.text)
        except ValueError:
            number = math.nan
        if isinstance(found.value, bool) or not math.isfinite(number):
            self.wrong(name, "a number", found)
            return None
        return int(number) if number.is_integer() else number

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        found = self.scalar(name)
        word = "" if found is None else found.text.strip().lower()
        if word in ("true", "false"):
            return word == "true"
        if found is not None and word:
            self.wrong(name, "true or false", found)
        return default

    def word(self, name: str, choices: Sequence[str], default: str) -> str:
        """One of a few words."""
        found = self.scalar(name)
        if found is None or found.text.strip() == "":
            return default
        word = found.text.strip()
        if word in choices:
            return word
        advice = did_you_mean(word, choices) or f"write one of {', '.join(choices)}"
        self.wrong(name, f"one of {', '.join(choices)}", found, advice)
        return default

    def wrong(self, name: str, wanted: str, value: Value, advice: str = "") -> None:
        """Reports a field that is not what it must be."""
        shown = repr(value.text[:40]) if isinstance(value, Scalar) else "a list or an object"
        self._draft.report(
            "W007",
            f"{name!r} of {self.node.type} {self.node.id!r} must be {wanted}, not {shown}",
            value.span,
            label=f"expected {wanted}",
            help=advice or f"write {wanted}",
        )

    def missing(self, name: str, what: str) -> None:
        """Reports a field that must be there."""
        entry = self.node.fields.entry(name)
        self._draft.report(
            "W006",
            f"{self.node.type} {self.node.id!r} lacks the field {name!r}",
            self.node.span if entry is None else entry.value.span,
            label=f"{name!r} is missing",
            help=f"add {name!r}: {what}",
        )

    def common(self, timeout_s: float | None = None) -> Common:
        """What all nodes take; `timeout` bounds every node."""
        found = self.number("timeout")
        if found is not None and not 0 < found <= TIMEOUT_MAX_S:
            value = self.get("timeout")
            assert value is not None
            self.wrong("timeout", "a number of seconds above 0", value)
            found = None
        span = self.node.span
        return {
            "name": self.node.id,
            "timeout_s": timeout_s if found is None else float(found),
            "place": f"{span.line}:{span.column}",
        }

    def table(self, name: str) -> Mapping | None:
        """An object."""
        value = self.get(name)
        return value if isinstance(value, Mapping) else None
