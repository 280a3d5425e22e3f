"""Calls of other workflows: isolated, given `with`, `input`, `env` and `loop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.mcp_cli.variables import LIBRARY, RESERVED
from whorl.dialects.reading.arguments import Arguments, check_arguments
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.dialects.mcp_cli.draft import Draft, Item
    from whorl.dialects.mcp_cli.texts import Texts
    from whorl.dialects.mcp_cli.variables import View
    from whorl.dialects.reader import Called
    from whorl.source import Value

HISTORY = "loop.history"


def read_given(draft: Draft, item: Item, called: Called | None, given: Value | None) -> Mapping:
    """What `with` holds; reports what the called workflow does not take, or lacks."""
    fields = given if isinstance(given, Mapping) else Mapping((), item.key.span)
    for entry in fields:
        if entry.name in RESERVED - {"input"}:
            draft.report(
                "W012",
                f"'with' of {item.words} cannot give {entry.name!r}: that word has a meaning",
                entry.key.span,
                label="reserved",
                help="choose another name",
            )
    if called is not None:
        check_arguments(draft, _given(item, fields), called.reading)
    return fields


def _given(item: Item, fields: Mapping) -> Arguments:
    names = {entry.name: entry.key.span for entry in fields}
    others = frozenset({"input", "item"} if item.is_iterate else {"input"})
    return Arguments(item.words, item.key.span, names, others, is_joined=True)


def call_inputs(
    texts: Texts, called: Called | None, given: Mapping, view: View, *, input_: ir.Value | None
) -> ir.Fields:
    """The inputs of a call: each key of `with`, and what every workflow sees.

    `input_` is what it gets as its input where `with` names none.
    """
    strict = view.inside is not None
    entries: list[tuple[str, ir.Value]] = [
        (entry.name, texts.values(entry.value, view, strict=strict)) for entry in given
    ]
    workflow = called.reading.workflow if called is not None else None
    is_open = workflow is None or workflow.open_inputs
    if "input" not in given and input_ is not None and (is_open or _takes(workflow, "input")):
        entries.append(("input", input_))
    if not is_open:
        return ir.Fields(tuple(entries))
    entries.append(("env", ir.Expression("jinja", "env", LIBRARY)))
    entries.append(("loop", ir.Expression("jinja", "loop", LIBRARY)))
    return ir.Fields(tuple(entries))


def _takes(workflow: ir.Workflow | None, name: str) -> bool:
    return workflow is not None and any(port.name == name for port in workflow.inputs)


def main_output() -> ir.Expression:
    """What a call gives: the main output of the workflow."""
    return ir.Expression("jinja", "main_output(it)", LIBRARY)


def reads_history(draft: Draft, called: Called | None) -> bool:
    """Whether the file or what it calls mentions `loop.history` anywhere."""
    sources = {draft.file: draft.document.text}
    if called is not None:
        sources |= called.reading.sources
    for file, source in sources.items():
        if file not in draft.historians:
            draft.historians[file] = HISTORY in source
    return any(draft.historians[file] for file in sources)


def place_of(key: Scalar) -> str:
    """Where a node stands in its file."""
    return f"{key.span.line}:{key.span.column}"
