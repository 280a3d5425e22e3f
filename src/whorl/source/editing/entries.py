"""Entries are cut out as pieces and put in again: the same lines, shifted to where they belong.

A piece may also come from a clipboard, or be new.
"""

from __future__ import annotations

import re
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import InvalidWorkflow
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, Value
from whorl.source.editing import spelling
from whorl.source.editing.shapes import Path, Shape, child_of, json_of
from whorl.source.editing.text import UNEXACT, Patch, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Place
    from whorl.source.editing.text import Container

_REMARK = re.compile(r"//|/\*|#")
# What is cut out, and the ways of removing it.
Cut: TypeAlias = "tuple[Piece, list[list[Patch]]]"


def cut(text: Text, path: Path) -> Cut:
    """Returns the piece that an entry is, and the ways of removing it."""
    holder, index = text.container(path[:-1]), path[-1]
    place = holder.layout.places[index]
    name = holder.entries[index].name if isinstance(holder, Mapping) else None
    if isinstance(holder, Mapping):
        text.check_once(holder, index)
    shape = text.shape
    for step in path:
        shape = shape.children[step]
    piece = Piece(name, shape, "")
    if holder.layout.flow:
        return _cut_flow(text, holder, index, piece)
    own = text.own(holder, index)
    piece = replace(piece, column=text.column(place.at), text=text.text[own.start : own.end])
    if own.is_compact:
        piece = replace(piece, text=" " * piece.column + piece.text)
    if len(holder) == 1:
        return _cut_only(text, path, piece)
    if own.is_compact:
        following = holder.layout.places[1].at
        ways = [[Patch(place.at, following, "")]]
        dash = place.at - len(text.text[: place.at]) + len(text.text[: place.at].rstrip(" "))
        line = own.end - len(text.newline)
        if text.text[own.end : following].strip(" "):
            ways = [[Patch(dash, line, "")]]
        return piece, ways
    if index:
        before = text.line_end(holder.layout.places[index - 1].end)
        piece = replace(piece, gap=text.text[before : own.start])
        return piece, [[Patch(before, own.end, "")]]
    following = text.own(holder, 1).start
    piece = replace(piece, gap=text.text[own.end : following])
    return piece, [[Patch(own.start, following, "")], [Patch(own.start, own.end, "")]]


def _cut_flow(text: Text, holder: Container, index: int, piece: Piece) -> Cut:
    places, written = holder.layout.places, text.text
    place = places[index]
    core = written[place.at : place.end]
    piece = replace(piece, text=core, column=text.margin(place.at), flow=True)
    start, end = holder.layout.extent
    if len(places) == 1:
        return piece, [[Patch(start + 1, end - 1, "")]]
    _refuse_remarks(text, holder)
    if index:
        before = places[index - 1].end
        piece = replace(piece, gap=written[before : place.at])
        return piece, [[Patch(before, place.end, "")]]
    piece = replace(piece, gap=written[place.end : places[1].at])
    return piece, [[Patch(place.at, places[1].at, "")]]


def _refuse_remarks(text: Text, holder: Container) -> None:
    """Refuse brackets with a remark after one of their entries: it may belong to any of them."""
    places, (start, end) = holder.layout.places, holder.layout.extent
    for place, at in zip(places, [*(each.at for each in places[1:]), end], strict=True):
        if _REMARK.search(text.text, place.end, at):
            message = "brackets with comments between their entries are edited as text"
            text.refuse(UNEXACT, message, start)


def _cut_only(text: Text, path: Path, piece: Piece) -> Cut:
    """Cuts the only entry of a block, which leaves empty brackets."""
    if len(path) == 1:
        text.refuse(UNEXACT, "this is the only entry of the file", text.place(path).at)
    holder, owner = text.container(path[:-1]), path[:-1]
    brackets = "{}" if isinstance(holder, Mapping) else "[]"
    start, end = holder.layout.extent
    head = text.head(owner)
    if "\n" not in text.text[head:start]:
        return piece, [[Patch(start, end, brackets)]]
    below, last = text.line_end(head), text.own(holder, 0).end
    return piece, [[Patch(head, head, f" {brackets}"), Patch(below, last, "")]]


