"""The values and fields of a file, read as their expected type, or checked by tables of a format.

`Fields` reports every other value. The functions before it report nothing: they are for places
whose structure is checked elsewhere, or that accept anything; a missing value is null or empty.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any

from whorl.dialects.reading.texts import COMPARED_MAX
from whorl.errors import Span, did_you_mean, nearest
from whorl.ir.checks.scopes import suggest
from whorl.ir.values import parse_duration
from whorl.lazily import dataclass, regex
from whorl.source import Entry, Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from collections import abc

    from whorl.dialects.reader import Reading
    from whorl.dialects.reading import ReadContext

_ID = regex(r"[^\x00-\x1f\x7f/@?#:\[\]%\"'\\]{1,128}")
_SHOWN_MAX = 40


def words(text: str) -> tuple[str, ...]:
    """Returns the words of a text, for the tables of a dialect."""
    return tuple(text.split())


def text_of(value: Value | None) -> str:
    """Returns the text of a scalar as it is written; empty for null and for anything else."""
    return value.text if isinstance(value, Scalar) and value.value is not None else ""


def texts_of(value: Value | None) -> tuple[str, ...]:
    """Returns the texts of a list, or a single text as a list; empty ones are left out."""
    return tuple(text for item in _items(value) if (text := text_of(item)))


def _items(value: Value | None) -> abc.Iterable[Value | None]:
    return value if isinstance(value, Sequence) else (value,)


def number_of(value: Value | None) -> float | None:
    if isinstance(value, Scalar) and isinstance(value.value, int | float):
        return None if isinstance(value.value, bool) else value.value
    return None


def whole_of(value: Value | None) -> int | None:
    number = number_of(value)
    return int(number) if number is not None and number == int(number) else None


def duration_of(value: Value | None) -> float | None:
    """Returns the seconds of a scalar such as `90s`, `5m`, `PT5S` or 90."""
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
    """Returns the span of a field of an object, or else of the object."""
    value = item.get(name)
    return item.span if value is None else value.span


def shown(value: Value) -> str:
    """Returns a value for a message: a scalar as it is written, else its kind."""
    if isinstance(value, Scalar):
        if value.value is None:
            return "nothing"
        text = value.text if len(value.text) <= _SHOWN_MAX else value.text[:_SHOWN_MAX] + "…"
        return repr(text) if isinstance(value.value, str) else text
    kind = "object" if isinstance(value, Mapping) else "list"
    return f"an empty {kind}" if not len(value) else f"{'an' if kind == 'object' else 'a'} {kind}"


def scalars(
    value: Value | None, where: tuple[str | int, ...] = ()
) -> abc.Iterator[tuple[tuple[str | int, ...], Scalar]]:
    """Yields all scalars below a value, with the keys that lead to them."""
    match value:
        case Scalar():
            yield where, value
        case Sequence():
            for index, item in enumerate(value):
                yield from scalars(item, (*where, index))
        case Mapping():
            for entry in value:
                yield from scalars(entry.value, (*where, entry.name))


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
        """Returns a field as it is written; None when it is absent or null."""
        value = self.fields.get(name)
        return None if isinstance(value, Scalar) and value.value is None else value

    def span(self, name: str) -> Span:
        """Returns the span of a field, or else of the object."""
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
        """Returns a number, also one that is written as a text."""
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
        written = repr(value.text[:40]) if isinstance(value, Scalar) else shown(value)
        message = f"{name!r} of {self.owner} must be {wanted}, not {written}"
        advice = advice or f"write {wanted}"
        self.context.report("W007", message, value.span, label=f"expected {wanted}", help=advice)

    def missing(self, name: str, what: str) -> None:
        self.context.report_missing(self.owner, name, self.span(name), f"add {name!r}: {what}")


def unknown_fields(
    fields: abc.Iterable[Entry], expected: abc.Collection[str], *, ignore_case: bool = False
) -> abc.Iterator[tuple[Entry, str]]:
    """Returns the unknown fields, each with the question that names the nearest one, if any."""
    names = {name.lower() for name in expected} if ignore_case else expected
    unknown = (e for e in fields if (e.name.lower() if ignore_case else e.name) not in names)
    for number, entry in enumerate(unknown):
        yield entry, did_you_mean(entry.name, expected) if number < COMPARED_MAX else ""


def check_spelling(
    context: ReadContext,
    item: Mapping,
    expected: abc.Collection[str],
    owner: str,
    *,
    ignore_case: bool = False,
    drawn: abc.Collection[str] | None = None,
) -> bool:
    """Checks that no field is misspelt; reports each one that is nearly a known one.

    If that known field is also there, it only warns. Other fields are allowed; if `drawn` names the
    fields that an editor writes for itself, it warns of the rest.
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
    """Returns a list of objects, or a single object as a list; reports all other values."""
    parts = [part for part in _items(item.get(name)) if part is not None]
    for part in parts:
        if not isinstance(part, Mapping):
            message = f"{name!r} must be a list of objects"
            context.report("W007", message, part.span, label="not an object", help=advice)
    return [part for part in parts if isinstance(part, Mapping)]


