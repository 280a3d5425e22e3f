"""Checks a file against tables of its format, and a call against the workflow that it calls."""

from __future__ import annotations

from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import duration_of, number_of, shown, text_of, whole_of
from whorl.dialects.reading.texts import COMPARED_MAX
from whorl.errors import Span, did_you_mean, nearest
from whorl.ir.checks.scopes import suggest
from whorl.lazily import dataclass
from whorl.source import Entry, Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from collections import abc

    from whorl.dialects.reader import Reading
    from whorl.dialects.reading.context import ReadContext

# What a field can hold, and one of a few words.
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

    kind: str
    required: bool = False
    words: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    inner: Table | None = None
    example: str = ""

    def __str__(self) -> str:
        """What the field takes, for messages."""
        if self.kind == "word":
            return "one of " + ", ".join(self.words) if len(self.words) > 1 else self.words[0]
        if self.low is None or self.high is None:
            return _WORDS[self.kind]
        return f"{_WORDS[self.kind]} from {self.low:,} to {self.high:,}"

    def fits(self, value: Value) -> bool:
        """Whether a value is what the field takes; objects and lists are not looked into."""
        if self.kind in ("object", "values"):
            return isinstance(value, Mapping)
        if self.kind == "list":
            return isinstance(value, Sequence)
        if self.kind == "texts":
            items = value.items if isinstance(value, Sequence) else (value,)
            return all(isinstance(item, Scalar) and item.text for item in items)
        if not isinstance(value, Scalar) or value.value is None:
            return False
        match self.kind:
            case "text":
                return bool(value.text.strip())
            case "count" | "number":
                number = whole_of(value) if self.kind == "count" else number_of(value)
                if number is None or (self.low is not None and number < self.low):
                    return False
                return self.high is None or number <= self.high
            case "duration":
                return duration_of(value) is not None
            case "flag":
                return isinstance(value.value, bool)
            case _:
                return value.text in self.words


@dataclass(frozen=True, slots=True)
class Table:
    """The fields of one place, and advice about fields that people expect there.

    `check` looks at the fields of an object together, given who has them.
    """

    title: str
    fields: abc.Mapping[str, Field]
    instead: abc.Mapping[str, str] = field(default_factory=dict)
    check: abc.Callable[[ReadContext, Mapping, str], None] | None = None


def check_table(
    context: ReadContext, value: Mapping, table: Table, owner: str, *, at: Span | None = None
) -> None:
    """Reports every unknown, missing or wrong field; `at` is where a missing one is reported."""
    if context.is_full:
        return
    for entry in value:
        field = table.fields.get(entry.name)
        if field is None:
            _report_unknown(context, entry, table, owner)
        else:
            _check_field(context, entry, field, owner)
    unknown = [entry.name for entry in value if entry.name not in table.fields]
    # A field that is only misspelt is reported once.
    misspelt = {nearest(name, table.fields) for name in unknown[:COMPARED_MAX]}
    for name, field in table.fields.items():
        if field.required and name not in value and name not in misspelt:
            message, advice = f"{owner} lacks the field {name!r}", f"add {name}: {field.example}"
            label = f"{name!r} is missing"
            context.report("W006", message, at or value.span, label=label, help=advice)
    if table.check is not None:
        table.check(context, value, owner)


def _report_unknown(context: ReadContext, entry: Entry, table: Table, owner: str) -> None:
    message = f"{owner} has no field {entry.name[:60]!r}"
    advice = table.instead.get(entry.name) or did_you_mean(entry.name, table.fields)
    advice = advice or "it has " + ", ".join(table.fields)
    context.report("W004", message, entry.key.span, label="unknown field", help=advice)


def _check_field(context: ReadContext, entry: Entry, field: Field, owner: str) -> None:
    value = entry.value
    if isinstance(value, Scalar) and value.value is None and not field.required:
        return
    if not field.fits(value):
        code = "W015" if field.low is not None and number_of(value) is not None else "W007"
        message = f"{entry.name!r} of {owner} must be {field}, not {shown(value)}"
        advice = did_you_mean(text_of(value), field.words) or f"write {field}"
        context.report(code, message, value.span, label=f"expected {field}", help=advice)
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
    """Reports what a called workflow lacks, and what it does not take or never uses.

    `names` are what the call gives, each where it is written. `owner` says in messages who calls,
    `span` is where the call stands. `others` are given without being written; `is_joined` means
    that what is written is also put together as the input.
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
            message = f"{owner} gives {name!r} to workflow {workflow.name!r}, "
            message += "which never mentions it"
            advice = f"write {{{{{name}}}}} where it is needed, or remove it"
            advice = _meant(name, mentions) or advice
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
            message = f"there is no variable {name[:60]!r} where {owner} calls workflow "
            advice = _meant(name, (*names, *others, *nodes))
            advice = advice or f"give it there: with: {{{name[:60]}: ...}}"
            message += repr(workflow.name)
            # A workflow with open inputs runs all the same, alone and called.
            tell = context.warn if workflow.open_inputs else context.report
            tell("W005", message, place, label="not given", help=advice)


def _meant(name: str, names: abc.Iterable[str]) -> str:
    return did_you_mean(name, islice(names, COMPARED_MAX))
