"""One use of a name in an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class NameUse:
    """One use of a name; `guarded` means that its absence is provided for."""

    name: str
    path: Path
    offset: int
    guarded: bool
