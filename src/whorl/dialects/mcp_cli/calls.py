"""Calls of other workflows: which file is meant, and what the workflow is given."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.detection import parse
from whorl.dialects.files import ENDINGS, FILES_MAX
from whorl.dialects.mcp_cli.texts import LIBRARY, RESERVED
from whorl.dialects.reading.arguments import Arguments, check_arguments
from whorl.dialects.reading.scalars import text_of
from whorl.errors import InvalidWorkflow, did_you_mean
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects.files import NamedFile
    from whorl.dialects.mcp_cli.format import FileContext, Item
    from whorl.dialects.mcp_cli.texts import Texts, View
    from whorl.dialects.reader import Called
    from whorl.errors import Span
    from whorl.source import Value

HISTORY = "loop.history"
# What a call gives: the main output of the workflow.
MAIN_OUTPUT = ir.Expression("jinja", "main_output(it)", LIBRARY)
_SCHEMA = "workflow/"
# The lines that tell what a file is called, where it is written as YAML mostly is.
_LINES = re.compile(r"""^(["']?)(?:\$schema|name)\1[ \t]*:.*""", re.MULTILINE)
_COMPARED_MAX = 1_000


def find_workflow(context: FileContext, item: Item, value: Value | None) -> Called | None:
    """Finds and reads the workflow that a step or loop names."""
    name = text_of(value)
    if not name or value is None:
        return None
    is_file = name.endswith(ENDINGS)
    names = [name] if is_file else [name + ending for ending in ENDINGS]
    reference = context.files.find(names)
    if reference is not None:
        called = context.call(reference, value.span)
        if called is not None and not is_file:
            _warn_of_namesake(context, item, called, value)
        return called
    meant = [] if is_file else _find_named(context, name, value.span)
    if len(meant) == 1:
        return context.call(meant[0].reference, value.span)
    if meant:
        _report_several(context, item, meant, value)
    else:
        _report_missing(context, item, names[0], value)
    return None


def _find_named(context: FileContext, name: str, span: Span) -> list[NamedFile]:
    """The files that a name may mean: that one, or those in the nearest place that has any.

    In a place, one where the whole name fits comes before those in folders further below.
    """
    for place in context.files.named(_name_of, span):
        exact = [file for file in place if file.key == name]
        files = exact or [file for file in place if file.near and file.key.endswith(f"/{name}")]
        if files:
            return list({file.path: file for file in files}.values())
    return []


def _name_of(text: str, file: str) -> str:
    """The name that a workflow of this format gives itself; nothing for another file.

    Reading two lines is enough for most files, and also works for those with mistakes in them.
    """
    if _SCHEMA not in text:
        return ""
    lines = "\n".join(line[0] for line in _LINES.finditer(text))
    return _named_in(lines, "lines.yaml") or _named_in(text, file)


def _named_in(text: str, file: str) -> str:
    try:
        root = parse(text, file, lenient=True).root
    except InvalidWorkflow:
        return ""
    if not isinstance(root, Mapping) or not text_of(root.get("$schema")).startswith(_SCHEMA):
        return ""
    return text_of(root.get("name"))


def _warn_of_namesake(context: FileContext, item: Item, called: Called, value: Value) -> None:
    """Elsewhere the name inside of a file counts: where it means another file, that is told."""
    name = text_of(value)
    workflow = called.reading.workflow
    if workflow.dialect != "mcp-cli" or workflow.name == name.rpartition("/")[2]:
        return
    for other in _find_named(context, name, value.span):
        message = f"{item.words} calls the file {called.key}, although {other.reference} has the "
        message += f"name {name[:60]!r}"
        advice = f"write the name of the file, such as {other.reference!r}, or rename one of them"
        context.warn("W023", message, value.span, label="which one?", help=advice)


def _report_several(context: FileContext, item: Item, meant: list[NamedFile], value: Value) -> None:
    listed = " or ".join(file.reference for file in meant[:3])
    more = f" or {len(meant) - 3} others" if len(meant) > 3 else ""
    message = (
        f"{item.words} calls the workflow {text_of(value)[:60]!r}, which could be {listed}{more}"
    )
    advice = "give them different names, write the folder before the name, or the name of the file"
    context.report("W016", message, value.span, label="which one?", help=advice)


def _report_missing(context: FileContext, item: Item, file: str, value: Value) -> None:
    name = text_of(value)
    cut = f" among the {FILES_MAX:,} nearest files" if context.files.is_cut else ""
    message = f"{item.words} calls the workflow {name[:60]!r}, which is not there{cut}"
    advice = f"write {file} beside {context.file} or in a folder below it, or a file with "
    advice = _suggested(context, name, value.span) or f"{advice}`name: {name[:60]}`"
    label = f"no file {file[:60]}, and no workflow of that name"
    context.report("W016", message, value.span, label=label, help=advice)


def _suggested(context: FileContext, name: str, span: Span) -> str:
    """The question that names the nearest workflow, or one of that name in another folder."""
    files = [file for place in context.files.named(_name_of, span) for file in place]
    elsewhere = next((file.key for file in files if file.name == name), "")
    if elsewhere:
        return f"did you mean {elsewhere!r}?"
    names = (
        name
        for file in files
        for name in (file.key, file.name if file.near else "", file.reference.rpartition(".")[0])
    )
    return did_you_mean(name, islice(dict.fromkeys(names), _COMPARED_MAX))


def read_arguments(
    context: FileContext, item: Item, called: Called | None, value: Value | None
) -> Mapping:
    """What `with` holds; reports what the called workflow does not take, or lacks."""
    fields = value if isinstance(value, Mapping) else Mapping((), item.key.span)
    for entry in fields:
        if entry.name in RESERVED - {"input"}:
            message = f"'with' of {item.words} cannot give {entry.name!r}: that word has a meaning"
            advice = "choose another name"
            context.report("W012", message, entry.key.span, label="reserved", help=advice)
    if called is not None:
        names = {entry.name: entry.key.span for entry in fields}
        others = frozenset({"input", "item"} if item.is_iterate else {"input"})
        arguments = Arguments(item.words, item.key.span, names, others, is_joined=True)
        check_arguments(context, arguments, called.reading)
    return fields


def call_inputs(
    texts: Texts, called: Called | None, arguments: Mapping, view: View, *, input_: ir.Value | None
) -> ir.Fields:
    """The inputs of a call: each key of `with`, and what every workflow sees.

    `input_` is what it gets as its input where `with` names none.
    """
    strict = view.inside is not None
    entries: list[tuple[str, ir.Value]] = [
        (entry.name, texts.values(entry.value, view, strict=strict)) for entry in arguments
    ]
    if "input" not in arguments and input_ is not None and takes(called, "input"):
        entries.append(("input", input_))
    if called is None or called.reading.workflow.open_inputs:
        entries.append(("env", ir.Expression("jinja", "env", LIBRARY)))
        entries.append(("loop", ir.Expression("jinja", "loop", LIBRARY)))
    return ir.Fields(tuple(entries))


def takes(called: Called | None, name: str) -> bool:
    """Whether a workflow can be given something under a name."""
    if called is None or called.reading.workflow.open_inputs:
        return True
    return any(port.name == name for port in called.reading.workflow.inputs)


def reads_history(context: FileContext, called: Called | None) -> bool:
    """Whether the file or what it calls mentions `loop.history` anywhere."""
    sources = {context.file: context.document.text}
    if called is not None:
        sources |= called.reading.sources
    for file, source in sources.items():
        if file not in context.historians:
            context.historians[file] = HISTORY in source
    return any(context.historians[file] for file in sources)
