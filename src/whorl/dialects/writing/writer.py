"""What a writer is, and which there are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from whorl.errors import UsageError, did_you_mean
from whorl.plugins import load_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl import ir
    from whorl.dialects.writing.losses import Loss

_BUILT_IN = {"native": "whorl.dialects.native.writing:NativeWriter"}


@dataclass(frozen=True, slots=True)
class Written:
    """A workflow as files: the first one is its own, the others are those that it calls."""

    files: Mapping[str, str] = field(default_factory=dict)
    losses: tuple[Loss, ...] = ()

    @property
    def main(self) -> str:
        """The name of the workflow's own file."""
        return next(iter(self.files))

    @property
    def text(self) -> str:
        """The text of the workflow's own file."""
        return self.files[self.main]


class Writer(Protocol):
    """Writes workflows in one dialect. It never guesses: what it cannot say exactly is a loss."""

    name: str
    ending: str

    def write(self, workflow: ir.Workflow, file: str) -> Written:
        """Writes a workflow as the file of this name and, beside it, those that it calls."""


def writers() -> tuple[str, ...]:
    """The dialects that workflows can be written in."""
    return tuple(_BUILT_IN)


def write_workflow(workflow: ir.Workflow, dialect: str, file: str = "") -> Written:
    """Writes a workflow in a dialect; without a name the file is called after the workflow."""
    reference = _BUILT_IN.get(dialect)
    if reference is None:
        raise UsageError(
            f"workflows cannot be written in {dialect!r}",
            help=did_you_mean(dialect, _BUILT_IN) or f"known: {', '.join(_BUILT_IN)}",
        )
    writer = cast("Callable[[], Writer]", load_reference(reference))()
    return writer.write(workflow, file or f"{file_name(workflow.name)}{writer.ending}")


def file_name(name: str) -> str:
    """A name that any file system takes."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return kept.strip("-.")[:80] or "workflow"
