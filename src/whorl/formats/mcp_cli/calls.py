"""Calls of other workflows: which file is meant, and what it is given."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.files import ENDINGS, FILES_MAX, Names
from whorl.dialects.reader import parse
from whorl.dialects.reading.fields import text_of
from whorl.dialects.reading.structure import check_arguments
from whorl.errors import InvalidWorkflow, Span, did_you_mean
from whorl.formats.mcp_cli.steps import read_shared
from whorl.formats.mcp_cli.texts import LIBRARY, RESERVED, View
from whorl.source import Mapping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.dialects.files import NamedFile, SourceFiles
    from whorl.dialects.reader import Called
    from whorl.formats.mcp_cli.format import FileContext, Item
    from whorl.formats.mcp_cli.steps import ParsedFile
    from whorl.source import Value

# What a call gives: the main output of the workflow.
MAIN_OUTPUT = ir.Expression("jinja", "main_output(it)", LIBRARY)
_SCHEMA = "workflow/"
# The lines that tell what a file is called, where it is written as YAML mostly is.
_LINES = re.compile(r"""^(["']?)(?:\$schema|name)\1[ \t]*:.*""", re.MULTILINE)
_COMPARED_MAX = 1_000
_TOP = Span("", 1, 1)


def find_workflow(context: FileContext, item: Item, value: Value | None) -> Called | None:
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
        listed = " or ".join(file.reference for file in meant[:3])
        listed += f" or {len(meant) - 3} others" if len(meant) > 3 else ""
        message = f"{item.words} calls the workflow {name[:60]!r}, which could be {listed}"
        advice = "give them different names, write the folder before the name, or the name of the "
        context.report("W016", message, value.span, label="which one?", help=advice + "file")
    else:
        _report_missing(context, item, names[0], value)
    return None


def find_named(name: str, files: SourceFiles, base: str) -> list[str]:
    """The files that a name may mean: the `name:` inside of them, with folders before it or not."""
    return [file.reference for file in _named_in(Names(files).around(base, _name_of, _TOP), name)]


def _find_named(context: FileContext, name: str, span: Span) -> list[NamedFile]:
    """The files that a name may mean: that one, or those in the nearest place that has any.

    In a place, one where the whole name fits comes before those in folders further below.
    """
    return _named_in(context.files.named(_name_of, span), name)


def _named_in(places: Iterable[list[NamedFile]], name: str) -> list[NamedFile]:
    for place in places:
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
    for part, name in ((lines, "lines.yaml"), (text, file)):
        try:
            root = parse(part, name, lenient=True).root
        except InvalidWorkflow:
            continue
        fields = root if isinstance(root, Mapping) else Mapping((), root.span)
        named = text_of(fields.get("name"))
        if named and text_of(fields.get("$schema")).startswith(_SCHEMA):
            return named
    return ""


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


def _report_missing(context: FileContext, item: Item, file: str, value: Value) -> None:
    """Reports that no workflow has a name, with the nearest one, or where one would be found."""
    name = text_of(value)
    files = [file for place in context.files.named(_name_of, value.span) for file in place]
    names = (
        name
        for file in files
        for name in (file.key, file.name if file.near else "", file.reference.rpartition(".")[0])
    )
    elsewhere = next((file.key for file in files if file.name == name), "")
    advice = f"did you mean {elsewhere!r}?" if elsewhere else ""
    advice = advice or did_you_mean(name, islice(dict.fromkeys(names), _COMPARED_MAX))
    if not advice:
        advice = f"write {file} beside {context.file} or in a folder below it, or a file with "
        advice += f"`name: {name[:60]}`"
    cut = f" among the {FILES_MAX:,} nearest files" if context.files.is_cut else ""
    message = f"{item.words} calls the workflow {name[:60]!r}, which does not exist{cut}"
    label = f"no file {file[:60]}, and no workflow of that name"
    context.report("W016", message, value.span, label=label, help=advice)


def _read_arguments(
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
        owner, span = item.words, item.key.span
        check_arguments(
            context, called.reading, names, owner=owner, span=span, others=others, is_joined=True
        )
    return fields


def call_inputs(
    file: ParsedFile, item: Item, called: Called | None, given: Value | None, input_: str = ""
) -> ir.Fields:
    """The inputs of a call: each key of `with`, and what every workflow sees.

    Where `with` names no input, that is all of `with` as one text, or the expression `input_`; for
    an item it is a JSON object with all of `with`, and the item.
    """
    view = file.view(item) if item.loop is None else View(item, inside=item)
    arguments = _read_arguments(file.context, item, called, given)
    strict = item.loop is not None
    main: ir.Value = ir.Expression("jinja", input_, "" if strict else LIBRARY)
    if item.is_iterate:
        source = f"item_input({file.texts.source(arguments, view)}, loop.item)"
        main = ir.Expression("jinja", source, LIBRARY)
    elif arguments.entries:
        main = file.texts.lines(arguments, view, strict=strict)
    else:
        file.texts.variables.reads_input = True
    entries: dict[str, ir.Value] = {
        entry.name: file.texts.values(entry.value, view, strict=strict) for entry in arguments
    }
    if _takes(called, "input"):
        entries.setdefault("input", main)
    if called is None or called.reading.workflow.open_inputs:
        entries |= {name: ir.Expression("jinja", name, LIBRARY) for name in ("env", "loop")}
    if item.is_iterate and _takes(called, "item"):
        entries.pop("item", None)
        entries["item"] = ir.Expression("jinja", "loop.item")
    return ir.Fields(tuple(entries.items()))


def _takes(called: Called | None, name: str) -> bool:
    """Whether a workflow can be given something under a name."""
    if called is None or called.reading.workflow.open_inputs:
        return True
    return any(port.name == name for port in called.reading.workflow.inputs)


def read_template(file: ParsedFile, item: Item, template: Mapping) -> ir.Call:
    called = find_workflow(file.context, item, template.get("name"))
    inputs = call_inputs(file, item, called, template.get("with"), "input")
    workflow = called.key if called else ""
    return ir.Call(workflow=workflow, inputs=inputs, shape=MAIN_OUTPUT, **read_shared(file, item))
