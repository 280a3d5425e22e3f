"""A native file while it is read or written: what its parts share, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.reading.context import Findings
from whorl.ir.expressions import Names
from whorl.ir.places import Places
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from collections import abc

    from whorl.dialects.native.blocks import Kind
    from whorl.dialects.reader import Files
    from whorl.errors import Diagnostic, Span
    from whorl.source import Value


@dataclass(frozen=True, slots=True)
class Around:
    """What is around a place: the step, its path and fields, the loops that `break` could end.

    `previous` is the step before, which a step waits for; `blocks` has the steps of the loop whose
    conditions are read, once they are known.
    """

    path: str = ""
    step: str = ""
    fields: Mapping | None = None
    previous: str | None = None
    loops: tuple[str, ...] = ()
    blocks: list[ir.Block] = field(default_factory=list)


@dataclass(slots=True)
class Context(Findings):
    """Everything that the forms of one workflow share, whether they read or write it.

    `library` is where its expressions have their functions from. An `exact` file marks what plain
    native text cannot say, and takes names and numbers as they are: converted files are such.
    """

    file: str
    files: Files
    kinds: abc.Mapping[str, Kind]
    places: Places = field(default_factory=Places)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    steps_read: list[Span] = field(default_factory=list)
    workflows: dict[str, ir.Workflow] = field(default_factory=dict)
    # The names of the workflows that stand in the file itself, and the calls of them.
    local: set[str] = field(default_factory=set)
    calls: list[abc.Callable[[], None]] = field(default_factory=list)
    # What the workflows of a file share with it where they do not say it themselves.
    shared: abc.Mapping[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    name: str = ""
    library: str = ""
    exact: bool = False
    around: Around = field(default_factory=Around)

    @property
    def body(self) -> ir.Block:
        """The steps of the loop around a condition."""
        return self.around.blocks[-1] if self.around.blocks else ir.Block(())

    def within(self, **changes: Any) -> Context:
        """The same at another place of the workflow."""
        return replace(self, around=replace(self.around, **changes))


@dataclass(frozen=True, slots=True)
class Location:
    """What is looked at, for messages: its owner and field, and where the owner is named."""

    owner: str
    field: str
    span: Span

    @property
    def words(self) -> str:
        """The field and its owner."""
        return f"{self.field!r} of {self.owner}" if self.field else self.owner


def shown(value: Value) -> str:
    """What a value is, for a message: a scalar as it is written, else its kind."""
    if isinstance(value, Scalar):
        if value.value is None:
            return "nothing"
        text = value.text if len(value.text) <= 40 else value.text[:40] + "…"
        return repr(text) if isinstance(value.value, str) else text
    if isinstance(value, Mapping):
        return "an object" if value.entries else "an empty object"
    return "a list" if value.items else "an empty list"
