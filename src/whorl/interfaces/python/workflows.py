"""Workflows for Python programs: read from a file, or built of the native format's own words."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from whorl.dialects import ProjectFiles, read_workflow
from whorl.source import open_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl import ir
    from whorl.errors import Diagnostic
    from whorl.language import Json


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow that is known to be sound; `warnings` tells what looks odd."""

    name: str
    ir: ir.Workflow
    file: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()


def load(path: str | os.PathLike[str]) -> Workflow:
    """Reads a workflow file. Raises InvalidWorkflow with everything that is wrong with it.

    Files that it names must lie in the same folder or below.
    """
    file = os.fspath(path)
    reading = read_workflow(open_file(file), file, ProjectFiles(str(Path(file).resolve().parent)))
    return Workflow(
        reading.workflow.name, reading.workflow, file, dict(reading.sources), reading.warnings
    )


def build(
    name: str,
    steps: Mapping[str, Mapping[str, Json]],
    *,
    inputs: Mapping[str, Json] | None = None,
    outputs: Mapping[str, Json] | None = None,
    model: str | list[str] | None = None,
    budget: float | None = None,
) -> Workflow:
    """Builds a workflow in code; the words are those of the native format.

        whorl.build(
            "count",
            {"count": {"repeat": {"until": "iteration >= 3", "steps": {"say": {"value": "hi"}}}}},
            outputs={"said": "{{ count.say }}"},
        )

    Raises InvalidWorkflow, with places in the workflow written as JSON.
    """
    fields: dict[str, object] = {"whorl": 1, "name": name, "steps": steps}
    optional = {"inputs": inputs, "outputs": outputs, "model": model, "budget": budget}
    fields |= {key: value for key, value in optional.items() if value is not None}
    text = json.dumps(fields, indent=2, ensure_ascii=False, default=dict)
    file = f"<{name}>.json"
    reading = read_workflow(text, file, ProjectFiles(str(Path.cwd())))
    return Workflow(name, reading.workflow, "", {file: text}, reading.warnings)
