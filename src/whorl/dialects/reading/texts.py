"""Texts with placeholders, JSON values that hold such texts, and the sources of expressions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whorl import ir
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator

    from whorl.errors import Span
    from whorl.language import Json


# Comparing names costs time, and a hostile file has many of both.
COMPARED_MAX = 200


def quoted(text: str) -> str:
    """Returns a text as it is written in an expression: texts of a file never enter one as code."""
    return json.dumps(text, ensure_ascii=False)


def called(function: str, *arguments: str) -> str:
    """Returns the call of a function; the arguments are sources, too."""
    return f"{function}({', '.join(arguments)})"


def json_in(text: str, otherwise: Json = None) -> Json:
    """Returns the JSON value that a text is, or else another value."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return otherwise
    return value


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder of a text: all of it as it is written, its inside, and its place."""

    written: str
    content: str
    scalar: Scalar
    offset: int

    @property
    def name(self) -> str:
        """Returns the inside, without blanks around it."""
        return self.content.strip()

    @property
    def span(self) -> Span:
        """Returns the span of the inside."""
        return self.scalar.locate(self.offset, max(1, len(self.content)))


def placeholders(scalar: Scalar, pattern: re.Pattern[str]) -> Iterator[Placeholder]:
    """Returns the placeholders of a text; the first group of the pattern is the inside."""
    for match in pattern.finditer(scalar.text):
        yield Placeholder(match[0], match[1], scalar, match.start(1))


def split_text(
    scalar: Scalar, pattern: re.Pattern[str], source_of: Callable[[Placeholder], str | None]
) -> Iterator[tuple[str, bool]]:
    """Returns the parts of a text: literals, and sources (true) of placeholders that have one.

    A placeholder without a source stays a part of the literal around it.
    """
    end = 0
    for match in pattern.finditer(scalar.text):
        source = source_of(Placeholder(match[0], match[1], scalar, match.start(1)))
        if source is None:
            continue
        if match.start() > end:
            yield scalar.text[end : match.start()], False
        yield source, True
        end = match.end()
    if end < len(scalar.text):
        yield scalar.text[end:], False


def joined(parts: Iterable[tuple[str, bool]]) -> str | None:
    """Returns the source of a text made of such parts, or None if none of them is a source."""
    listed = list(parts)
    if not any(is_source for _, is_source in listed):
        return None
    return " ~ ".join(text if is_source else quoted(text) for text, is_source in listed)


def read_tree(
    value: Value | None,
    read_scalar: Callable[[Scalar], ir.Value],
    *,
    read_key: Callable[[Scalar], str | ir.Expression] | None = None,
    read_mark: Callable[[Mapping], ir.Value | None] | None = None,
    folds: bool = False,
) -> ir.Value:
    """Reads a JSON value whose texts may be templates; of a repeated key the last counts.

    With `folds`, lists and objects of constants become constants. `read_mark` reads objects that
    represent another value, and returns None for all others.
    """

    def read(value: Value | None) -> ir.Value:
        match value:
            case None:
                return ir.Constant(None)
            case Scalar():
                return read_scalar(value)
            case Sequence():
                items = tuple(map(read, value))
                parts = [item.value for item in items if isinstance(item, ir.Constant)]
                is_constant = folds and len(parts) == len(items)
                return ir.Constant(parts) if is_constant else ir.Items(items)
            case Mapping():
                marked = None if read_mark is None else read_mark(value)
                return read_fields(value) if marked is None else marked

    def read_fields(value: Mapping) -> ir.Value:
        last = {entry.name: entry for entry in value}.values()
        keys = [entry.name if read_key is None else read_key(entry.key) for entry in last]
        entries = tuple(zip(keys, [read(entry.value) for entry in last], strict=True))
        named = ((key, part) for key, part in entries if isinstance(key, str))
        constants = {key: part.value for key, part in named if isinstance(part, ir.Constant)}
        is_constant = folds and len(constants) == len(entries)
        return ir.Constant(constants) if is_constant else ir.Fields(entries)

    return read(value)
