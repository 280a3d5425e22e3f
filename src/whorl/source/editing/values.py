"""Values are replaced by the smallest part of their text that says the new one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.source import Json, Mapping, Scalar, Sequence, plain
from whorl.source.editing import spelling
from whorl.source.editing.patches import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source.editing.rereading import Path
    from whorl.source.editing.text import Text


def respell(text: Text, path: Path, value: Json) -> Iterator[list[Patch]]:
    """The ways of writing another value in the place of one, the smallest first."""
    old, place = text.value(path), text.place(path)
    if isinstance(old, Scalar) and not place.is_alias:
        if isinstance(old.value, str) and isinstance(value, str) and value:
            yield from _part(text, old, value)
        if isinstance(value, str) and old.style in ("literal", "folded"):
            yield from _block_scalar(text, path, value)
    holder = text.value(path[:-1])
    assert isinstance(holder, Mapping | Sequence)
    is_flow = holder.layout.flow
    is_long = isinstance(value, dict | list) and bool(value)
    if is_long and not is_flow:
        yield from _lines(text, path, value)
    if is_long and text.is_json:
        margin = text.margin(place.at)
        if "\n" in text.text[holder.layout.extent[0] : holder.layout.extent[1]]:
            body = spelling.indented_json(value, margin, text.indent)
            yield [Patch(place.start, place.end, body)]
    if isinstance(value, str) and "\n" in value and not is_flow:
        yield from _block_scalar(text, path, value)
    style = old.style if isinstance(old, Scalar) else "plain"
    for written in spelling.scalars(value, style, is_json=text.is_json, is_flow=is_flow):
        yield from _placed(text, path, written)


def _placed(text: Text, path: Path, written: str) -> Iterator[list[Patch]]:
    """One line in the place of a value, behind its key."""
    place, old = text.place(path), text.value(path)
    if place.start == place.end:
        yield [Patch(place.start, place.end, " " + written)]
        return
    is_block = isinstance(old, Mapping | Sequence) and not place.is_alias and not old.layout.flow
    if is_block:
        yield [Patch(text.head(path), place.end, " " + written)]
    else:
        yield [Patch(place.start, place.end, written)]


def _part(text: Text, old: Scalar, value: str) -> Iterator[list[Patch]]:
    """Only the characters of a text that differ."""
    before = old.text
    most = min(len(before), len(value))
    head = next((at for at in range(most) if before[at] != value[at]), most)
    most -= head
    tail = next((at for at in range(most) if before[-1 - at] != value[-1 - at]), most)
    new, end = value[head : len(value) - tail], len(before) - tail
    last = old.extent[1] - (old.style in ("single", "double", "json"))

    def index(offset: int) -> int:
        return min(text.lines.index(before, old.style, old.extent, offset), last)

    start = index(head)
    stop = index(end - 1) + 1 if end > head else start
    for written in _encoded(text, old, new, start):
        yield [Patch(start, max(start, stop), written)]
        if index(end) > stop:
            yield [Patch(start, index(end), written)]


def _encoded(text: Text, old: Scalar, new: str, at: int) -> Iterator[str]:
    match old.style:
        case "json" | "double":
            yield spelling.quoted(new)[1:-1]
        case "single":
            yield new.replace("'", "''")
        case "literal" if "\n" in new:
            yield new.replace("\n", text.newline + " " * text.margin(at))
        case _ if "\n" not in new:
            yield new


def _block_scalar(text: Text, path: Path, value: str) -> Iterator[list[Patch]]:
    place, old = text.place(path), text.value(path)
    owner = text.column(place.at)
    column = owner + len(text.indent.unit)
    if isinstance(old, Scalar) and old.style in ("literal", "folded"):
        first = re.compile(r"\n( *)[^ \r\n]").search(text.text, place.start, place.end + 1)
        column = len(first[1]) if first and len(first[1]) > owner else column
    written = spelling.literal(value, column, text.indent, owner=owner)
    if written is not None:
        yield from _placed(text, path, written)


def _lines(text: Text, path: Path, value: Json) -> Iterator[list[Patch]]:
    """A mapping or list in lines below its key; a remark behind the key stays."""
    place = text.place(path)
    is_item = isinstance(text.value(path[:-1]), Sequence)
    deep = text.indent.items if isinstance(value, list) else len(text.indent.unit)
    column = text.column(place.at) + (2 if is_item else deep)
    lines = text.newline.join([*spelling.block(value, column, text.indent), ""])
    head, below = text.head(path), text.line_end(place.end)
    if is_item:
        yield [Patch(head, place.end, " " + lines[column:].removesuffix(text.newline))]
    else:
        yield [Patch(head, place.end, ""), Patch(below, below, lines)]


def opened(text: Text, path: Path) -> Iterator[list[Patch]]:
    """The entries of brackets in lines below their key, each as it is written or spelled anew."""
    place, value = text.place(path), text.value(path)
    assert isinstance(value, Mapping | Sequence)
    if "#" in re.sub(r"\"[^\"]*\"|'[^']*'", "", text.text[place.start : place.end]):
        return  # a remark inside of brackets would be lost
    is_item = isinstance(text.value(path[:-1]), Sequence)
    deep = text.indent.items if isinstance(value, Sequence) else len(text.indent.unit)
    column = text.column(place.at) + (2 if is_item else deep)
    dash = "- " if isinstance(value, Sequence) else ""
    entries = [" " * column + dash + text.text[each.at : each.end] for each in value.layout.places]
    lines = text.newline.join([*entries, ""])
    head, below = text.head(path), text.line_end(place.end)
    if is_item:
        yield [Patch(head, place.end, " " + lines[column:].removesuffix(text.newline))]
    else:
        yield [Patch(head, place.end, ""), Patch(below, below, lines)]
    yield from _lines(text, path, plain(value))


def rename(text: Text, path: Path, name: str) -> Iterator[list[Patch]]:
    """The ways of writing another key."""
    holder = text.container(path[:-1])
    assert isinstance(holder, Mapping)
    key = holder.entries[path[-1]].key
    start, end = key.extent
    if key.style == "single":
        yield [Patch(start, end, "'" + name.replace("'", "''") + "'")]
    if key.style == "plain" and not text.is_json:
        yield [Patch(start, end, spelling.key(name))]
    yield [Patch(start, end, spelling.quoted(name))]
