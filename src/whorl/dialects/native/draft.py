"""A native file while it is being read: what was found wrong, and where everything stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whorl.dialects.reading.context import Findings
from whorl.ir.expressions import Names
from whorl.ir.places import Places

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl import ir
    from whorl.dialects.reader import Files
    from whorl.errors import Diagnostic, Span
    from whorl.source import Mapping, Scalar, Value


@dataclass(frozen=True, slots=True)
class Around:
    """What is around a block of steps: its path, the loops that `break` could leave, its rules."""

    path: str = ""
    loops: tuple[str, ...] = ()
    is_open: bool = False
    is_ordered: bool = True


@dataclass(slots=True)
class Draft(Findings):
    """Everything that the readers of the parts of one file share."""

    file: str
    files: Files
    read_steps: Callable[[Draft, Value | None, Around], ir.Block]
    places: Places = field(default_factory=Places)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    steps_read: list[Span] = field(default_factory=list)
    # The names of the steps whose exit code the file reads; found out when one is asked for.
    workflows: dict[str, ir.Workflow] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    name: str = ""
    names: Names = field(default_factory=Names)

    def block(self, steps: Value | None, around: Around) -> ir.Block:
        """Reads steps that stand inside of another step."""
        return self.read_steps(self, steps, around)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the file: its name, its fields, and what is around it."""

    name: str
    key: Scalar
    fields: Mapping
    kind: str
    path: str
    around: Around

    def get(self, name: str) -> Value | None:
        """Returns the value of a field."""
        return self.fields.get(name)


def shown(value: Value) -> str:
    """What a value is, for a message: a scalar as it is written, else its kind."""
    from whorl.source import Mapping, Scalar

    if isinstance(value, Scalar):
        if value.value is None:
            return "nothing"
        text = value.text if len(value.text) <= 40 else value.text[:40] + "…"
        return repr(text) if isinstance(value.value, str) else text
    if isinstance(value, Mapping):
        return "an object" if value.entries else "an empty object"
    return "a list" if value.items else "an empty list"
