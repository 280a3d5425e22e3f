"""Writes workflows of any dialect as native files that people can edit."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.files import NoFiles
from whorl.dialects.native import forms
from whorl.dialects.native.context import CORE, CannotWriteError, Context, Enclosing
from whorl.dialects.native.steps import KINDS
from whorl.dialects.native.workflow import FILE, SHARED, defaults_of
from whorl.dialects.reader import read_workflow
from whorl.errors import InternalError, InvalidWorkflow, Span, visible
from whorl.ir.expressions import Names
from whorl.ir.walk import index_nodes
from whorl.source import Document, Mapping
from whorl.source.editing.spelling import Indent, block

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Iterator


_INLINE_MAX = 88
_NO_DOCUMENT = Document(Mapping((), Span("", 1, 1)), (), "", "")


def convert(
    workflow: ir.Workflow, sources: abc.Mapping[str, str], file: str
) -> tuple[str, list[str]]:
    """Returns a workflow as a native file, and the secret inputs whose values were left out.

    A reader takes such values from other files, which are better protected than this one will be.
    For called workflows, the inputs are named `WORKFLOW: INPUT`.
    """
    workflow, names = _without_secrets(workflow)
    return write_native(workflow, sources, file), names


def _without_secrets(workflow: ir.Workflow) -> tuple[ir.Workflow, list[str]]:
    names = [port.name for port in workflow.inputs if port.secret and port.default is not None]
    bare = {port.name: replace(port, default=None, required=True) for port in workflow.inputs}
    ports = tuple(bare[port.name] if port.name in names else port for port in workflow.inputs)
    called: list[tuple[str, ir.Workflow]] = []
    for key, part in workflow.workflows:
        inner, inner_names = _without_secrets(part)
        called.append((key, inner))
        names += [f"{key}: {name}" for name in inner_names]
    return replace(workflow, inputs=ports, workflows=tuple(called)) if names else workflow, names


def write_native(
    workflow: ir.Workflow, sources: abc.Mapping[str, str] | None = None, file: str = ""
) -> str:
    """Writes a workflow as a native file, with the comments above steps from sources by file name.

    All of it is written, also the values that it has for secrets.
    """
    for exact in (workflow.dialect != "native", True):
        try:
            context = Context(_NO_DOCUMENT, NoFiles(), kinds=KINDS)  # type: ignore[arg-type]
            text = emit_yaml({"whorl": 1, **write_fields(context, workflow, exact=exact)})
            again = read_workflow(text, "written.yaml", dialect="native").workflow
        except (CannotWriteError, InvalidWorkflow) as fault:
            problem: Exception = fault
            continue
        if is_same_workflow(workflow, again):
            own = {**(sources or {}), "": (sources or {}).get(file, "")}
            return _with_comments(text, workflow, again, own)
        problem = ValueError("it reads back as another workflow")
    raise InternalError(f"the written file is wrong: {problem}") from problem


def is_same_workflow(workflow: ir.Workflow, other: ir.Workflow) -> bool:
    """Checks whether two workflows are equal except for the places of their nodes in the text."""
    return _placeless(workflow) == _placeless(other)


def _placeless(item: object) -> object:
    """Returns a part of the IR without places; numbers and booleans stay different."""
    if isinstance(item, tuple):
        return tuple(_placeless(part) for part in item)
    if not is_dataclass(item) or isinstance(item, type):
        return repr(item)
    names = [part.name for part in fields(item) if part.name != "place"]
    return type(item).__name__, *(_placeless(getattr(item, name)) for name in names)


def _with_comments(
    text: str, workflow: ir.Workflow, again: ir.Workflow, sources: abc.Mapping[str, str]
) -> str:
    """Adds the comments that are above steps in the sources."""
    lines, nodes = text.splitlines(), index_nodes(again)
    above: dict[int, list[str]] = {}
    used: set[tuple[str, int]] = set()
    for path, node in index_nodes(workflow).items():
        key = next((key for key, _ in workflow.workflows if path.startswith(f"{key}:")), "")
        line, _, column = node.place.partition(":")
        if not line or not column or (key, int(line)) in used:
            continue
        used.add((key, int(line)))
        before = reversed(sources.get(key, "").splitlines()[: int(line) - 1])
        # Deeper lines belong to a text.
        found = takewhile(re.compile(rf"\s{{0,{int(column) - 1}}}#").match, before)
        comments = [visible(comment.strip()) for comment in found][::-1]
        row, _, indent = nodes[path].place.partition(":")
        if comments and row and indent:
            above[int(row) - 1] = [" " * (int(indent) - 1) + comment for comment in comments]
    top = takewhile(lambda line: line.startswith("#"), sources.get("", "").splitlines())
    body = [part for row, line in enumerate(lines) for part in (*above.get(row, ()), line)]
    return "\n".join([*(visible(line.rstrip()) for line in top), *body]) + "\n"


def emit_yaml(value: dict[str, Any]) -> str:
    """Writes a value as YAML as a person would: keys in order, texts in blocks, few quotes."""
    return "\n".join([*block(value, 0, Indent(inline=_INLINE_MAX)), ""])


def write_fields(context: Context, workflow: ir.Workflow, *, exact: bool) -> dict[str, Any]:
    """Returns a workflow as the fields of a file: plain, or exact, which say everything."""
    written: dict[str, Any] = {"name": workflow.name}
    inner = replace(context, name=workflow.name, around=Enclosing())
    if exact:
        expressions = _expressions(workflow)
        libraries = Counter(x.library for x in expressions if x.syntax in ("jinja", "template"))
        library = libraries.most_common(1)[0][0] if libraries else ""
        if not context.exact or context.library != library:
            written["expressions"] = library or CORE
        inner = replace(inner, exact=True, library=library, names=Names())
    inner.workflows.update(workflow.workflows)
    written |= forms.write_object(inner, FILE, workflow)
    if workflow.workflows:
        shared = {name: getattr(workflow, name) for name in SHARED}
        called = replace(inner, shared=shared)
        inside = {key: write_fields(called, part, exact=exact) for key, part in workflow.workflows}
        written["workflows"] = inside
    asked = dict(workflow.defaults).get("ask", ir.Fields()).entries
    inputs = {f"inputs.{name}": value for name, value in asked}
    if workflow.defaults and defaults_of(inner, inputs) == workflow.defaults:
        del written["defaults"]
        written |= {str(name): inner.write_value(value) for name, value in asked}
    return {name: written[name] for name in FILE if name in written}


def _expressions(item: Any) -> Iterator[ir.Expression]:
    if isinstance(item, ir.Expression):
        yield item
    elif isinstance(item, tuple):
        for part in item:
            yield from _expressions(part)
    elif is_dataclass(item):
        for part in fields(item):
            if part.name != "workflows":
                yield from _expressions(getattr(item, part.name))