def paste(text: Text, path: Path, index: int, piece: Piece) -> Iterator[list[Patch]]:
    """Returns the ways of putting a piece into a container, before the entry of an index."""
    value = text.value(path)
    if isinstance(value, Scalar) or not len(value):
        if path:
            text.container(path[:-1])
        yield from _paste_empty(text, path, piece)
        return
    holder = text.container(path)
    if holder.layout.flow:
        yield from _paste_flow(text, holder, index, piece)
    else:
        yield from _paste_block(text, holder, index, piece)


def _paste_block(text: Text, holder: Container, index: int, piece: Piece) -> Iterator[list[Patch]]:
    column = text.column(holder.layout.places[0].at)
    if piece.flow:
        piece = _unfolded(text, piece, column, isinstance(holder, Mapping))
    delta = column - piece.column
    core = shifted(piece.text, delta, piece.column)
    gap = shifted(piece.gap, delta, piece.column)
    if piece.fresh:
        gap = _usual_gap(text, holder)
    if index:
        at = text.line_end(holder.layout.places[index - 1].end)
        yield [Patch(at, at, gap + core)]
        if gap:
            yield [Patch(at, at, core)]
        return
    own = text.own(holder, 0)
    if not own.is_compact:
        yield [Patch(own.start, own.start, core + gap)]
        if gap:
            yield [Patch(own.start, own.start, core)]
        return
    first = holder.layout.places[0].at
    if core.startswith(" " * column) and not core.lstrip(" ").startswith("#"):
        yield [Patch(first, first, core[column:] + " " * column)]
    # A remark cannot come after a dash: all of it goes below.
    yield [Patch(len(text.text[:first].rstrip(" ")), first, text.newline + core + " " * column)]


def _unfolded(text: Text, piece: Piece, column: int, is_named: bool) -> Piece:
    """Returns a piece of brackets as a line of a block."""
    core = shifted_rest(piece.text, column + 2 - piece.column)
    line = " " * column + ("" if is_named else "- ") + core + text.newline
    return replace(piece, text=line, gap="", column=column, flow=False, fresh=True)


def _usual_gap(text: Text, holder: Container) -> str:
    """Returns the blank lines between the first two entries of a block."""
    if len(holder) < 2:
        return ""
    gap = text.text[text.line_end(holder.layout.places[0].end) : text.own(holder, 1).start]
    return "" if gap.strip() else gap


def _paste_flow(text: Text, holder: Container, index: int, piece: Piece) -> Iterator[list[Patch]]:
    places = holder.layout.places
    margin = text.margin(places[0].at)
    _refuse_remarks(text, holder)
    if not piece.flow:
        piece = _folded(text, holder, piece)
    core = shifted_rest(piece.text, margin - piece.column)
    gap = piece.gap
    if piece.fresh or not gap or ("\n" in gap and piece.column != margin):
        gap = _flow_gap(text, holder)
    if not index:
        yield [Patch(places[0].at, places[0].at, core + gap)]
        return
    before = places[index - 1].end
    yield [Patch(before, before, gap + core)]


def _flow_gap(text: Text, holder: Container) -> str:
    """Returns the text between two entries in brackets."""
    places, written = holder.layout.places, text.text
    if len(places) > 1:
        return written[places[0].end : places[1].at]
    opening = written[holder.layout.extent[0] + 1 : places[0].at]
    if "\n" in opening:
        return "," + text.newline + " " * text.margin(places[0].at)
    return ", " if text.indent.colon.endswith(" ") else ","


def _folded(text: Text, holder: Container, piece: Piece) -> Piece:
    """Returns a piece of a block for brackets; it must fit on a line without remarks."""
    lines = piece.text.strip().splitlines()
    if not piece.fresh and (len(lines) > 1 or _REMARK.search(piece.text)):
        message = "lines of a block cannot be put into brackets as they are"
        advice = "first write the brackets as lines, with the operation 'open'"
        text.refuse(UNEXACT, message, holder.layout.extent[0], advice)
    return replace(piece, text=flow_text(piece, text), gap="", flow=True, fresh=True)


def _paste_empty(text: Text, path: Path, piece: Piece) -> Iterator[list[Patch]]:
    """Returns the ways of filling an empty container or an empty place."""
    start, end = text.place(path)[1:3] if path else extent_of(text.value(path))
    owner = text.value(path[:-1]) if path else None
    is_block = isinstance(owner, Mapping | Sequence) and not owner.layout.flow
    if text.is_json or not is_block:
        yield from _fill_brackets(text, (start, end), piece)
        return
    head = text.head(path)
    place = text.place(path)
    if isinstance(owner, Sequence):
        column = text.column(place.at) + 2
    else:
        deep = len(text.indent.unit) if piece.name is not None else text.indent.items
        column = text.column(place.at) + deep
    if piece.flow:
        piece = _unfolded(text, piece, column, piece.name is not None)
    core = shifted(piece.text, column - piece.column, piece.column)
    if isinstance(owner, Sequence):
        yield [Patch(head, end, " " + core.lstrip(" ").removesuffix(text.newline))]
    below = text.line_end(end)
    yield [Patch(head, end, ""), Patch(below, below, core)]


