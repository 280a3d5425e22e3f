"""A text as it is, and with its escapes undone, layer by layer: secrets are looked for in each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from whorl.lazily import regex

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

# JSON in JSON in a URL, and what looks like an escape in a secret itself.
LAYERS_MAX = 4

_MARKS = ("%", "\\", "&")
_ESCAPE = regex(
    r"%([0-9A-Fa-f]{2})"
    r"|\\(?:u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})"
    r"|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([\"'\\/bfnrtav]))"
    r"|&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));"
)
# The beginning of an escape, where a text that comes in pieces has come so far.
_ESCAPE_BEGUN = regex(
    r"(?:%[0-9A-Fa-f]?|(?:\\u[Dd][89ABab][0-9A-Fa-f]{2})?"
    r"\\(?:x[0-9A-Fa-f]?|u[0-9A-Fa-f]{0,3}|U[0-9A-Fa-f]{0,7})?"
    r"|\\u[Dd][89ABab][0-9A-Fa-f]{2}|&(?:#[xX]?[0-9A-Fa-f]{0,7}|[a-z]{0,4}))\Z"
)
_ESCAPE_MAX = 12
_LETTERS = dict(zip("bfnrtav", "\b\f\n\r\t\a\v", strict=True))
_NAMES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_CODE_MAX = 0x10FFFF
_BREAK = regex(r"[\r\n][ \t\r\n]*")
# By the mark that tells quickly that there are none.
_WRITTEN_BREAKS = {
    "\n": ("\n",),
    "\r": ("\r",),
    "\\": ("\\n", "\\r"),
    "%": ("%0A", "%0D", "%0a", "%0d"),
}


class Layer:
    """A text that was made of another one, and which part of that one each part of it was."""

    __slots__ = ("_below", "_places", "_shifts", "text")

    def __init__(
        self,
        text: str,
        below: Layer | None = None,
        places: list[float] | None = None,
        shifts: list[int] | None = None,
    ) -> None:
        self.text = text
        self._below = below
        # From each place on, the text below is so much further. A character that was an escape has
        # its place in its middle, so that it is taken as a whole; what was left out has it between
        # two characters, and belongs to neither.
        self._places = places or []
        self._shifts = [0, *(shifts or [])]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of this text stands in the one that everything began with."""
        if self._below is None:
            return start, end
        start += self._shifts[bisect_right(self._places, start)]
        end += self._shifts[bisect_left(self._places, end)]
        return self._below.origin(start, end)

    def without_escapes(self) -> Layer | None:
        """The text with each escape read once; None: it has none."""
        if not has_marks(self.text):
            return None
        found = [(match, _meaning(match)) for match in _ESCAPE.finditer(self.text)]
        return self._made(found) if found else None

    def without_breaks(self) -> Layer:
        """The text as one line: programs break base64 into many."""
        found = [(match, "") for match in _BREAK.finditer(self.text)]
        return self._made(found) if found else self

    def _made(self, found: list[tuple[re.Match[str], str]]) -> Layer:
        parts, places, shifts = list[str](), list[float](), list[int]()
        done = length = 0
        for match, meaning in found:
            parts += (self.text[done : match.start()], meaning)
            length += match.start() - done + len(meaning)
            done = match.end()
            places.append(length - 0.5 if meaning else length)
            shifts.append(done - length)
        return Layer("".join([*parts, self.text[done:]]), self, places, shifts)


def layers_of(text: str) -> Iterator[Layer]:
    """The text, then what it is when its escapes are read once, twice, ..."""
    layer: Layer | None = Layer(text)
    for _ in range(1 + LAYERS_MAX):
        if layer is None:
            return
        yield layer
        layer = layer.without_escapes()


def has_marks(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


def escape_begun(text: str) -> int:
    """How many characters at the end of a text begin an escape, or one that is escaped itself."""
    end = len(text)
    while found := _ESCAPE_BEGUN.search(text, max(0, end - _ESCAPE_MAX), end):
        end = found.start()
    return len(text) - end


def on_one_line(text: str) -> str:
    """The text without line breaks, also those that are written as escapes."""
    for mark, breaks in _WRITTEN_BREAKS.items():
        for written in breaks if mark in text else ():
            text = text.replace(written, "")
    return text


def lowered(text: str) -> str:
    """The text in small letters, as long as it was."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def _meaning(match: re.Match[str]) -> str:
    """What an escape stands for; a byte is the character of its number."""
    found = match.lastindex
    digits = match[found or 0]
    if found == 3:
        return chr(0x10000 + (int(match[2], 16) - 0xD800) * 0x400 + int(digits, 16) - 0xDC00)
    if found == 7:
        return _LETTERS.get(digits, digits)
    if found == 10:
        return _NAMES[digits]
    code = int(digits, 10 if found == 8 else 16)
    return chr(code) if code <= _CODE_MAX else "?"
