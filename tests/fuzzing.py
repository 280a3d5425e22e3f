"""Values with a part changed, and what reading them must come to: a workflow or a refusal."""

from __future__ import annotations

from typing import Any

from whorl import ir
from whorl.dialects import read_workflow
from whorl.errors import InvalidWorkflow

REMOVED = object()
Path = tuple[Any, ...]


def outcome(text: str | bytes, file: str, files: Any = None, *, dialect: str = "") -> None:
    """Reads a text; each mistake has a message, and a workflow is stored as it is."""
    try:
        reading = read_workflow(text, file, files, dialect=dialect)
    except InvalidWorkflow as fault:
        told = [found.message for found in fault.diagnostics]
    else:
        told = ["it is read"]
        assert ir.from_json(ir.to_json(reading.workflow)) == reading.workflow
    assert told
    assert all(told)


def paths(value: Any, path: Path = ()) -> list[Path]:
    """The paths of all parts of a value."""
    found = [path] if path else []
    pairs: Any = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else pairs:
        found += paths(inner, (*path, key))
    return found


def changed(value: Any, path: Path, new: Any = REMOVED) -> Any:
    """A copy in which another value stands at a path, or nothing."""
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) > 1:
        copy[path[0]] = changed(copy[path[0]], path[1:], new)
    elif new is REMOVED:
        del copy[path[0]]
    else:
        copy[path[0]] = new
    return copy