def _fill_brackets(text: Text, extent: tuple[int, int], piece: Piece) -> Iterator[list[Patch]]:
    start, end = extent
    opening, closing = "[]" if piece.name is None else "{}"
    core = piece.text if piece.flow else flow_text(piece, text)
    margin = text.margin(start)
    is_on_lines = text.is_json and "\n" in text.source.strip() and _begins_line(text, start)
    if is_on_lines:
        unit, newline = text.indent.unit, text.newline
        inner = margin + len(unit)
        pad = ("\t" if unit == "\t" else " ") * inner
        core = shifted_rest(core, inner - piece.column) if piece.flow else core
        last = newline + pad[:margin]
        yield [Patch(start, end, opening + newline + pad + core + last + closing)]
    yield [Patch(start, end, opening + core + closing)]


def _begins_line(text: Text, at: int) -> bool:
    """Checks whether the entry of the value at an offset begins a line of its own."""
    line = text.text[text.line_start(at) : at].strip()
    return line.count('"') <= 2 and "{" not in line and "[" not in line


def rewritten(text: Text, path: Path, written: str) -> Patch:
    """Returns the lines of one entry as they were typed, shifted to its place."""
    holder, place = text.container(path[:-1]), text.place(path)
    start, end = place.at, place.end
    written = written.replace("\r\n", "\n")
    if not holder.layout.flow:
        own = text.own(holder, path[-1])
        start, end = own.start, own.end
        lines = dedent(written.strip("\n")) + "\n"
        column = text.column(place.at)
        written = shifted(lines, column, 0)[column if own.is_compact else 0 :]
    return Patch(start, end, written.replace("\n", text.newline))


# Pieces: entries that were cut out of a text, that came from a clipboard, or that are new.


@dataclass(frozen=True, slots=True)
class Piece:
    """An entry that was cut out, or a new one: enough to put it back byte for byte, or elsewhere.

    `text` are its lines, or in brackets its characters; `gap` is what was between it and its
    neighbour, `column` where it began. `shape` is its value. A `fresh` piece has
    the gap that its new neighbours have.
    """

    name: str | None
    shape: Shape
    text: str
    gap: str = ""
    column: int = 0
    flow: bool = False
    fresh: bool = False


def shifted(lines: str, delta: int, column: int) -> str:
    """Moves lines to the right or left; lines that are indented less stay."""
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
    """Moves characters in brackets in the same way: their first line begins within a line."""
    first, newline, rest = text.partition("\n")
    return first + newline + shifted(rest, delta, max(0, -delta)) if newline else text


def fresh(text: Text, path: Path, name: str | None, shape: Shape) -> Iterator[Piece]:
    """Returns the ways of writing a new entry for a container, in the style of its neighbours."""
    value, holder = json_of(shape), text.value(path)
    is_empty = isinstance(holder, Scalar) or not len(holder)
    is_flow = text.is_json or not (isinstance(holder, Scalar) or is_empty or not holder.layout.flow)
    piece = Piece(name, shape, "", fresh=True)
    if not is_flow:
        word = "-" if name is None else f"{spelling.key(name)}:"
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
    """Makes a piece from a clipboard: the text of one entry or item."""
    lines = dedent(written.replace("\r\n", "\n").strip("\n")) + "\n"
    try:
        read = text.read_other(lines)
    except InvalidWorkflow as fault:
        first = fault.diagnostics[0].message
        text.refuse("W001", f"the piece cannot be read: {first}", 0)
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


def _last_container(holder: Container) -> tuple[Place, Container] | None:
    """Returns the last non-empty container in a container."""
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
    """Checks whether new values of a JSON container span several lines, as its others do."""
    if isinstance(holder, Scalar) or not len(holder):
        return "\n" in text.source.strip()
    last = _last_container(holder)
    start, end = holder.layout.extent if last is None else (last[0].start, last[0].end)
    return "\n" in text.text[start:end]
