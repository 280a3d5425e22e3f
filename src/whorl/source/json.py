"""Reads JSON with positions: linear, bounded, and lenient about comments and trailing commas."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from whorl.source.reading import Repeated, Report, number, open_report, shown
from whorl.source.tree import (
    LIMITS,
    Document,
    Entry,
    Limits,
    Mapping,
    Scalar,
    Sequence,
    Value,
    without_surrogates,
)

_BLANK = re.compile(r"(?:[ \t\r\n]++|//[^\n\r]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+")
_STRING = re.compile(r'"((?:[^"\\\x00-\x08\x0a-\x1f]++|\\[^\x00-\x1f])*+)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?(?![\w.+-])")
_WORD = re.compile(r"[^\s,:\[\]{}\"/]{1,40}")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_WORDS_ELSEWHERE = {
    "True": "write true",
    "False": "write false",
    "None": "write null",
    "undefined": "write null",
    "NaN": "JSON has no such number; write null or a text in quotes",
    "Infinity": "JSON has no such number; write null or a text in quotes",
    "-Infinity": "JSON has no such number; write null or a text in quotes",
}


def read_json(
    text: str, file: str, *, repeated: Repeated = "error", limits: Limits = LIMITS
) -> Document:
    """Read one JSON document; with `repeated="warn"` the last of two equal keys wins."""
    report = open_report(text, file, limits)
    root = _Scanner(report, repeated).read()
    return Document(root, report.finish(), report.lines.text, file)


@dataclass(slots=True)
class _Frame:
    """An array or object that is being read."""

    start: int
    is_object: bool
    items: list[Value] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    names: dict[str, Entry] = field(default_factory=dict)
    key: Scalar | None = None


class _Scanner:
    """Walks the text once, with a stack of its own."""

    def __init__(self, report: Report, repeated: Repeated) -> None:
        self._report = report
        self._lines = report.lines
        self._text = report.lines.text
        self._repeated = repeated
        self._stack: list[_Frame] = []
        self._at = 0

    def read(self) -> Value:
        """Return the document's value; nothing but blanks may follow it."""
        self._skip_blanks()
        if self._at == len(self._text):
            self._fail("the file is empty", help_text="write a workflow in it")
        done = self._value()
        while done is None or self._stack:
            done = self._value() if done is None else self._after(done)
        self._skip_blanks()
        if self._at < len(self._text):
            self._fail("there is text after the end of the document", help_text="remove it")
        return done

    def _value(self) -> Value | None:
        """Read a value; return None where a container was opened and its first value is next."""
        if self._text.startswith(("[", "{"), self._at):
            return self._open(is_object=self._text[self._at] == "{")
        self._report.count_value(self._at)
        if self._text.startswith('"', self._at):
            return self._string()
        return self._number_or_word()

    def _number_or_word(self) -> Scalar:
        start = self._at
        found = _NUMBER.match(self._text, start)
        if found:
            self._at = found.end()
            span = self._lines.span(start, self._at)
            return self._scalar(number(self._report, found.group(), span), start, found.group())
        word = _WORD.match(self._text, start)
        if word is None or word.group() not in _WORDS:
            self._fail_value(word.group() if word else "")
        self._at = word.end()
        return self._scalar(_WORDS[word.group()], start, word.group())

    def _open(self, *, is_object: bool) -> Value | None:
        self._report.count_value(self._at)
        self._report.check_depth(len(self._stack) + 1, self._at)
        self._stack.append(_Frame(self._at, is_object))
        self._at += 1
        return self._next_place()

    def _after(self, value: Value) -> Value | None:
        """Put a finished value into its container and go to the next place."""
        frame = self._stack[-1]
        if frame.key is None:
            frame.items.append(value)
        else:
            self._add_entry(frame, Entry(frame.key, value))
            frame.key = None
        self._skip_blanks()
        if self._text.startswith(",", self._at):
            self._at += 1
        elif not self._text.startswith("}" if frame.is_object else "]", self._at):
            self._fail_separator(frame)
        return self._next_place()

    def _next_place(self) -> Value | None:
        """Close the container, or read the next key; the next value follows."""
        frame = self._stack[-1]
        self._skip_blanks()
        if self._text.startswith("}" if frame.is_object else "]", self._at):
            return self._close(frame)
        if frame.is_object:
            self._key(frame)
        elif self._at == len(self._text):
            self._fail_separator(frame)
        return None

    def _close(self, frame: _Frame) -> Value:
        self._at += 1
        self._stack.pop()
        span = self._lines.span(frame.start, self._at)
        if frame.is_object:
            return Mapping(tuple(frame.entries), span)
        return Sequence(tuple(frame.items), span)

    def _key(self, frame: _Frame) -> None:
        if not self._text.startswith('"', self._at):
            if self._at == len(self._text):
                self._fail_separator(frame)
            word = _WORD.match(self._text, self._at)
            if word:
                name = word.group().strip("'")
                self._fail(
                    f"key {shown(name)} is not in double quotes",
                    self._at + len(word.group()),
                    help_text=f'write "{name}"',
                )
            self._fail(f"expected a key in double quotes, found {self._found()}")
        frame.key = self._string()
        self._skip_blanks()
        if not self._text.startswith(":", self._at):
            self._fail(f"expected ':' after key {shown(frame.key.text)}, found {self._found()}")
        self._at += 1
        self._skip_blanks()

    def _add_entry(self, frame: _Frame, entry: Entry) -> None:
        first = frame.names.setdefault(entry.name, entry)
        if first is not entry:
            self._report.repeat(first, entry, self._repeated)
        frame.entries.append(entry)

    def _string(self) -> Scalar:
        start = self._at
        found = _STRING.match(self._text, start)
        if found is None:
            self._fail_string(start)
        self._at = found.end()
        text = found.group(1)
        if "\\" in text:
            text = without_surrogates(_ESCAPE.sub(_Unescape(self, start + 1), text))
            if "\0" in text:
                self._at = start
                self._fail("a text holds a NUL character", found.end(), help_text="remove it")
        return self._scalar(text, start, text, quoted=True)

    def bad_escape(self, index: int, escape: str) -> NoReturn:
        """Stop at an escape that JSON does not have."""
        self._at = index
        advice = "write four hexadecimal digits" if escape == "\\u" else "write '\\\\'"
        self._fail(f"{escape!r} is not an escape of JSON", index + 2, help_text=advice)

    def _scalar(
        self,
        value: str | int | float | bool | None,
        start: int,
        raw: str,
        *,
        quoted: bool = False,
    ) -> Scalar:
        return Scalar(
            value=value,
            span=self._lines.span(start, self._at),
            quoted=quoted,
            raw=raw,
            style="json" if quoted else "plain",
            lines=self._lines,
            extent=(start, self._at),
        )

    def _skip_blanks(self) -> None:
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at
        if self._text.startswith("/*", self._at):
            self._fail("a comment is not closed", self._at + 2, help_text="end it with '*/'")

    def _found(self) -> str:
        character = self._text[self._at : self._at + 1]
        return repr(character) if character else "the end of the file"

    def _fail(self, message: str, end: int | None = None, *, help_text: str = "") -> NoReturn:
        self._report.fail(message, self._lines.span(self._at, end), help_text=help_text)

    def _fail_value(self, word: str) -> NoReturn:
        end = self._at + max(1, len(word))
        if word in _WORDS_ELSEWHERE:
            self._fail(f"{word!r} is not a value of JSON", end, help_text=_WORDS_ELSEWHERE[word])
        if word[:1] in tuple("+-.0123456789"):
            self._fail(f"{shown(word)} is not a number of JSON", end)
        if word.startswith("'"):
            self._fail("texts need double quotes", end, help_text='write "..."')
        if word:
            self._fail(f"{shown(word)} is not a value of JSON", end, help_text="quote a text")
        self._fail(f"expected a value, found {self._found()}")

    def _fail_separator(self, frame: _Frame) -> NoReturn:
        closing = "}" if frame.is_object else "]"
        if self._at == len(self._text):
            opening = self._lines.span(frame.start)
            self._report.fail(
                f"{self._text[frame.start]!r} of line {opening.line} is not closed",
                opening,
                label="opened here",
                help_text=f"close it with {closing!r}",
            )
        self._fail(f"expected ',' or {closing!r}, found {self._found()}")

    def _fail_string(self, start: int) -> NoReturn:
        line_end = start + 1
        while line_end < len(self._text) and self._text[line_end] >= " ":
            line_end += 1
        character = self._text[line_end : line_end + 1]
        if character and character not in "\r\n\t":
            self._at = line_end
            self._fail(
                f"a text holds the control character U+{ord(character):04X}",
                help_text=f"write \\u{ord(character):04x}",
            )
        self._fail("a text is not closed on its line", line_end, help_text="write a '\"' after it")


@dataclass(frozen=True, slots=True)
class _Unescape:
    """Replaces one escape of a text that begins at `start`."""

    scanner: _Scanner
    start: int

    def __call__(self, match: re.Match[str]) -> str:
        digits, letter = match.groups()
        if digits is not None:
            return chr(int(digits, 16))
        if letter not in _ESCAPED:
            self.scanner.bad_escape(self.start + match.start(), match.group())
        return _ESCAPED[letter]