def check_id(context: ReadContext, item: Mapping, nodes: abc.Mapping[str, Any]) -> str:
    """Returns the `id` of a node of a graph; empty if it is invalid, or one of `nodes` has it."""
    name, span = text_of(item.get("id")), span_of(item, "id")
    if not _ID.fullmatch(name):
        message = f"the id {name[:60]!r} is not valid" if name else "a node lacks its 'id'"
        advice = "an id is a short text without quotes, slashes, brackets, and @ ? # : %"
        context.report("W012" if name else "W006", message, span, label="this node", help=advice)
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
    """Checks that an edge of a graph has a node at its end (`source`, `target`), or reports it."""
    name = text_of(edge.get(end))
    if name in nodes:
        return True
    message = f"has no node {name[:60]!r} as its {end}" if name else f"lacks its {end!r}"
    span, advice = span_of(edge, end), suggest(name, nodes) or advice
    context.report("W005", f"an edge {message}", span, label="no such node", help=advice)
    return False


def reached(
    starts: abc.Iterable[str], following: abc.Callable[[str], abc.Iterable[str]]
) -> set[str]:
    """Returns some nodes of a graph, with all nodes to which they lead."""
    found = set(starts)
    queue = list(found)
    for name in queue:
        fresh = set(following(name)) - found
        found |= fresh
        queue.extend(fresh)
    return found


# Checks a file against tables of its format, and a call against the workflow that it calls.

# What a field can hold, besides one of a few words: its name in messages, and what fits.
_KINDS: dict[str, tuple[str, abc.Callable[[Value], object]]] = {
    "text": ("a text", lambda value: text_of(value).strip()),
    "texts": ("a list of names", lambda value: all(map(text_of, _items(value)))),
    "count": ("a whole number", lambda value: whole_of(value) is not None),
    "number": ("a number", lambda value: number_of(value) is not None),
    "duration": ("a duration such as 90s or 5m", lambda value: duration_of(value) is not None),
    "flag": ("true or false", lambda v: isinstance(v, Scalar) and isinstance(v.value, bool)),
    "object": ("an object", lambda value: isinstance(value, Mapping)),
    "list": ("a list", lambda value: isinstance(value, Sequence)),
}


@dataclass(frozen=True, slots=True)
class Field:
    """What a field takes; `inner` describes an object, or the objects of a list."""

    kind: str
    required: bool = False
    words: tuple[str, ...] = ()
    low: float | None = None
    high: float = math.inf
    inner: Table | None = None
    example: str = ""

    def __str__(self) -> str:
        """Returns what the field takes, for messages."""
        if self.kind == "word":
            return f"one of {', '.join(self.words)}"
        limits = "" if self.low is None else f" from {self.low:,} to {self.high:,}"
        return f"{_KINDS[self.kind][0]}{limits}"

    def fits(self, value: Value) -> bool:
        """Checks whether a value is what the field takes; objects and lists are not inspected."""
        if self.kind == "word":
            return text_of(value) in self.words
        number = number_of(value) if self.low is not None else None
        is_within = number is None or self.low is None or self.low <= number <= self.high
        return is_within and bool(_KINDS[self.kind][1](value))


@dataclass(frozen=True, slots=True)
class Table:
    """The fields of one place.

    `check` receives the fields of an object together, and the owner of the object.
    """

    title: str
    fields: abc.Mapping[str, Field]
    check: abc.Callable[[ReadContext, Mapping, str], None] | None = None


