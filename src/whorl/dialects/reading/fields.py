"""The fields of one object of a file, each read as what it must be; anything else is reported."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from whorl.dialects.reading.scalars import span_of, text_of
from whorl.errors import Span, did_you_mean, nearest
from whorl.ir.checks.scopes import suggest
from whorl.source import Entry, Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from collections.abc import Mapping as MappingOf
    from collections.abc import Sequence as SequenceOf

    from whorl.dialects.reading.context import ReadContext

_ID = re.compile(r"[^\x00-\x1f\x7f/@?#:\[\]%\"'\\]{1,128}")


class Fields:
    """The fields of an object; `owner` says in messages what it is, `span` where it is named.

    Absent, null and empty fields are the same; a wrong one is reported and counts as absent.
    """

    def __init__(self, context: ReadContext, fields: Mapping, *, owner: str, span: Span) -> None:
        self.context = context
        self.fields = fields
        self.owner = owner
        self.place = span

    def get(self, name: str) -> Value | None:
        """A field as it is written; None when it is absent or null."""
        value = self.fields.get(name)
        return None if isinstance(value, Scalar) and value.value is None else value

    def span(self, name: str) -> Span:
        """Where a field stands, or else the object."""
        entry = self.fields.entry(name)
        return self.place if entry is None else entry.value.span

    def scalar(self, name: str) -> Scalar | None:
        value = self.get(name)
        if value is None or isinstance(value, Scalar):
            return value
        self.wrong(name, "a text")
        return None

    def text(self, name: str, default: str = "") -> str:
        scalar = self.scalar(name)
        return (scalar.text if scalar is not None else "") or default

    def number(self, name: str) -> float | None:
        """A number, also one that is written as a text."""
        scalar = self.scalar(name)
        if scalar is None or scalar.text.strip() == "":
            return None
        try:
            number = float(scalar.text)
        except ValueError:
            number = math.nan
        if isinstance(scalar.value, bool) or not math.isfinite(number):
            self.wrong(name, "a number")
            return None
        return int(number) if number.is_integer() else number

    def flag(self, name: str, *, default: bool) -> bool:
        word = self.text(name).strip().lower()
        if word and word not in ("true", "false"):
            self.wrong(name, "true or false")
        return word == "true" if word in ("true", "false") else default

    def word(self, name: str, choices: SequenceOf[str], default: str) -> str:
        word = self.text(name).strip()
        if word and word not in choices:
            wanted = f"one of {', '.join(choices)}"
            self.wrong(name, wanted, did_you_mean(word, choices) or f"write {wanted}")
        return word if word in choices else default

    def wrong(self, name: str, wanted: str, advice: str = "") -> None:
        value = self.fields.get(name)
        assert value is not None
        written = repr(value.text[:40]) if isinstance(value, Scalar) else "a list or an object"
        message = f"{name!r} of {self.owner} must be {wanted}, not {written}"
        advice = advice or f"write {wanted}"
        self.context.report("W007", message, value.span, label=f"expected {wanted}", help=advice)

    def missing(self, name: str, what: str) -> None:
        message = f"{self.owner} lacks the field {name!r}"
        advice = f"add {name!r}: {what}"
        label = f"{name!r} is missing"
        self.context.report("W006", message, self.span(name), label=label, help=advice)


def unknown_fields(
    fields: Iterable[Entry], expected: Collection[str], *, ignore_case: bool = False
) -> Iterator[tuple[Entry, str]]:
    """The fields that are not known, each with the question that names the nearest one, if any."""
    names = {name.lower() for name in expected} if ignore_case else expected
    for entry in fields:
        if (entry.name.lower() if ignore_case else entry.name) not in names:
            yield entry, did_you_mean(entry.name, expected)


def check_spelling(
    context: ReadContext,
    item: Mapping,
    expected: Collection[str],
    owner: str,
    *,
    ignore_case: bool = False,
) -> bool:
    """Whether no field is misspelt; reports each one that is nearly a known one.

    Where that known one is there, too, the other is only warned of. All others are allowed.
    """
    fold = str.lower if ignore_case else str
    written = {fold(entry.name) for entry in item}
    is_right = True
    for entry, question in unknown_fields(item, expected, ignore_case=ignore_case):
        if not question:
            continue
        message, label = f"{owner} has no field {entry.name[:60]!r}", "unknown field"
        if fold(nearest(entry.name, expected) or "") in written:
            message += "; it is ignored"
            context.warn("W004", message, entry.key.span, label=label, help=question)
            continue
        context.report("W004", message, entry.key.span, label=label, help=question)
        is_right = False
    return is_right


def objects_of(context: ReadContext, item: Mapping, name: str, advice: str) -> list[Mapping]:
    """A list of objects, or the one that stands in its place; anything else is reported."""
    value = item.get(name)
    if value is None:
        return []
    objects: list[Mapping] = []
    for part in value if isinstance(value, Sequence) else (value,):
        if isinstance(part, Mapping):
            objects.append(part)
            continue
        message = f"{name!r} must be a list of objects"
        context.report("W007", message, part.span, label="no object", help=advice)
    return objects


def check_id(context: ReadContext, item: Mapping, nodes: MappingOf[str, Any]) -> str:
    """The `id` of a node of a graph; empty where it is none, or one of `nodes` has it."""
    name, span = text_of(item.get("id")), span_of(item, "id")
    if not _ID.fullmatch(name):
        message = f"the id {name[:60]!r} is not valid" if name else "a node lacks its 'id'"
        advice = "an id is a short text without quotes, slashes, brackets, and @ ? # : %"
        code = "W012" if name else "W006"
        context.report(code, message, span, label="this node", help=advice)
        return ""
    if name in nodes:
        label = f"the first one is on line {nodes[name].span.line}"
        advice = "choose another id for one of them"
        context.report("W012", f"two nodes have the id {name!r}", span, label=label, help=advice)
        return ""
    return name


def check_node(
    context: ReadContext, edge: Mapping, end: str, nodes: Collection[str], advice: str
) -> bool:
    """Whether an edge of a graph has a node at its end (`source`, `target`); if not, reports it."""
    name = text_of(edge.get(end))
    if name in nodes:
        return True
    message = f"an edge has no node {name[:60]!r} as its {end}"
    if not name:
        message = f"an edge lacks its {end!r}"
    advice = suggest(name, nodes) or advice
    context.report("W010", message, span_of(edge, end), label="no such node", help=advice)
    return False
