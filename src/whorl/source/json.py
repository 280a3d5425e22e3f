"""Reads JSON with positions: linear, bounded, and lenient about comments and trailing commas."""

from __future__ import annotations

import re
from functools import partial
from typing import NoReturn

from whorl import source
from whorl.source.report import Repeated, Report, number, open_report, shown

# Possessive groups go wrong in Python 3.11 before 3.11.5.
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n\r]*+|/\*[^*]*+\*++(?:[^*/][^*]*+\*++)*/)*")
# The first characters of blanks and comments; at the end of the text there is none.
_BLANKS = frozenset(" \t\r\n/")
_STRING = re.compile(r'"([^"\\\x00-\x08\x0a-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x08\x0a-\x1f]*+)*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?(?![\w.+-])")
_WORD = re.compile(r"[^\s,:\[\]{}\"/]{1,40}")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def read_json(
    text: str, file: str, *, repeated: Repeated = "error", limits: source.Limits = source.LIMITS
) -> source.Document:
    """Read one JSON document; with `repeated="warn"` the last of two equal keys wins."""
    report = open_report(text, file, limits)
    root = _Scanner(report, repeated).read()
    return source.Document(root, report.finish(), report.lines.text, file)


class _Scanner:
    """Walks the text once; the limit of depth bounds its recursion."""

    def __init__(self, report: Report, repeated: Repeated) -> None:
        self._report = report
        self._lines = report.lines
        self._text = report.lines.text
        self._repeated = repeated
        self._at = 0

    def read(self) -> source.Value:
        """Return the document's value; nothing but blanks may follow it."""
        self._skip_blanks()
        if self._at == len(self._text):
            self._fail("the file is empty", None, "write a workflow in it")
        root = self._value(1)
        self._skip_blanks()
        if self._at < len(self._text):
            self._fail("there is text after the end of the document", None, "remove it")
        return root

    def _value(self, depth: int) -> source.Value:
        start = self._at
        self._report.count_value(start)
        first = self._text[start : start + 1]
        if first in ("[", "{"):
            self._report.check_depth(depth, start)
            return self._array(depth) if first == "[" else self._object(depth)
        if first == '"':
            return self._string()
        match = _NUMBER.match(self._text, start)
        if match:
            self._at = match.end()
            span = self._lines.span(start, self._at)
            return self._scalar(number(self._report, match.group(), span), start, match.group())
        word = _WORD.match(self._text, start)
        if word is None or word.group() not in _WORDS:
            self._fail_value(word.group() if word else "")
        self._at = word.end()
        return self._scalar(_WORDS[word.group()], start, word.group())

    def _array(self, depth: int) -> source.Sequence:
        start = self._at
        items: list[source.Value] = []
        places: list[source.Place] = []
        parts = 0
        while self._goes_on(start, "]"):
            at = self._at
            items.append(self._value(depth + 1))
            places.append(source.Place(at, at, self._at))
            if type(items[-1]) is not source.Scalar:
                parts = self._report.with_part(parts, self._at - 1)
        layout = source.Layout((start, self._at), tuple(places))
        return source.Sequence(tuple(items), self._lines.span(start, self._at), layout)

    def _object(self, depth: int) -> source.Mapping:
        start = self._at
        entries: list[source.Entry] = []
        places: list[source.Place] = []
        names: dict[str, source.Entry] = {}
        parts = 0
        while self._goes_on(start, "}"):
            key = self._key()
            at = self._at
            entry = source.Entry(key, self._value(depth + 1))
            places.append(source.Place(key.extent[0], at, self._at))
            if type(entry.value) is not source.Scalar:
                parts = self._report.with_part(parts, key.extent[0])
            first = names.setdefault(entry.name, entry)
            if first is not entry:
                self._report.repeat(first, entry, self._repeated)
            entries.append(entry)
        layout = source.Layout((start, self._at), tuple(places))
        return source.Mapping(tuple(entries), self._lines.span(start, self._at), layout)

    def _goes_on(self, start: int, closing: str) -> bool:
        """Go to the next value of the container that begins at `start`, or past its end."""
        is_first = self._at == start
        if is_first:
            self._at += 1
        self._skip_blanks()
        if not is_first and self._text.startswith(",", self._at):
            self._at += 1
            self._skip_blanks()
        elif not is_first and not self._text.startswith(closing, self._at):
            self._fail_separator(start, closing)
        if self._text.startswith(closing, self._at):
            self._at += 1
            return False
        if self._at == len(self._text):
            self._fail_separator(start, closing)
        return True

    def _key(self) -> source.Scalar:
        if not self._text.startswith('"', self._at):
            word = _WORD.match(self._text, self._at)
            if word:
                name = word.group().strip("'")
                message = f"key {shown(name)} is not in double quotes"
                self._fail(message, word.end(), f'write "{name}"')
            self._fail(f"expected a key in double quotes, found {self._next_character()}")
        key = self._string()
        self._skip_blanks()
        if not self._text.startswith(":", self._at):
            self._fail(f"expected ':' after key {shown(key.text)}, found {self._next_character()}")
        self._at += 1
        self._skip_blanks()
        return key

    def _string(self) -> source.Scalar:
        start = self._at
        match = _STRING.match(self._text, start)
        if match is None:
            self._fail_string(start)
        self._at = match.end()
        text = match.group(1)
        if "\\" in text:
            text = source.without_surrogates(_ESCAPE.sub(partial(self._unescape, start + 1), text))
            if "\0" in text:
                self._at = start
                self._fail("a text holds a NUL character", match.end(), "remove it")
        return self._scalar(text, start, text, quoted=True)

    def _unescape(self, start: int, match: re.Match[str]) -> str:
        """Return the character of an escape in a text that begins at `start`."""
        digits, letter = match.groups()
        if digits is not None:
            return chr(int(digits, 16))
        if letter not in _ESCAPED:
            self._at = start + match.start()
            advice = "write four hexadecimal digits" if letter == "u" else "write '\\\\'"
            self._fail(f"{match.group()!r} is not an escape of JSON", self._at + 2, advice)
        return _ESCAPED[letter]

    def _scalar(
        self, value: str | float | bool | None, start: int, raw: str, *, quoted: bool = False
    ) -> source.Scalar:
        span, extent = self._lines.span(start, self._at), (start, self._at)
        style: source.Style = "json" if quoted else "plain"
        return source.Scalar(value, span, quoted, raw, style, self._lines, extent)

    def _skip_blanks(self) -> None:
        if self._text[self._at : self._at + 1] not in _BLANKS:
            return
        blank = _BLANK.match(self._text, self._at)
        self._at = blank.end() if blank else self._at
        if self._text.startswith("/*", self._at):
            self._fail("a comment is not closed", self._at + 2, "end it with '*/'")

    def _next_character(self) -> str:
        character = self._text[self._at : self._at + 1]
        return repr(character) if character else "the end of the file"

    def _fail(self, message: str, end: int | None = None, help_text: str = "") -> NoReturn:
        self._report.fail(message, self._lines.span(self._at, end), "", help_text)

    def _fail_value(self, word: str) -> NoReturn:
        end = self._at + max(1, len(word))
        if word[:1] in tuple("+-.0123456789"):
            self._fail(f"{shown(word)} is not a number of JSON", end)
        if word:
            advice = "texts need double quotes; other words are true, false and null"
            self._fail(f"{shown(word)} is not a value of JSON", end, advice)
        self._fail(f"expected a value, found {self._next_character()}")

    def _fail_separator(self, start: int, closing: str) -> NoReturn:
        if self._at == len(self._text):
            opening = self._lines.span(start)
            message = f"{self._text[start]!r} of line {opening.line} is not closed"
            self._report.fail(message, opening, "opened here", f"close it with {closing!r}")
        self._fail(f"expected ',' or {closing!r}, found {self._next_character()}")

    def _fail_string(self, start: int) -> NoReturn:
        end = start + 1
        while end < len(self._text) and self._text[end] >= " ":
            end += 1
        message = "a text is not closed on its line, or holds a control character"
        self._fail(message, end, "write a '\"' after it, or an escape such as \\u0001")
