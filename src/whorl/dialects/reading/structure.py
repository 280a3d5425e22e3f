"""Checks a file against tables of its format: unknown, missing and wrong fields at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from whorl.dialects.reading.scalars import duration_of, number_of, shown, text_of, whole_of
from whorl.errors import did_you_mean, nearest
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping as MappingOf

    from whorl.dialects.reading.context import Findings
    from whorl.errors import Span
    from whorl.source import Entry, Value

Kind = Literal[
    "text", "texts", "count", "number", "duration", "flag", "word", "object", "list", "values"
]
_WORDS = {
    "text": "a text",
    "texts": "a list of names",
    "count": "a whole number",
    "number": "a number",
    "duration": "a duration such as 90s or 5m",
    "flag": "true or false",
    "object": "an object",
    "list": "a list",
    "values": "an object",
}


@dataclass(frozen=True, slots=True)
class Field:
    """What a field takes; `inner` describes an object, or the objects of a list."""

    kind: Kind
    required: bool = False
    words: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    inner: Table | None = None
    example: str = ""

    def __str__(self) -> str:
        """What the field takes, for messages."""
        if self.kind == "word":
            return "one of " + ", ".join(self.words)
        if self.low is None or self.high is None:
            return _WORDS[self.kind]
        return f"{_WORDS[self.kind]} from {self.low:,} to {self.high:,}"

    def fits(self, value: Value) -> bool:
        """Whether a value is what the field takes; objects and lists are not looked into."""
        match self.kind:
            case "object" | "values":
                return isinstance(value, Mapping)
            case "list":
                return isinstance(value, Sequence)
            case "texts":
                listed = value.items if isinstance(value, Sequence) else (value,)
                return all(isinstance(item, Scalar) and item.text for item in listed)
        if not isinstance(value, Scalar) or value.value is None:
            return False
        match self.kind:
            case "text":
                return bool(value.text.strip())
            case "count":
                return self._is_within(whole_of(value))
            case "number":
                return self._is_within(number_of(value))
            case "duration":
                return duration_of(value) is not None
            case "flag":
                return isinstance(value.value, bool)
            case _:
                return value.text in self.words

    def _is_within(self, number: float | None) -> bool:
        if number is None or (self.low is not None and number < self.low):
            return False
        return self.high is None or number <= self.high


@dataclass(frozen=True, slots=True)
class Table:
    """The fields of one place, and advice about fields that people expect there.

    `check` looks at the fields of an object together, given who has them.
    """

    title: str
    fields: MappingOf[str, Field]
    instead: MappingOf[str, str] = field(default_factory=dict)
    check: Callable[[Findings, Mapping, str], None] | None = None


def check_table(
    context: Findings, value: Mapping, table: Table, owner: str, *, at: Span | None = None
) -> None:
    """Reports every unknown, missing or wrong field; `at` is where a missing one is reported."""
    if context.is_full:
        return
    for entry in value:
        known = table.fields.get(entry.name)
        if known is None:
            _report_unknown(context, entry, table, owner)
        else:
            _check_field(context, entry, known, owner)
    unknown = [entry.name for entry in value if entry.name not in table.fields]
    # A field that is only misspelt is reported once.
    misspelt = {nearest(name, table.fields) for name in unknown}
    for name, known in table.fields.items():
        if known.required and name not in value and name not in misspelt:
            message, advice = f"{owner} lacks the field {name!r}", f"add {name}: {known.example}"
            label = f"{name!r} is missing"
            context.report("W006", message, at or value.span, label=label, help=advice)
    if table.check is not None:
        table.check(context, value, owner)


def _report_unknown(context: Findings, entry: Entry, table: Table, owner: str) -> None:
    message = f"{owner} has no field {entry.name[:60]!r}"
    advice = table.instead.get(entry.name) or did_you_mean(entry.name, table.fields)
    advice = advice or "it has " + ", ".join(table.fields)
    context.report("W004", message, entry.key.span, label="unknown field", help=advice)


def _check_field(context: Findings, entry: Entry, known: Field, owner: str) -> None:
    value = entry.value
    if isinstance(value, Scalar) and value.value is None and not known.required:
        return
    if not known.fits(value):
        code = "W015" if known.low is not None and number_of(value) is not None else "W007"
        message = f"{entry.name!r} of {owner} must be {known}, not {shown(value)}"
        advice = did_you_mean(text_of(value), known.words) or f"write {known}"
        context.report(code, message, value.span, label=f"expected {known}", help=advice)
    elif known.inner is not None:
        _check_inner(context, entry, known.inner, owner)


def _check_inner(context: Findings, entry: Entry, table: Table, owner: str) -> None:
    if isinstance(entry.value, Mapping):
        owner = f"{entry.name!r} of {owner}"
        check_table(context, entry.value, table, owner, at=entry.key.span)
        return
    assert isinstance(entry.value, Sequence)
    for item in entry.value:
        if isinstance(item, Mapping):
            name = item.get("name")
            named = f"a {table.title} of {owner}"
            if name:
                named = f"{table.title} {text_of(name)[:60]!r}"
            check_table(context, item, table, named)
            continue
        message = f"a {table.title} of {owner} must be an object, not {shown(item)}"
        advice = f"write its fields: {', '.join(list(table.fields)[:3])}, ..."
        context.report("W007", message, item.span, label="expected an object", help=advice)
