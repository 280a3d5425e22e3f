"""Reads the workflow of a case, with the files beside it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from whorl.dialects import Opened, read_workflow
from whorl.errors import Diagnostic, InvalidWorkflow
from whorl.source.paths import Nearby, SearchFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.literate import Case
    from whorl.errors import Span
    from whorl.ir import Workflow

_FILE = "case.yaml"


class CaseFiles:
    """The files of a case, by name."""

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def real_path(self, file: str) -> str:
        """Names are paths here."""
        return file

    def open(self, base: str, reference: str, span: Span) -> Opened:
        """Opens a file of the case."""
        if reference not in self._files:
            message = f"there is no file {reference!r}"
            raise InvalidWorkflow([Diagnostic("W016", message, span)])
        return Opened(reference, reference, self._files[reference])

    def find(self, base: str, names: Sequence[str]) -> str | None:
        """Names are references here."""
        return next((name for name in names if name in self._files), None)

    def list(self, base: str, endings: tuple[str, ...]) -> Iterable[SearchFolder]:
        """All files, each in its folder."""
        names = [name for name in self._files if name.endswith(endings)]
        return [SearchFolder(tuple(Nearby(name, name.rpartition("/")[0]) for name in names))]


def workflow_of(case: Case) -> Workflow:
    """The workflow of a case, which nothing can change; raises InvalidWorkflow."""
    return _workflow(case.workflow, tuple(case.files.items()), case.dialect)


@lru_cache(256)
def _workflow(text: str, files: tuple[tuple[str, str], ...], dialect: str) -> Workflow:
    return read_workflow(
        text, _FILE, CaseFiles({_FILE: text, **dict(files)}), dialect=dialect
    ).workflow


def diagnostics_of(case: Case) -> list[Diagnostic]:
    """Everything that is wrong with the workflow of a case, and what is odd about it."""
    try:
        reading = read_workflow(
            case.workflow,
            _FILE,
            CaseFiles({_FILE: case.workflow} | case.files),
            dialect=case.dialect,
        )
    except InvalidWorkflow as fault:
        return list(fault.diagnostics)
    return list(reading.warnings)