def check_table(
    context: ReadContext, value: Mapping, table: Table, owner: str, *, at: Span | None = None
) -> None:
    """Reports every unknown, missing or wrong field; `at` is where a missing one is reported."""
    if context.is_full:
        return
    questions = {e.name: question for e, question in unknown_fields(value, table.fields)}
    for entry in value:
        if (field := table.fields.get(entry.name)) is not None:
            _check_field(context, entry, field, owner)
            continue
        message = f"{owner} has no field {entry.name[:60]!r}"
        advice = questions[entry.name] or "it has " + ", ".join(table.fields)
        context.report("W004", message, entry.key.span, label="unknown field", help=advice)
    # A field that is only misspelt is reported once.
    misspelt = {nearest(name, table.fields) for name, question in questions.items() if question}
    for name, field in table.fields.items():
        if field.required and name not in value and name not in misspelt:
            context.report_missing(owner, name, at or value.span, f"add {name}: {field.example}")
    if table.check is not None:
        table.check(context, value, owner)


def _check_field(context: ReadContext, entry: Entry, field: Field, owner: str) -> None:
    value = entry.value
    if isinstance(value, Scalar) and value.value is None and not field.required:
        return
    if not field.fits(value):
        message = f"{entry.name!r} of {owner} must be {field}, not {shown(value)}"
        advice = did_you_mean(text_of(value), field.words) or f"write {field}"
        context.report("W007", message, value.span, label=f"expected {field}", help=advice)
    elif field.inner is not None and isinstance(value, Mapping):
        check_table(context, value, field.inner, f"{entry.name!r} of {owner}", at=entry.key.span)
    elif field.inner is not None and isinstance(value, Sequence):
        for item in value:
            _check_item(context, item, field.inner, owner)


def _check_item(context: ReadContext, item: Value, table: Table, owner: str) -> None:
    named = f"a {table.title} of {owner}"
    if not isinstance(item, Mapping):
        message = f"{named} must be an object, not {shown(item)}"
        advice = f"write its fields: {', '.join(list(table.fields)[:3])}, ..."
        context.report("W007", message, item.span, label="expected an object", help=advice)
        return
    if name := item.get("name"):
        named = f"{table.title} {text_of(name)[:60]!r}"
    check_table(context, item, table, named)


def check_arguments(
    context: ReadContext,
    reading: Reading,
    names: abc.Mapping[str, Span],
    *,
    owner: str,
    span: Span,
    others: frozenset[str] = frozenset(),
    is_joined: bool = False,
) -> None:
    """Reports the inputs that a called workflow lacks, and those that it does not take or use.

    `names` are the inputs of the call, each where it is written. `owner` is the caller in messages,
    `span` the place of the call. `others` are given without being written; `is_joined` means that
    the written inputs are also put together as the input.
    """
    workflow, mentions = reading.workflow, reading.mentions or {}
    ports = {port.name for port in workflow.inputs}
    taken = ports.union(*(port.aliases for port in workflow.inputs))
    main = workflow.main_input
    is_input = is_joined and main in mentions and main not in names
    for name, place in names.items():
        if not workflow.open_inputs and not {name, "*"} & taken:
            message = f"workflow {workflow.name!r} has no input {name!r}"
            advice = suggest(name, sorted(ports)) or "it takes no inputs"
            context.report("W004", message, place, label="unknown input", help=advice)
        is_unused = workflow.open_inputs and reading.mentions is not None and name not in mentions
        if is_unused and not is_input:
            message = (
                f"{owner} gives {name!r} to workflow {workflow.name!r}, which never mentions it"
            )
            advice = did_you_mean(name, islice(mentions, COMPARED_MAX))
            advice = advice or f"write {{{{{name}}}}} where it is needed, or remove it"
            context.warn("W023", message, place, label="not used", help=advice)
    required = [port.name for port in workflow.inputs if port.required]
    for name in required:
        if name not in names and name not in others:
            message = f"{owner} does not give {name!r} to workflow {workflow.name!r}"
            advice = f"add it: with: {{{name}: ...}}"
            context.report("W006", message, span, label="an input is missing", help=advice)
    nodes = [node.name for node in workflow.body.nodes]
    for name, place in mentions.items():
        if name not in names and name not in others and name not in required:
            place_of_call = f"where {owner} calls workflow {workflow.name!r}"
            message = f"there is no variable {name[:60]!r} {place_of_call}"
            advice = did_you_mean(name, islice((*names, *others, *nodes), COMPARED_MAX))
            advice = advice or f"give it there: with: {{{name[:60]}: ...}}"
            # A workflow with open inputs runs all the same, alone and called.
            tell = context.warn if workflow.open_inputs else context.report
            tell("W005", message, place, label="not given", help=advice)
