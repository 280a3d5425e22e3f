"""Canvas files: nodes and edges as React Flow stores them, with loops between Loop and Exit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reader import Reading
from whorl.dialects.studio.canvas.kinds import FIELDS
from whorl.dialects.studio.draft import Draft
from whorl.dialects.studio.workflow import read_file
from whorl.errors import InvalidWorkflow
from whorl.ir.checks import check
from whorl.source import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.reader import Files
    from whorl.source import Document, Value

__all__ = ["StudioReader"]


class StudioReader:
    """Reads canvas files."""

    name = "studio"
    looks_for = "`nodes` and `edges`, with nodes of types such as llm, loop and exit"
    joined: frozenset[str] | None = None

    def claims(self, document: Document) -> bool:
        """Whether the file is a canvas whose nodes have the types of this dialect.

        Other canvases name the type of a node inside of its data, as `nodeType`.
        """
        root = document.root
        if not isinstance(root, Mapping) or "whorl" in root:
            return False
        nodes = root.get("nodes")
        if not isinstance(nodes, Sequence) or _is_other(root):
            return False
        items = [item for item in nodes if isinstance(item, Mapping)]
        if any(_names_type_inside(item) for item in items):
            return False
        return not items or any(_type_of(item) in FIELDS for item in items)

    def read(self, document: Document, files: Files) -> Reading:
        """Reads a file into the IR; raises InvalidWorkflow with everything that is wrong in it."""
        draft = Draft(document, files)
        draft.sources[document.file] = document.text
        draft.adopt(document.warnings)
        assert isinstance(document.root, Mapping)
        workflow = read_file(draft, document.root)
        if workflow is not None and not draft.diagnostics:
            draft.adopt(check(workflow, draft.places))
        if workflow is None or draft.diagnostics:
            raise InvalidWorkflow(draft.diagnostics)
        return Reading(workflow, tuple(draft.warnings), draft.sources)


def _is_other(root: Mapping) -> bool:
    return "metadata" in root and "version" in root and "viewport" not in root


def _names_type_inside(item: Mapping) -> bool:
    inner: Value | None = item.get("data")
    return isinstance(inner, Mapping) and "nodeType" in inner


def _type_of(item: Mapping) -> str:
    value = item.get("type")
    return value.text if isinstance(value, Scalar) else ""
