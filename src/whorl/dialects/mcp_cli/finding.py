"""Finds the workflow that is called: by the name of its file, or else by the name inside of it."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from whorl.dialects.detection import parse
from whorl.dialects.files import ENDINGS, FILES_MAX
from whorl.dialects.mcp_cli.scalars import text_of
from whorl.errors import InvalidWorkflow, did_you_mean
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects.files import NamedFile
    from whorl.dialects.mcp_cli.draft import Draft, Item
    from whorl.dialects.reader import Called
    from whorl.errors import Span
    from whorl.source import Value

_SCHEMA = "workflow/"
# The lines that tell what a file is called, where it is written as YAML mostly is.
_LINES = re.compile(r"""^(["']?)(?:\$schema|name)\1[ \t]*:.*""", re.MULTILINE)
_COMPARED_MAX = 1_000


def find_workflow(draft: Draft, item: Item, value: Value | None) -> Called | None:
    """Finds and reads the workflow that a step or loop names."""
    name = text_of(value)
    if not name or value is None:
        return None
    is_file = name.endswith(ENDINGS)
    names = [name] if is_file else [name + ending for ending in ENDINGS]
    reference = draft.files.find(names)
    if reference is not None:
        called = _read(draft, reference, value)
        if called is not None and not is_file:
            _warn_of_namesake(draft, item, called, value)
        return called
    meant = [] if is_file else _find_named(draft, name, value.span)
    if len(meant) == 1:
        return _read(draft, meant[0].reference, value)
    if meant:
        _report_several(draft, item, meant, value)
    else:
        _report_missing(draft, item, names[0], value)
    return None


def _read(draft: Draft, reference: str, value: Value) -> Called | None:
    try:
        called = draft.files.workflow(reference, value.span)
    except InvalidWorkflow as fault:
        draft.adopt(fault.diagnostics)
        return None
    draft.sources.update(called.reading.sources)
    draft.adopt(called.reading.warnings)
    draft.workflows.update(called.reading.workflow.workflows)
    draft.workflows[called.key] = replace(called.reading.workflow, workflows=())
    return called


def _find_named(draft: Draft, name: str, span: Span) -> list[NamedFile]:
    """The files that a name may mean: that one, or those in the nearest place that has any.

    In a place, one where the whole name fits comes before those in folders further below.
    """
    for place in draft.files.named(_name_of, span):
        exact = [file for file in place if file.key == name]
        found = exact or [file for file in place if file.near and file.key.endswith(f"/{name}")]
        if found:
            return list({file.path: file for file in found}.values())
    return []


def _name_of(text: str, file: str) -> str:
    """The name that a workflow of this format gives itself; nothing for another file.

    Reading two lines is enough for most files, and also works for those with mistakes in them.
    """
    if _SCHEMA not in text:
        return ""
    lines = "\n".join(found[0] for found in _LINES.finditer(text))
    return _named_in(lines, "lines.yaml") or _named_in(text, file)


def _named_in(text: str, file: str) -> str:
    try:
        root = parse(text, file, lenient=True).root
    except InvalidWorkflow:
        return ""
    if not isinstance(root, Mapping) or not text_of(root.get("$schema")).startswith(_SCHEMA):
        return ""
    return text_of(root.get("name"))


def _warn_of_namesake(draft: Draft, item: Item, called: Called, value: Value) -> None:
    """Elsewhere the name inside of a file counts: where it means another file, that is told."""
    name = text_of(value)
    workflow = called.reading.workflow
    if workflow.dialect != "mcp-cli" or workflow.name == name.rpartition("/")[2]:
        return
    for other in _find_named(draft, name, value.span):
        draft.warn(
            "W023",
            f"{item.words} calls the file {called.key}, although {other.reference} has the name "
            f"{name[:60]!r}",
            value.span,
            label="which one?",
            help=f"write the name of the file, such as {other.reference!r}, or rename one of them",
        )


def _report_several(draft: Draft, item: Item, meant: list[NamedFile], value: Value) -> None:
    listed = " or ".join(file.reference for file in meant[:3])
    more = f" or {len(meant) - 3} others" if len(meant) > 3 else ""
    draft.report(
        "W016",
        f"{item.words} calls the workflow {text_of(value)[:60]!r}, which could be {listed}{more}",
        value.span,
        label="which one?",
        help="give them different names, write the folder before the name, or the name of the file",
    )


def _report_missing(draft: Draft, item: Item, file: str, value: Value) -> None:
    name = text_of(value)
    meant = _suggested(draft, name, value.span)
    cut = f" among the {FILES_MAX:,} nearest files" if draft.files.is_cut else ""
    draft.report(
        "W016",
        f"{item.words} calls the workflow {name[:60]!r}, which is not there{cut}",
        value.span,
        label=f"no file {file[:60]}, and no workflow of that name",
        help=meant
        or f"write {file} beside {draft.file} or in a folder below it, or a file with "
        f"`name: {name[:60]}`",
    )


def _suggested(draft: Draft, name: str, span: Span) -> str:
    """The question that names the nearest workflow, or one of that name in another folder."""
    files = [file for place in draft.files.named(_name_of, span) for file in place]
    elsewhere = next((file.key for file in files if file.name == name), "")
    if elsewhere:
        return f"did you mean {elsewhere!r}?"
    known = (
        one
        for file in files
        for one in (file.key, file.name if file.near else "", file.reference.rpartition(".")[0])
    )
    return did_you_mean(name, islice(dict.fromkeys(known), _COMPARED_MAX))
