"""Checks a file against the tables of its format: unknown, missing and wrong fields at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.mcp_cli.draft import shown
from whorl.dialects.mcp_cli.format import KINDS, ROOT, STEP
from whorl.dialects.mcp_cli.scalars import duration_of, number_of, text_of, whole_of
from whorl.errors import did_you_mean, nearest
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.draft import Draft
    from whorl.dialects.mcp_cli.format import Field, Table
    from whorl.errors import Span
    from whorl.source import Entry, Value

_EXAMPLES = {
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


def check_structure(draft: Draft) -> None:
    """Reports every unknown, missing or wrong field of the file."""
    _check_table(draft, draft.root, ROOT, "the workflow")
    schema = draft.root.get("$schema")
    if schema is not None and text_of(schema) != "workflow/v2.0":
        draft.report(
            "W007",
            f"'$schema' must be 'workflow/v2.0', not {shown(schema)}",
            schema.span,
            label="another version",
            help='write $schema: "workflow/v2.0" and check the fields',
        )


def _check_table(
    draft: Draft, value: Mapping, table: Table, owner: str, *, at: Span | None = None
) -> None:
    if draft.is_full:
        return
    for entry in value:
        known = table.fields.get(entry.name)
        if known is None:
            _report_unknown(draft, entry, table, owner)
        else:
            _check_field(draft, entry, known, owner)
    unknown = [entry.name for entry in value if entry.name not in table.fields]
    misspelt = {nearest(name, table.fields) for name in unknown}
    for name, known in table.fields.items():
        if known.required and name not in value and name not in misspelt:
            draft.report(
                "W006",
                f"{owner} lacks the field {name!r}",
                at or value.span,
                label=f"{name!r} is missing",
                help=f"add {name}: {known.example}",
            )
    if table.title == "step":
        _check_kind(draft, value, owner)


def _report_unknown(draft: Draft, entry: Entry, table: Table, owner: str) -> None:
    advice = table.instead.get(entry.name) or did_you_mean(entry.name, table.fields)
    draft.report(
        "W004",
        f"{owner} has no field {entry.name[:60]!r}",
        entry.key.span,
        label="unknown field",
        help=advice or "it has " + ", ".join(table.fields),
    )


def _check_field(draft: Draft, entry: Entry, known: Field, owner: str) -> None:
    value = entry.value
    if isinstance(value, Scalar) and value.value is None and not known.required:
        return
    if not _fits(value, known):
        code = "W015" if known.low is not None and number_of(value) is not None else "W007"
        words = _words(known)
        draft.report(
            code,
            f"{entry.name!r} of {owner} must be {words}, not {shown(value)}",
            value.span,
            label=f"expected {words}",
            help=did_you_mean(text_of(value), known.words) or f"write {words}",
        )
    elif known.inner is not None:
        _check_inner(draft, entry, known.inner, owner)


def _check_inner(draft: Draft, entry: Entry, table: Table, owner: str) -> None:
    if isinstance(entry.value, Mapping):
        _check_table(draft, entry.value, table, f"{entry.name!r} of {owner}", at=entry.key.span)
        return
    assert isinstance(entry.value, Sequence)
    for item in entry.value:
        if not isinstance(item, Mapping):
            draft.report(
                "W007",
                f"a {table.title} of {owner} must be an object, not {shown(item)}",
                item.span,
                label="expected an object",
                help=f"write its fields: {', '.join(list(table.fields)[:3])}, ...",
            )
            continue
        name = item.get("name")
        own = f"{table.title} {text_of(name)[:60]!r}" if name else f"a {table.title} of {owner}"
        _check_table(draft, item, table, own)


def _fits(value: Value, known: Field) -> bool:
    match known.kind:
        case "object" | "values":
            return isinstance(value, Mapping)
        case "list":
            return isinstance(value, Sequence)
        case "texts":
            listed = value.items if isinstance(value, Sequence) else (value,)
            return all(isinstance(item, Scalar) and item.text for item in listed)
    if not isinstance(value, Scalar) or value.value is None:
        return False
    match known.kind:
        case "text":
            return bool(value.text.strip())
        case "count":
            return whole_of(value) is not None and _in_bounds(value, known)
        case "number":
            return number_of(value) is not None and _in_bounds(value, known)
        case "duration":
            return duration_of(value) is not None
        case "flag":
            return isinstance(value.value, bool)
        case _:
            return value.text in known.words


def _in_bounds(value: Scalar, known: Field) -> bool:
    number = number_of(value)
    assert number is not None
    low_enough = known.high is None or number <= known.high
    return low_enough and (known.low is None or number >= known.low)


def _words(known: Field) -> str:
    if known.kind == "word":
        return "one of " + ", ".join(known.words)
    bounds = ""
    if known.low is not None and known.high is not None:
        bounds = f" from {known.low:,} to {known.high:,}"
    return _EXAMPLES[known.kind] + bounds


def _check_kind(draft: Draft, step: Mapping, owner: str) -> None:
    found = [entry for entry in step if entry.name in KINDS]
    if len(found) > 1:
        draft.report(
            "W009",
            f"{owner} has both {found[0].name!r} and {found[1].name!r}, but does one thing",
            found[1].key.span,
            label="a second kind",
            help="make a step of its own of each",
        )
    elif not found and not any(_means_kind(entry.name) for entry in step):
        draft.report(
            "W009",
            f"{owner} does not say what it does",
            step.span,
            label="no kind of step",
            help="give it `run` with a prompt, or one of " + ", ".join(KINDS[1:4]),
        )
    for entry in found:
        if entry.name in _NEEDS:
            draft.report(
                "W009",
                f"{owner} is of the kind {entry.name!r}, which cannot run here: it needs "
                f"{_NEEDS[entry.name]}",
                entry.key.span,
                label="cannot run",
                help="write a `run` step with `servers`, and let an MCP server's tool do it",
            )


def _means_kind(name: str) -> bool:
    """Whether a field that is reported as unknown was meant to say what the step does."""
    return name not in STEP.fields and (name in STEP.instead or nearest(name, KINDS) is not None)


_NEEDS = {
    "rag": "a vector database with embedded documents",
    "embeddings": "an embedding model and a place for its vectors",
}
