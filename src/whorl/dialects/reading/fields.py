"""The values and fields of a file, read as what they must be.

`Fields` reports what is anything else. The functions before it report nothing: they are for places
whose structure is checked elsewhere, or that accept anything; what is not there is None or empty.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whorl.errors import Span, did_you_mean, nearest
from whorl.ir.checks.scopes import suggest
from whorl.ir.values import parse_duration
from whorl.lazily import regex
from whorl.source import Entry, Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from collections import abc

    from whorl.dialects.reading.context import ReadContext

_ID = regex(r"[^\x00-\x1f\x7f/@?#:\[\]%\"'\\]{1,128}")
_SHOWN_MAX = 40
# Comparing takes long, and a file may have any number of unknown fields.
_COMPARED_MAX = 1_000


def words(text: str) -> tuple[str, ...]:
    """The words of a text, for the tables of a dialect."""
    return tuple(text.split())


def text_of(value: Value | None) -> str:
    """The text of a scalar as it is written; empty for null and for anything else."""
    return value.text if isinstance(value, Scalar) and value.value is not None else ""


def texts_of(value: Value | None) -> tuple[str, ...]:
    """The texts of a list, or of the one that stands in its place; empty ones are left out."""
    items = value if isinstance(value, Sequence) else (value,)
    return tuple(text for item in items if (text := text_of(item)))


def number_of(value: Value | None) -> float | None:
    if isinstance(value, Scalar) and isinstance(value.value, int | float):
        return None if isinstance(value.value, bool) else value.value
    return None


def whole_of(value: Value | None) -> int | None:
    number = number_of(value)
    return int(number) if number is not None and number == int(number) else None


def duration_of(value: Value | None) -> float | None:
    """The seconds of a scalar such as `90s`, `5m`, `PT5S` or 90."""
    if not isinstance(value, Scalar) or not isinstance(value.value, str | int | float):
        return None
    try:
        return parse_duration(value.value)
    except ValueError:
        return None


def is_true(value: Value | None) -> bool:
    return isinstance(value, Scalar) and value.value is True


def scalar_of(value: Value | None) -> Scalar | None:
    return value if isinstance(value, Scalar) and value.value is not None else None


def span_of(item: Mapping, name: str) -> Span:
    """Where a field of an object stands, or else the object."""
    value = item.get(name)
    return item.span if value is None else value.span


def shown(value: Value) -> str:
    """What a value is, for a message: a scalar as it is written, else its kind."""
    if isinstance(value, Scalar):
        if value.value is None:
            return "nothing"
        text = value.text if len(value.text) <= _SHOWN_MAX else value.text[:_SHOWN_MAX] + "…"
        return repr(text) if isinstance(value.value, str) else text
    return "an object" if isinstance(value, Mapping) else "a list"


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

    def word(self, name: str, choices: abc.Sequence[str], default: str) -> str:
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
    fields: abc.Iterable[Entry], expected: abc.Collection[str], *, ignore_case: bool = False
) -> abc.Iterator[tuple[Entry, str]]:
    """The fields that are not known, each with the question that names the nearest one, if any."""
    names = {name.lower() for name in expected} if ignore_case else expected
    unknown = (e for e in fields if (e.name.lower() if ignore_case else e.name) not in names)
    for number, entry in enumerate(unknown):
        yield entry, did_you_mean(entry.name, expected) if number < _COMPARED_MAX else ""


def check_spelling(
    context: ReadContext,
    item: Mapping,
    expected: abc.Collection[str],
    owner: str,
    *,
    ignore_case: bool = False,
    drawn: abc.Collection[str] | None = None,
) -> bool:
    """Whether no field is misspelt; reports each one that is nearly a known one.

    Where that known one is there, too, the other is only warned of. All others are allowed, or
    warned of where those are named that an editor writes for itself (`drawn`).
    """
    fold = str.lower if ignore_case else str
    written = {fold(entry.name) for entry in item}
    is_right = True
    for entry, question in unknown_fields(item, expected, ignore_case=ignore_case):
        if (drawn is None and not question) or entry.name in (drawn or ()):
            continue
        is_ignored = not question or fold(nearest(entry.name, expected) or "") in written
        message = f"{owner} has no field {entry.name[:60]!r}{'; it is ignored' * is_ignored}"
        report = context.warn if is_ignored else context.report
        advice = question or f"it has {', '.join(expected)}"
        report("W004", message, entry.key.span, label="unknown field", help=advice)
        is_right = is_right and is_ignored
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


def check_id(context: ReadContext, item: Mapping, nodes: abc.Mapping[str, Any]) -> str:
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
    context: ReadContext, edge: Mapping, end: str, nodes: abc.Collection[str], advice: str
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
