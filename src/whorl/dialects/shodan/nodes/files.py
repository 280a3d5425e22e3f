"""Files that nodes name in lists, opened by the one path rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.shodan.fields import scalar_of
from whorl.errors import InvalidWorkflow
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.shodan.level import Level
    from whorl.dialects.shodan.parts import GraphNode


def named_files(level: Level, node: GraphNode, field: str) -> list[tuple[str, str]]:
    """The names and texts of the files that a field lists."""
    written = node.fields.get(field)
    found: list[tuple[str, str]] = []
    for item in written if isinstance(written, Sequence) else ():
        if isinstance(item, Mapping):
            name = scalar_of(item, "path") or scalar_of(item, "name")
        else:
            name = item if isinstance(item, Scalar) else None
        if name is None:
            level.draft.report("W007", f"{field!r} must be a list of paths", item.span)
            continue
        try:
            found.append(level.draft.files.text(level.draft.reference(name.text), name.span))
        except InvalidWorkflow as fault:
            level.draft.adopt(fault.diagnostics)
    return found
