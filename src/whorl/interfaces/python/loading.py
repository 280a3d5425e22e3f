"""Workflows for a Python program: read from files, built in code, edited as texts."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from whorl.errors import InvalidWorkflow, UsageError
from whorl.interfaces.python.values import Config, Definition, FilePath, Workflow, plain_value
from whorl.services.project import find_project

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.errors import Diagnostic, Span
    from whorl.providers.functions import Tasks
    from whorl.services.project import Project


_INDENT = 2
_KEYED = re.compile(r'"((?:[^"\\]|\\.)*)": ')


def load(path: FilePath, *, workflow: str = "", config: Config | None = None) -> Workflow:
    """Reads a workflow file. Raises InvalidWorkflow with everything that is wrong with it.

    `workflow` names one of a file that has several.

    It is read in the project of the working folder, as on the command line. Files that it names
    must be in that project, or beside it if it is elsewhere. `config` is a whorl.toml, or a table
    with the same content.
    """
    return workflow_from(project_of(config), path, workflow)


def workflow_from(project: Project, path: Definition | FilePath, name: str = "") -> Workflow:
    if not isinstance(path, str | os.PathLike):
        if not callable(getattr(path, "build", None)):
            advice = "give a file, a whorl.Workflow, or a function with @whorl.workflow"
            raise UsageError(f"{path!r:.80} is not a workflow", help=advice)
        return path.build(project)
    file = os.fsdecode(path)
    reading = project.read(file, name)
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
    return built(project_of(), name, fields)


def built(
    project: Project,
    name: str,
    fields: Mapping[str, object],
    *,
    places: Mapping[str, Span] = MappingProxyType({}),
    tasks: Tasks | None = None,
) -> Workflow:
    """Builds the workflow of a document; `places` are those of its steps in a program, by name."""
    given = {key: plain_value(value, key) for key, value in fields.items() if value is not None}
    text = json.dumps(given, indent=_INDENT, ensure_ascii=False)
    file = f"<{name.replace('/', '-')}>.json"
    try:
        reading = project.read_text(text, file)
    except InvalidWorkflow as fault:
        raise InvalidWorkflow(_named(fault.diagnostics, file, text, places)) from None
    warnings = _named(reading.warnings, file, text, places)
    return Workflow(name, reading.workflow, "", {file: text}, warnings, tasks)


def project_of(
    config: Config | None = None, store: FilePath | None = None, *, trust: bool = False
) -> Project:
    """Returns the project of a whorl.toml and a store, or else of the working folder.

    A table and a file that the program names are trusted; with `trust`, so is a file that is found.
    """
    if not isinstance(trust, bool):
        raise UsageError(f"trust is {trust!r:.80}, which is neither True nor False")
    folder = None if store is None else os.fspath(store)
    if isinstance(config, Mapping):
        table = {str(name): value for name, value in config.items()}
        found = find_project(os.environ, store=folder)
        return replace(found, config=None, table=table)
    file = None if config is None else os.fspath(config)
    return find_project(os.environ, config=file, store=folder, trusts=trust)


def _named(
    diagnostics: Iterable[Diagnostic], file: str, text: str, places: Mapping[str, Span]
) -> tuple[Diagnostic, ...]:
    """Returns the diagnostics with names instead of lines, since the user never saw the text."""
    named: list[Diagnostic] = []
    for diagnostic in diagnostics:
        if diagnostic.span is not None and diagnostic.span.file == file:
            way = _way(text, diagnostic.span.line)
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in way)
            message = f"{place.lstrip('.')}: {diagnostic.message}" if way else diagnostic.message
            spans = [places[part] for part in way if isinstance(part, str) and part in places]
            diagnostic = replace(diagnostic, message=message, span=spans[-1] if spans else None)
        named.append(diagnostic)
    return tuple(named)


def _way(text: str, number: int) -> list[str | int]:
    """Returns the names and positions that lead to the content of a line of indented JSON."""
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
    return way
