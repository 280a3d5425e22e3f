"""Workflows of any dialect as native files that people go on with."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import yaml

from whorl import ir
from whorl.dialects.files import NoFiles
from whorl.dialects.native import forms
from whorl.dialects.native.context import (
    CORE,
    CannotWriteError,
    Context,
    Enclosing,
)
from whorl.dialects.native.steps import KINDS
from whorl.dialects.native.workflow import FILE, SHARED, defaults_of
from whorl.dialects.reader import read_workflow
from whorl.errors import UNSAFE_LETTERS, InternalError, InvalidWorkflow, Span, visible
from whorl.ir.expressions import Names
from whorl.ir.walk import index_nodes
from whorl.source import Document, Mapping

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Iterator


_INLINE_MAX = 88
_NO_DOCUMENT = Document(Mapping((), Span("", 1, 1)), (), "", "")
# Words that readers of older YAML take for true or false.
_OLD_WORDS = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null|~)")
# Texts that cannot stand without quotes; double ones look the same in JSON.
_NEEDS_QUOTES = re.compile(r"^[{\[&*!|>%@`#'\"]|: |:$| #")
# What YAML takes for the end of a line, or forbids, outside of double quotes, and what people
# would not see in a file.
_BREAKS = re.compile(rf"(?![\n\t]){UNSAFE_LETTERS}")
# The core schema of YAML 1.2.
_RESOLVERS = (
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", "~nN"),
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
)


def convert(
    workflow: ir.Workflow, sources: abc.Mapping[str, str], file: str
) -> tuple[str, list[str]]:
    """A workflow as a native file for people, and the secret inputs whose values it has not.

    A reader takes such values from other files, too, which are better guarded than this one will
    be. The inputs of workflows that it calls are told as `WORKFLOW: INPUT`.
    """
    workflow, names = _without_secrets(workflow)
    return write_native(workflow, sources, file), names


def _without_secrets(workflow: ir.Workflow) -> tuple[ir.Workflow, list[str]]:
    names = [port.name for port in workflow.inputs if port.secret and port.default is not None]
    ports = tuple(
        replace(port, default=None, required=True) if port.name in names else port
        for port in workflow.inputs
    )
    called: list[tuple[str, ir.Workflow]] = []
    for key, part in workflow.workflows:
        inner, inner_names = _without_secrets(part)
        called.append((key, inner))
        names += [f"{key}: {name}" for name in inner_names]
    return replace(workflow, inputs=ports, workflows=tuple(called)) if names else workflow, names


def write_native(
    workflow: ir.Workflow, sources: abc.Mapping[str, str] | None = None, file: str = ""
) -> str:
    """A workflow as a native file; comments above its steps come from its sources by file name.

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
        problem = ValueError("it is read as another workflow")
    raise InternalError(f"what was written is wrong: {problem}") from problem


def is_same_workflow(workflow: ir.Workflow, other: ir.Workflow) -> bool:
    """Whether two workflows are equal but for the places of their nodes in the text."""
    return _placeless(workflow) == _placeless(other)


def _placeless(item: object) -> object:
    """A part of the IR without places; numbers and truth values are told apart."""
    if isinstance(item, tuple):
        return tuple(_placeless(part) for part in item)
    if not is_dataclass(item) or isinstance(item, type):
        return repr(item)
    names = [part.name for part in fields(item) if part.name != "place"]
    return type(item).__name__, *(_placeless(getattr(item, name)) for name in names)


def _with_comments(
    text: str, workflow: ir.Workflow, again: ir.Workflow, sources: abc.Mapping[str, str]
) -> str:
    """The text with the comments that stand above steps in the sources."""
    lines, nodes = text.splitlines(), index_nodes(again)
    above: dict[int, list[str]] = {}
    used: set[tuple[str, int]] = set()
    for path, node in index_nodes(workflow).items():
        key = next((key for key, _ in workflow.workflows if path.startswith(f"{key}:")), "")
        line, _, column = node.place.partition(":")
        if not line or not column or (key, int(line)) in used:
            continue
        used.add((key, int(line)))
        comments = _comments(sources.get(key, "").splitlines()[: int(line) - 1], int(column))
        row, _, indent = nodes[path].place.partition(":")
        if comments and row and indent:
            above[int(row) - 1] = [" " * (int(indent) - 1) + comment for comment in comments]
    top = takewhile(lambda line: line.startswith("#"), sources.get("", "").splitlines())
    body = [part for row, line in enumerate(lines) for part in (*above.get(row, ()), line)]
    return "\n".join([*(visible(line.rstrip()) for line in top), *body]) + "\n"


def _comments(above: list[str], column: int) -> list[str]:
    """The comments at the end of some lines; what is indented deeper belongs to a text."""

    def is_comment(line: str) -> bool:
        bare = line.lstrip()
        return bare.startswith("#") and len(line) - len(bare) < column

    return [visible(line.strip()) for line in takewhile(is_comment, reversed(above))][::-1]


def emit_yaml(value: dict[str, Any]) -> str:
    """A value as YAML as a person would write it: keys in order, texts in blocks, few quotes."""
    options: Any = {"sort_keys": False, "allow_unicode": True, "default_flow_style": False}
    text = str(yaml.dump(_File(value), Dumper=_Dumper, width=10**9, **options))
    # Texts with such letters are in double quotes, so an escape stands for each.
    return _BREAKS.sub(lambda letter: f"\\u{ord(letter[0]):04x}", text)


class _File(dict[str, Any]):
    """The fields of a whole file, each on a line of its own."""


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def ignore_aliases(self, data: Any) -> bool:
        """A part that stands in two places is written twice."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Items of a list are indented below their key."""
        super().increase_indent(flow, False)


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    needs_quotes = _NEEDS_QUOTES.search(text) and not set('"\\') & set(text)
    style = '"' if _OLD_WORDS.fullmatch(text) or needs_quotes else None
    if "\n" in text or _BREAKS.search(text):
        style = '"' if _BREAKS.search(text) else "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _object(dumper: Any, value: dict[str, Any]) -> yaml.MappingNode:
    node: yaml.MappingNode = dumper.represent_mapping("tag:yaml.org,2002:map", value)
    for key, _ in node.value:
        # A key is always a text, so that it needs no quotes to be one.
        if _OLD_WORDS.fullmatch(key.value) or key.value.isdecimal():
            key.style, key.tag = None, dumper.resolve(yaml.ScalarNode, key.value, (True, False))
    node.flow_style = _is_short(value)
    return node


def _list(dumper: _Dumper, value: list[Any]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=_is_short(value))


def _is_short(value: Any) -> bool:
    """Whether an object or a list stands on one line: it fits, and holds no other object."""
    inner = value.values() if isinstance(value, dict) else value
    if isinstance(value, _File) or any(isinstance(part, dict) for part in inner):
        return False
    written = json.dumps(value, ensure_ascii=False)
    return len(written) <= _INLINE_MAX and "\\n" not in written


for _tag, _pattern, _first in _RESOLVERS:
    _Dumper.add_implicit_resolver(_tag, re.compile(f"(?:{_pattern})\\Z"), [*_first, ""])
_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _object)
_Dumper.add_representer(_File, _object)
_Dumper.add_representer(list, _list)


def write_fields(context: Context, workflow: ir.Workflow, *, exact: bool) -> dict[str, Any]:
    """A workflow as the fields of a file: plain ones, or exact ones, which say everything."""
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
