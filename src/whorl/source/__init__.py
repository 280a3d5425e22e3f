"""Text with positions: a file's scalars, sequences and mappings, their lines and limits.

Bounded readers of YAML and JSON make them and report what is wrong in the same way, and one rule
names the files beside a file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from whorl.errors import Diagnostic, Span
from whorl.lazily import dataclass, regex

if TYPE_CHECKING:
    from collections.abc import Iterator

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Value: TypeAlias = "Scalar | Sequence | Mapping"
Style = Literal["plain", "single", "double", "literal", "folded", "json"]
Segment = tuple[int, int]

_LINE_END = regex(r"\r\n|\n|\r")
_SURROGATES = regex("[\ud800-\udfff]+")
_PAIR = regex("[\ud800-\udbff][\udc00-\udfff]")
_BREAK = r"(?:\r\n|[\n\r\x85\u2028\u2029])"
_YAML_BREAK = regex(_BREAK)
_FOLD = rf"[ \t]*+{_BREAK}[ \t\n\r\x85\u2028\u2029]*+"
# Compiled when a place inside of a text is asked for: most files are never asked.
_SINGLE = rf"(?P<fold>{_FOLD})|''"
_DOUBLE = (
    rf"(?s)(?P<fold>{_FOLD})|(?P<joined>\\{_FOLD})"
    r"|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)"
)
_JSON = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?:u[0-9a-fA-F]{4}|.)"
_DRIFTS: dict[Style, str] = {"single": _SINGLE, "double": _DOUBLE, "json": _JSON}


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a file may be; hostile files end here and not in memory or time."""

    bytes_max: int = 2_000_000
    depth_max: int = 64
    values_max: int = 60_000
    # How many mappings and lists one of them may hold: nothing that is run has more steps.
    parts_max: int = 10_000
    alias_nodes_max: int = 10_000


LIMITS = Limits()
# The input of a run is not a workflow: a list may hold more than anybody writes.
VALUE_LIMITS = Limits(values_max=100_000, parts_max=100_000)


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
        """Returns the scalar as text: the value of a text, the written form of anything else."""
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


class Place(NamedTuple):
    """The place of an entry or item: `at` its key or dash begins, its value from `start` to `end`.

    An alias has a place of its own; its value is that of the anchor, whose extent it keeps.
    """

    at: int
    start: int
    end: int
    is_alias: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a mapping or sequence: its stretch of the file, and that of each child.

    `flow` means brackets, `anchored` that an alias elsewhere may repeat it.
    """

    extent: Segment
    places: tuple[Place, ...]
    flow: bool = True
    anchored: bool = False


NO_LAYOUT = Layout((0, 0), ())


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Value, ...]
    span: Span
    layout: Layout = field(default=NO_LAYOUT, compare=False, repr=False)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Entry:
    key: Scalar
    value: Value

    @property
    def name(self) -> str:
        return self.key.text


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys with values in order; a key may be there several times, and the last one wins."""

    entries: tuple[Entry, ...]
    span: Span
    layout: Layout = field(default=NO_LAYOUT, compare=False, repr=False)
    _by_name: dict[str, Entry] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {entry.key.text: entry for entry in self.entries})

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
        entry = self._by_name.get(key)
        return None if entry is None else entry.value


@dataclass(frozen=True, slots=True)
class Document:
    """One file that was read: its content, its text, and its warnings."""

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
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub(_joined, text)
    return text


