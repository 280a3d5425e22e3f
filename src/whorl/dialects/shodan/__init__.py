"""Graph files: nodes with typed ports, edges between handles, and loops that hold a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.reader import Reading
from whorl.dialects.shodan.draft import Draft
from whorl.dialects.shodan.workflow import read_file
from whorl.errors import InvalidWorkflow
from whorl.ir.checks import check
from whorl.source import Mapping, Sequence

if TYPE_CHECKING:
    from whorl.dialects.reader import Files
    from whorl.source import Document

__all__ = ["ShodanReader"]


class ShodanReader:
    """Reads graph files."""

    name = "shodan"
    looks_for = "`version`, `metadata` and `nodes` whose data has a `nodeType`"
    joined: frozenset[str] | None = None

    def claims(self, document: Document) -> bool:
        """Whether the file is a graph whose nodes name their type inside of their data."""
        root = document.root
        if not isinstance(root, Mapping) or "whorl" in root:
            return False
        nodes = root.get("nodes")
        if not isinstance(nodes, Sequence):
            return False
        if any(_names_type_inside(item) for item in nodes):
            return True
        return "version" in root and "metadata" in root and "viewport" not in root

    def read(self, document: Document, files: Files) -> Reading:
        """Reads a file into the IR; raises InvalidWorkflow with everything that is wrong in it."""
        draft = Draft(document, files)
        draft.sources[document.file] = document.text
        draft.adopt(document.warnings)
        assert isinstance(document.root, Mapping)
        workflow = read_file(draft, document.root)
        if not draft.diagnostics:
            draft.adopt(check(workflow, draft.places))
        if draft.diagnostics:
            raise InvalidWorkflow(draft.diagnostics)
        return Reading(workflow, tuple(draft.warnings), draft.sources)


def _names_type_inside(item: object) -> bool:
    inner = item.get("data") if isinstance(item, Mapping) else None
    return isinstance(inner, Mapping) and "nodeType" in inner
