"""What was written, read again."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING

from whorl.dialects.detection import read_workflow
from whorl.dialects.files import NoFiles, Opened
from whorl.errors import InvalidWorkflow
from whorl.language import Expression, parse
from whorl.language.printing.sameness import meaning_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whorl import ir
    from whorl.dialects.reader import Reading
    from whorl.dialects.writing.writer import Written
    from whorl.errors import Span
    from whorl.source import Place


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """Files that are texts only, by name."""

    texts: Mapping[str, str]

    def real_path(self, file: str) -> str:
        """A name is a path here."""
        return file

    def open(self, base: str, reference: str, span: Span) -> Opened:
        """Opens one of the files; raises InvalidWorkflow for any other."""
        if reference not in self.texts:
            return NoFiles().open(base, reference, span)
        return Opened(reference, reference, self.texts[reference])

    def find(self, base: str, names: Sequence[str]) -> str | None:
        """Names are references here."""
        del base
        return next((name for name in names if name in self.texts), None)

    def list(self, base: str, endings: tuple[str, ...]) -> Iterable[Place]:
        """There is no need to look for any."""
        return NoFiles().list(base, endings)


def reads_as(written: Written, workflow: ir.Workflow) -> bool:
    """Whether files are read as just this workflow, the places of its nodes aside."""
    try:
        again = read_again(written, workflow.dialect).workflow
    except InvalidWorkflow:
        return False
    return _meaning(again) == _meaning(workflow)


def _meaning(item: object) -> object:
    """A part of the IR without places, its expressions as they are read."""
    if isinstance(item, Expression):
        return item.syntax == "jinja", item.library, meaning_of(parse(item))
    if isinstance(item, tuple):
        return tuple(_meaning(one) for one in item)
    if not is_dataclass(item) or isinstance(item, type):
        return repr(item)
    names = [one.name for one in fields(item) if one.name != "place"]
    return type(item).__name__, *(_meaning(getattr(item, name)) for name in names)


def read_again(written: Written, dialect: str) -> Reading:
    """Reads what was written; raises InvalidWorkflow."""
    return read_workflow(written.text, written.main, WrittenFiles(written.files), dialect=dialect)
