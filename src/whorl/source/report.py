"""The errors of a file, collected while it is read and raised at once."""

from __future__ import annotations

import codecs
from dataclasses import field
from math import isinf
from typing import Literal, NoReturn

from whorl.errors import Diagnostic, InvalidWorkflow, Span
from whorl.lazily import dataclass, regex
from whorl.source import LIMITS, Entry, Limits, Lines, without_surrogates

INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**63 - 1
SYNTAX = "W001"
LIMIT = "W002"
REPEATED = "W012"
FIRST = "first on line "
Repeated = Literal["error", "warn", "keep"]
_REPORTED_MAX = 50
_KEY_SHOWN_MAX = 60
_SAVE_AS_UTF8 = "save the file as UTF-8"
_INTEGER = regex(r"[-+]?[0-9]+")


@dataclass(slots=True)
class Report:
    """Collects the errors of one file, so that all of them are raised at once."""

    lines: Lines
    limits: Limits
    errors: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    value_count: int = 0

    def count_value(self, index: int) -> None:
        """Charge one value; the file is refused if it holds too many."""
        self.value_count += 1
        most = self.limits.values_max
        if self.value_count > most:
            self.refuse(f"the file holds more than {most:,} values", index, "split the file")

    def with_part(self, parts: int, index: int) -> int:
        """Counts the mappings and lists in a container, with one more; refuses too many."""
        parts, most = parts + 1, self.limits.parts_max
        if parts > most:
            message = f"one mapping or list holds more than {most:,} others"
            self.refuse(message, index, "split the file")
        return parts

    def check_depth(self, depth: int, index: int) -> None:
        if depth > self.limits.depth_max:
            message = f"the file is nested more than {self.limits.depth_max} levels deep"
            self.refuse(message, index, "move inner parts to files of their own")

    def refuse(self, message: str, index: int, help_text: str) -> NoReturn:
        """Stop because a limit is reached at `index`."""
        self.stop(Diagnostic(LIMIT, message, self.lines.span(index), "here", help_text))

    def fail(self, message: str, span: Span, label: str = "", help_text: str = "") -> NoReturn:
        """Stop because the file cannot be understood from here on."""
        self.stop(Diagnostic(SYNTAX, message, span, label, help_text))

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep a finding and continue reading, up to a number that a person would still read."""
        listed = self.warnings if diagnostic.severity == "warning" else self.errors
        if len(listed) < _REPORTED_MAX:
            listed.append(diagnostic)

    def stop(self, diagnostic: Diagnostic) -> NoReturn:
        raise InvalidWorkflow([*self.errors, diagnostic])

    def finish(self) -> tuple[Diagnostic, ...]:
        """Raise if there are errors; else return the warnings."""
        if self.errors:
            raise InvalidWorkflow(self.errors)
        return tuple(self.warnings)

    def repeat(self, first: Entry, again: Entry, repeated: Repeated) -> None:
        if repeated == "keep":
            return
        before, line = first.key.span.line, again.key.span.line
        where = f"on line {line}" if before == line else f"on line {before} and on line {line}"
        message = f"key {shown(again.name)} is written twice: {where}"
        label, advice = f"{FIRST}{before}", "remove or rename one of them"
        if repeated == "warn":
            advice = "the last one is used"
            self.add(Diagnostic(REPEATED, message, again.key.span, label, advice, "warning"))
        else:
            self.add(Diagnostic(REPEATED, message, again.key.span, label, advice))


def open_report(text: str, file: str, limits: Limits) -> Report:
    """Check the size of a text and prepare it for reading."""
    text = without_surrogates(text.removeprefix("\ufeff"))
    size = len(text)
    if size <= limits.bytes_max and not text.isascii():
        size = len(text.encode())
    if size > limits.bytes_max:
        raise InvalidWorkflow([_too_large(file, size, limits)])
    return Report(Lines(text, file), limits)


def read_text(data: bytes, file: str, *, limits: Limits = LIMITS) -> str:
    """Return the text of a file's bytes: UTF-8 without byte order mark and without NUL."""
    if len(data) > limits.bytes_max:
        raise InvalidWorkflow([_too_large(file, len(data), limits)])
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        message = "the file is encoded as UTF-16"
        raise InvalidWorkflow([Diagnostic(SYNTAX, message, Span(file, 1, 1), help=_SAVE_AS_UTF8)])
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "surrogatepass")
        span = Lines(before, file).span(len(before))
        message = f"byte 0x{data[error.start]:02x} is not valid UTF-8"
        wrong = Diagnostic(SYNTAX, message, span, "not UTF-8", _SAVE_AS_UTF8)
        raise InvalidWorkflow([wrong]) from None
    text = without_surrogates(text.removeprefix("\ufeff"))
    if "\0" in text:
        span = Lines(text, file).span(text.index("\0"))
        message = "the file holds a NUL character, so it is not a text"
        raise InvalidWorkflow([Diagnostic(SYNTAX, message, span, "U+0000")])
    return text


def _too_large(file: str, size: int, limits: Limits) -> Diagnostic:
    message = f"the file has {size:,} bytes; the limit is {limits.bytes_max:,}"
    return Diagnostic(LIMIT, message, Span(file, 1, 1), help="split the file")


def shown(name: str, *, length_max: int = _KEY_SHOWN_MAX) -> str:
    """Quote a name for a message, cut where it would fill the screen."""
    return repr(name if len(name) <= length_max else name[:length_max] + "…")


def number(report: Report, written: str, span: Span, radix: int = 10) -> int | float | None:
    """Return the number that was written; report one that does not fit."""
    kind = "integer"
    if radix == 10 and not _INTEGER.fullmatch(written):
        value, kind = float(written), "number"
        if not isinf(value):
            return value
    elif len(digits := written.lstrip("+-0xo")) <= 64:
        whole = int(digits or "0", radix) * (-1 if written.startswith("-") else 1)
        if INTEGER_MIN <= whole <= INTEGER_MAX:
            return whole
    why = "is too large" if kind == "number" else "does not fit into 64 bits"
    message = f"{kind} {shown(written)} {why}"
    report.add(Diagnostic(SYNTAX, message, span, "too large", "write it in quotes if it is a text"))
    return None
