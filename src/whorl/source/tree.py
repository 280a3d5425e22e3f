"""A file's content with positions: scalars, sequences and mappings, and their limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import Diagnostic, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source.lines import Lines, Style

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Value: TypeAlias = "Scalar | Sequence | Mapping"

INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**63 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a file may be; hostile files end here and not in memory or time."""

    bytes_max: int = 2_000_000
    depth_max: int = 64
    values_max: int = 100_000
    alias_nodes_max: int = 10_000


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value: text, number, truth value or nothing."""

    value: str | int | float | bool | None
    span: Span
    quoted: bool = False
    raw: str | None = None
    style: Style = field(default="plain", compare=False)
    lines: Lines | None = field(default=None, compare=False, repr=False)
    extent: tuple[int, int] = field(default=(0, 0), compare=False, repr=False)

    @property
    def text(self) -> str:
        """The scalar as text: the value of a text, the written form of anything else."""
        if isinstance(self.value, str):
            return self.value
        if self.raw is not None:
            return self.raw
        return "" if self.value is None else str(self.value).lower()

    def locate(self, offset: int, length: int = 1) -> Span:
        """Return the place in the file of `length` characters of the text from `offset`."""
        if self.lines is None:
            column = self.span.column + max(0, offset) + (1 if self.quoted else 0)
            return Span(self.span.file, self.span.line, column, max(1, length))
        return self.lines.locate(self.text, self.style, self.extent, (offset, length))


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list of values in order."""

    items: tuple[Value, ...]
    span: Span

    def __iter__(self) -> Iterator[Value]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value."""

    key: Scalar
    value: Value

    @property
    def name(self) -> str:
        """The key as text."""
        return self.key.text


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys with values in order; a key may be there several times, and the last one wins."""

    entries: tuple[Entry, ...]
    span: Span
    _by_name: dict[str, Entry] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        by_name = {entry.name: entry for entry in self.entries}
        object.__setattr__(self, "_by_name", by_name)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, key: object) -> bool:
        return key in self._by_name

    def entry(self, key: str) -> Entry | None:
        """Return the last entry with this key."""
        return self._by_name.get(key)

    def get(self, key: str) -> Value | None:
        """Return the value of the last entry with this key."""
        entry = self._by_name.get(key)
        return None if entry is None else entry.value


@dataclass(frozen=True, slots=True)
class Document:
    """One file that was read: its content, its text, and what is odd but allowed."""

    root: Value
    warnings: tuple[Diagnostic, ...]
    text: str
    file: str


def plain(value: Value) -> Json:
    """Return the value without positions."""
    match value:
        case Scalar():
            return value.value
        case Sequence():
            return [plain(item) for item in value.items]
        case Mapping():
            return {entry.name: plain(entry.value) for entry in value.entries}


def without_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
