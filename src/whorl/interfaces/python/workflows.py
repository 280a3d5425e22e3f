"""Workflows for Python programs: read from a file, or built of the native format's own words."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import InvalidWorkflow, UsageError
from whorl.interfaces.python.values import plain_value
from whorl.services.project import find_project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whorl import ir
    from whorl.errors import Diagnostic
    from whorl.services.project import Project

FilePath: TypeAlias = "str | os.PathLike[str]"

_INDENT = 2
_KEYED = re.compile(r'"((?:[^"\\]|\\.)*)": ')


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow that is known to be sound; `warnings` tells what looks odd."""

    name: str
    ir: ir.Workflow = field(repr=False, hash=False)
    file: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    warnings: tuple[Diagnostic, ...] = ()


def load(path: FilePath, *, config: FilePath | None = None) -> Workflow:
    """Reads a workflow file. Raises InvalidWorkflow with everything that is wrong with it.

    It is read in the project that the working folder lies in, as on the command line: files that it
    names must lie in the project, or beside it where it lies elsewhere. `config` is a whorl.toml.
    """
    return workflow_from(project_of(config), path)


def workflow_from(project: Project, path: FilePath) -> Workflow:
    """Reads a workflow file in a project."""
    file = os.fsdecode(path)
    reading = project.read(file)
    workflow = reading.workflow
    return Workflow(workflow.name, workflow, file, dict(reading.sources), reading.warnings)


def build(
    name: str,
    steps: Mapping[str, Mapping[str, object]],
    *,
    inputs: Mapping[str, object] | None = None,
    outputs: Mapping[str, object] | None = None,
    model: str | Sequence[str] | None = None,
    system: str | None = None,
    description: str | None = None,
    budget: float | None = None,
) -> Workflow:
    """Builds a workflow in code; the words are those of the native format.

        whorl.build(
            "count",
            {"count": {"repeat": {"until": "iteration >= 3", "steps": {"say": {"value": "hi"}}}}},
            outputs={"said": "{{ count.say }}"},
        )

    `budget` is the most that a run may spend, in dollars. Raises InvalidWorkflow, in which each
    mistake has the names that lead to its place, and UsageError for a value that JSON cannot hold.
    """
    if not isinstance(name, str) or not name:
        raise UsageError(f"the name of a workflow is a text, not {name!r:.80}")
    fields: dict[str, object] = {"whorl": 1, "name": name, "description": description}
    fields |= {"inputs": inputs, "model": model, "system": system, "budget": budget}
    fields |= {"steps": steps, "outputs": outputs}
    given = {key: plain_value(value, key) for key, value in fields.items() if value is not None}
    text = json.dumps(given, indent=_INDENT, ensure_ascii=False)
    file = f"<{name.replace('/', '-')}>.json"
    try:
        reading = project_of().read_text(text, file)
    except InvalidWorkflow as fault:
        raise InvalidWorkflow(_named(fault.diagnostics, file, text)) from None
    warnings = _named(reading.warnings, file, text)
    return Workflow(name, reading.workflow, "", {file: text}, warnings)


def project_of(config: FilePath | None = None, store: FilePath | None = None) -> Project:
    """The project of a whorl.toml and a store, or else of the working folder."""
    file, folder = (None if path is None else os.fspath(path) for path in (config, store))
    return find_project(os.environ, config=file, store=folder)


def _named(diagnostics: Iterable[Diagnostic], file: str, text: str) -> tuple[Diagnostic, ...]:
    """The same with names instead of lines, since nobody has seen the text that was read."""
    named: list[Diagnostic] = []
    for diagnostic in diagnostics:
        if diagnostic.span is not None and diagnostic.span.file == file:
            place = _place(text, diagnostic.span.line)
            message = f"{place}: {diagnostic.message}" if place else diagnostic.message
            diagnostic = replace(diagnostic, message=message, span=None)
        named.append(diagnostic)
    return tuple(named)


def _place(text: str, number: int) -> str:
    """The names and positions that lead to what stands in a line of indented JSON."""
    way: list[str | int] = []
    for line in text.split("\n")[:number]:
        content = line.lstrip(" ")
        depth = (len(line) - len(content)) // _INDENT
        if depth == 0 or content[0] in "}]":
            continue
        keyed = _KEYED.match(content)
        before = way[depth - 1] if len(way) >= depth else None
        after = before + 1 if isinstance(before, int) else 0
        way[depth - 1 :] = [json.loads(f'"{keyed[1]}"') if keyed else after]
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in way).lstrip(".")
