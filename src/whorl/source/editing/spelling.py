"""Writes new values: candidates in the style of their place, the plainest first.

A candidate is checked by reading it in its place.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from whorl.errors import UNSAFE_LETTERS
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Json, Style

# A text that is surely a text without quotes, and no word or number.
_PLAIN = re.compile(r"[A-Za-z_/](?:[\w/.()$%+*=<>~;|^ -]|:(?! |$)|'(?=\w)|,(?= )|\?)*")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
# Words that are keys of files.
_NAMES = frozenset(("x", "y", "n", "on"))
_KEY = re.compile(r"[A-Za-z_][\w./$-]*")
# Characters that JSON leaves, but that YAML refuses or that are invisible in a file.
_ESCAPED = re.compile(rf"(?![\n\t]){UNSAFE_LETTERS}|[\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Indent:
    """The indentation of a file: its number of spaces, and that of lists below their keys.

    A value without objects is on one line if it is not longer than `inline`.
    """

    unit: str = "  "
    items: int = 2
    newline: str = "\n"
    colon: str = ": "
    inline: int = 0


def quoted(text: str) -> str:
    """Returns a text in double quotes, which JSON and YAML read alike."""
    return _dumped(text)


def _dumped(value: Json, **options: Any) -> str:
    written = json.dumps(value, ensure_ascii=False, **options)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def flow(value: Json, colon: str = ": ") -> str:
    """Returns a value on one line, as JSON, which YAML reads as well."""
    separators = (", " if colon.endswith(" ") else ",", colon)
    return _dumped(value, separators=separators)


def indented_json(value: Json, column: int, indent: Indent) -> str:
    """Returns a value as JSON over several lines, the first of them at `column`."""
    if not isinstance(value, dict | list) or not value:
        return flow(value)
    lines = _dumped(value, indent=indent.unit, separators=(",", indent.colon))
    return lines.replace("\n", indent.newline + indent.unit[:1] * column)


def scalar(value: str | float | bool | None, *, is_flow: bool = False) -> str:
    """Returns a scalar on one line of YAML."""
    if not isinstance(value, str):
        return "null" if value is None else json.dumps(value)
    is_plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS and value == value.strip()
    if is_plain and " #" not in value and not (is_flow and re.search(r"[,?:]", value)):
        return value
    if ('"' in value or "\\" in value) and _is_simple(value):
        return "'" + value.replace("'", "''") + "'"
    return quoted(value)


def _is_simple(text: str) -> bool:
    return all(character >= " " for character in text) and not _ESCAPED.search(text)


def key(name: str) -> str:
    is_plain = _KEY.fullmatch(name) and (name in _NAMES or name.lower() not in _WORDS)
    return name if is_plain else quoted(name)


def literal(text: str, column: int, indent: Indent, *, owner: int | None = None) -> str | None:
    """Returns a text as a block scalar whose lines begin at `column`, or None if impossible."""
    if not text.strip() or not _is_simple(text.replace("\n", " ").replace("\t", " ")):
        return None
    chomping = "+" if text.endswith("\n\n") else "" if text.endswith("\n") else "-"
    digit = "" if not re.match(r"\n*[ \t]", text) else str(column - (owner or 0))
    lines = text.removesuffix("\n").split("\n")
    written = [(" " * column + line) if line else "" for line in lines]
    return indent.newline.join([f"|{digit}{chomping}", *written])


def block(value: Json, column: int, indent: Indent) -> list[str]:
    """Returns the lines of a mapping or list, at a column."""
    lines: list[str] = []
    pad = " " * column
    if isinstance(value, dict):
        for name, part in value.items():
            lines += _entry(f"{pad}{key(name)}:", part, column, indent)
        return lines
    assert isinstance(value, list)
    for part in value:
        if isinstance(part, dict | list) and part and not _is_short(part, indent):
            inner = block(part, column + 2, indent)
            lines += [f"{pad}- {inner[0][column + 2 :]}", *inner[1:]]
        else:
            lines += _entry(f"{pad}-", part, column, indent)
    return lines


def _entry(head: str, value: Json, column: int, indent: Indent) -> Iterator[str]:
    """Returns the lines of an entry, after its key or dash."""
    deeper = column + len(indent.unit)
    if isinstance(value, dict | list) and value:
        if _is_short(value, indent):
            yield f"{head} {brackets(value)}"
            return
        yield head
        below = column + indent.items if isinstance(value, list) else deeper
        yield from block(value, below, indent)
        return
    if isinstance(value, str) and "\n" in value:
        text = literal(value, deeper, indent, owner=column)
        if text is not None:
            yield f"{head} {text}"
            return
    yield f"{head} {scalar(value) if not isinstance(value, dict | list) else flow(value)}"


def _is_short(value: dict[str, Json] | list[Json], indent: Indent) -> bool:
    """Checks whether an object or a list is written on one line."""
    if isinstance(value, list) and all(isinstance(item, int | float) for item in value):
        return True
    parts = value if isinstance(value, list) else value.values()
    if not indent.inline or any(map(_holds_object, parts)):
        return False
    written = brackets(value)
    return len(written) <= indent.inline and "\\n" not in written


def _holds_object(value: Json) -> bool:
    if isinstance(value, list):
        return any(map(_holds_object, value))
    return isinstance(value, dict)


def brackets(value: Json) -> str:
    """Returns a value on one line of YAML, with quotes only if they are needed."""
    if isinstance(value, dict):
        parts = (f"{key(name)}: {brackets(part)}" for name, part in value.items())
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(brackets, value)) + "]"
    return scalar(value, is_flow=True)


def scalars(value: Json, style: Style, *, is_json: bool, is_flow: bool) -> Iterator[str]:
    """Returns the ways of writing a value on one line, in its earlier style."""
    if is_json or isinstance(value, dict | list):
        yield flow(value)
        return
    if isinstance(value, str):
        if style == "single" and _is_simple(value):
            yield "'" + value.replace("'", "''") + "'"
        if style == "double":
            yield quoted(value)
        if style == "plain" and value and "\n" not in value:
            yield value
    yield scalar(value, is_flow=is_flow)
    if isinstance(value, str):
        yield quoted(value)
