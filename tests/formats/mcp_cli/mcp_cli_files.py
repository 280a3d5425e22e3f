"""Workflow files of mcp-cli in memory, and what reading them finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whorl.dialects import Opened, read_workflow
from whorl.errors import Diagnostic, InvalidWorkflow
from whorl.source.paths import Nearby, SearchFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whorl.dialects import Reading
    from whorl.errors import Span

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared"
HEAD = '$schema: "workflow/v2.0"\nname: main\nversion: 1.0.0\nexecution: {provider: a, model: b}\n'
CHILD = f'{HEAD}steps:\n  - {{name: only, run: "Go {{{{input}}}}"}}\n'


class Memory:
    """Files by name; a workflow that is named and not there is a small one with one step."""

    def __init__(self, files: dict[str, str], *, complete: bool = True) -> None:
        self._files = files
        self._complete = complete

    def real_path(self, file: str) -> str:
        return file

    def open(self, base: str, reference: str, span: Span) -> Opened:
        if reference not in self._files and not (self._complete and reference[0] != "/"):
            message = f"file {reference!r} does not exist, or is absolute"
            raise InvalidWorkflow([Diagnostic("W016", message, span)])
        return Opened(reference, reference, self._files.get(reference, CHILD))

    def find(self, base: str, names: Sequence[str]) -> str | None:
        """The first name that is there, or would be."""
        found = next((name for name in names if name in self._files), None)
        return found or (names[0] if self._complete else None)

    def list(self, base: str, endings: tuple[str, ...]) -> Iterable[SearchFolder]:
        """All files, each in its folder."""
        names = [name for name in self._files if name.endswith(endings)]
        return [SearchFolder(tuple(Nearby(name, name.rpartition("/")[0]) for name in names))]


def read(text: str) -> Reading:
    return read_workflow(text, "main.yaml", Memory({}), dialect="mcp-cli")
