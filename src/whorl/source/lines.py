"""Where in a file a character stands: offsets turned into lines and columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal

from whorl.errors import Span

Style = Literal["plain", "single", "double", "literal", "folded", "json"]
Segment = tuple[int, int]

_LINE_END = re.compile(r"\r\n|\n|\r")
_BREAK = r"(?:\r\n|[\n\r\x85\u2028\u2029])"
_YAML_BREAK = re.compile(_BREAK)
_FOLD = rf"[ \t]*+{_BREAK}(?:[ \t]*+{_BREAK})*+[ \t]*+"
# Compiled when a place inside of a text is asked for: most files are never asked.
_SINGLE = rf"(?P<fold>{_FOLD})|''"
_DOUBLE = (
    rf"(?s)(?P<fold>{_FOLD})|(?P<joined>\\{_FOLD})"
    r"|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)"
)
_JSON = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?:u[0-9a-fA-F]{4}|.)"


class Lines:
    """The text of one file, able to say at which line and column an offset stands.

    Lines end where an editor ends them; YAML's further line breaks do not count.
    """

    __slots__ = ("_segments", "_starts", "file", "text")

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self._segments: dict[int, list[Segment]] = {}

    def line(self, index: int) -> int:
        """Return the line number, from 1, of the character at `index`."""
        return bisect_right(self._starts, index)

    def span(self, start: int, end: int | None = None) -> Span:
        """Return the span from `start` to `end`, cut at the end of the first line."""
        start = max(0, min(start, len(self.text)))
        number = self.line(start)
        stop = start + 1 if end is None else end
        if stop > start + 1:
            stop = min(stop, self._line_end(number))
        column = start - self._starts[number - 1] + 1
        return Span(self.file, number, column, max(1, stop - start))

    def line_text(self, index: int) -> str:
        """Return the text of the line that holds the character at `index`."""
        number = self.line(index)
        return self.text[self._starts[number - 1] : self._line_end(number)]

    def locate(self, value: str, style: Style, extent: tuple[int, int], wanted: Segment) -> Span:
        """Return where `wanted` (offset and length in `value`) stands in the file.

        `extent` is the scalar's stretch of the file, with its quotes or block header.
        """
        start, end = extent
        offset = max(0, min(wanted[0], len(value)))
        segments = self._segments.get(start)
        if segments is None:
            segments = self._segments[start] = _segments(self.text, value, style, extent)
        first = min(_source_index(segments, offset), max(start, end))
        last = min(offset + max(1, wanted[1]), len(value)) - 1
        stop = _source_index(segments, last) + 1 if last > offset else first + 1
        return self.span(first, min(max(stop, first + 1), max(end, first + 1)))

    def _line_end(self, number: int) -> int:
        if number == len(self._starts):
            return len(self.text)
        end = self._starts[number]
        start = self._starts[number - 1]
        return start + len(self.text[start:end].rstrip("\r\n"))


def _source_index(segments: list[Segment], offset: int) -> int:
    place = bisect_right(segments, offset, key=lambda segment: segment[0]) - 1
    known, index = segments[max(0, place)]
    return index + max(0, offset - known)


def _segments(text: str, value: str, style: Style, extent: tuple[int, int]) -> list[Segment]:
    """Return the points at which offsets in the value and in the file drift apart."""
    start, end = extent
    match style:
        case "single":
            return _quoted_segments(text, _SINGLE, start + 1, end - 1)
        case "double":
            return _quoted_segments(text, _DOUBLE, start + 1, end - 1)
        case "json":
            return _quoted_segments(text, _JSON, start + 1, end - 1)
        case "literal" | "folded":
            header = _YAML_BREAK.search(text, start, end)
            return _line_segments(text, value, header.end() if header else end, end)
        case "plain":
            return _line_segments(text, value, start, end)


def _quoted_segments(text: str, drift: str, start: int, end: int) -> list[Segment]:
    segments = [(0, start)]
    offset, index = 0, start
    for match in re.compile(drift).finditer(text, start, end):
        offset += match.start() - index
        index = match.end()
        segments.append((offset, match.start()))
        offset += _length_in_value(match)
        segments.append((offset, index))
    return segments


def _length_in_value(match: re.Match[str]) -> int:
    breaks = len(_YAML_BREAK.findall(match.group()))
    if match.lastgroup == "joined":
        return breaks - 1
    if match.lastgroup == "fold":
        return max(1, breaks - 1)
    return 1


def _line_segments(text: str, value: str, start: int, end: int) -> list[Segment]:
    """Align the lines of a block or plain scalar with the lines of its value."""
    segments: list[Segment] = []
    offset = 0
    while start < end and offset < len(value):
        found = _YAML_BREAK.search(text, start, end)
        stop = found.start() if found else end
        content = text[start:stop].strip(" \t")
        if content:
            offset = _skip_blanks(value, offset)
            if not value.startswith(content, offset):
                break
            index = text.index(content, start, stop)
            segments.append(_with_indentation(text, value, (offset, index), start))
            offset += len(content)
        start = found.end() if found else end
    return segments if segments else [(0, min(start, end))]


def _skip_blanks(value: str, offset: int) -> int:
    while offset < len(value) and value[offset] in " \t\n\x85\u2028\u2029":
        offset += 1
    return offset


def _with_indentation(text: str, value: str, segment: Segment, line_start: int) -> Segment:
    """Move a segment back over the indentation that belongs to the value itself."""
    offset, index = segment
    while offset > 0 and index > line_start and value[offset - 1] == text[index - 1]:
        offset -= 1
        index -= 1
    return offset, index
