"""One file while it is being read: what was found wrong, and what its parts share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.reading.context import Findings
from whorl.ir.places import Places
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl import ir
    from whorl.dialects.reader import Files
    from whorl.errors import Diagnostic, Span
    from whorl.source import Document, Value


@dataclass(slots=True)
class Draft(Findings):
    """Everything that the readers of the parts of one file share."""

    document: Document
    files: Files
    places: Places = field(default_factory=Places)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    steps_read: list[Span] = field(default_factory=list)
    workflows: dict[str, ir.Workflow] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    historians: dict[str, bool] = field(default_factory=dict)
    mentions: dict[str, Span] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.document.file

    @property
    def root(self) -> Mapping:
        """The top of the file."""
        assert isinstance(self.document.root, Mapping)
        return self.document.root


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A step or a loop of the file, in its place in the document.

    `loop` holds the fields of a loop, wherever they stand; `fields` those of the step around it.
    """

    name: str
    key: Scalar
    fields: Mapping
    loop: Mapping | None = None

    @property
    def words(self) -> str:
        """What it is, for a message."""
        return f"{'loop' if self.loop is self.fields else 'step'} {self.name[:60]!r}"

    @property
    def is_iterate(self) -> bool:
        """Whether it goes over items, and not round until a condition is met."""
        mode = self.loop.get("mode") if self.loop is not None else None
        return isinstance(mode, Scalar) and mode.value == "iterate"

    @property
    def accumulators(self) -> tuple[str, ...]:
        """The names under which all outputs of a loop are known."""
        if self.loop is None:
            return ()
        named = self.loop.get("accumulate")
        own = (named.text,) if isinstance(named, Scalar) and named.value is not None else ()
        return (*own, f"{self.name}_accumulator")

    def get(self, name: str) -> Value | None:
        """Returns a field of the step."""
        return self.fields.get(name)


def shown(value: Value) -> str:
    """What a value is, for a message: a scalar as it is written, else its kind."""
    if isinstance(value, Scalar):
        if value.value is None:
            return "nothing"
        text = value.text if len(value.text) <= 40 else value.text[:40] + "…"
        return repr(text) if isinstance(value.value, str) else text
    return "an object" if isinstance(value, Mapping) else "a list"