def _joined(run: re.Match[str]) -> str:
    """Returns a run of surrogates with its pairs joined; the codec is slow for lone ones."""
    if not _PAIR.search(run[0]):
        return "\ufffd" * len(run[0])
    return run[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _line_starts(text: str) -> list[int]:
    if "\r" in text:
        return [0, *(match.end() for match in _LINE_END.finditer(text))]
    # What takes a fifth of the time: an editor looks at a text dozens of times.
    return list(accumulate([len(line) + 1 for line in text.split("\n")[:-1]], initial=0))


class Lines:
    """The text of one file; finds the line and column of an offset.

    Lines end as in an editor; YAML's further line breaks do not count.
    """

    __slots__ = ("_segments", "_starts", "file", "text")

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._starts = _line_starts(text)
        self._segments: dict[int, list[Segment]] = {}

    def line(self, index: int) -> int:
        """Return the line number, from 1, of the character at `index`."""
        return bisect_right(self._starts, index)

    def span(self, start: int, end: int | None = None) -> Span:
        """Return the span from `start` to `end`, cut at the end of the first line."""
        starts, size = self._starts, len(self.text)
        start = 0 if start < 0 else size if start > size else start
        number = bisect_right(starts, start)
        length = 1
        if end is not None and end > start + 1:
            # Only what reaches the break of its line has to be cut.
            is_short = number < len(starts) and end < starts[number] - 1
            length = max(1, (end if is_short else min(end, self._line_end(number))) - start)
        return Span(self.file, number, start - starts[number - 1] + 1, length)

    def offset(self, span: Span) -> int:
        """Return the start of a span, as an offset."""
        return self._starts[min(span.line, len(self._starts)) - 1] + span.column - 1

    def line_start(self, index: int) -> int:
        """Return the start of the line that holds the character at `index`."""
        return self._starts[self.line(index) - 1]

    def line_text(self, index: int) -> str:
        """Return the text of the line that holds the character at `index`."""
        number = self.line(index)
        return self.text[self._starts[number - 1] : self._line_end(number)]

    def locate(self, value: str, style: Style, extent: tuple[int, int], wanted: Segment) -> Span:
        """Return the place of `wanted` (offset and length in `value`) in the file.

        `extent` is the scalar's stretch of the file, with its quotes or block header.
        """
        start, end = extent
        offset = max(0, min(wanted[0], len(value)))
        first = min(self.index(value, style, extent, offset), max(start, end))
        last = min(offset + max(1, wanted[1]), len(value)) - 1
        stop = self.index(value, style, extent, last) + 1 if last > offset else first + 1
        return self.span(first, min(max(stop, first + 1), max(end, first + 1)))

    def index(self, value: str, style: Style, extent: tuple[int, int], offset: int) -> int:
        """Return the index in the file of the character at `offset` of a scalar's value."""
        segments = self._segments.get(extent[0])
        if segments is None:
            segments = self._segments[extent[0]] = _segments(self.text, value, style, extent)
        place = bisect_right(segments, offset, key=lambda segment: segment[0]) - 1
        start, index = segments[max(0, place)]
        return index + max(0, offset - start)

    def _line_end(self, number: int) -> int:
        # The line may be the whole file, so it is not copied.
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return end


def _segments(text: str, value: str, style: Style, extent: tuple[int, int]) -> list[Segment]:
    """Return the points at which offsets in the value and in the file drift apart."""
    start, end = extent
    if style in _DRIFTS:
        return _quoted_segments(text, _DRIFTS[style], start + 1, end - 1)
    if style != "plain":
        header = _YAML_BREAK.search(text, start, end)
        start = header.end() if header else end
    return _line_segments(text, value, start, end)


def _quoted_segments(text: str, drift: str, start: int, end: int) -> list[Segment]:
    segments = [(0, start)]
    offset, index = 0, start
    for match in re.compile(drift).finditer(text, start, end):
        offset += match.start() - index
        index = match.end()
        segments.append((offset, match.start()))
        # How many characters of the value it means.
        breaks = len(_YAML_BREAK.findall(match.group()))
        lengths = {"joined": breaks - 1, "fold": max(1, breaks - 1)}
        offset += lengths.get(match.lastgroup or "", 1)
        segments.append((offset, index))
    return segments


def _line_segments(text: str, value: str, start: int, end: int) -> list[Segment]:
    """Align the lines of a block or plain scalar with the lines of its value."""
    segments: list[Segment] = []
    offset = 0
    while start < end and offset < len(value):
        line_end = _YAML_BREAK.search(text, start, end)
        stop = line_end.start() if line_end else end
        content = text[start:stop].strip(" \t")
        if content:
            while offset < len(value) and value[offset] in " \t\n\x85\u2028\u2029":
                offset += 1
            if not value.startswith(content, offset):
                break
            index, following = text.index(content, start, stop), offset + len(content)
            # Back over the indentation that belongs to the value itself.
            while offset > 0 and index > start and value[offset - 1] == text[index - 1]:
                offset -= 1
                index -= 1
            segments.append((offset, index))
            offset = following
        start = line_end.end() if line_end else end
    return segments if segments else [(0, min(start, end))]
