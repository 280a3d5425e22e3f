"""A native file while it is read or written: what its parts share, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.reading import scalars
from whorl.dialects.reading.context import ReadContext
from whorl.errors import Span
from whorl.ir.expressions import Names
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from collections import abc

    from whorl.dialects.native.blocks import Kind
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
class Context(ReadContext):
    """Everything that the forms of one workflow share, whether they read or write it.

    `library` is where its expressions have their functions from. An `exact` file marks what plain
    native text cannot say, and takes names and numbers as they are: converted files are such.
    `local` are the names of the workflows that stand in the file itself, `calls` checks the calls
    of them, `shared` is what they have from the file where they do not say it themselves.
    """

    kinds: abc.Mapping[str, Kind] = field(default_factory=dict)
    local: set[str] = field(default_factory=set)
    calls: list[abc.Callable[[], None]] = field(default_factory=list)
    shared: abc.Mapping[str, Any] = field(default_factory=dict)
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


# Where nothing is reported.
NOWHERE = Location("", "", Span("", 1, 1))


def shown(value: Value) -> str:
    """What a value is, for a message: a scalar as it is written, else its kind."""
    if isinstance(value, Scalar) or len(value):
        return scalars.shown(value)
    return "an empty object" if isinstance(value, Mapping) else "an empty list"
