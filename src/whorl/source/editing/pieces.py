"""Pieces: entries that were cut out of a text, that came from a clipboard, or that are new."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING

from whorl.errors import InvalidWorkflow
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Value
from whorl.source.editing import spelling
from whorl.source.editing.shapes import Path, Shape, child_of, json_of
from whorl.source.editing.text import UNREADABLE, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Place
    from whorl.source.editing.text import Container


@dataclass(frozen=True, slots=True)
class Piece:
    """An entry that was cut out, or a new one: enough to put it back byte for byte, or elsewhere.

    `text` are its lines, or in brackets its characters; `gap` is what was between it and its
    neighbour, `column` where it began. `hollow` is all that stood in a container which it was
    alone in. `shape` is its value. A `fresh` piece has the gap that its new neighbours have.
    """

    name: str | None
    shape: Shape
    text: str
    gap: str = ""
    column: int = 0
    flow: bool = False
    hollow: str | None = None
    fresh: bool = False


def shifted(lines: str, delta: int, column: int) -> str:
    """Lines moved to the right or left; what is indented less than they are stays."""
    if not delta:
        return lines
    moved = []
    for line in lines.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        margin = len(bare) - len(bare.lstrip(" "))
        if margin < column or not bare:
            moved.append(line)
        elif delta > 0:
            moved.append(" " * delta + line)
        else:
            moved.append(line[min(-delta, margin) :])
    return "".join(moved)


def shifted_rest(text: str, delta: int) -> str:
    """The same for characters in brackets: their first line begins somewhere in a line."""
    first, newline, rest = text.partition("\n")
    return first + newline + shifted(rest, delta, max(0, -delta)) if newline else text


def fresh(text: Text, path: Path, name: str | None, shape: Shape) -> Iterator[Piece]:
    """The ways of writing a new entry for a container, in the style of its neighbours."""
    value, holder = json_of(shape), text.value(path)
    is_empty = isinstance(holder, Scalar) or not len(holder)
    is_flow = text.is_json or (
        not isinstance(holder, Scalar) and not is_empty and holder.layout.flow
    )
    piece = Piece(name, shape, "", fresh=True)
    if not is_flow:
        word = "-" if name is None else f"{spelling.key(name)}:"
        if name is None and isinstance(value, dict | list) and _is_each_in_brackets(text, holder):
            yield replace(piece, text=f"{word} {spelling.brackets(value)}{text.newline}")
        lines = spelling.block({name: value} if name is not None else [value], 0, text.indent)
        yield replace(piece, text=text.newline.join([*lines, ""]))
        yield replace(piece, text=f"{word} {spelling.flow(value)}{text.newline}")
    if text.is_json and isinstance(value, dict | list) and _is_on_lines(text, holder):
        margin = text.margin(_first_at(text, holder))
        if is_empty:
            margin += len(text.indent.unit)
        body = spelling.indented_json(value, margin, text.indent)
        head = "" if name is None else spelling.quoted(name) + text.indent.colon
        yield replace(piece, text=head + body, flow=True, column=margin)
    yield replace(piece, text=flow_text(piece, text), flow=True)


def from_clipboard(text: Text, written: str) -> Piece:
    """A piece from a clipboard: the text of one entry or item."""
    lines = dedent(written.replace("\r\n", "\n").strip("\n")) + "\n"
    try:
        read = text.read_other(lines)
    except InvalidWorkflow as fault:
        first = fault.diagnostics[0].message
        text.refuse(UNREADABLE, f"the piece cannot be read: {first}", 0)
    root = read.root
    if text.is_json or isinstance(root, Scalar) or len(root) != 1:
        return Piece(None, read.shape, lines.strip(), flow=True, column=0, fresh=True)
    name = root.entries[0].name if isinstance(root, Mapping) else None
    return Piece(name, read.shape.children[0], lines.replace("\n", text.newline), fresh=True)


def flow_text(piece: Piece, text: Text) -> str:
    value = json_of(piece.shape)
    if not text.is_json:
        written = spelling.brackets(value)
        return written if piece.name is None else f"{spelling.key(piece.name)}: {written}"
    written, colon = spelling.flow(value, text.indent.colon), text.indent.colon
    return written if piece.name is None else spelling.quoted(piece.name) + colon + written


def _is_each_in_brackets(text: Text, holder: Value) -> bool:
    """Whether the last entry of a block that holds others is written in brackets on one line."""
    if isinstance(holder, Scalar):
        return False
    last = _last_container(holder)
    if last is None:
        return False
    place, child = last
    return "\n" not in text.text[place.start : place.end] and child.layout.flow


def _last_container(holder: Container) -> tuple[Place, Container] | None:
    """The last one that a container holds and that is not empty; the others are not looked at."""
    for index in reversed(range(len(holder.layout.places))):
        child = child_of(holder, index)
        if not isinstance(child, Scalar) and len(child):
            return holder.layout.places[index], child
    return None


def _first_at(text: Text, holder: Value) -> int:
    if isinstance(holder, Scalar) or not len(holder):
        return extent_of(holder)[0]
    return holder.layout.places[0].at


def extent_of(value: Value) -> tuple[int, int]:
    return value.extent if isinstance(value, Scalar) else value.layout.extent


def _is_on_lines(text: Text, holder: Value) -> bool:
    """Whether new values of a container of JSON go over several lines, as its others do."""
    if isinstance(holder, Scalar) or not len(holder):
        return "\n" in text.source.strip()
    last = _last_container(holder)
    start, end = holder.layout.extent if last is None else (last[0].start, last[0].end)
    return "\n" in text.text[start:end]
